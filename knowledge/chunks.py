"""Chunks: a document cut into passages of about 400 tokens that read well on their own."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knowledge.blocks import Block, Cut
from knowledge.language import Language, language_of_part
from knowledge.sentences import sentences

TARGET = 1300
"""Size of a chunk in characters of English: about 400 tokens (measured: docs/decisions/0005-search.md)."""

LIMIT = 3 * TARGET
"""No chunk is larger. A fence or table stays whole up to here; a larger one is cut at lines or inside."""

_ENOUGH = TARGET // 2  # a section of this size is a chunk of its own
_TINY = TARGET // 8  # a section below this is not left alone
_CJK = re.compile(r"[\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_CJK_WEIGHT = TARGET / 550  # 550 Chinese characters hold as many tokens as 1,300 English ones


@dataclass(frozen=True)
class Chunk:
    """A passage: `text` is the document's text from `start` to `end` (offsets in characters), verbatim."""

    start: int
    end: int
    text: str
    heading: str  # "title > h1 > h2", what holds for all of the passage
    lang: Language


@dataclass(frozen=True)
class _Atom:
    """What no chunk boundary goes through."""

    start: int
    end: int
    size: float
    headings: tuple[str, ...]


def searchable(heading: str, text: str) -> str:
    """What words and vectors are made from: a passage under its headings."""
    return f"{heading}\n{text}"


def size_of(text: str) -> float:
    """Length of a text in characters of English with as many tokens."""
    if text.isascii():
        return len(text)
    return len(text) + (_CJK_WEIGHT - 1) * sum(map(len, _CJK.findall(text)))


def cut_into_chunks(text: str, blocks: Sequence[Block], *, title: str, lang: Language) -> list[Chunk]:
    """Chunks of `text`, in order and without overlap; together they hold every block.

    A chunk ends with its section, unless sections are so small that several fit. Heading lines before a chunk
    are in its `heading`; those inside stay in its text.
    """
    chunks = []
    for atoms in _packed(text, [atom for block in blocks for atom in _atoms(text, block)]):
        start, end = atoms[0].start, atoms[-1].end
        headings = _common([atom.headings for atom in atoms])
        path = headings if headings[:1] == (title,) else (title, *headings)
        passage = text[start:end]
        chunks.append(Chunk(start, end, passage, " > ".join(path), language_of_part(passage, whole=lang)))
    return chunks


def _atoms(text: str, block: Block) -> Iterator[_Atom]:
    size = size_of(text[block.start : block.end])
    if size <= (LIMIT if block.cut == "lines" else TARGET):
        yield _Atom(block.start, block.end, size, block.headings)
        return
    for start, end in _spans(text, block.start, block.end, block.cut):
        if (size := size_of(text[start:end])) <= LIMIT:
            yield _Atom(start, end, size, block.headings)
        else:
            for part_start, part_end in _forced(text, start, end):
                yield _Atom(part_start, part_end, size_of(text[part_start:part_end]), block.headings)


def _spans(text: str, start: int, end: int, cut: Cut) -> list[tuple[int, int]]:
    if cut == "sentences":
        return [(start + a, start + b) for a, b in sentences(text[start:end])]
    separator = r"(?:(?!\n[ \t]*\n).)+" if cut == "blank lines" else r".+"
    flags = re.DOTALL if cut == "blank lines" else re.NOFLAG
    return [
        (match.start() + len(match[0]) - len(match[0].lstrip("\n")), match.start() + len(match[0].rstrip()))
        for match in re.compile(separator, flags).finditer(text, start, end)
        if match[0].strip()
    ]


def _forced(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Pieces of a text without boundaries, such as minified code: cut at a line break or space if near."""
    step = int(TARGET / _CJK_WEIGHT)
    while start < end:
        stop = min(start + step, end)
        if stop < end:
            near = start + step // 2
            stop = max(text.rfind("\n", near, stop), 0) or max(text.rfind(" ", near, stop), 0) or stop
        piece = text[start:stop]
        if piece.strip():
            yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
        start = stop


def _packed(text: str, atoms: Sequence[_Atom]) -> Iterator[list[_Atom]]:
    """Atoms grouped into chunks. A section that needs several chunks is shared out evenly among them.

    What stands between atoms (headings, blank lines, addresses of links) belongs to no section, but to the
    chunk that it stands in.
    """
    sections: dict[int, float] = {}  # index of a section's first atom -> the section's size
    first = 0
    for index, atom in enumerate(atoms):
        if atom.headings != atoms[first].headings:
            first = index
        sections[first] = sections.get(first, 0) + atom.size
    chunk: list[_Atom] = []
    size = fair = between = 0.0
    for index, atom in enumerate(atoms):
        section = sections.get(index)
        if section is not None:
            fair = section / -(-section // TARGET)
            full = size >= _ENOUGH or (size >= _TINY and size + section > TARGET)
        else:
            full = size >= fair
        gap = size_of(text[chunk[-1].end : atom.start]) if chunk else 0
        too_large = size + between + gap + atom.size > LIMIT - 1  # sums of fractions are not exact
        if chunk and (full or size + atom.size > TARGET or too_large):
            yield chunk
            chunk, size, between, gap = [], 0, 0, 0
        chunk.append(atom)
        between += gap
        size += atom.size
    if chunk:
        yield chunk


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    first, last = min(paths), max(paths)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]
