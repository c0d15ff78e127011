"""Fetching a page or document from the web, within limits and only from where everybody can fetch."""

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from knowledge.addresses import AddressError, checked_url, refuse_private
from knowledge.files import LoadError

_AGENT = "Copydesk/0.1 (a bot that reads pages for the team that asked for them)"
_WANTED = "text/html, application/xhtml+xml, text/markdown, text/plain, application/pdf, */*;q=0.5"
_MOST_REDIRECTS = 5
_READ_AT_ONCE = 1 << 16
_GZIP = b"\x1f\x8b"
_MOST_PARTS = 1_000  # of a body in gzip, which may be several one behind the other (RFC 1952, section 2.2)
_DAMAGED = "damaged on its way: try again later"

# What can hold text. `application/octet-stream` says nothing: its name and bytes decide.
_READ_TYPES = frozenset(
    {
        *("application/xhtml+xml", "application/xml", "application/pdf", "application/json"),
        *("application/octet-stream", "application/gzip", "application/x-gzip", "application/x-yaml"),
        *("application/yaml", "application/javascript", "application/rss+xml", "application/atom+xml"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    }
)


@dataclass(frozen=True)
class FetchLimits:
    """How much of the web is taken in."""

    most_bytes: int = 20_000_000  # unpacked; as of a file
    seconds: float = 30.0  # for all of it: names, redirects, every byte
    private_hosts: frozenset[str] = frozenset()  # names that may be inside a private network, lower case


USUAL_LIMITS = FetchLimits()


@dataclass(frozen=True)
class Validators:
    """What a server calls a version of a page, so that it need not send it again (RFC 9110, section 8.8)."""

    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True)
class Fetched:
    """What a web address gave."""

    url: str  # after redirects, without a fragment
    content: bytes
    content_type: str  # "text/html", "" if the server names none
    charset: str | None  # as the server names it
    validators: Validators = Validators()


class Gone(LoadError):
    """The server says that there is no such page (any more)."""


async def fetch(url: str, *, limits: FetchLimits = USUAL_LIMITS) -> Fetched:
    """What `url` gives, redirects followed. Raises LoadError, its message a reason for people.

    Each host on the way must be public, by every address that its name stands for, or be one of
    `limits.private_hosts`; the connection goes to those very addresses. No proxy of the environment is used,
    since the name would then be resolved by somebody else.
    """
    fetched = await fetch_if_changed(url, Validators(), limits=limits)
    assert fetched is not None  # "not modified" is an answer to those who have a version
    return fetched


async def fetch_if_changed(
    url: str, have: Validators, *, limits: FetchLimits = USUAL_LIMITS
) -> Fetched | None:
    """The same, for who has a version of it: None if that is still the one. Raises LoadError."""
    try:
        async with asyncio.timeout(limits.seconds):
            return await _followed(checked_url(url), have, limits)
    except TimeoutError:
        raise LoadError(f"no whole answer within {limits.seconds:g} s: try again later") from None


async def _followed(url: URL, have: Validators, limits: FetchLimits) -> Fetched | None:
    resolver = _PublicOnly(limits)
    connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True)
    async with aiohttp.ClientSession(
        connector=connector,
        auto_decompress=False,  # unpacked here, within the limit
        headers={"User-Agent": _AGENT, "Accept": _WANTED, "Accept-Encoding": "gzip, deflate"},
        timeout=aiohttp.ClientTimeout(total=None),
    ) as session:
        versions = {"If-None-Match": have.etag, "If-Modified-Since": have.last_modified}
        headers = {name: value for name, value in versions.items() if value}
        seen: list[URL] = []
        while len(seen) <= _MOST_REDIRECTS:
            seen.append(url)
            _refuse_private_literal(url, limits)
            try:
                async with session.get(url, allow_redirects=False, headers=headers) as response:
                    if response.status == 304 and headers:
                        return None
                    if response.status not in (301, 302, 303, 307, 308):
                        return await _read(url, response, limits)
                    url = _target(url, response)
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise LoadError(_why(error, url)) from None
    if url in seen:
        raise LoadError("it redirects in a circle: give the address that a browser ends at")
    raise LoadError(f"more than {_MOST_REDIRECTS} redirects: give the address that it ends at")


class _PublicOnly(AbstractResolver):
    """The addresses of a name, if all of them may be reached."""

    def __init__(self, limits: FetchLimits) -> None:
        self._limits = limits
        self._names = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        if host.lower() not in self._limits.private_hosts:
            for each in found:
                refuse_private(each["host"], host=host)
        return found

    async def close(self) -> None:
        await self._names.close()


def _refuse_private_literal(url: URL, limits: FetchLimits) -> None:
    """A number in place of a name is not resolved, so the resolver does not see it."""
    host = url.raw_host or ""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return
    if host.lower() not in limits.private_hosts:
        refuse_private(host, host=host)


