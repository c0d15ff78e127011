"""How long a text is for Slack, where it may be cut, and how parts share the room of one message."""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from knowledge.sentences import sentences

CUT_MARK = "…"

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and line feed
    "\u2028\u2029"  # line separators that JSON parsers disagree on
    "\u202a-\u202e\u2066-\u2069"  # they would turn our own words around
    "\ud800-\udfff]"  # half a character cannot be sent
)
_ZERO_WIDTH_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_CITATION = re.compile(r"[\[(（【]S\d[^\])）】\n]{0,80}[\])）】]")
_BREAK = re.compile(r"\s+|[、，；：,;:）)」』】》]")


def clean(text: str) -> str:
    """The text without characters that show nothing and do harm; line ends become line feeds."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_blank(text: str) -> bool:
    """Whether nothing of the text is to be seen: Slack refuses such texts, and people cannot read them."""
    return all(char.isspace() or unicodedata.category(char) in ("Cf", "Mn", "Me") for char in text)


def length(text: str) -> int:
    """Characters as JavaScript counts them: an emoji is 2. Slack does not say; this is the larger count."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def size(value: Any) -> int:
    """Characters of a value as JSON, Chinese counted as it reads: what the limit of a message is about."""
    return length(json.dumps(value, ensure_ascii=False))


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning and "…" in at most `limit` characters (at least 1)."""
    if length(text) <= limit:
        return text
    return text[: cut_at(text, limit - len(CUT_MARK))].rstrip() + CUT_MARK


def cut_at(text: str, limit: int) -> int:
    """Where to cut so that at most `limit` characters stand before: after a sentence if one ends in the
    second half, else between words, else between characters; not inside a citation. 0: nothing fits.
    """
    end = limit
    while length(text[:end]) > limit:
        end -= max(1, (length(text[:end]) - limit) // 2)
    if end >= len(text):
        return len(text)
    window = text[: end + 1]  # one more shows whether a sentence or word ends right there
    ends = [stop for _, stop in sentences(window)[:-1] if stop <= end]
    if ends and ends[-1] * 2 > end:
        return ends[-1]
    for citation in _CITATION.finditer(text, max(0, end - 100), end + 100):
        if 0 < citation.start() < end < citation.end():
            end = citation.start()
    breaks = [mark.end() for mark in _BREAK.finditer(text, end // 2, end)]
    if breaks:
        return breaks[-1]
    # A single cluster longer than the limit is cut all the same: otherwise nothing would ever fit.
    return next((at for at in range(end, 0, -1) if _may_part(text, at)), end)


def split(text: str, limit: int) -> Iterator[str]:
    """The whole text in pieces of at most `limit` characters (at least 2), cut as `cut_at` does."""
    while length(text) > limit:
        at = cut_at(text, limit)
        yield text[:at]
        text = text[at:]
    if text:
        yield text


def shares(wanted: Sequence[int], room: int) -> list[int]:
    """How much of `room` each gets: what it wants, or an equal share of what the smaller ones leave."""
    given = [0] * len(wanted)
    left = room
    for rank, index in enumerate(sorted(range(len(wanted)), key=lambda index: wanted[index])):
        given[index] = min(wanted[index], left // (len(wanted) - rank))
        left -= given[index]
    return given


def _may_part(text: str, at: int) -> bool:
    """Whether two characters meet there for the eye too: no accent, joined emoji, skin tone, half a flag."""
    before, after = text[at - 1], text[at]
    return not (
        unicodedata.category(after) in ("Mn", "Me", "Mc")
        or _ZERO_WIDTH_JOINER in (before, after)
        or ord(after) in _SKIN_TONES
        or (ord(before) in _FLAG_LETTERS and ord(after) in _FLAG_LETTERS)
    )
