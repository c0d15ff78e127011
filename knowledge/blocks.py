"""Blocks: the paragraphs, items, tables, fences and definitions of a document, with their headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

Cut = Literal["sentences", "blank lines", "lines"]


@dataclass(frozen=True)
class Block:
    """A span of a document's text that is one thought."""

    start: int
    end: int
    headings: tuple[
        str, ...
    ]  # from the outermost to the innermost above it, the document's title not among them
    cut: Cut  # where it may be cut when it is too large


_BLANK_LINES = re.compile(r"\n(?:[ \t\f]*\n)+")
_DEFINITION = re.compile(
    r"^(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|static|final|abstract|async|unsafe|inline|data)\s+)*"
    r"(?:def|class|func|fn|fun|function|interface|struct|type|enum|trait|impl|module|namespace|object|record|create"
    r"|const|let|var)\b[^\n{;=]{1,80}",
    re.MULTILINE | re.IGNORECASE,
)
_TOP_LEVEL = re.compile(r"[^\s)}\]]")  # a closing bracket at the margin ends a definition, it starts none

_WHOLES = frozenset({"fence", "code_block", "table", "html_block"})  # one block each, whatever their size
_CONTAINERS = frozenset({"list_item", "blockquote"})
_LONG = 1000  # characters; a shorter item or quotation is one block with all it holds

_markdown = MarkdownIt("commonmark").enable("table")


def markdown_blocks(text: str) -> list[Block]:
    """Blocks of Markdown. Tables and fences are one block each; heading lines stand between the blocks."""
    lines = _Lines(text)
    blocks: list[Block] = []
    path: list[tuple[int, str]] = []  # (level, heading) of the open sections
    bare: tuple[int, int] | None = None  # span of the last heading while nothing stands below it

    def headings() -> tuple[str, ...]:
        return tuple(heading for _, heading in path if heading)

    for node in SyntaxTreeNode(_markdown.parse(text)).children:
        if node.type != "heading":
            found = [Block(start, end, headings(), cut) for start, end, cut in _leaves(node, lines)]
            blocks.extend(found)
            bare = None if found else bare
            continue
        level = int(node.tag[1])
        if bare and path[-1][0] >= level:  # a section of a heading alone says at least that
            blocks.append(Block(*bare, headings(), "sentences"))
        path = [*(above for above in path if above[0] < level), (level, _plain(node))]
        bare = lines.span(node)
    if bare:
        blocks.append(Block(*bare, headings(), "sentences"))
    return blocks


def markdown_title(text: str) -> str | None:
    """The first heading of level 1, or None. A title stands near the top, so only that is read."""
    for node in SyntaxTreeNode(_markdown.parse(text[:20_000])).children:
        if node.type == "heading" and node.tag == "h1" and (title := _plain(node)):
            return title
    return None


def prose_blocks(text: str) -> list[Block]:
    """Blocks of plain text: its paragraphs."""
    return [Block(start, end, (), "sentences") for start, end in _between_blank_lines(text)]


def code_blocks(text: str) -> list[Block]:
    """Blocks of source code in any language: what stands between blank lines and begins at the margin.

    The first definition in a block is its heading.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _between_blank_lines(text):
        if spans and not _TOP_LEVEL.match(text, start):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    blocks = []
    for start, end in spans:
        definition = _DEFINITION.search(text, start, end)
        blocks.append(Block(start, end, (definition[0].strip(),) if definition else (), "blank lines"))
    return blocks


class _Lines:
    """From markdown-it's line numbers to offsets in the text, white space at both ends left out."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]

    def span(self, node: SyntaxTreeNode) -> tuple[int, int]:
        first, after = node.map or (0, 0)
        piece = self._text[self._starts[first] : self._starts[min(after, len(self._starts) - 1)]]
        start = self._starts[first] + len(piece) - len(piece.lstrip())
        return start, start + len(piece.strip())


def _leaves(node: SyntaxTreeNode, lines: _Lines) -> Iterator[tuple[int, int, Cut]]:
    """The blocks in a top-level node: a list gives its items; a long item with a fence in it, its parts."""
    start, end = lines.span(node)
    holds_a_whole = any(child.type in _WHOLES for child in node.walk())
    if node.type in ("bullet_list", "ordered_list") or (
        node.type in _CONTAINERS and holds_a_whole and end - start > _LONG
    ):
        for child in node.children:
            yield from _leaves(child, lines)
    elif start < end and node.type != "hr":
        yield start, end, "lines" if holds_a_whole else "sentences"


def _plain(heading: SyntaxTreeNode) -> str:
    """The words of a heading without its Markdown."""
    parts = [
        node.content
        for node in heading.walk()
        if node.type in ("text", "code_inline", "softbreak", "hardbreak")
    ]
    return " ".join("".join(part or " " for part in parts).split())


def _between_blank_lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in [*(match.span() for match in _BLANK_LINES.finditer(text)), (len(text), len(text))]:
        piece = text[start : gap[0]]
        if piece.strip():
            yield start + len(piece) - len(piece.lstrip("\n")), start + len(piece.rstrip())
        start = gap[1]
