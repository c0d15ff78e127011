"""Headings inside Markdown text, as far as agents have to do with them."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_FIRST_LEVEL = 3  # below the article's title and its sections
_NUMBERS = re.compile(r"^(?:#+\s*|(?:§\s*)?\d{1,2}(?:\.\d{1,2})*\s*[.．、)）:：]\s+|\d{1,2}[、．）]\s*)+")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def plain_heading(heading: str) -> str:
    """A heading on one line without marks, links, and the number that the program adds itself."""
    line = _LINK.sub(r"\1", " ".join(heading.split()))
    return re.sub(r"\s+#+$", "", _NUMBERS.sub("", line)).strip("*_ ")


def without_headings(content: str) -> str:
    """A section's content without headings at its start; those inside become `###` or deeper."""
    lines: list[str] = []
    for line, heading in _lines(content.strip()):
        if heading is None:
            lines.append(line)
        elif any(before.strip() for before in lines):
            lines.append(f"{'#' * max(_FIRST_LEVEL, len(heading[1]))} {heading[2]}")
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
        mark = _FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and fence is not None and mark[1].startswith(fence):
            fence = None
        yield line, None if fence is not None or mark else _HEADING.match(line)
