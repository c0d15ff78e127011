"""Pages, documents, sitemaps and lists of addresses, from a real server into a real database."""

import gzip
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from aiohttp import web

from knowledge.addresses import WebAddress
from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.files import LoadError
from knowledge.ingest_report import IngestReport
from knowledge.listing import AddressList
from knowledge.sources import Provenance
from tests.pdf_file import pdf
from tests.web_site import ALLOWED, Site, page, redirect, web_site
from tests.word_file import paragraph, word_file

ENGLISH = "<h1>Salts</h1><p>A salt is unique for each password.</p>"
CHINESE = "<h1>盐</h1><p>每个密码都有唯一的盐。</p>"
JAPANESE = "<h1>ソルト</h1><p>ソルトはパスワードごとに異なる。</p>"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with web_site() as opened:
        opened.answers |= {"/en": ENGLISH, "/zh": CHINESE, "/ja": JAPANESE}
        yield opened


@pytest.fixture
def documents(pool: Pool) -> Documents:
    return Documents(pool, limits=ALLOWED)


def sitemap(*urls: str, index: bool = False) -> str:
    kind, entry = ("sitemapindex", "sitemap") if index else ("urlset", "url")
    entries = "".join(f"<{entry}><loc>{url}</loc></{entry}>" for url in urls)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>'
        f'<{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{kind}>'
    )


def xml(text: str) -> web.Response:
    return web.Response(body=text.encode(), content_type="application/xml")


async def titles(pool: Pool) -> list[str]:
    return [row["title"] for row in await pool.fetch("select title from documents order by title")]


async def test_a_page_is_kept_with_title_address_day_and_language(
    pool: Pool, site: Site, documents: Documents
) -> None:
    site.answers["/pw"] = (
        '<html lang="ja"><head><link rel="canonical" href="/passwords">'
        f"<meta property='article:published_time' content='2024-03-02'></head><body>{JAPANESE}</body></html>"
    )
    report = await documents.ingest([WebAddress(site.url("/pw?utm_source=mail#top"))])
    assert report == IngestReport(added=1, chunks=1)
    row = await pool.fetchrow("select origin, path, url, kind, title, lang, published from documents")
    assert row is not None
    assert dict(row) == {
        "origin": site.url("/pw"),
        "path": None,
        "url": site.url("/passwords"),
        "kind": "web",
        "title": "ソルト",
        "lang": "ja",
        "published": date(2024, 3, 2),
    }
    assert await pool.fetchval("select heading from chunks") == "ソルト"


async def test_files_behind_addresses_are_read_as_what_they_are(
    pool: Pool, site: Site, documents: Documents
) -> None:
    word = word_file(paragraph("ソルトはパスワードごとに異なる。"), title="Word")
    site.answers |= {
        "/paper.pdf": web.Response(body=pdf(["A salt is unique."]), content_type="application/pdf"),
        "/download": pdf(["密码要加盐之后再计算哈希。"]),
        "/guide.docx": word,
        "/notes.md": web.Response(
            body="# 盐\n\n正文。".encode("gb18030"), content_type="text/plain", charset="gbk"
        ),
        "/v1.2": web.Response(body=b"A plain text of 2024.", content_type="text/plain"),
    }
    report = await documents.ingest([WebAddress(site.url(path)) for path in site.answers])
    assert report.failed == []
    rows = await pool.fetch("select origin, kind, title from documents where kind <> 'web'")
    assert {row["origin"].rsplit("/", 1)[1]: (row["kind"], row["title"]) for row in rows} == {
        "paper.pdf": ("pdf", "paper"),
        "download": ("pdf", "download"),
        "guide.docx": ("docx", "Word"),
        "notes.md": ("markdown", "盐"),
        "v1.2": ("text", "v1.2"),
    }


async def test_what_is_new_on_each_request_is_no_change(pool: Pool, site: Site, documents: Documents) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        return page(f"<script>token = {len(site.asked)}</script>{CHINESE}")

    site.answers["/a"] = answer
    given = [WebAddress(site.url("/a"))]
    assert (await documents.ingest(given)).added == 1
    before = await pool.fetchval("select updated_at from documents")
    assert await documents.ingest(given) == IngestReport(unchanged=1)
    assert await pool.fetchval("select updated_at from documents") == before
    site.answers["/a"] = CHINESE + "<p>新的一段。</p>"
    assert await documents.ingest(given) == IngestReport(updated=1, chunks=1)


