"""Word files made by hand: the few parts that Word and mammoth need."""

import io
import zipfile
from collections.abc import Sequence

_TYPES = """<?xml version="1.0" encoding="UTF-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"""
_RELATIONS = """<?xml version="1.0" encoding="UTF-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="r1" Target="word/document.xml"
 Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>"""
_CORE = """<?xml version="1.0" encoding="UTF-8"?>
<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">
<dc:title>{title}</dc:title><dcterms:modified>{changed}T10:00:00Z</dcterms:modified></cp:coreProperties>"""
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def paragraph(words: str, *, style: str | None = None) -> str:
    """A paragraph, or with style `Heading1` and so on a heading."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{words}</w:t></w:r></w:p>"


def table(*rows: Sequence[str]) -> str:
    """A table of these cells."""
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def word_file(
    *body: str, title: str = "", changed: str = "", head: str = "", extra: dict[str, bytes] | None = None
) -> bytes:
    """A .docx with these paragraphs and tables; `head` stands before its root, `extra` are further parts."""
    document = f'{head}<w:document xmlns:w="{_WORD}"><w:body>{"".join(body)}</w:body></w:document>'
    parts = {
        "[Content_Types].xml": _TYPES.encode(),
        "_rels/.rels": _RELATIONS.encode(),
        "word/document.xml": document.encode(),
        "docProps/core.xml": _CORE.format(title=title, changed=changed).encode(),
        **(extra or {}),
    }
    return packed(parts)


def packed(parts: dict[str, bytes]) -> bytes:
    """A zip file of these parts."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return content.getvalue()
