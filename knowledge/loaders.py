"""From a file to its text: Markdown, plain text, PDF and source code, in the encodings people have."""

import hashlib
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

import charset_normalizer
import yaml

from knowledge.blocks import Block, code_blocks, markdown_blocks, markdown_title, prose_blocks
from knowledge.files import LoadError, why_unreadable
from knowledge.language import LANGUAGES, Language, language_of
from knowledge.pdf import pdf_text

Kind = Literal["markdown", "text", "pdf", "code"]

MAX_BYTES = 20_000_000
_TITLE_LENGTH = 300

_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
_TEXT = frozenset({"", ".txt", ".text", ".rst", ".adoc", ".org", ".csv", ".tsv", ".tex", ".log"})
_NOT_READ = {
    **dict.fromkeys(
        (".docx", ".doc", ".odt", ".rtf", ".pages"), "a word processor's file: save it as PDF or Markdown"
    ),
    **dict.fromkeys((".xlsx", ".xls", ".ods", ".numbers"), "a spreadsheet: save it as CSV"),
    **dict.fromkeys((".pptx", ".ppt", ".odp", ".key"), "slides: save them as PDF"),
    **dict.fromkeys((".html", ".htm", ".mhtml"), "a web page: save it as PDF or Markdown"),
    ".epub": "an e-book: save it as PDF or Markdown",
    ".ipynb": "a notebook: save it as Markdown or a script",
}
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
# The encodings that files of the three languages still come in; without the list, similar ones win by chance.
_ENCODINGS = ["gb18030", "big5", "cp932", "euc_jp", "iso2022_jp", "cp1252"]
_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


@dataclass(frozen=True)
class Loaded:
    """A file's text and what it says about itself."""

    kind: Kind
    title: str
    text: str  # line ends are \n; what chunks are slices of
    blocks: Sequence[Block]
    lang: Language
    url: str | None  # where readers find it, from the front matter
    published: date | None  # from the front matter
    sha256: str  # of the bytes
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
    """The text of a file called `name`. Slow for large files: call it in a thread. Raises LoadError."""
    path = Path(name)
    suffix = path.suffix.lower()
    if reason := _NOT_READ.get(suffix):
        raise LoadError(reason)
    about: dict[str, Any] = {}
    if suffix == ".pdf" or content.startswith(b"%PDF-"):
        kind: Kind = "pdf"
        pdf_title, text = pdf_text(content)
        title = pdf_title or path.stem
        blocks = prose_blocks(text)
    else:
        text = _decoded(content)
        if suffix in _MARKDOWN:
            kind = "markdown"
            about, text = _front_matter(text)
            title = markdown_title(text) or path.stem
            blocks = markdown_blocks(text)
        elif suffix in _TEXT:
            kind, title, blocks = "text", path.stem, prose_blocks(text)
        else:
            kind, title, blocks = "code", path.name, code_blocks(text)
    if not blocks:
        raise LoadError("empty: there is no text in it")
    return Loaded(
        kind=kind,
        title=" ".join(str(about.get("title") or title).split())[:_TITLE_LENGTH],
        text=text,
        blocks=blocks,
        lang=_stated_language(about) or language_of(text),
        url=next((str(about[key]) for key in ("url", "source") if _is_web_address(about.get(key))), None),
        published=_as_date(about.get("date")),
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
    )


def _decoded(content: bytes) -> str:
    """Text with \\n at the ends of lines: UTF-8, what a byte order mark says, or what the bytes look like."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\x00" in content:
        raise LoadError("not text: its bytes are binary data")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        guess = charset_normalizer.from_bytes(content, cp_isolation=_ENCODINGS).best()
        if guess is None:
            raise LoadError("not text, or in an unknown encoding: save it as UTF-8") from None
        text = str(guess)
    if "\x00" in text or len(_CONTROLS.findall(text)) * 50 > len(text):
        raise LoadError("not text: its bytes are binary data")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The YAML between two lines of dashes at the top, and the text below. What is no mapping stays text."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    try:
        about = yaml.safe_load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date such as 2024-13-45
        return {}, text
    return (about, text[match.end() :]) if isinstance(about, dict) else ({}, text)


def _stated_language(about: dict[str, Any]) -> Language | None:
    stated = str(about.get("lang") or about.get("language") or "").lower()
    return next((language for language in LANGUAGES if stated.split("-")[0].split("_")[0] == language), None)


def _is_web_address(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"https?://[^\s<>|]+", value) is not None


def _as_date(value: object) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
