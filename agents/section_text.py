"""The text of a section: Markdown without its heading, so that code alone makes the article's headings."""

import re

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*$")
_FIRST_LEVEL = 3  # below the article's title and its sections


def without_headings(content: str) -> str:
    """The content without headings at its start; those inside become `###` or deeper. Fences stay as they are."""
    lines: list[str] = []
    fence: str | None = None
    for line in content.strip().splitlines():
        mark = _FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and fence is not None and mark[1].startswith(fence):
            fence = None
        elif fence is None and (heading := _HEADING.match(line)):
            if not any(before.strip() for before in lines):
                continue
            line = f"{'#' * max(_FIRST_LEVEL, len(heading[1]))} {heading[2]}"
        lines.append(line)
    return "\n".join(lines).strip()
