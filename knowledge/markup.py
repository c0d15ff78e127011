"""From HTML elements to text and its blocks: headings, paragraphs, items, tables and code."""

import re
from collections.abc import Iterator

from lxml import etree

from knowledge.blocks import LONGEST_HEADING, Block, Cut

_NOT_TEXT = """
script style noscript template svg canvas iframe object embed audio video picture img head title meta link
button input select option textarea datalist nav rt rp
"""
_SKIPPED = frozenset(_NOT_TEXT.split())
# Marks of documentation generators beside the text: line numbers, links to a heading.
_BESIDE_TEXT = """
linenos lineno line-numbers gutter headerlink anchorjs-link heading-anchor sr-only visually-hidden
mw-editsection
"""
_SKIPPED_CLASSES = frozenset(_BESIDE_TEXT.split())
_SKIPPED_ROLES = frozenset({"navigation", "search", "menu", "menubar", "tablist", "toolbar"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_WITHIN_LINES = """
a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark math q rb ruby s samp small
span strike strong sub sup time tt u var wbr
"""
_INLINE = frozenset(_WITHIN_LINES.split())
_SPACE = re.compile(r"[ \t\n\r\f\u00a0]+")
_CJK = "\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"
# A line break in the source of a Chinese or Japanese page is no space.
_BREAK_IN_CJK = re.compile(rf"(?<=[{_CJK}])[ \t]*\n[ \t\n]*(?=[{_CJK}])")
_BREAK = "\x1e"  # stands for <br> until white space is folded
_HIDDEN = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_ODD = re.compile(r"[\x00-\x08\x0b\x0e-\x1d\x1f\x7f\ufeff\u200b\u00ad\ud800-\udfff]")
_DEEPEST = 200  # elements inside each other; what is further down is read as plain text


class Writer:
    """Text and blocks of elements, written in reading order."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._in_list = False  # whether the last piece is an item
        self._path: list[tuple[int, str]] = []  # (level, heading) of the open sections
        self._bare: tuple[int, int] | None = None  # span of the last heading while nothing stands below it
        self.blocks: list[Block] = []
        self.first_headings: list[str] = []  # those of level 1

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def write(self, element: "etree._Element") -> None:
        """What is inside an element."""
        self._children(element, 0, "")
        self._keep_bare()

    def _children(self, element: "etree._Element", depth: int, indent: str) -> None:
        """Block elements one by one; what stands between them is a paragraph."""
        run: list[str] = [element.text or ""]
        for child in element:
            if isinstance(child.tag, str) and not is_skipped(child):
                if child.tag in _INLINE and not _holds_blocks(child):
                    run.append(_inline(child))
                elif child.tag == "br":
                    run.append(_BREAK)
                else:
                    self._paragraph("".join(run), indent)
                    run = []
                    self._block(child, depth + 1, indent)
            run.append(child.tail or "")
        self._paragraph("".join(run), indent)

    def _block(self, element: "etree._Element", depth: int, indent: str) -> None:
        tag = str(element.tag)
        if depth > _DEEPEST:
            self._paragraph("".join(_texts(element)), indent)
        elif tag in _HEADINGS:
            self._heading(_HEADINGS[tag], words_of(element))
        elif tag == "pre":
            self._code(_verbatim(element))
        elif tag == "table" and _is_data(element):
            self._table(element)
        elif tag in ("ul", "ol", "menu"):
            self._list(element, depth, indent)
        else:
            self._children(element, depth, indent)

    def _heading(self, level: int, words: str) -> None:
        if not words:
            return
        if len(words) > LONGEST_HEADING:
            self._add(words, "sentences", "\n\n")
            return
        if self._bare and self._path[-1][0] >= level:  # a section of a heading alone says at least that
            self._keep_bare()
        self._path = [*(above for above in self._path if above[0] < level), (level, words)]
        if level == 1:
            self.first_headings.append(words)
        self._bare = self._append(f"{'#' * level} {words}", "\n\n")

    def _keep_bare(self) -> None:
        if self._bare:
            self.blocks.append(Block(*self._bare, self._headings(), "sentences"))
            self._bare = None

    def _paragraph(self, run: str, indent: str) -> None:
        if words := _folded(run):
            self._add(indent + words, "sentences", "\n\n")

    def _list(self, element: "etree._Element", depth: int, indent: str) -> None:
        number = 0
        for item in element:
            if not isinstance(item.tag, str) or is_skipped(item):
                continue
            if item.tag != "li":  # a list inside a list without an item around it
                self._block(item, depth + 1, indent)
                continue
            number += 1
            mark = f"{number}. " if element.tag == "ol" else "- "
            self._item(item, depth + 1, indent, mark)

    def _item(self, item: "etree._Element", depth: int, indent: str, mark: str) -> None:
        """The words of an item up to its first block on its line; the rest below it."""
        run = [item.text or ""]
        rest: list[etree._Element] = []
        for child in item:
            inline = (
                isinstance(child.tag, str) and child.tag in (*_INLINE, "br", "p") and not _holds_blocks(child)
            )
            if rest or not (inline or not isinstance(child.tag, str) or is_skipped(child)):
                rest.append(child)
                continue
            if inline and not is_skipped(child):
                run.append(_BREAK if child.tag == "br" else _inline(child))
                run.append(_BREAK if child.tag == "p" else "")
            run.append(child.tail or "")
        inner = indent + "  "
        if words := _folded("".join(run)):
            self._add(
                indent + mark + words.replace("\n", "\n" + inner),
                "sentences",
                "\n" if self._in_list else "\n\n",
            )
            self._in_list = True
        for child in rest:
            if isinstance(child.tag, str) and not is_skipped(child):
                if child.tag in _INLINE and not _holds_blocks(child):
                    self._paragraph(_inline(child), inner)
                else:
                    self._block(child, depth, inner)
            self._paragraph(child.tail or "", inner)

    def _table(self, table: "etree._Element") -> None:
        rows: list[str] = []
        for row in table.iter("tr"):
            cells = [cell for cell in row if cell.tag in ("td", "th") and not is_skipped(cell)]
            words = [_folded(" ".join(_texts(cell))).replace("\n", " ") for cell in cells]
            if any(words):
                rows.append(f"| {' | '.join(words)} |")
                if len(rows) == 1:
                    rows.append(f"|{'---|' * len(words)}")
        caption = table.find("caption")
        if caption is not None:
            self._paragraph(_inline(caption), "")
        if rows:
            self._add("\n".join(rows), "lines", "\n\n")

    def _code(self, code: str) -> None:
        if code.strip():
            fence = "```"
            while fence in code:
                fence += "`"
            self._add(f"{fence}\n{code}\n{fence}", "lines", "\n\n")

    def _headings(self) -> tuple[str, ...]:
        return tuple(words for _, words in self._path)

    def _add(self, piece: str, cut: Cut, apart: str) -> None:
        start, end = self._append(piece, apart)
        self.blocks.append(Block(start, end, self._headings(), cut))
        self._bare = None

    def _append(self, piece: str, apart: str) -> tuple[int, int]:
        """Returns the span of `piece` without the white space that indents it."""
        self._in_list = False
        if self._pieces:
            self._pieces.append(apart)
            self._length += len(apart)
        self._pieces.append(piece)
        start = self._length + len(piece) - len(piece.lstrip())
        self._length += len(piece)
        return start, self._length


def is_skipped(element: "etree._Element") -> bool:
    """What no reader of the page reads as its text."""
    return (
        element.tag in _SKIPPED
        or _is_mark(element)
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or element.get("role") in _SKIPPED_ROLES
        or not _SKIPPED_CLASSES.isdisjoint((element.get("class") or "").split())
        or _HIDDEN.search(element.get("style") or "") is not None
    )


def _is_mark(element: "etree._Element") -> bool:
    """A link within the page without a word: `#` or `¶` behind a heading, `↩` behind a note; `**` in code is
    one."""
    return (
        element.tag == "a"
        and (element.get("href") or "").startswith("#")
        and element.find(".//code") is None
        and not any(map(str.isalnum, "".join(map(str, element.itertext()))))
    )


def words_of(element: "etree._Element") -> str:
    """What readers see of an element, white space as a browser shows it; paragraphs are set apart."""
    return _folded("".join(_texts(element, apart=" ")))


def _texts(element: "etree._Element", *, apart: str = "") -> Iterator[str]:
    """All text below an element that readers see, `apart` around what is no part of a line."""
    stack: list[tuple[etree._Element, bool]] = [(element, False)]
    while stack:
        each, after = stack.pop()
        around = apart if each is not element and _is_block(each) else ""
        if after:
            yield around + (each.tail or "")
            continue
        if each is not element:
            stack.append((each, True))
        if isinstance(each.tag, str) and not (each is not element and is_skipped(each)):
            yield _BREAK if each.tag == "br" else around + (each.text or "")
            stack.extend((child, False) for child in reversed(each))


def _inline(element: "etree._Element") -> str:
    if element.tag == "math" and (tex := element.get("alttext")):
        return tex
    words = "".join(_texts(element))
    code = element.tag in ("code", "kbd", "samp", "tt") and "`" not in words and words.strip()
    return f"`{words.strip()}`" if code else words


def _verbatim(element: "etree._Element") -> str:
    code = _ODD.sub(
        "", "".join(_texts(element)).replace(_BREAK, "\n").replace("\r\n", "\n").replace("\r", "\n")
    )
    return code.strip("\n").rstrip()


def _folded(run: str) -> str:
    """White space as a browser shows it."""
    run = _BREAK_IN_CJK.sub("", _ODD.sub("", run))
    lines = (_SPACE.sub(" ", line).strip() for line in run.split(_BREAK))
    return "\n".join(line for line in lines if line)


def _holds_blocks(element: "etree._Element") -> bool:
    """Whether an inline element, or a paragraph, has paragraphs and the like in it, as pages often do."""
    return any(_is_block(each) for each in element.iterdescendants())


def _is_block(element: "etree._Element") -> bool:
    return (
        isinstance(element.tag, str)
        and element.tag not in _INLINE
        and element.tag != "br"
        and element.tag not in _SKIPPED
    )


def _is_data(table: "etree._Element") -> bool:
    """Whether a table holds data; tables that only place things on a page hold tables, lists or one cell."""
    rows = list(table.iter("tr"))
    if table.find(".//table") is not None or not rows:
        return False
    cells = max(sum(1 for cell in row if cell.tag in ("td", "th")) for row in rows)
    return cells > 1 and table.find(".//pre") is None