def _target(url: URL, response: aiohttp.ClientResponse) -> URL:
    location = response.headers.get("Location")
    if not location:
        raise LoadError(f"the server answers {response.status} without saying where to go instead")
    try:
        return checked_url(str(url.join(URL(location))))
    except AddressError as error:
        raise AddressError(f"it redirects to what is not read: {error}") from None


async def _read(url: URL, response: aiohttp.ClientResponse, limits: FetchLimits) -> Fetched:
    if response.status != 200:
        raise (Gone if response.status in (404, 410) else LoadError)(_why_not(response.status))
    content_type = response.content_type if "Content-Type" in response.headers else ""
    if content_type and not content_type.startswith("text/") and content_type not in _READ_TYPES:
        raise LoadError(f"it is {content_type}: give a page, a PDF, a Word file or text")
    too_large = LoadError(f"too large (limit {limits.most_bytes / 1e6:.0f} MB): save the part that matters")
    if (response.content_length or 0) > limits.most_bytes:
        raise too_large
    unpack = _Unpacking(response.headers)
    content, packed = bytearray(), 0
    async for piece in response.content.iter_chunked(_READ_AT_ONCE):
        packed += len(piece)
        content += unpack.some(piece, limits.most_bytes + 1 - len(content))
        if max(packed, len(content)) > limits.most_bytes:
            raise too_large
    unpack.end()
    return Fetched(
        url=str(url),
        content=bytes(content),
        content_type=content_type.lower(),
        charset=response.charset,
        validators=Validators(_kept(response.headers, "ETag"), _kept(response.headers, "Last-Modified")),
    )


def _kept(headers: Mapping[str, str], name: str) -> str | None:
    """A header as it can be stored and sent back; not one in bytes of who knows what charset."""
    value = headers.get(name)
    return value if value is not None and value.isascii() else None


class _Unpacking:
    """The body as it was before the server packed it, never more of it than is asked for."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._encoding = headers.get("Content-Encoding", "identity").strip().lower()
        if self._encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
            raise LoadError(f"packed as {self._encoding}, though that was not asked for")
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # 32: gzip or zlib, as its first bytes say
        self._first = b""  # a byte that came alone, which does not tell zlib's header from none
        self._begun = False
        self._parts = 1

    def some(self, piece: bytes, most: int) -> bytes:
        """What comes out of a piece, up to `most` bytes. Raises LoadError."""
        if self._encoding in ("identity", ""):
            return piece[:most]
        if not self._begun and len(self._first + piece) < 2:
            self._first += piece
            return b""
        piece, self._first = self._first + piece, b""
        content = b""
        while piece and len(content) < most:
            if self._unpacker.eof:
                if not piece.startswith(_GZIP[: len(piece)]):  # padding, as `gzip` takes it
                    break
                self._parts += 1
                if self._parts > _MOST_PARTS:
                    raise LoadError(_DAMAGED)
                self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
            content += self._unpacked(piece, most - len(content))
            piece = self._unpacker.unused_data
        return content

    def end(self) -> None:
        """Nothing more comes. Raises LoadError for half a page."""
        if self._first or (self._begun and not self._unpacker.eof):
            raise LoadError(_DAMAGED)

    def _unpacked(self, piece: bytes, most: int) -> bytes:
        try:
            return self._unpacker.decompress(piece, most)
        except zlib.error:
            if self._begun or self._encoding != "deflate":
                raise LoadError(_DAMAGED) from None
        finally:
            self._begun = True
        self._unpacker = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers leave zlib's header out
        return self._unpacked(piece, most)


def _why_not(status: int) -> str:
    """The reason, for a person, of an answer that is no page."""
    match status:
        case 401 | 403 | 407:
            return f"the server wants a login or forbids it ({status}): save the page and add the file"
        case 404 | 410:
            return f"no such page ({status}): check the address"
        case 429:
            return "too many requests for this server (429): try again later"
        case _ if status >= 500:
            return f"the server has a fault ({status}): try again later"
        case _:
            return f"the server answers {status} instead of a page: check the address"


def _why(error: Exception, url: URL) -> str:
    """The reason, for a person, of no answer at all."""
    match error:
        case aiohttp.InvalidURL():  # a number that some read as an address and others do not, such as 127.1
            return "no web address: copy it again from the browser"
        case aiohttp.ClientConnectorDNSError():
            return f"there is no host {url.host}: check the spelling"
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError() | ssl.SSLError():
            return f"{url.host} has no valid certificate: have it mended, or save the page and add the file"
        case aiohttp.ClientConnectorError():
            return f"{url.host} cannot be reached: try again later"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | ConnectionError():
            return f"{url.host} broke off in the middle: try again later"
        case _:
            return f"{url.host} did not answer as a web server does: check the address"
