"""Which web addresses may be fetched."""

import pytest

from knowledge.addresses import AddressError, checked_url, is_web_address, refuse_private


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.1", "192.0.2.1", "198.18.0.1"),
        *("224.0.0.1", "224.0.1.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16"),
        *("::1", "::", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"),
        *("::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::"),
        *(
            "2002:a9fe:a9fe::",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:db8::1",
            "fe80::1",
            "fe80::1%eth0",
        ),
        *("fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "ff0e::1", "100::1", "5f00::1"),
    ],
)
def test_what_not_everybody_can_reach_is_refused(address: str) -> None:
    with pytest.raises(AddressError, match=r"wiki\.example\.com \(.+\) is inside a private network"):
        refuse_private(address, host="wiki.example.com")


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::"],
)
def test_what_everybody_can_reach_is_not(address: str) -> None:
    refuse_private(address, host="example.com")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.com/a", "ftp is not read"),
        ("file:///etc/passwd", "file is not read"),
        ("gopher://example.com", "gopher is not read"),
        ("data:text/html,密码", "data is not read"),
        ("javascript:alert(1)", "javascript is not read"),
        ("example.com/a", "it begins with https"),
        ("127.0.0.1:8000/文", "it begins with https"),
        ("localhost:8000", "it begins with https"),
        ("／パス", "it begins with https"),
        ("https://user:secret@example.com/", "name or password"),
        ("https://user@example.com/", "name or password"),
        ("https:///a", "no web address"),
        ("https://", "no web address"),
        ("https://[::1/", "no web address"),
        ("https://example.com:99999/", "no web address"),
        ("https://exa mple.com/", "no web address"),
        ("", "it begins with https"),
        ("https://example.com/" + "文" * 3000, "longer"),
    ],
)
def test_what_is_no_address_to_fetch_is_named(url: str, reason: str) -> None:
    with pytest.raises(AddressError, match=reason):
        checked_url(url)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (" https://Example.com/a#part ", "https://example.com/a"),
        ("https://example.com/a?utm_source=x&utm_medium=y", "https://example.com/a"),
        ("https://example.com/a?id=7&fbclid=abc#x", "https://example.com/a?id=7"),
        ("https://example.com/密码?q=盐", "https://example.com/%E5%AF%86%E7%A0%81?q=%E7%9B%90"),
        ("https://例え.jp/手順", "https://xn--r8jz45g.jp/%E6%89%8B%E9%A0%86"),
        ("http://example.com", "http://example.com/"),
        ("https://example.com/a?b=c%26d&e", "https://example.com/a?b=c%26d&e"),
    ],
)
def test_an_address_loses_what_does_not_name_the_page(given: str, kept: str) -> None:
    assert str(checked_url(given)) == kept


def test_an_address_is_told_from_a_path() -> None:
    assert all(map(is_web_address, ("https://a.example", "HTTP://a.example", "ftp://a.example", " http://x")))
    assert not any(map(is_web_address, ("notes.md", "/srv/docs", "./https/x", "C:\\notes", "文档/a.md")))


@pytest.mark.parametrize(
    "url", ["http://][@", "http://][@盐", "http://[:a]", "https://[.9::1]/ソルト", "http://["]
)
def test_brackets_in_a_wrong_order_are_no_address(url: str) -> None:
    with pytest.raises(AddressError, match="no web address"):
        checked_url(url)
