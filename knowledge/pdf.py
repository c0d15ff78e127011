"""The text of PDF files: pages joined, and lines made paragraphs again."""

import re
import threading
from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw as pdfium

from knowledge.files import LoadError

_lock = threading.Lock()  # PDFium may not be called from two threads at once

_HYPHEN = "\x02"  # what PDFium gives for a hyphen at the end of a line, the next line joined to it
_PAGE_NUMBER = re.compile(
    r"(?:[-–—]\s*)?(?:page\s+|第\s*)?\d{1,4}(?:\s*(?:/|of)\s*\d{1,4}|\s*(?:页|頁|ページ))?(?:\s*[-–—])?",
    re.IGNORECASE,
)
_LEADERS = re.compile(r"(?: ?\.){4,}")  # the dots of a table of contents
_ITEM = re.compile(r"\s*(?:[•●◦▪■–-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s")
_CJK = re.compile(r"[\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_FULL = 0.7  # a line shorter than this share of the usual width is the last of its paragraph
_UNTITLED = re.compile(r"(?:untitled|microsoft word|powerpoint|slide 1|document\d*$)", re.IGNORECASE)


def pdf_text(content: bytes) -> tuple[str, str]:
    """Title ("" if the file has none) and text, paragraphs separated by blank lines. Raises LoadError."""
    with _lock:
        try:
            document = pypdfium2.PdfDocument(content)
        except pypdfium2.PdfiumError as error:
            if error.err_code == pdfium.FPDF_ERR_PASSWORD:
                raise LoadError("locked with a password: save a copy without one") from None
            raise LoadError("a damaged PDF: open it and save it again") from None
        try:
            title = document.get_metadata_dict().get("Title", "").strip()
            pages = [_page_lines(page) for page in document]
        except pypdfium2.PdfiumError:
            raise LoadError("a damaged PDF: open it and save it again") from None
        finally:
            document.close()
    lines = [line for page in pages for line in page]
    text = "\n\n".join(_paragraphs(lines))
    if pages and len(text) < 10 * len(pages):
        raise LoadError("no text: pages are images, run text recognition (OCR) on it first")
    return "" if _UNTITLED.match(title) else title, text


def _page_lines(page: pypdfium2.PdfPage) -> list[str]:
    """The lines of a page, its page number left out."""
    textpage = page.get_textpage()
    try:
        text = textpage.get_text_bounded()
    finally:
        textpage.close()
        page.close()
    text = _LEADERS.sub(" … ", text.replace(_HYPHEN, "").replace("\x00", ""))
    lines = [line.strip() for line in text.splitlines()]
    while lines and (not lines[0] or _PAGE_NUMBER.fullmatch(lines[0])):
        lines.pop(0)
    while lines and (not lines[-1] or _PAGE_NUMBER.fullmatch(lines[-1])):
        lines.pop()
    return lines


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Lines joined as far as they fill the width; a page break ends no paragraph."""
    widths = sorted(_width(line) for line in lines if line)
    usual = widths[len(widths) * 3 // 4] if widths else 0
    paragraph = ""
    for line in lines:
        if paragraph and (not line or _ITEM.match(line)):
            yield paragraph
            paragraph = ""
        if not paragraph or _CJK.match(paragraph[-1]):
            paragraph += line
        else:
            paragraph += " " + line
        if line and _width(line) < usual * _FULL:
            yield paragraph
            paragraph = ""
    if paragraph:
        yield paragraph


def _width(line: str) -> int:
    """How wide a line is on paper, in Latin letters."""
    return len(line) + len(_CJK.findall(line))
