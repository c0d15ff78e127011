"""Headings inside Markdown text, as far as agents have to do with them."""

import re
import unicodedata
from collections.abc import Iterator

from agents.citations import without_citations

_FENCE = re.compile(r"^[ \t]*(`{3,}(?=[^`]*$)|~{3,})(.*)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_FIRST_LEVEL = 3  # below the article's title and its sections
_NUMBERS = re.compile(r"^(?:#+\s*|(?:§\s*)?\d{1,2}(?:\.\d{1,2})*\s*[.．、)）:：]\s+|\d{1,2}[、．）]\s*)+")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def plain_heading(heading: str) -> str:
    """A heading on one line without marks, links, citations, and the number that the program adds itself.

    "" if nothing of it is to be seen.
    """
    line = _LINK.sub(r"\1", " ".join(heading.split()))
    line = re.sub(r"\s+#+$", "", _NUMBERS.sub("", without_citations(line))).strip("*_ ")
    return "" if unseen(line) else line


def unseen(text: str) -> bool:
    """Whether there is nothing in a text that anybody could read."""
    return all(char.isspace() or unicodedata.category(char) in ("Cf", "Cc", "Mn", "Me") for char in text)


def without_headings(content: str) -> str:
    """A section's content without headings at its start; those inside become `###` or deeper.

    A block of code that was left open is closed: what follows in the article is no code.
    """
    lines: list[str] = []
    for line, heading in _lines(content.strip()):
        if heading is None:
            lines.append(line)
        elif any(before.strip() for before in lines):
            lines.append(f"{'#' * max(_FIRST_LEVEL, len(heading[1]))} {heading[2]}")
    if (fence := _open_fence(content)) is not None:
        lines.append(fence)
    return "\n".join(lines).strip()


def parts(text: str) -> list[tuple[str, str]]:
    """A text cut at its headings: (heading, what stands below it); "" for what stands above the first."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line, heading in _lines(text):
        if heading is None:
            found[-1][1].append(line)
        else:
            found.append((plain_heading(heading[2]), []))
    return [(heading, "\n".join(lines).strip("\n")) for heading, lines in found]


def _lines(text: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Each line with its heading, if it is one; lines of code never are."""
    fence: str | None = None
    for line in text.splitlines():
        before, fence = fence, _fence_after(line, fence)
        yield line, None if before or fence else _HEADING.match(line)


def _open_fence(text: str) -> str | None:
    """The fence that would close the code in which a text ends."""
    fence: str | None = None
    for line in text.splitlines():
        fence = _fence_after(line, fence)
    return fence


def _fence_after(line: str, fence: str | None) -> str | None:
    """The fence of the code that goes on behind this line, None outside code."""
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    if fence is None:
        return mark[1]
    return None if mark[1].startswith(fence) and not mark[2].strip() else fence
