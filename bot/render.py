"""Markdown in, Slack blocks out: the one place where foreign text becomes harmless.

Text inside `rich_text` elements is inert in Slack, so foreign text goes out as that. Where Slack takes only
mrkdwn or plain `text`, it goes through `escape`.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any
from unicodedata import east_asian_width

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mdit_py_cjk_friendly import cjk_friendly, is_cjk

from bot.elements import (
    Block,
    Element,
    bold,
    is_url,
    joined,
    link_element,
    plain,
    preformatted,
    rich_text,
    rich_text_blocks,
    section,
    text_element,
    tidy,
)
from bot.fitting import clean, is_blank, length, size

HEADER_CHARACTERS = 150
MOST_INDENT, MOST_OFFSET = 8, 10_000
TABLE_ROWS, TABLE_COLUMNS, TABLE_CHARACTERS = 100, 20, 8_000  # Slack takes 10,000 of texts alone

_CITATION = re.compile(r"S\d+(?:\s*[,，、;；]\s*S\d+)*")
_MENTION = re.compile(r"([@#!])(?=\w)")
_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=mailto:)|(?<=tel:)", re.IGNORECASE)
_SOFT_BREAK: Element = {"type": "soft break"}  # what `_tidy` makes of it depends on its neighbours
_WORD_JOINER = "\u2060"  # invisible, and no word joined by it is an address or a name


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


def inline(markdown: str) -> list[Element]:
    """The elements of one line (or paragraph) of Markdown; block syntax in it stays literal."""
    return _tidy(_inline(SyntaxTreeNode(_markdown.parseInline(clean(markdown))), {}, None))


def quoted(markdown: str) -> list[Element]:
    """Any Markdown as inline elements, for where Slack takes no blocks: lists become lines."""
    return _flat(SyntaxTreeNode(_markdown.parse(clean(markdown))))


def to_blocks(markdown: str) -> list[Block]:
    """Any Markdown as blocks that Slack takes: each at most 2,800 JSON characters, a table 8,000.

    Nothing is left out. How many go into one message is for the caller; a second table is preformatted,
    since a message takes one.
    """
    blocks: list[Block] = []
    elements: list[Element] = []
    has_table = False

    def flush() -> None:
        blocks.extend(rich_text_blocks(elements))
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
            yield preformatted(node.content)
        case "table":
            yield preformatted(_aligned(node))
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
            text = joined("\n", [_children(paragraph) for paragraph in first])
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
    return _tidy(joined("\n", lines))


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
            yield _SOFT_BREAK
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


def _tidy(elements: Iterable[Element]) -> list[Element]:
    """Joined, and without soft breaks: a line end of the source is a space, or between Chinese nothing."""
    solid: list[Element] = []
    broken = False
    for element in elements:
        if element is _SOFT_BREAK:
            broken = True
        elif text := element["text"]:
            if broken and solid and not (is_cjk(solid[-1]["text"][-1]) and is_cjk(text[0])):
                element = {**element, "text": f" {text}"}
            solid.append(element)
            broken = False
    return tidy(solid)


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