async def test_a_version_that_the_base_has_is_not_asked_for_again(
    pool: Pool, site: Site, documents: Documents
) -> None:
    async def answer(request: web.BaseRequest) -> web.Response:
        if request.headers.get("If-None-Match") == '"7"':
            return web.Response(status=304)
        return page(CHINESE, headers={"ETag": '"7"'})

    site.answers["/a"] = answer
    given = [WebAddress(site.url("/a"))]
    await documents.ingest(given)
    site.answers["/a"] = 304  # which is an answer only to who has a version
    assert await documents.ingest(given) == IngestReport(unchanged=1)
    await pool.execute("update documents set index_version = 0")  # it has to be cut again, so it is asked for
    site.answers["/a"] = answer
    assert (await documents.ingest(given)).updated == 1


async def test_one_page_under_two_addresses_is_one_source(
    pool: Pool, site: Site, documents: Documents
) -> None:
    site.answers["/old"] = redirect("/zh", 301)
    report = await documents.ingest([WebAddress(site.url("/zh")), WebAddress(site.url("/old"))])
    assert (report.added, report.unchanged) == (1, 1)
    assert await titles(pool) == ["盐"]


async def test_a_sitemap_of_sitemaps_brings_its_pages_and_their_leaving(
    pool: Pool, site: Site, documents: Documents
) -> None:
    packed = gzip.compress(sitemap(site.url("/en"), site.url("/zh")).encode())
    site.answers |= {
        "/sitemap.xml": xml(sitemap(site.url("/a.xml.gz"), site.url("/b.xml"), index=True)),
        "/a.xml.gz": web.Response(body=packed, content_type="application/gzip"),
        "/b.xml": xml(sitemap(site.url("/ja"), "https://elsewhere.example/x", index=False)),
    }
    given = [WebAddress(site.url("/sitemap.xml"))]
    assert await documents.ingest(given) == IngestReport(added=3, chunks=3)
    assert await titles(pool) == ["Salts", "ソルト", "盐"]
    site.answers["/b.xml"] = 500
    report = await documents.ingest(given, prune=True)
    assert (report.unchanged, report.removed, len(report.failed)) == (2, 0, 1)  # not known is not gone
    site.answers["/b.xml"] = xml(sitemap(site.url("/en")))
    site.answers["/zh"] = 500
    assert (await documents.ingest(given)).removed == 0  # nobody asked for it
    report = await documents.ingest(given, prune=True)
    assert (report.unchanged, report.removed, len(report.failed)) == (1, 1, 1)
    assert await titles(pool) == ["Salts", "盐"]


async def test_a_page_that_is_gone_is_forgotten_when_asked(
    pool: Pool, site: Site, documents: Documents
) -> None:
    given = [WebAddress(site.url("/zh")), WebAddress(site.url("/ja"))]
    await documents.ingest(given)
    site.answers |= {"/zh": 410, "/ja": 503}
    assert (await documents.ingest(given)).removed == 0
    report = await documents.ingest(given, prune=True)
    assert (report.removed, len(report.failed)) == (1, 2)
    assert await titles(pool) == ["ソルト"]


async def test_a_list_of_addresses_is_read_line_by_line(
    pool: Pool, site: Site, documents: Documents, tmp_path: Path
) -> None:
    listed = tmp_path / "地址.txt"
    lines = ["# our pages", "", site.url("/en"), f"  {site.url('/zh')}#part", "ftp://x.example/a", "ja.html"]
    listed.write_text("\r\n".join([*lines, site.url("/en")]))
    report = await documents.ingest([AddressList(listed)])
    assert (report.added, [failed.path for failed in report.failed]) == (
        2,
        [f"{listed}:5: ftp://x.example/a", f"{listed}:6: ja.html"],
    )
    listed.write_text(site.url("/zh"))
    assert await documents.ingest([AddressList(listed)], prune=True) == IngestReport(unchanged=1, removed=1)
    listed.write_text("# nothing\n")
    report = await documents.ingest([AddressList(listed)], prune=True)
    assert (report.removed, report.failed[0].reason) == (0, "no address in it: put one on each line")
    report = await documents.ingest([AddressList(tmp_path / "missing")])
    assert report.failed[0].reason == "no such file or folder: check the spelling"


