"""Lists of web addresses: a sitemap, or a text file with an address on each line."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lxml import etree

from knowledge.addresses import checked_url
from knowledge.charsets import decoded
from knowledge.fetch import Fetched
from knowledge.files import FailedPath, LoadError

MOST_PAGES = 10_000
"""Addresses that one list may name, with the sitemaps that it names."""

_LARGEST = 50_000_000  # bytes, unpacked; as the protocol has it (sitemaps.org)
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class AddressList:
    """A text file with a web address on each line."""

    path: Path


@dataclass(frozen=True)
class Sitemap:
    """What a sitemap names."""

    pages: list[str]
    sitemaps: list[str]  # of an index of sitemaps
    elsewhere: int  # addresses on other hosts, which a sitemap does not speak for


def read_sitemap(fetched: Fetched) -> Sitemap | None:
    """What a web address gave, if that is a sitemap. Raises LoadError for a damaged one."""
    content = fetched.content
    if content.startswith(_GZIP):
        content = _unpacked(content)
    head = content[:2000].replace(b"\0", b"")
    if b"<urlset" not in head and b"<sitemapindex" not in head:
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        raise LoadError("a damaged sitemap: it is no XML") from None
    kind = etree.QName(root)
    loc = etree.QName(kind.namespace, "loc").text  # of the protocol; pictures have a `loc` of their own
    named = [" ".join((each.text or "").split()) for entry in root for each in entry if each.tag == loc]
    host = urlsplit(fetched.url).hostname
    here = list(dict.fromkeys(url for url in named if _host(url) == host))
    is_index = kind.localname == "sitemapindex"
    return Sitemap(
        pages=[] if is_index else here,
        sitemaps=here if is_index else [],
        elsewhere=sum(1 for url in named if _host(url) != host),
    )


def read_list(content: bytes, name: str) -> tuple[list[str], list[FailedPath]]:
    """The addresses in a text, once each, and the lines that are none. Raises LoadError.

    Blank lines, and lines that begin with #, say nothing.
    """
    urls: dict[str, None] = {}
    failed: list[FailedPath] = []
    for number, line in enumerate(decoded(content).splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        try:
            urls[str(checked_url(words))] = None
        except LoadError as error:
            failed.append(FailedPath(path=f"{name}:{number}: {words[:200]}", reason=str(error)))
    if len(urls) > MOST_PAGES:
        raise LoadError(f"more than {MOST_PAGES} addresses: split it")
    if not urls and not failed:
        raise LoadError("no address in it: put one on each line")
    return list(urls), failed


def _unpacked(content: bytes) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacker.decompress(content, _LARGEST + 1)
    except zlib.error:
        raise LoadError("a damaged gzip file") from None
    if len(unpacked) > _LARGEST:
        raise LoadError(f"too large when unpacked (limit {_LARGEST / 1e6:.0f} MB)")
    return unpacked


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
