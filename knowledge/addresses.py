"""Which web addresses may be fetched: http and https, to machines that everybody can reach."""

import ipaddress
import re
from dataclasses import dataclass

from yarl import URL

from knowledge.files import LoadError

_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # how an IPv6 network reaches an IPv4 address (RFC 6052)
_COMMON_IPV6 = ipaddress.ip_network("2000::/3")  # all that is given out to be reached by everybody
# Public by its number, but inside Azure it is the host that hands out a machine's secrets.
_AZURE_HOST = ipaddress.ip_address("168.63.129.16")
# Of protocols, not hosts (RFC 6890). A cloud has its machines' secrets there; Python 3.11 calls it public.
_PROTOCOLS = ipaddress.ip_network("192.0.0.0/24")
_HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+(?:%[\w.-]+)?", re.ASCII | re.IGNORECASE)
# `example.com/a`, `127.0.0.1:8000/a` and `localhost:8000` are how people write addresses; `data:…` is not.
_NO_SCHEME = re.compile(r"(?![a-z][a-z0-9+-]*:(?!\d))", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# What newsletters and advertisements append to tell who clicked; the page is the same without.
_TRACKING = re.compile(r"utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|igshid|yclid|_ga|spm", re.IGNORECASE)
_LONGEST = 2000  # characters; longer ones are refused by many servers, and are no address that people share


class AddressError(LoadError):
    """This address may not be fetched."""


@dataclass(frozen=True)
class WebAddress:
    """A page or document on the web, as a person gave it."""

    url: str


def is_web_address(text: str) -> bool:
    """Whether a person meant an address rather than a path: it begins with a scheme."""
    return _SCHEME.match(text.strip()) is not None


def checked_url(text: str) -> URL:
    """The address without its fragment and what only counts clicks. Raises AddressError."""
    if len(text) > _LONGEST:
        raise AddressError(f"longer than an address may be ({_LONGEST} characters): look for its short form")
    if _NO_SCHEME.match(text.strip()):
        raise AddressError("no web address: it begins with https:// or http://")
    try:
        url = URL(text.strip())
        port = url.port
        str(url.with_path("/"))  # some are refused only when they are put together again
    except (ValueError, IndexError):  # of brackets in a wrong order
        raise AddressError("no web address: copy it again from the browser") from None
    if url.scheme not in ("http", "https"):
        raise AddressError(f"{url.scheme} is not read: give an http or https address")
    if port is None or _HOST.fullmatch(url.raw_host or "") is None:
        raise AddressError("no web address: copy it again from the browser")
    if url.user is not None or url.password is not None:
        raise AddressError("a name or password in the address, which readers would see: give one without")
    kept = [(name, value) for name, value in url.query.items() if not _TRACKING.fullmatch(name)]
    if len(kept) < len(url.query):
        url = url.with_query(kept or None)
    if url.raw_path == "/":
        url = url.with_path("/", keep_query=True)  # with and without the stroke it is one page
    return url.with_fragment(None)


def refuse_private(address: str, *, host: str) -> None:
    """Raises AddressError unless everybody can reach the IP address `address`, which `host` stands for.

    Whoever names a page to the bot must not get to read through it what only this machine can reach: its own
    services, the network that it stands in, the cloud's address for a machine's secrets (169.254.169.254).
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if not _is_public(ip):
        shown = host if host == address else f"{host} ({ip})"
        raise AddressError(
            f"{shown} is inside a private network, which is not read: add the host to COPYDESK_FETCH_PRIVATE "
            "if it is yours and may be"
        )


def _is_public(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
        if inner is not None:
            return _is_public(inner)
        if ip not in _COMMON_IPV6:
            return False
    if ip in _PROTOCOLS:
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and ip != _AZURE_HOST