async def test_what_cannot_be_fetched_is_named_and_the_rest_is_in(
    pool: Pool, site: Site, documents: Documents
) -> None:
    site.answers |= {
        "/metadata": redirect("http://169.254.169.254/latest/"),
        "/local": redirect(site.url("/zh", host="localhost")),
        "/circle": redirect("/circle"),
        "/login": "<form>ログイン<input type=password></form>",
        "/empty": "<html><body> </body></html>",
        "/scan.pdf": web.Response(body=pdf([], []), content_type="application/pdf"),
        "/image": web.Response(body=b"\x89PNG", content_type="image/png"),
        "/bad.xml": xml("<urlset><url>"),
    }
    reasons = {
        "/metadata": "private network",
        "/local": "private network",
        "/circle": "circle",
        "/login": "login page",
        "/empty": "empty",
        "/scan.pdf": "OCR",
        "/image": "image/png",
        "/bad.xml": "damaged sitemap",
        "/missing": "404",
    }
    report = await documents.ingest([WebAddress(site.url(path)) for path in [*reasons, "/zh"]])
    assert report.added == 1
    found = {failed.path.removeprefix(site.url("")): failed.reason for failed in report.failed}
    assert found.keys() == reasons.keys()
    for path, reason in reasons.items():
        assert reason in found[path]
    assert await titles(pool) == ["盐"]


async def test_progress_counts_the_pages_of_a_sitemap(site: Site, documents: Documents) -> None:
    site.answers["/sitemap.xml"] = xml(sitemap(*(site.url(path) for path in ("/en", "/zh", "/ja"))))
    seen: list[tuple[int, int]] = []
    await documents.ingest(
        [WebAddress(site.url("/sitemap.xml"))], progress=lambda each: seen.append((each.done, each.total))
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


async def test_a_page_added_by_a_person_says_by_whom_and_from_where(
    pool: Pool, site: Site, documents: Documents
) -> None:
    provenance = Provenance(added_by="U1", added_from="https://x.slack.example/p1")
    added = await documents.add_page(site.url("/zh"), provenance=provenance)
    assert (added.written, added.title, added.url, added.chunks) == ("added", "盐", site.url("/zh"), 1)
    assert (await documents.add_page(site.url("/zh"), provenance=provenance)).written == "unchanged"
    [source] = await documents.sources_of_base(10)
    assert source == await documents.of(added.document_id)
    assert (source.added_by, source.added_from, source.collection) == ("U1", provenance.added_from, "base")
    with pytest.raises(LoadError, match="404"):
        await documents.add_page(site.url("/nowhere"))
    with pytest.raises(LoadError, match="private network"):
        await Documents(pool).add_page(site.url("/zh"))


async def test_a_source_of_one_article_is_not_the_bases(pool: Pool, site: Site, documents: Documents) -> None:
    article = await Articles(pool).add(
        NewArticle("盐", "zh", Mode.SUPERVISED, "T1", "C1", "U1"), first_messages=lambda article: []
    )
    own = Provenance(added_by="U1", article_id=article.id)
    content = "# ソルト\n\nソルトはパスワードごとに異なる。".encode()
    added = await documents.add_file("salt.md", content, origin="slack:F1", url=None, provenance=own)
    assert [each.document_id for each in await documents.sources_of_article(article.id)] == [
        added.document_id
    ]
    assert await documents.sources_of_base(10) == []
    in_base = await documents.add_file(
        "salt.md",
        content,
        origin="slack:F1",
        url="https://files.example/F1",
        provenance=replace(own, article_id=None),
    )
    assert (in_base.written, in_base.url) == ("added", "https://files.example/F1")
    assert in_base.document_id != added.document_id
    # What the base has, an article has: a page that it finds there is not kept twice.
    await documents.add_page(site.url("/zh"))
    again = await documents.add_page(site.url("/zh"), provenance=own)
    assert (again.written, len(await documents.sources_of_article(article.id))) == ("unchanged", 1)


async def test_a_removal_is_written_down(pool: Pool, site: Site, documents: Documents) -> None:
    added = await documents.add_page(site.url("/ja"), provenance=Provenance(added_by="U1"))
    gone = await documents.remove(added.document_id, by="U2", from_where="https://x.slack.example/p2")
    assert gone is not None
    assert gone.title == "ソルト"
    row = await pool.fetchrow("select * from removals")
    assert row is not None
    assert (row["document_id"], row["origin"], row["title"]) == (added.document_id, site.url("/ja"), "ソルト")
    assert (row["added_by"], row["removed_by"]) == ("U1", "U2")
    assert row["removed_from"] == "https://x.slack.example/p2"
    assert await documents.remove(added.document_id, by="U2", from_where=None) is None
    assert await documents.of(added.document_id) is None
    assert await pool.fetchval("select count(*) from removals") == 1
    assert await pool.fetchval("select count(*) from terms") == 0
