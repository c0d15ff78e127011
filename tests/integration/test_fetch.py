"""The fetcher against a real server: redirects, limits, and addresses that it must not reach."""

import asyncio
import gzip
import time
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp import web

from knowledge.fetch import Gone, Validators, fetch, fetch_if_changed
from knowledge.files import LoadError
from tests.web_site import ALLOWED, Site, page, redirect, web_site

PAGE = "<p>密码要加盐。A salt. ソルト。</p>"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with web_site() as opened:
        yield opened


async def test_a_page_comes_with_its_type_charset_and_version(site: Site) -> None:
    site.answers["/a"] = page(PAGE, headers={"ETag": '"1"', "Last-Modified": "Sat, 02 Mar 2024 10:00:00 GMT"})
    fetched = await fetch(site.url("/a#part"), limits=ALLOWED)
    assert (fetched.url, fetched.content) == (site.url("/a"), PAGE.encode())
    assert (fetched.content_type, fetched.charset) == ("text/html", "utf-8")
    assert fetched.validators == Validators('"1"', "Sat, 02 Mar 2024 10:00:00 GMT")


async def test_a_version_that_is_still_the_one_is_not_sent_again(site: Site) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        known = request.headers.get("If-None-Match") == '"1"'
        return web.Response(status=304) if known else page(PAGE, headers={"ETag": '"1"'})

    site.answers["/a"] = answer
    assert await fetch_if_changed(site.url("/a"), Validators('"1"'), limits=ALLOWED) is None
    assert (await fetch(site.url("/a"), limits=ALLOWED)).validators.etag == '"1"'


async def test_redirects_are_followed_to_the_fifth(site: Site) -> None:
    for number in range(6):
        site.answers[f"/{number}"] = redirect(f"/{number + 1}", 307)
    site.answers["/6"] = PAGE
    assert (await fetch(site.url("/1"), limits=ALLOWED)).url == site.url("/6")
    with pytest.raises(LoadError, match="more than 5 redirects"):
        await fetch(site.url("/0"), limits=ALLOWED)


async def test_a_page_that_sends_back_with_a_cookie_is_no_circle(site: Site) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return (
            page(PAGE)
            if request.cookies
            else page("", status=302, headers={"Location": "/a", "Set-Cookie": "seen=1"})
        )

    site.answers["/a"] = answer
    limits = replace(ALLOWED, private_hosts=frozenset({"localhost"}))
    assert (await fetch(site.url("/a", host="localhost"), limits=limits)).content == PAGE.encode()


async def test_a_circle_of_redirects_is_named(site: Site) -> None:
    site.answers |= {"/a": redirect("/b"), "/b": redirect("/a"), "/self": redirect("/self")}
    for path in ("/a", "/self"):
        with pytest.raises(LoadError, match="redirects in a circle"):
            await fetch(site.url(path), limits=ALLOWED)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is inside a private network"),
        ("http://localhost:{port}/secret", r"localhost \(.+\) is inside a private network"),
        ("http://[::1]:{port}/secret", "::1 is inside a private network"),
        ("http://[::ffff:127.0.0.1]:{port}/secret", "is inside a private network"),
        ("http://127.0.0.2:{port}/secret", "127.0.0.2 is inside a private network"),
        ("http://2130706433:{port}/secret", "inside a private network|no web address"),
        ("http://0x7f.0.0.1:{port}/secret", "inside a private network"),
        ("http://0177.0.0.1:{port}/secret", "inside a private network|no web address"),
        ("http://127.1:{port}/secret", "inside a private network|no web address"),
        ("http://0:{port}/secret", "inside a private network|no web address"),
        ("http://①②⑦.⓪.⓪.②:{port}/secret", "inside a private network|no web address"),
        ("//localhost:{port}/secret", "inside a private network"),
        ("http://localhost.:{port}/secret", "inside a private network|no host"),
        ("file:///etc/passwd", "redirects to what is not read: file"),
        ("ftp://127.0.0.1/", "redirects to what is not read: ftp"),
        ("http://user:word@127.0.0.1:{port}/secret", "name or password"),
        ("http://[", "redirects to what is not read|no web address|did not answer"),
    ],
)
async def test_a_redirect_to_what_must_not_be_reached_is_refused(
    site: Site, target: str, reason: str
) -> None:
    site.answers |= {"/go": redirect(target.format(port=site.port)), "/secret": "secret"}
    with pytest.raises(LoadError, match=reason):
        await fetch(site.url("/go"), limits=ALLOWED)
    assert site.asked == ["/go"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f000001", "2130706433", "127.1", "0"])
async def test_without_leave_nothing_of_this_machine_is_asked(site: Site, host: str) -> None:
    site.answers["/"] = "secret"
    with pytest.raises(LoadError, match=r"COPYDESK_FETCH_PRIVATE|no web address"):
        await fetch(site.url("/", host=host))
    assert site.asked == []


async def test_what_is_too_large_is_given_up_while_it_is_read(site: Site) -> None:
    sent = 0

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        for _ in range(10_000):
            await response.write(b"x" * 100_000)
            sent += 100_000
        return response

    site.answers["/endless"] = endless
    site.answers["/said"] = page("x" * 2_000_001)
    for path in ("/endless", "/said"):
        with pytest.raises(LoadError, match=r"too large \(limit 2 MB\)"):
            await fetch(site.url(path), limits=replace(ALLOWED, most_bytes=2_000_000))
    assert sent < 100_000_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
async def test_what_is_packed_is_unpacked_within_the_limit(site: Site, encoding: str) -> None:
    wbits = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS, "raw deflate": -zlib.MAX_WBITS}[encoding]
    packer = zlib.compressobj(wbits=wbits)
    headers = {"Content-Encoding": encoding.removeprefix("raw "), "Content-Type": "text/plain"}
    site.answers["/a"] = web.Response(body=packer.compress(PAGE.encode()) + packer.flush(), headers=headers)
    assert (await fetch(site.url("/a"), limits=ALLOWED)).content == PAGE.encode()
    bomb = gzip.compress(b"\0" * 100_000_000)
    site.answers["/bomb"] = web.Response(body=bomb, headers={**headers, "Content-Encoding": "gzip"})
    with pytest.raises(LoadError, match="too large"):
        await fetch(site.url("/bomb"), limits=ALLOWED)


