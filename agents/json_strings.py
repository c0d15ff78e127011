"""What stands between the quotation marks of a JSON string, and the text that it means."""

import json
import re
from collections.abc import Sequence

from agents.slips import RepairName

_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\.", re.DOTALL)


# A mark before a colon, or before another mark: the next field or entry has begun.
_NEXT_INSIDE = re.compile(r"[\"'”]\s*(?:[:：]|[,，、]*\s*[\"'“])")
_QUOTATION = re.compile(r"[^\s,:](?:.*[^\s,])?", re.DOTALL)


def only_quotations(body: str, marks: Sequence[int], around: str) -> bool:
    """Whether bare quotation marks in a string, at these places, quote words of its text.

    Otherwise the end of the string was lost, and they are the marks of what comes next.
    """
    if _NEXT_INSIDE.search(body):
        return False
    if around in "“”":
        return len(marks) == body.count("“")
    quoted = [body[start + 1 : end] for start, end in zip(marks[::2], marks[1::2], strict=False)]
    return len(marks) % 2 == 0 and all(_QUOTATION.fullmatch(each) for each in quoted)


def unescaped(body: str) -> tuple[str, list[RepairName]]:
    """The text of a string, and what had to be mended. A backslash that JSON does not know means itself."""
    if "\\" not in body:
        return body, []
    names: list[RepairName] = []
    try:
        text: str = json.loads(f'"{body}"', strict=False)
    except ValueError:
        pieces = [_meaning(escape[0]) for escape in _ESCAPE.finditer(body)]
        if None in pieces:
            names.append("bad_escape")
        text = _ESCAPE.sub(lambda escape: _meaning(escape[0]) or _itself(escape[0]), body)
    whole = whole_characters(text)
    return whole, [*names, "broken_character"] if whole != text else names


def whole_characters(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair: no encoder takes those."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    return text


def _meaning(escape: str) -> str | None:
    try:
        meaning: str = json.loads(f'"{escape}"')
    except ValueError:
        return None
    return meaning


def _itself(escape: str) -> str:
    """Of a path or a pattern, such as `\\d`; a quotation mark goes without."""
    return escape[1] if escape[1] in "'“”" else escape
