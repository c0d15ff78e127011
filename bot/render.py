"""Markdown in, Slack blocks out: the one place where foreign text becomes harmless.

Text inside `rich_text` elements is inert in Slack, so foreign text goes out as that. Where Slack takes only
mrkdwn or plain `text`, it goes through `escape`.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any
from unicodedata import east_asian_width
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mdit_py_cjk_friendly import cjk_friendly, is_cjk  # type: ignore[import-untyped]  # it ships no types

from bot.fitting import Element, clean, cut_up, is_blank, length, size, split

Block = dict[str, Any]

HEADER_CHARACTERS = 150
PIECE_CHARACTERS = 2_800  # JSON of one element or block, so that blocks pack well into a message
MOST_INDENT, MOST_OFFSET = 8, 10_000
TABLE_ROWS, TABLE_COLUMNS, TABLE_CHARACTERS = 100, 20, 8_000  # Slack takes 10,000 of texts alone
URL_CHARACTERS = 2_000  # longer than any that people share; Slack takes 3,000

_CITATION = re.compile(r"S\d+(?:\s*[,，、;；]\s*S\d+)*")
_UNSAFE_IN_URL = re.compile(r"[\x00-\x20<>|\x7f-\x9f]")
_MENTION = re.compile(r"([@#!])(?=\w)")
_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=mailto:)|(?<=tel:)", re.IGNORECASE)
_WORD_JOINER = "\u2060"  # invisible, and no word joined by it is an address or a name


def is_url(url: str) -> bool:
    """Whether a link may lead there: http, https with a host, or mailto."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    known = bool(parts.hostname) if parts.scheme in ("http", "https") else parts.scheme == "mailto"
    return known and length(url) <= URL_CHARACTERS and not _UNSAFE_IN_URL.search(url)


class _Markdown(MarkdownIt):
    """CommonMark with tables and strikethrough; HTML and unknown links stay the text they are."""

    def validateLink(self, url: str) -> bool:
        return is_url(url)


# Without `reference`, a line "[S1]: https://…" cannot take the brackets off every [S1].
_markdown = (
    _Markdown("commonmark", {"html": False})
    .enable(["table", "strikethrough"])
    .disable("reference")
    .use(cjk_friendly)
)


def escape(text: str) -> str:
    """Foreign text for a mrkdwn or `text` field: no mention, no link and no entity comes to life in it."""
    return entities(_ADDRESS.sub(_WORD_JOINER, _MENTION.sub(rf"\1{_WORD_JOINER}", clean(text))))