async def test_what_is_packed_badly_or_otherwise_is_named(site: Site) -> None:
    for encoding, body, reason in (("gzip", b"no gzip", "damaged on its way"), ("br", b"x", "packed as br")):
        headers = {"Content-Encoding": encoding, "Content-Type": "text/plain"}
        site.answers["/a"] = web.Response(body=body, headers=headers)
        with pytest.raises(LoadError, match=reason):
            await fetch(site.url("/a"), limits=ALLOWED)


async def test_a_server_that_dawdles_is_given_up(site: Site) -> None:
    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        for _ in range(1000):
            await response.write(b"x")
            await asyncio.sleep(0.05)
        return response

    site.answers["/slow"] = slow
    start = time.monotonic()
    with pytest.raises(LoadError, match=r"no whole answer within 0\.5 s"):
        await fetch(site.url("/slow"), limits=replace(ALLOWED, seconds=0.5))
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (404, r"no such page \(404\)"),
        (410, r"no such page \(410\)"),
        (401, "login"),
        (403, "login"),
        (429, "too many requests"),
        (503, r"fault \(503\)"),
        (302, "without saying where to go"),
        (204, "answers 204"),
        (304, "304"),
        (web.Response(body=b"\x89PNG", content_type="image/png"), "it is image/png"),
        (web.Response(body=b"PK", content_type="application/zip"), "it is application/zip"),
    ],
)
async def test_an_answer_that_is_no_page_says_why(
    site: Site, answer: int | web.Response, reason: str
) -> None:
    site.answers["/a"] = answer
    with pytest.raises(LoadError, match=reason) as raised:
        await fetch(site.url("/a"), limits=ALLOWED)
    assert isinstance(raised.value, Gone) == (answer in (404, 410))


async def test_a_server_that_is_none_says_why() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1) == b"G":  # else it is TLS
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answers.pop())
            await writer.drain()
        writer.close()

    answers = [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"",
    ]
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        while answers:
            with pytest.raises(LoadError, match=r"127\.0\.0\.1 (broke off|did not answer)"):
                await fetch(f"http://127.0.0.1:{port}/", limits=ALLOWED)
        with pytest.raises(LoadError, match=r"certificate|broke off|did not answer|cannot be reached"):
            await fetch(f"https://127.0.0.1:{port}/", limits=ALLOWED)
    with pytest.raises(LoadError, match="cannot be reached"):
        await fetch(f"http://127.0.0.1:{port}/", limits=ALLOWED)
    with pytest.raises(LoadError, match="there is no host"):
        await fetch("http://nowhere.invalid/", limits=ALLOWED)
