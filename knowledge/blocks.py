"""Blocks: the paragraphs, items, tables, fences and definitions of a document, with their headings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token

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

_WHOLES = frozenset(
    {"fence", "code_block", "table_open", "html_block"}
)  # one block each, whatever their size
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_CONTAINERS = frozenset({"list_item_open", "blockquote_open"})
_LONG = 1000  # characters; a shorter item or quotation is one block with all it holds


def _table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """markdown-it's rule without the cells, which take a third of its time: a table is one block here."""
    if not table(state, first, end, silent=True):
        return False
    if silent:
        return True
    outside, state.parentType = state.parentType, "table"  # a list ends a table more easily than a paragraph
    ends = state.md.block.ruler.getRules("blockquote")  # what ends a quotation ends a table too
    line = first + 2
    while (
        line < end
        and state.sCount[line] >= state.blkIndent
        and not state.isEmpty(line)
        and not state.is_code_block(line)
        and not any(rule(state, line, end, True) for rule in ends)
    ):
        line += 1
    state.parentType = outside
    state.push("table_open", "table", 1).map = [first, line]
    state.push("table_close", "table", -1)
    state.line = line
    return True


# Addresses of links are told from text here: the rule for them reads a list again for each, an hour for a
# megabyte.
_markdown = MarkdownIt("commonmark").enable("table").disable("reference")
_markdown.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
_LINE = re.compile(r"([ \t]*)[^\n]*(?:\n|\Z)")
_ADDRESSES = re.compile(r"(?:[ \t>]*+\[[^\]\n]++\]:[ \t]*+\S[^\n]*+(?:\n|\Z))++")
_MARKS = re.compile(r"[^\w\s.,:;()?'\"/+-]|_|  \n")
_LINK = re.compile(r"\[([^\[\]]+)\](?:\[[^\[\]]*\])?")
LONGEST_HEADING = 300
"""In characters. What is longer is a paragraph, whatever its marks say; headings stand above each chunk."""

_TITLE_WITHIN = 20_000  # characters; a title stands near the top


def markdown_blocks(text: str) -> list[Block]:
    """Blocks of Markdown. Tables and fences are one block each; heading lines stand between the blocks."""
    return read_markdown(text)[1]


def read_markdown(text: str) -> tuple[str | None, list[Block]]:
    """The title, which is the first heading of level 1 near the top, and the blocks."""
    lines = _Lines(text)
    blocks: list[Block] = []
    title: str | None = None
    path: list[tuple[int, str]] = []  # (level, heading) of the open sections
    bare: tuple[int, int] | None = None  # span of the last heading while nothing stands below it

    def headings() -> tuple[str, ...]:
        return tuple(heading for _, heading in path if heading)

    for element in _elements(_parsed(text)):
        opening = element[0]
        if opening.type != "heading_open" or len(element[1].content) > LONGEST_HEADING:
            found = [
                Block(start, end, headings(), cut)
                for start, end, cut in _leaves(element, lines)
                if not _ADDRESSES.fullmatch(text, start, end)
            ]
            blocks.extend(found)
            bare = None if found else bare
            continue
        level = int(opening.tag[1])
        if bare and path[-1][0] >= level:  # a section of a heading alone says at least that
            blocks.append(Block(*bare, headings(), "sentences"))
        words = _plain(element[1].content)
        path = [*(above for above in path if above[0] < level), (level, words)]
        bare = lines.span(opening)
        if level == 1 and title is None and words and bare[0] < _TITLE_WITHIN:
            title = words
    if bare:
        blocks.append(Block(*bare, headings(), "sentences"))
    return title, blocks


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
        blocks.append(Block(start, end, _words(definition[0]) if definition else (), "blank lines"))
    return blocks


def _words(definition: str) -> tuple[str]:
    return (" ".join(definition.split())[:LONGEST_HEADING],)


class _Lines:
    """From markdown-it's line numbers to offsets in the text, white space at both ends left out."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]

    def span(self, token: Token) -> tuple[int, int]:
        first, after = token.map or (0, 0)
        piece = self._text[self._starts[first] : self._starts[min(after, len(self._starts) - 1)]]
        start = self._starts[first] + len(piece) - len(piece.lstrip())
        return start, start + len(piece.strip())


def _parsed(text: str) -> list[Token]:
    """Tokens of blocks. What stands inside paragraphs is left alone: it takes half of the time.

    The parser's own way to begin looks at each character; lines can be found faster.
    """
    tokens: list[Token] = []
    state = StateBlock("", _markdown, {}, tokens)
    state.src = text
    state.bMarks, state.eMarks, state.tShift, state.sCount = [], [], [], []
    for line in _LINE.finditer(text):
        start, end, indent = line.start(), line.end(), line[1]
        if start == len(text):
            break
        state.bMarks.append(start)
        state.eMarks.append(end - 1 if text[end - 1] == "\n" else end)
        state.tShift.append(len(indent))
        state.sCount.append(len(indent.expandtabs(4)))
    state.lineMax = len(state.bMarks)
    # A line after the last, which saves the rules from looking for the end.
    for marks, last in (
        (state.bMarks, len(text)),
        (state.eMarks, len(text)),
        (state.tShift, 0),
        (state.sCount, 0),
    ):
        marks.append(last)
    state.bsCount = [0] * len(state.bMarks)
    _markdown.block.tokenize(state, 0, state.lineMax)
    return tokens


def _elements(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The elements that tokens are, one after another, each with all that it holds."""
    start = 0
    for place, token in enumerate(tokens):
        if token.level == tokens[0].level and token.nesting <= 0:
            yield tokens[start : place + 1]
            start = place + 1


def _leaves(element: Sequence[Token], lines: _Lines) -> Iterator[tuple[int, int, Cut]]:
    """The blocks in an element: a list gives its items; a long item with a fence in it, its parts."""
    kind = element[0].type
    start, end = lines.span(element[0])
    holds_a_whole = any(token.type in _WHOLES for token in element)
    if kind in _LISTS or (kind in _CONTAINERS and holds_a_whole and end - start > _LONG):
        for inner in _elements(element[1:-1]):
            yield from _leaves(inner, lines)
    elif start < end and kind != "hr":
        yield start, end, "lines" if holds_a_whole else "sentences"


def _plain(heading: str) -> str:
    """The words of a heading without its Markdown."""
    if not _MARKS.search(heading):  # most have none
        return " ".join(heading.split())
    [inline] = _markdown.parseInline(heading)
    parts = [
        token.content or " "
        for token in inline.children or ()
        if token.type in ("text", "code_inline", "softbreak", "hardbreak")
    ]
    return " ".join(_LINK.sub(r"\1", "".join(parts)).split())


def _between_blank_lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in [*(match.span() for match in _BLANK_LINES.finditer(text)), (len(text), len(text))]:
        piece = text[start : gap[0]]
        if piece.strip():
            yield start + len(piece) - len(piece.lstrip("\n")), start + len(piece.rstrip())
        start = gap[1]