def entities(text: str) -> str:
    """Our own words for a mrkdwn or `text` field: Slack's three special characters as entities."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_element(text: str, **style: bool) -> Element:
    """A text element of a rich_text block: shown as it is, whatever it says. `style`: bold, italic, …"""
    return {"type": "text", "text": clean(text), **({"style": style} if style else {})}


def link_element(url: str, text: str, **style: bool) -> Element:
    """A link, or only its text where `is_url` does not let it lead anywhere."""
    if not is_url(url):
        return text_element(text, **style)
    return {"type": "link", "url": url, "text": clean(text), **({"style": style} if style else {})}


def rich_text(*elements: Element) -> Block:
    return {"type": "rich_text", "elements": list(elements)}


def section(elements: Sequence[Element]) -> Element:
    return {"type": "rich_text_section", "elements": list(elements)}


def inline(markdown: str) -> list[Element]:
    """The elements of one line (or paragraph) of Markdown; block syntax in it stays literal."""
    return _tidy(_inline(SyntaxTreeNode(_markdown.parseInline(clean(markdown))), {}, None))


def quoted(markdown: str) -> list[Element]:
    """Any Markdown as inline elements, for where Slack takes no blocks: lists become lines."""
    return _flat(SyntaxTreeNode(_markdown.parse(clean(markdown))))


def bold(elements: Sequence[Element]) -> list[Element]:
    return [{**element, "style": {**element.get("style", {}), "bold": True}} for element in elements]


def plain(elements: Sequence[Element]) -> str:
    """What elements say, without style and links."""
    return "".join(element.get("text", "") for element in elements)


def to_blocks(markdown: str) -> list[Block]:
    """Any Markdown as blocks that Slack takes: each at most 2,800 JSON characters, a table 8,000.

    Nothing is left out. How many go into one message is for the caller; a second table is preformatted,
    since a message takes one.
    """
    blocks: list[Block] = []
    elements: list[Element] = []
    has_table = False

    def flush() -> None:
        blocks.extend(_rich_text_blocks(elements))
        elements.clear()

    for node in SyntaxTreeNode(_markdown.parse(clean(markdown))).children:
        block = None
        match node.type:
            case "heading" if node.tag in ("h1", "h2"):
                block = _header(node)
            case "table" if not has_table:
                block = _table(node)
                has_table = block is not None
            case "hr":
                block = {"type": "divider"}
        if block is None:
            elements.extend(_elements(node))
        else:
            flush()
            blocks.append(block)
    flush()
    return blocks


def _header(node: SyntaxTreeNode) -> Block | None:
    """None where a header cannot hold it: then it is a bold line."""
    text = _MENTION.sub(rf"\1{_WORD_JOINER}", plain(_children(node)).replace("\n", " ").strip())
    if is_blank(text) or length(text) > HEADER_CHARACTERS:
        return None
    return {"type": "header", "text": {"type": "plain_text", "text": text, "emoji": False}}


def _elements(node: SyntaxTreeNode, indent: int = 0) -> Iterator[Element]:
    """A block of Markdown as the elements of a rich_text block."""
    match node.type:
        case "paragraph":
            yield section(_children(node))
        case "heading":
            yield section(bold(_children(node)))
        case "fence" | "code_block":
            yield _preformatted(node.content)
        case "table":
            yield _preformatted(_aligned(node))
        case "bullet_list" | "ordered_list":
            yield from _list(node, min(indent, MOST_INDENT))
        case "blockquote":
            yield {"type": "rich_text_quote", "elements": _flat(node)}
        case "hr":
            yield section([text_element("———")])
        case _:
            yield section([text_element(node.content)])


def _list(node: SyntaxTreeNode, indent: int) -> Iterator[Element]:
    """A list is flat in Slack: what is nested stands in lists of its own, and the numbers go on after it."""
    ordered = node.type == "ordered_list"
    start = int(node.attrs.get("start", 1)) - 1 if ordered else 0
    for number, item in enumerate(node.children, max(start, 0)):
        first = list(takewhile(lambda child: child.type == "paragraph", item.children))
        rest = item.children[len(first) :]
        if first or not rest:
            text = _joined([_children(paragraph) for paragraph in first])
            yield {
                "type": "rich_text_list",
                "style": "ordered" if ordered else "bullet",
                "indent": indent,
                **({"offset": number} if ordered and 0 < number < MOST_OFFSET else {}),
                "elements": [section(text or [text_element(" ")])],
            }
        for child in rest:
            yield from _elements(child, indent + 1)


def _flat(node: SyntaxTreeNode) -> list[Element]:
    """Everything below a node as inline elements: a quote in Slack holds no blocks."""
    lines = []
    for child in node.children:
        match child.type:
            case "paragraph" | "heading":
                lines.append(_children(child))
            case "bullet_list" | "ordered_list":
                lines.extend([text_element("• "), *_flat(item)] for item in child.children)
            case "blockquote":
                lines.append(_flat(child))
            case "table":
                lines.append([text_element(_aligned(child))])
            case _:
                lines.append([text_element(child.content.rstrip("\n"), code=True)])
    return _tidy(iter(_joined(lines)))


def _joined(lines: Sequence[list[Element]]) -> list[Element]:
    joined: list[Element] = []
    for line in lines:
        joined += [text_element("\n"), *line] if joined and line else line
    return joined


def _preformatted(text: str) -> Element:
    return {"type": "rich_text_preformatted", "elements": [text_element(text.rstrip("\n") or " ")]}


def _children(node: SyntaxTreeNode) -> list[Element]:
    """The inline elements of a paragraph, heading or table cell."""
    return _tidy(element for child in node.children for element in _inline(child, {}, None))


def _inline(node: SyntaxTreeNode, style: dict[str, bool], url: str | None) -> Iterator[Element]:
    match node.type:
        case "em" | "strong" | "s":
            name = {"em": "italic", "strong": "bold", "s": "strike"}[node.type]
            style = {**style, name: True}
        case "link" | "image":
            url = url or str(node.attrs["href" if node.type == "link" else "src"])
            text = "".join(_words(node))
            if _CITATION.fullmatch(text):
                text = f"[{text}]"
            yield link_element(url, url if is_blank(text) else text, **style)
            return
        case "text" | "code_inline":
            code = {"code": True} if node.type == "code_inline" else {}
            yield text_element(node.content, **style, **code)
            return
        case "softbreak":
            yield text_element(_soft_break(node), **style)
            return
        case "hardbreak":
            yield text_element("\n")
            return
    for child in node.children:
        yield from _inline(child, style, url)


def _words(node: SyntaxTreeNode) -> Iterator[str]:
    """The text of a link's label or of an image's description."""
    for child in node.children:
        if child.type in ("softbreak", "hardbreak"):
            yield " "
        else:
            yield child.content if child.type in ("text", "code_inline") else "".join(_words(child))


def _soft_break(node: SyntaxTreeNode) -> str:
    """A line end of the source: a space, but nothing between Chinese or Japanese characters."""
    before, after = node.previous_sibling, node.next_sibling
    if before is not None and after is not None:
        left, right = "".join(_words_of(before)), "".join(_words_of(after))
        if is_cjk(left[-1:]) and is_cjk(right[:1]):
            return ""
    return " "


def _words_of(node: SyntaxTreeNode) -> Iterator[str]:
    yield node.content if node.type in ("text", "code_inline") else "".join(_words(node))


def _tidy(elements: Iterator[Element]) -> list[Element]:
    """Neighbours of one style joined, empty ones gone."""
    tidy: list[Element] = []
    for element in elements:
        last = tidy[-1] if tidy else {}
        if not element["text"]:
            continue
        if element["type"] == last.get("type") == "text" and element.get("style") == last.get("style"):
            tidy[-1] = {**last, "text": last["text"] + element["text"]}
        else:
            tidy.append(element)
    return tidy


def _rich_text_blocks(elements: Sequence[Element]) -> Iterator[Block]:
    """Blocks of at most `PIECE_CHARACTERS` that hold the elements, long ones in pieces."""
    block: list[Element] = []
    for piece in (piece for element in elements for piece in _pieces(element)):
        longer = [*block[:-1], *_merged(block[-1], piece)] if block else [piece]
        if block and size(rich_text(*longer)) > PIECE_CHARACTERS:
            yield rich_text(*block)
            longer = [piece]
        block = longer
    if block:
        yield rich_text(*block)


def _pieces(element: Element) -> Iterator[Element]:
    """The element, or where it is too long several that say the same: a fence is closed and opened again."""
    room = PIECE_CHARACTERS - 200
    match element["type"]:
        case "rich_text_preformatted":
            yield from map(_preformatted, _whole_lines(element["elements"][0]["text"], room // 2))
        case "rich_text_list":
            first, *rest = cut_up(element["elements"][0]["elements"], room)
            yield {**element, "elements": [section(first)]}
            yield from map(section, rest)
        case _:
            for piece in cut_up(element["elements"], room):
                if not is_blank(plain(piece)):
                    yield {**element, "elements": piece}


def _whole_lines(text: str, limit: int) -> Iterator[str]:
    """The text in pieces that end where lines end; only a line longer than `limit` is cut itself."""
    piece = ""
    for line in text.splitlines(keepends=True):
        if length(piece) + length(line) > limit and piece:
            yield piece
            piece = ""
        *full, line = split(line, limit)
        yield from full
        piece += line
    yield piece


def _merged(before: Element, after: Element) -> tuple[Element, ...]:
    """Two neighbours as one where Slack has one: paragraphs with an empty line between, items of one list."""
    kinds = before["type"], after["type"]
    if kinds == ("rich_text_section", "rich_text_section"):
        return (section(_tidy(iter([*before["elements"], text_element("\n\n"), *after["elements"]]))),)
    if kinds == ("rich_text_list", "rich_text_list"):
        ends = before.get("offset", 0) + len(before["elements"])
        goes_on = after["style"] == "bullet" or after.get("offset") == ends
        if goes_on and (before["style"], before["indent"]) == (after["style"], after["indent"]):
            return ({**before, "elements": [*before["elements"], *after["elements"]]},)
    if after["type"] == "rich_text_section":
        # Slack sets no space below lists, quotes and code by itself.
        return before, section([text_element("\n"), *after["elements"]])
    return before, after


def _table(node: SyntaxTreeNode) -> Block | None:
    """None where a table block cannot hold it: then it is preformatted."""
    rows = [[_children(cell) for cell in row] for row in _rows(node)]
    if len(rows) > TABLE_ROWS or len(rows[0]) > TABLE_COLUMNS:
        return None
    block: Block = {
        "type": "table",
        "rows": [[_cell(elements) for elements in row] for row in rows],
        "column_settings": [{"is_wrapped": True, "align": _alignment(cell)} for cell in _rows(node)[0]],
    }
    return block if size(block) <= TABLE_CHARACTERS else None


def _cell(elements: list[Element]) -> dict[str, Any]:
    if is_blank(plain(elements)):
        return {"type": "raw_text", "text": " "}
    if all(element["type"] == "text" and "style" not in element for element in elements):
        return {"type": "raw_text", "text": plain(elements)}
    return rich_text(section(elements))


def _rows(table: SyntaxTreeNode) -> list[list[SyntaxTreeNode]]:
    """Cells, the head's first; Markdown gives every row as many as the head has."""
    return [row.children for part in table.children for row in part.children]


def _alignment(cell: SyntaxTreeNode) -> str:
    return str(cell.attrs.get("style", "")).removeprefix("text-align:") or "left"


def _aligned(table: SyntaxTreeNode) -> str:
    """The table as text in columns; a Chinese or Japanese character is two wide."""
    rows = [[plain(_children(cell)) for cell in row] for row in _rows(table)]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            text + " " * (width - _width(text)) for text, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _width(text: str) -> int:
    return sum(
        0 if is_blank(char) and not char.isspace() else 1 + (east_asian_width(char) in "WF") for char in text
    )
