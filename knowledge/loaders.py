"""From a file or page to its text: Markdown, text, PDF, Word, HTML and code, in the charsets people have."""

import hashlib
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

import yaml

from knowledge.blocks import Block, code_blocks, prose_blocks, read_markdown
from knowledge.charsets import decoded, stated_in
from knowledge.docx import read_docx
from knowledge.files import LoadError, why_unreadable
from knowledge.html import read_page
from knowledge.language import LANGUAGES, Language, language_of
from knowledge.pdf import pdf_text

if TYPE_CHECKING:  # what cuts files does not wait for what fetches pages
    from knowledge.fetch import Fetched

Kind = Literal["markdown", "text", "pdf", "code", "web", "docx"]

MAX_BYTES = 20_000_000
_TITLE_LENGTH = 300

_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
_TEXT = frozenset({"", ".txt", ".text", ".rst", ".adoc", ".org", ".csv", ".tsv", ".tex", ".log"})
_WEB = frozenset({".html", ".htm", ".xhtml", ".shtml"})
_WORD = frozenset({".docx", ".docm"})
_NOT_READ = {
    **dict.fromkeys(
        (".doc", ".odt", ".rtf", ".pages"), "a word processor's file: save it as .docx, PDF or Markdown"
    ),
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), "a spreadsheet: save it as CSV"),
    **dict.fromkeys((".pptx", ".ppt", ".odp", ".key"), "slides: save them as PDF"),
    **dict.fromkeys((".mhtml", ".mht"), "a web archive: save the page as HTML or PDF"),
    ".epub": "an e-book: save it as PDF or Markdown",
    ".ipynb": "a notebook: save it as Markdown or a script",
}
_SUFFIX_OF = {  # of what a server names plainly; for other types the name in the address decides
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
}
_PAGE_BEGINS = re.compile(
    r"\s*+(?:<\?xml[^>]*>\s*+)?(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype\s+html|html|head|body)\b",
    re.I | re.S,  # nothing is tried twice: a page can be nothing but comments
)
_ODD = re.compile("[\x00-\x1f\ud800-\udfff]")  # YAML can write them, PostgreSQL cannot keep them all
# In C it takes a tenth of the time, and a thousand open brackets are an error at once. Both are safe loaders.
_YAML = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Loaded:
    """The text of a file or page, and what it says about itself."""

    kind: Kind
    title: str
    text: str  # line ends are \n; what chunks are slices of
    blocks: Sequence[Block]
    lang: Language
    url: str | None  # where readers find it: the page's address, or one that the document names
    published: date | None  # as the document says
    sha256: str  # of the bytes; of a page, of its text
    size: int  # in bytes


def read_bytes(file: Path) -> bytes:
    """The bytes of a file. Raises LoadError."""
    try:
        about = file.stat()
        if not stat.S_ISREG(about.st_mode):
            raise LoadError("neither a file nor a folder: give a file")
        if about.st_size > MAX_BYTES:
            raise LoadError(
                f"too large ({about.st_size / 1e6:.0f} MB, limit {MAX_BYTES / 1e6:.0f} MB): split it"
            )
        return file.read_bytes()
    except OSError as error:
        raise LoadError(why_unreadable(error)) from None


def load(name: str, content: bytes) -> Loaded:
    """The text of a file called `name`. Slow for large files: not on the event loop. Raises LoadError."""
    return _load(PurePosixPath(name), content, charset=None, url=None)


def load_page(page: "Fetched") -> Loaded:
    """The text of what a web address gave, its `sha256` over the text. Slow as `load`. Raises LoadError.

    Pages hold things that are new with each request (tokens, advertisements), so that their bytes do not tell
    whether their text has changed.
    """
    loaded = _load(_named(page), page.content, charset=page.charset, url=page.url)
    text = f"{loaded.title}\n{loaded.published}\n{loaded.text}"
    return replace(loaded, sha256=hashlib.sha256(text.encode()).hexdigest())


def _named(page: "Fetched") -> PurePosixPath:
    """A name whose ending says how to read a page: the server's type, else the ending of the address."""
    parts = urlsplit(page.url)
    path = PurePosixPath(PurePosixPath(unquote(parts.path)).name or parts.hostname or "page")
    suffix = _SUFFIX_OF.get(page.content_type)
    if suffix is not None:
        return PurePosixPath(path.stem + suffix)
    told = re.fullmatch(r"\.[A-Za-z]\w{0,9}", path.suffix) is not None  # no version number, such as v1.2
    return path if told else PurePosixPath(f"{path}.txt")


def _load(path: PurePosixPath, content: bytes, *, charset: str | None, url: str | None) -> Loaded:
    suffix = path.suffix.lower()
    if reason := _NOT_READ.get(suffix):
        raise LoadError(reason)
    about: dict[str, Any] = {}
    title: str | None = None
    published: date | None = None
    lang: Language | None = None
    if suffix == ".pdf" or content.startswith(b"%PDF-"):
        kind: Kind = "pdf"
        title, text = pdf_text(content)
        blocks: Sequence[Block] = prose_blocks(text)
    elif suffix in _WORD:
        kind = "docx"
        word = read_docx(content)
        text, blocks, title, published = word.text, word.blocks, word.title, word.changed
    else:
        is_page = suffix in _WEB
        text = decoded(content, stated=(charset, stated_in(content) if is_page else None))
        if is_page or (url is not None and suffix not in _MARKDOWN and _PAGE_BEGINS.match(text)):
            kind = "web"
            page = read_page(text, url=url)
            text, blocks, title = page.text, page.blocks, page.title
            published, lang, url = page.published, page.lang, page.canonical or url
        elif suffix in _MARKDOWN:
            kind = "markdown"
            about, text = _front_matter(text)
            title, blocks = read_markdown(text)
        elif suffix in _TEXT:
            kind, blocks = "text", prose_blocks(text)
        else:
            kind, title, blocks = "code", path.name, code_blocks(text)
    if not blocks:
        raise LoadError("empty: there is no text in it")
    titles = (
        _ODD.sub("", " ".join(each.split())) for each in (_stated(about, "title"), title or "", path.stem)
    )
    return Loaded(
        kind=kind,
        title=next(filter(None, titles), "")[:_TITLE_LENGTH],
        text=text,
        blocks=blocks,
        lang=_stated_language(about) or lang or language_of(text),
        url=next((str(about[key]) for key in ("url", "source") if _is_web_address(about.get(key))), url),
        published=_as_date(_stated(about, "date")) or published,
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
    )


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The YAML between two lines of dashes at the top, and the text below. What is no mapping stays text."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    try:
        about = yaml.load(match[1], _YAML)
    # A date such as 2024-13-45 is a ValueError, `!!bool maybe` and `!!timestamp soon` are the next two.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError):
        return {}, text
    return (about, text[match.end() :]) if isinstance(about, dict) else ({}, text)


def _stated(about: dict[str, Any], key: str) -> str:
    """What front matter says, "" for what is no word: lists of lists of lists may stand for gigabytes."""
    value = about.get(key)
    return str(value) if isinstance(value, str | int | float | date) else ""


def _stated_language(about: dict[str, Any]) -> Language | None:
    stated = (_stated(about, "lang") or _stated(about, "language")).lower()
    return next((language for language in LANGUAGES if stated.split("-")[0].split("_")[0] == language), None)


def _is_web_address(value: object) -> bool:
    return (
        isinstance(value, str)
        and re.fullmatch(r"https?://[^\s<>|\x00-\x1f\ud800-\udfff]+", value) is not None
    )


def _as_date(value: object) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
