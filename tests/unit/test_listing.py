"""Sitemaps and lists of addresses."""

import gzip

import pytest

from knowledge.fetch import Fetched
from knowledge.files import LoadError
from knowledge.listing import MOST_PAGES, read_list, read_sitemap

HOST = "https://wiki.example.com"


def fetched(content: str | bytes) -> Fetched:
    body = content.encode() if isinstance(content, str) else content
    return Fetched(f"{HOST}/sitemap.xml", body, "application/xml", None)


def test_a_sitemap_names_the_pages_of_its_own_host_once_each() -> None:
    entries = "".join(
        f"<url><loc>\n {url} </loc><image:loc xmlns:image='x'>{HOST}/a.png</image:loc></url>"
        for url in (
            f"{HOST}/密码",
            f"{HOST}/a?b=1&amp;c=2",
            f"{HOST}/密码",
            "https://other.example/x",
            "http://[",
        )
    )
    sitemap = read_sitemap(fetched(f"<?xml version='1.0'?><!-- 手順 --><urlset>{entries}</urlset>"))
    assert sitemap is not None
    assert sitemap.pages == [
        f"{HOST}/密码",
        f"{HOST}/a?b=1&c=2",
    ]
    assert (sitemap.sitemaps, sitemap.elsewhere) == ([], 2)


def test_an_index_names_sitemaps() -> None:
    index = f"<sitemapindex><sitemap><loc>{HOST}/a.xml</loc></sitemap></sitemapindex>"
    sitemap = read_sitemap(fetched(gzip.compress(index.encode())))
    assert sitemap is not None
    assert (sitemap.pages, sitemap.sitemaps) == ([], [f"{HOST}/a.xml"])


@pytest.mark.parametrize("content", ["<html><body>urlset</body></html>", "盐", "ソルト", b"", b"%PDF-1.7"])
def test_what_is_no_sitemap_is_read_as_what_it_is(content: str | bytes) -> None:
    assert read_sitemap(fetched(content)) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<urlset><url>", "damaged sitemap"),
        (b"\x1f\x8b broken", "damaged gzip"),
        (gzip.compress(b"\0" * 60_000_000), "too large when unpacked"),
        (
            "<!DOCTYPE x [<!ENTITY a 'b'>]><urlset><url><loc>&undefined;</loc></url></urlset>",
            "damaged sitemap",
        ),
    ],
)
def test_a_sitemap_made_to_do_harm_is_named(content: str | bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        read_sitemap(fetched(content))


def test_a_sitemap_reads_no_file_of_this_machine() -> None:
    entity = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/hostname'>]>"
    sitemap = read_sitemap(fetched(f"{entity}<urlset><url><loc>{HOST}/&a;</loc></url></urlset>"))
    assert sitemap is not None
    assert sitemap.pages == [f"{HOST}/"]


def test_a_list_is_read_line_by_line_in_any_usual_charset() -> None:
    text = f"# 我们的页面\n\n{HOST}/a#x\r\n  {HOST}/a?utm_source=y\nnot an address\n{HOST}/手順\n"
    for encoding in ("utf-8", "utf-16", "gb18030"):
        urls, failed = read_list(text.encode(encoding), "地址.txt")
        assert urls == [f"{HOST}/a", f"{HOST}/%E6%89%8B%E9%A0%86"]
        assert [each.path for each in failed] == ["地址.txt:5: not an address"]


def test_a_list_that_is_too_long_or_empty_is_named() -> None:
    with pytest.raises(LoadError, match="no address in it"):
        read_list(b"# nothing\n\n", "a.txt")
    with pytest.raises(LoadError, match="split it"):
        read_list("\n".join(f"{HOST}/{number}" for number in range(MOST_PAGES + 1)).encode(), "a.txt")
