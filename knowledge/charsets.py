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
_USUAL_CHARACTERS = re.compile(
    "[\t\n\r\x20-\x7e\u00a0-\u00ff\u2010-\u2027\u3000-\u30ff\u4e00-\u9fff\uff01-\uff9f]"
)
_USUAL = 0.9  # share of them in a text; read on the wrong side a third is left of Chinese, and less of Latin
_WIDE_WITHIN = 65536  # bytes
_META_WITHIN = 4096  # bytes; browsers look at 1,024

# Wide ones are told by their bytes; the rest are ways to write text down, which no page is in.
_NO_CHARSETS = ("utf-16", "utf-32", "utf-7", "unicode", "raw-unicode", "punycode", "idna", "undefined")

_RARE = 100  # characters for each wrong one

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
    named = [encoding for label in stated for encoding in _as_meant(_codec(label))]
    for encoding in (marked, wide, *named):
        if encoding is not None and (text := _strictly(content, encoding)) is not None:
            return text
    if b"\x1b$" in content and content.isascii() and (text := _in_seven_bits(content)) is not None:
        return text
    if b"\x00" not in content and (text := _strictly(content, "utf-8")) is not None:
        return text
    if b"\x00" in content:
        raise LoadError(_BINARY)
    if (text := _hardly_damaged(content, "utf-8")) is not None:
        return text
    guess = charset_normalizer.from_bytes(content, cp_isolation=_ENCODINGS).best()
    if guess is not None:
        return str(guess)
    for encoding in named:
        if (text := _hardly_damaged(content, encoding)) is not None:
            return text
    raise LoadError("not text, or in an unknown encoding: save it as UTF-8")


def _as_meant(encoding: str | None) -> list[str]:
    """EUC-JP is used with characters such as ① and ㈱ too, which only a later standard has."""
    if encoding is None:
        return []
    return [encoding, "euc_jis_2004"] if encoding == "euc_jp" else [encoding]


def _strictly(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _in_seven_bits(content: bytes) -> str | None:
    """ISO-2022-JP, which is used with narrow kana or with ① too; each is in a standard of its own."""
    text = _strictly(content, "iso2022_jp_ext")
    return text or _strictly(content.replace(b"\x1b$B", b"\x1b$(Q"), "iso2022_jp_2004")


def _hardly_damaged(content: bytes, encoding: str) -> str | None:
    """Text in which a byte here and there is wrong, as where somebody has cut a title in mid-character."""
    text = content.decode(encoding, "replace")
    wrong = text.count("\ufffd")
    foreign = sum(1 for letter in text if letter > "\x7f") - wrong  # Latin text in another charset has none
    return text if wrong * _RARE <= len(text) and wrong * 10 <= foreign else None


def _codec(label: str | None) -> str | None:
    """Python's name for what a page calls its charset, None if there is none."""
    try:
        name = codecs.lookup((label or "").strip()).name
        b" ".decode(name)  # Python has codecs of other things too, such as zlib
    except (LookupError, ValueError):
        return None
    return _LARGER.get(name, name) if not name.startswith(_NO_CHARSETS) else None


def _wide(content: bytes) -> str | None:
    """UTF-16 without a mark: the side on which its characters are such as texts are made of."""
    if len(content) % 2:
        return None
    shares = {encoding: _usual(content, encoding) for encoding in ("utf-16-le", "utf-16-be")}
    best = max(shares, key=lambda encoding: shares[encoding])
    return best if shares[best] >= _USUAL else None


def _usual(content: bytes, encoding: str) -> float:
    """The share of characters that texts in the three languages are made of; 0 for what is no text."""
    try:
        text = content[:_WIDE_WITHIN].decode(encoding)
    except UnicodeDecodeError as error:
        text = content[: error.start].decode(encoding) if error.start >= _WIDE_WITHIN - 4 else ""
    return len(_USUAL_CHARACTERS.findall(text)) / len(text) if text else 0.0
