"""From bytes to text: by a byte order mark, by what a server or page says of its charset, or by the looks."""

import codecs
import re
from collections.abc import Sequence

import charset_normalizer

from knowledge.files import LoadError

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
# Labels mean the larger charset that grew out of theirs, as browsers read them (encoding.spec.whatwg.org).
_LARGER = {
    **dict.fromkeys(("gb2312", "gbk", "hz"), "gb18030"),
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    **dict.fromkeys(("iso8859-1", "ascii"), "cp1252"),
}
_META = re.compile(
    rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE
)
_META_WITHIN = 4096  # bytes; browsers look at 1,024

_BINARY = "not text: its bytes are binary data"


def decoded(content: bytes, *, stated: Sequence[str | None] = ()) -> str:
    """Text with \\n at the ends of lines. Raises LoadError for what is no text.

    A byte order mark counts most, then the charsets of `stated` in order, then UTF-8, then what it looks
    like. A stated charset in which the bytes make no sense is passed over: servers often name a wrong one.
    """
    text = _decoded(content, stated)
    if "\x00" in text or len(_CONTROLS.findall(text)) * 50 > len(text):
        raise LoadError(_BINARY)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def stated_in(content: bytes) -> str | None:
    """The charset that HTML or XML names for itself."""
    found = _META.search(content, 0, _META_WITHIN)
    return found[1].decode("ascii", "replace") if found else None


def _decoded(content: bytes, stated: Sequence[str | None]) -> str:
    marked = next((name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), None)
    wide = _wide(content) if marked is None and b"\x00" in content else None
    for encoding in (marked, wide, *map(_codec, stated), "utf-8"):
        if encoding is None or (encoding == "utf-8" and b"\x00" in content):
            continue
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    if b"\x00" in content:
        raise LoadError(_BINARY)
    guess = charset_normalizer.from_bytes(content, cp_isolation=_ENCODINGS).best()
    if guess is None:
        raise LoadError("not text, or in an unknown encoding: save it as UTF-8")
    return str(guess)


def _codec(label: str | None) -> str | None:
    """Python's name for what a page calls its charset, None if there is none."""
    try:
        name = codecs.lookup((label or "").strip()).name
    except (LookupError, ValueError):
        return None
    return _LARGER.get(name, name) if not name.startswith(("utf-16", "utf-32", "utf-7")) else None


def _wide(content: bytes) -> str | None:
    """UTF-16 without a mark: line ends, digits and Latin letters have NUL bytes, all on the same side."""
    even, odd = content[::2].count(0), content[1::2].count(0)
    if len(content) % 2 or min(even, odd) > 0:
        return None
    return "utf-16-le" if odd else "utf-16-be"
