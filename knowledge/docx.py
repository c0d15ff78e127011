"""The text of Word files: checked before anything is unpacked, then read as a page."""

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from xml.etree import ElementTree

from knowledge.blocks import Block
from knowledge.files import LoadError
from knowledge.html import parsed
from knowledge.markup import Writer

# Bytes, unpacked. Parts of text become XML trees in memory, many times their size; pictures are not read.
_LARGEST_PART = 20_000_000
_LARGEST = 500_000_000
_MOST_PARTS = 10_000
_DENSEST = 250  # unpacked size by packed size; XML of real documents stays below 50
_DENSE_FROM = 1_000_000  # bytes, unpacked
_TEXT_PARTS = (".xml", ".rels")

_OLD_OFFICE = b"\xd0\xcf\x11\xe0"  # the container of .doc files, and of .docx files with a password
_DAMAGED = "a damaged Word file: open it and save it again"
_CORE = "docProps/core.xml"
_DUBLIN = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"


@dataclass(frozen=True)
class WordFile:
    """What a Word file holds."""

    text: str
    blocks: Sequence[Block]
    title: str | None  # the one in its properties, else its first heading
    changed: date | None


def read_docx(content: bytes) -> WordFile:
    """The text of a Word file. Raises LoadError."""
    if content.startswith(_OLD_OFFICE):
        raise LoadError(
            "locked with a password, or an old .doc file: save a copy as .docx without a password"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _refuse_bomb(archive)
            title, changed = _core(archive)
            checked = _text_parts(archive)
        import mammoth  # it takes a fifth of a second, and most that is ingested is no Word file

        html = mammoth.convert_to_html(
            checked, convert_image=lambda image: [], include_embedded_style_map=False
        ).value
        writer = Writer()
        writer.write(parsed(f"<body>{html}</body>"))
    except LoadError:
        raise
    except RecursionError:
        raise LoadError("nested deeper than a Word file can be: copy its text into a new one") from None
    except Exception:  # what is inside can be wrong in any way, and mammoth then fails in any way
        raise LoadError(_DAMAGED) from None
    return WordFile(writer.text, writer.blocks, title or next(iter(writer.first_headings), None), changed)


def _refuse_bomb(archive: zipfile.ZipFile) -> None:
    """By the directory at its end, before anything is unpacked: a part that is larger than the directory says
    is not unpacked further than that, and found damaged."""
    parts = archive.infolist()
    if "[Content_Types].xml" not in archive.namelist():
        raise LoadError("no Word file: its name says so, its content does not")
    if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > _LARGEST:
        raise LoadError("a zip bomb, or far too large when unpacked: save it without pictures")
    for part in parts:
        if not part.filename.lower().endswith(_TEXT_PARTS):
            continue
        dense = part.file_size > _DENSEST * max(part.compress_size, 1) and part.file_size > _DENSE_FROM
        if dense or part.file_size > _LARGEST_PART:
            raise LoadError("a zip bomb, or far too large when unpacked: split it")
        if part.flag_bits & 1:
            raise LoadError("locked with a password: save a copy without one")
        with archive.open(part) as unpacked:
            head = unpacked.read(1000).replace(b"\0", b"")
        if b"<!" in head.replace(b"<!--", b""):  # entities that stand for entities are bombs too
            raise LoadError("it declares entities, which no Word file does: open it and save it again")


def _text_parts(archive: zipfile.ZipFile) -> io.BytesIO:
    """The file without pictures, and without text under other names than were looked at: what a part is, a
    Word file says by links between its parts, not by their names."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for part in archive.infolist():
            if part.filename.lower().endswith(_TEXT_PARTS):
                copy.writestr(part.filename, archive.read(part))
    return kept


def _core(archive: zipfile.ZipFile) -> tuple[str | None, date | None]:
    """The title and the day of the last change that a Word file names."""
    if _CORE not in archive.namelist():
        return None, None
    try:
        core = ElementTree.fromstring(archive.read(_CORE))
    except ElementTree.ParseError:
        return None, None
    title = " ".join((core.findtext(f"{_DUBLIN}title") or "").split())
    changed = core.findtext(f"{_TERMS}modified") or core.findtext(f"{_TERMS}created") or ""
    try:
        return title or None, date.fromisoformat(changed[:10])
    except ValueError:
        return title or None, None
