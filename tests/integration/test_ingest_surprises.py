"""What happens to real bases: files renamed onto each other, sitemaps that rename, bodies that break off."""

import asyncio
import gzip
import os
import signal
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from knowledge.addresses import WebAddress, refuse_private
from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.backlog import Backlog
from knowledge.changes import NewArticle
from knowledge.cutters import Cutter, cut_apart
from knowledge.cutting import Cut, NamedFile
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.embedding_models import bundled_embedder
from knowledge.fetch import fetch
from knowledge.files import LoadError
from knowledge.ingest_report import IngestProgress
from knowledge.listing import AddressList
from knowledge.sources import Provenance
from tests.web_site import ALLOWED, Site, redirect, web_site

OLD = {
    "en": "A salt is unique for each password.",
    "zh": "每个密码都有唯一的盐。",
    "ja": "ソルトはパスワードごとに異なる。",
}
NEW = {
    "en": "A pepper is kept on the server.",
    "zh": "胡椒只保存在服务器上。",
    "ja": "ペッパーはサーバーに置く。",
}
each_language = pytest.mark.parametrize("language", OLD)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with web_site() as opened:
        yield opened


@pytest.fixture
def documents(pool: Pool) -> Documents:
    return Documents(pool, limits=ALLOWED)


def sitemap(*urls: str, index: bool = False) -> web.Response:
    kind, entry = ("sitemapindex", "sitemap") if index else ("urlset", "url")
    entries = "".join(f"<{entry}><loc>{url}</loc></{entry}>" for url in urls)
    return web.Response(text=f"<{kind}>{entries}</{kind}>", content_type="application/xml")


def packed(body: bytes, encoding: str = "gzip") -> web.Response:
    return web.Response(body=body, headers={"Content-Encoding": encoding, "Content-Type": "text/plain"})


def children() -> set[int]:
    """Ids of this process's processes."""
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return {int(each) for each in listed.split()}


async def texts(pool: Pool) -> list[str]:
    return sorted(row["text"] for row in await pool.fetch("select text from documents"))


@each_language
async def test_a_file_that_makes_room_for_another_is_not_lost(
    pool: Pool, documents: Documents, tmp_path: Path, language: str
) -> None:
    (tmp_path / "notes.md").write_text(OLD[language])
    await documents.ingest([tmp_path])
    (tmp_path / "notes.md").rename(tmp_path / "archive.md")
    (tmp_path / "notes.md").write_text(NEW[language])
    told: list[IngestProgress] = []
    report = await documents.ingest([tmp_path], progress=told.append)
    assert await texts(pool) == sorted([OLD[language], NEW[language]])
    assert (report.added, report.updated, report.unchanged) == (1, 1, 0)
    assert max(one.done for one in told) == told[-1].done == told[-1].total == 2


async def test_a_file_that_moved_to_two_places_is_one_document(
    pool: Pool, documents: Documents, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(OLD["zh"])
    await documents.ingest([tmp_path])
    (tmp_path / "b.txt").write_text(OLD["zh"])
    (tmp_path / "a.txt").rename(tmp_path / "c.txt")
    report = await documents.ingest([tmp_path])
    assert (report.updated, report.unchanged) == (1, 1)
    assert await texts(pool) == [OLD["zh"]]
    assert await pool.fetchval("select count(*) from chunks") == 1


@pytest.mark.parametrize(
    "spelled", ["/文档?utm_source=map", "/ページ#top", "/a b", "/en?utm_medium=x&amp;gclid=1"]
)
async def test_a_page_that_its_sitemap_spells_otherwise_stays(
    pool: Pool, site: Site, documents: Documents, spelled: str
) -> None:
    site.answers = dict.fromkeys(("/文档", "/ページ", "/a b", "/en"), f"<p>{OLD['en']}</p>")
    site.answers["/sitemap.xml"] = sitemap(site.url(spelled))
    for _ in range(2):
        report = await documents.ingest([WebAddress(site.url("/sitemap.xml"))], prune=True)
        assert (report.removed, report.failed) == (0, [])
    assert await texts(pool) == [OLD["en"]]


@each_language
async def test_a_page_that_its_sitemap_names_by_a_new_address_is_not_lost(
    pool: Pool, site: Site, documents: Documents, language: str
) -> None:
    page = f"<h1>Salt</h1><p>{OLD[language]}</p>"
    site.answers = {"/old": page, "/sitemap.xml": sitemap(site.url("/old"))}
    await documents.ingest([WebAddress(site.url("/sitemap.xml"))])
    site.answers |= {"/new": page, "/sitemap.xml": sitemap(site.url("/new"))}
    report = await documents.ingest([WebAddress(site.url("/sitemap.xml"))], prune=True)
    assert (report.removed, report.added, report.unchanged) == (1, 1, 0)
    assert [row["origin"] for row in await pool.fetch("select origin from documents")] == [site.url("/new")]


@each_language
async def test_a_copy_of_a_page_that_changes_is_not_lost(
    pool: Pool, site: Site, documents: Documents, language: str
) -> None:
    old, new = (f"<h1>Salt</h1><p>{texts[language]}</p>" for texts in (OLD, NEW))
    site.answers = {"/1": old}
    await documents.ingest([WebAddress(site.url("/1"))])
    site.answers = {"/1": new, "/2": old}
    report = await documents.ingest([WebAddress(site.url("/2")), WebAddress(site.url("/1"))])
    assert (report.added, report.updated, report.unchanged) == (1, 1, 0)
    assert await pool.fetchval("select count(*) from documents") == 2


async def test_an_index_inside_an_index_is_named_and_nothing_is_forgotten_for_it(
    pool: Pool, site: Site, documents: Documents
) -> None:
    site.answers = {
        "/1": f"<p>{OLD['en']}</p>",
        "/2": f"<p>{NEW['en']}</p>",
        "/map.xml": sitemap(site.url("/a.xml"), site.url("/b.xml"), index=True),
        "/a.xml": sitemap(site.url("/1")),
        "/b.xml": sitemap(site.url("/2")),
        "/c.xml": sitemap(site.url("/2")),
    }
    await documents.ingest([WebAddress(site.url("/map.xml"))])
    site.answers["/b.xml"] = sitemap(site.url("/c.xml"), index=True)
    report = await documents.ingest([WebAddress(site.url("/map.xml"))], prune=True)
    assert report.removed == 0
    assert ["inside another" in each.reason for each in report.failed] == [True]
    assert len(await texts(pool)) == 2


async def test_half_of_a_packed_page_is_no_page(site: Site) -> None:
    text = "".join(f"{number} 密码要加盐 ソルト\n" for number in range(2000)).encode()
    for encoding, body in (("gzip", gzip.compress(text)), ("deflate", zlib.compress(text))):
        site.answers["/a"] = packed(body[: len(body) // 2], encoding)
        with pytest.raises(LoadError, match="damaged on its way"):
            await fetch(site.url("/a"), limits=ALLOWED)


async def test_what_calls_itself_deflate_and_is_not_is_named(site: Site) -> None:
    site.answers["/a"] = packed(b"\x07\x07not packed", "deflate")
    with pytest.raises(LoadError, match="damaged on its way"):
        await fetch(site.url("/a"), limits=ALLOWED)


async def test_a_page_packed_in_two_parts_comes_whole_and_padding_is_no_part(site: Site) -> None:
    parts = gzip.compress("密码。".encode()) + gzip.compress("ソルト。".encode())
    for padding in (b"", b"\0" * 600):
        site.answers["/a"] = packed(parts + padding)
        assert (await fetch(site.url("/a"), limits=ALLOWED)).content.decode() == "密码。ソルト。"


async def test_what_is_behind_a_packed_page_counts_against_the_limit_too(site: Site) -> None:
    sent = 0

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": "text/plain", "Content-Encoding": "gzip"})
        await response.prepare(request)
        await response.write(gzip.compress(b"x"))
        while sent < 50_000_000:
            await response.write(b"\0" * 100_000)
            sent += 100_000
        return response

    site.answers["/a"] = endless
    with pytest.raises(LoadError, match="too large"):
        await fetch(site.url("/a"), limits=replace(ALLOWED, most_bytes=1_000_000))
    assert sent < 20_000_000


async def test_a_page_that_lies_of_its_charset_is_read_all_the_same(
    pool: Pool, site: Site, documents: Documents
) -> None:
    kind = {"Content-Type": "text/plain; charset=unicode_escape"}
    site.answers = {
        "/a": web.Response(body=rb"half \ud800 of a pair", headers=kind),
        "/b": f"<p>{OLD['ja']}</p>",
    }
    report = await documents.ingest([WebAddress(site.url("/a")), WebAddress(site.url("/b"))])
    assert (report.added, report.failed) == (2, [])


async def test_one_title_that_cannot_be_kept_does_not_end_the_ingest(
    pool: Pool, documents: Documents, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text('---\ntitle: "盐\\0"\n---\ntext\n')
    (tmp_path / "b.md").write_text(OLD["zh"])
    report = await documents.ingest([tmp_path])
    assert (report.added, report.failed) == (2, [])


async def test_vectors_are_made_though_an_index_cannot_be(
    pool: Pool, documents: Documents, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a machine with a full disk, or a container with little shared memory."""
    (tmp_path / "a.md").write_text(OLD["en"])
    await documents.ingest([tmp_path])
    embedder = bundled_embedder()
    assert embedder is not None
    while await Backlog(pool, embedder).work_off_some():
        pass
    await pool.execute("update embedding_means set chunks = 60000")
    await pool.execute(
        """
        create function refuse() returns event_trigger language plpgsql
        as $$ begin raise 'No space left'; end $$;
        create event trigger no_index on ddl_command_start when tag in ('CREATE INDEX')
        execute function refuse();
        """
    )
    (tmp_path / "b.md").write_text(NEW["en"])
    await documents.ingest([tmp_path])
    backlog = Backlog(pool, embedder)
    for _ in range(3):
        await backlog.work_off_some()
    assert await pool.fetchval("select count(*) from chunk_vectors") == 2
    assert sum("No space left" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("address", ["192.0.0.192", "::ffff:192.0.0.192"])
def test_addresses_of_protocols_are_not_public(address: str) -> None:
    with pytest.raises(LoadError, match="private network"):
        refuse_private(address, host=address)


async def test_a_name_that_a_redirect_leads_to_is_checked_like_the_first(site: Site) -> None:
    """The host that may be private sends on to another name of this machine."""
    limits = replace(ALLOWED, private_hosts=frozenset({"localhost"}))
    site.answers = {"/a": redirect(site.url("/secret", host="0x7f.1")), "/secret": "<p>key</p>"}
    with pytest.raises(LoadError, match=r"0x7f\.1 .* is inside a private network"):
        await fetch(site.url("/a", host="localhost"), limits=limits)
    assert site.asked == ["/a"]


async def test_a_bomb_is_not_unpacked_past_the_limit(site: Site) -> None:
    site.answers["/a"] = packed(gzip.compress(b"\0" * 100_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(LoadError, match="too large"):
            await fetch(site.url("/a"), limits=replace(ALLOWED, most_bytes=1_000_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("name", ["ETag", "Last-Modified"])
async def test_a_version_in_odd_bytes_does_not_end_the_ingest(
    pool: Pool, site: Site, documents: Documents, name: str
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n%s: "\xe9"\r\n\r\nsalt'
        writer.write(head % name.encode())
        writer.close()

    site.answers["/b"] = f"<p>{OLD['zh']}</p>"
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        report = await documents.ingest(
            [WebAddress(f"http://127.0.0.1:{port}/a"), WebAddress(site.url("/b"))]
        )
    assert (report.added, report.failed) == (2, [])


async def test_a_sitemap_that_names_nothing_any_more_is_no_wish_to_forget(
    pool: Pool, site: Site, documents: Documents
) -> None:
    site.answers = {"/1": f"<p>{OLD['ja']}</p>", "/map.xml": sitemap(site.url("/1"))}
    given = [WebAddress(site.url("/map.xml"))]
    await documents.ingest(given)
    for names in ([], ["https://elsewhere.example/1"]):
        site.answers["/map.xml"] = sitemap(*names)
        report = await documents.ingest(given, prune=True)
        assert (report.removed, len(report.failed)) == (0, 1)


async def test_what_is_gone_for_the_base_stays_with_the_article_that_read_it(
    pool: Pool, site: Site, documents: Documents
) -> None:
    site.answers = {"/1": f"<p>{OLD['zh']}</p>"}
    new = NewArticle("Salts", "zh", Mode.AUTO, "T1", "C1", "U1")
    article = await Articles(pool).add(new, first_messages=lambda article: [])
    await documents.add_page(site.url("/1"), provenance=Provenance(article_id=article.id, collection="web"))
    site.answers["/1"] = 410
    assert (await documents.ingest([WebAddress(site.url("/1"))], prune=True)).removed == 0
    assert len(await documents.sources_of_article(article.id)) == 1


@pytest.mark.parametrize("line", ["htp://wiki.example/1", "wiki.example/盐", "ソルトのページ"])
async def test_a_slip_in_a_list_is_no_wish_to_forget(
    pool: Pool, site: Site, documents: Documents, tmp_path: Path, line: str
) -> None:
    site.answers = {"/1": f"<p>{OLD['ja']}</p>", "/2": f"<p>{NEW['ja']}</p>"}
    listed = tmp_path / "urls.txt"
    listed.write_text(f"{site.url('/1')}\n{site.url('/2')}\n")
    await documents.ingest([AddressList(listed)])
    listed.write_text(f"{line}\n{site.url('/2')}\n")
    report = await documents.ingest([AddressList(listed)], prune=True)
    assert (report.removed, len(report.failed)) == (0, 1)
    listed.write_text(f"{site.url('/2')}\n")
    assert (await documents.ingest([AddressList(listed)], prune=True)).removed == 1


async def test_no_proxy_of_the_environment_is_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would look names up by itself, and reach what this machine may not."""
    async with web_site() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        site.answers["/a"] = f"<p>{OLD['en']}</p>"
        await fetch(site.url("/a"), limits=ALLOWED)
        assert (site.asked, proxy.asked) == (["/a"], [])


async def test_a_page_that_a_sitemap_names_later_leaves_with_it(
    pool: Pool, site: Site, documents: Documents
) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        known = request.headers.get("If-None-Match") == '"1"'
        return web.Response(status=304) if known else web.Response(text=OLD["ja"], headers={"ETag": '"1"'})

    site.answers = {"/1": answer, "/2": f"<p>{NEW['ja']}</p>"}
    await documents.ingest([WebAddress(site.url("/1"))])
    given = [WebAddress(site.url("/map.xml"))]
    site.answers["/map.xml"] = sitemap(site.url("/1"), site.url("/2"))
    assert (await documents.ingest(given, prune=True)).removed == 0
    site.answers["/map.xml"] = sitemap(site.url("/2"))
    assert (await documents.ingest(given, prune=True)).removed == 1


async def test_a_large_page_is_read_in_a_process_of_its_own() -> None:
    before = children()
    cutting = asyncio.create_task(cut_apart(NamedFile("a.md", f"{OLD['zh']}\n\n".encode() * 20_000)))
    done: set[asyncio.Task[Cut]] = set()
    while not (apart := children() - before) and not done:
        done, _ = await asyncio.wait([cutting], timeout=0.005)
    await cutting
    assert len(apart) == 1
    assert children() == before


async def test_a_parser_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowledge.cutters._SECONDS", 3.0)
    before, cutter = children(), Cutter()
    try:
        [first] = await cutter.cut_all([NamedFile("a.md", OLD["zh"].encode())])
        assert isinstance(first, Cut)
        [process] = children() - before
        os.kill(process, signal.SIGSTOP)  # as one that goes round in circles: it does not answer
        [second] = await cutter.cut_all([NamedFile("b.md", OLD["ja"].encode())])
        assert isinstance(second, LoadError)
        assert "takes longer" in str(second)
        assert children() == before
    finally:
        await cutter.stop()


@each_language
async def test_a_page_that_is_asked_for_by_itself_stays_when_its_sitemap_names_it_no_more(
    pool: Pool, site: Site, documents: Documents, language: str
) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        known = request.headers.get("If-None-Match") == '"1"'
        tag = {"ETag": '"1"'}
        return web.Response(status=304) if known else web.Response(text=OLD[language], headers=tag)

    site.answers = {"/1": answer, "/2": f"<p>{NEW[language]}</p>"}
    site.answers["/map.xml"] = sitemap(site.url("/1"), site.url("/2"))
    given = [WebAddress(site.url("/map.xml")), WebAddress(site.url("/1"))]
    await documents.ingest(given[:1])
    site.answers["/map.xml"] = sitemap(site.url("/2"))
    report = await documents.ingest(given, prune=True)
    assert (report.removed, report.added, report.unchanged) == (0, 0, 2)
    assert OLD[language] in await texts(pool)


async def test_a_packed_page_whose_first_byte_comes_alone_is_whole(site: Site) -> None:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    body = packer.compress(OLD["ja"].encode()) + packer.flush()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Encoding": "deflate", "Content-Type": "text/plain"})
        await response.prepare(request)
        await response.write(body[:1])
        await asyncio.sleep(0.05)
        await response.write(body[1:])
        return response

    site.answers["/a"] = answer
    assert (await fetch(site.url("/a"), limits=ALLOWED)).content.decode() == OLD["ja"]
