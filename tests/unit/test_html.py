"""Web pages to text: what is kept, what is left out, and what pages say about themselves."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.files import LoadError
from knowledge.html import read_page
from knowledge.loaders import load

ADDRESS = "https://wiki.example.com/passwords?utm=1"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>Password storage | Wiki</title><link rel="canonical" href="/passwords">
<meta property="article:published_time" content="2024-03-02T10:00:00Z"></head><body>
<header><a href="/">Wiki home</a></header><nav><ul><li>Start<li>All pages</ul></nav>
<main><h1>Password storage<a class="headerlink" href="#x">¶</a></h1>
<p>Store a <b>salted</b> hash
 of <code>password</code>, see <a href="/x">the guide</a>.</p>
<h2>参数</h2>
<p>盐的长度
为十六字节。</p>
<table><tr><th>名前</th><th>Value</th></tr><tr><td>反復</td><td>2</td></tr></table>
<h3>Code</h3><pre><code>def hash(p):
    return argon2(p)

# done</code></pre>
<ul><li>First item<li>二番目<ul><li>nested</ul></ul>
<p><ruby>漢字<rt>かんじ</rt></ruby>を使う。<br>次の行。</p><script>alert("no")</script>
</main><aside>Related</aside><footer>© Wiki, all rights reserved</footer></body></html>"""


def test_a_page_gives_its_text_with_headings_tables_and_code() -> None:
    page = read_page(PAGE, url=ADDRESS)
    assert page.text == (
        "# Password storage\n\nStore a salted hash of `password`, see the guide.\n\n"
        "## 参数\n\n盐的长度为十六字节。\n\n| 名前 | Value |\n|---|---|\n| 反復 | 2 |\n\n"
        "### Code\n\n```\ndef hash(p):\n    return argon2(p)\n\n# done\n```\n\n"
        "- First item\n- 二番目\n  - nested\n\n漢字を使う。\n次の行。"
    )
    assert [block.headings for block in page.blocks][:3] == [
        ("Password storage",),
        ("Password storage", "参数"),
        ("Password storage", "参数"),
    ]


def test_a_page_says_its_title_address_and_day() -> None:
    page = read_page(PAGE, url=ADDRESS)
    assert (page.title, page.canonical) == ("Password storage", "https://wiki.example.com/passwords")
    assert (page.published, page.lang) == (date(2024, 3, 2), "ja")  # whatever its template says


PARAGRAPHS = [
    "A salt is unique for each password, and it has sixteen bytes, so that equal passwords differ in store.",
    "每个密码都有唯一的盐，盐的长度为十六字节，由系统的随机数生成器产生，因此相同的密码也有不同的哈希值。",
    "ソルトはパスワードごとに異なり、その長さは十六バイトであり、同じパスワードでも異なるハッシュ値になる。",
]


@pytest.mark.parametrize("mark", ["#", "¶", "§", "🔗", " # "])
def test_marks_that_lead_to_the_same_page_are_no_words(mark: str) -> None:
    link = f'<span><a class="mark" href="#here">{mark}</a></span>'
    html = (
        f"<h1>C# 入門{link}</h1><main><h2>密码加盐{link}</h2><p>{PARAGRAPHS[1]}<a href='#note-1'>[1]</a></p>"
        f"<h2>ソルト{link}</h2><p>{PARAGRAPHS[2]}<a href='#back'>↩</a></p></main>"
    )
    page = read_page(html, url=None)
    assert page.title == "C# 入門"
    assert page.text == f"## 密码加盐\n\n{PARAGRAPHS[1]}[1]\n\n## ソルト\n\n{PARAGRAPHS[2]}"


def test_a_link_to_an_operator_on_the_same_page_is_a_word() -> None:
    html = f"<main><p>{PARAGRAPHS[0]} <a href='#power'><code>**</code></a> 幂 べき乗。</p></main>"
    assert read_page(html, url=None).text == f"{PARAGRAPHS[0]} ** 幂 べき乗。"


def test_words_of_a_title_on_two_lines_stay_apart() -> None:
    html = f"<h1><div>Chapter 1</div><div>Salt 盐</div></h1><main><p>{PARAGRAPHS[0]}</p></main>"
    assert read_page(html, url=None).title == "Chapter 1 Salt 盐"


def test_a_page_that_does_not_name_its_text_is_read_without_what_stands_around_it() -> None:
    links = "".join(f'<li><a href="/{n}">Category {n}</a></li>' for n in range(30))
    text = "".join(f"<h2>Part {n}</h2><p>{words}</p>" for n, words in enumerate(PARAGRAPHS * 3))
    html = (
        f'<body><div id="menu"><ul>{links}</ul></div><div id="wrap"><div class="content"><h1>塩</h1>{text}'
        f"</div></div><div>Subscribe to our newsletter</div><footer>Imprint</footer></body>"
    )
    page = read_page(html, url=None)
    assert page.text.startswith("# 塩\n\n## Part 0\n\nA salt")
    assert page.text.count("## Part") == 9
    assert not any(words in page.text for words in ("Category", "newsletter", "Imprint"))


@pytest.mark.parametrize(
    ("canonical", "kept"),
    [
        ("https://wiki.example.com/a?page=2", "https://wiki.example.com/a?page=2"),
        ("//wiki.example.com/a#part", "https://wiki.example.com/a"),
        ("https://other.example.com/a", None),  # it would pass for another site's page
        ("https://wiki.example.com/", None),  # all pages of some sites say so
        ("https://user@wiki.example.com/a", None),
        ("javascript:alert(1)", None),
        ("http://[", None),
    ],
)
def test_a_page_may_name_its_address_on_its_own_host_only(canonical: str, kept: str | None) -> None:
    html = f'<head><link rel="canonical" href="{canonical}"></head><body><p>{PARAGRAPHS[0]}</p></body>'
    assert read_page(html, url=ADDRESS).canonical == kept


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", PARAGRAPHS[1], "zh"),  # templates say en whatever the text is
        ("ja", "東京都庁舎", "ja"),
        ("zh-Hant", "東京都庁舎", "zh"),
        ("ja", PARAGRAPHS[0], "en"),
        ("", PARAGRAPHS[2], "ja"),
    ],
)
def test_the_language_is_the_texts_and_the_page_is_asked_between_two(
    lang: str, text: str, expected: str
) -> None:
    assert read_page(f'<html lang="{lang}"><body><p>{text}</p></body></html>', url=None).lang == expected


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", "empty"),
        ("<html><body></body></html>", "empty"),
        ("<body><div hidden>nothing to see</div>  \n　</body>", "empty"),
        ("<body><div id=root></div><script>render()</script></body>", "JavaScript"),
        ("<body><form>用户名<input name=u><input type=password name=p></form></body>", "login"),
        ("<body><h1>ログイン</h1><input type='password'></body>", "login"),
        ("<div>" * 3000 + "密码加盐之后存储", "nested deeper"),
        ('<meta http-equiv="Refresh" content="0; url=https://x.example/b"><p>moved</p>', r"x\.example/b"),
    ],
)
def test_a_page_without_text_says_why(html: str, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        read_page(html, url=None)


@pytest.mark.parametrize(
    "html",
    [
        "<p>密码<b>加盐</i></p></div></table><td>之后存储",
        "<html><body><table><tr><td>密码<b>加盐<table>之后存储",
        "密码加盐之后存储",
        "<!-- <p>密码 --><p>密码加盐之后存储<!-- open",
        '<?xml version="1.0" encoding="gb2312"?><html><body>密码加盐之后存储</body></html>',
        "<div>" * 1500 + "密码加盐之后存储",
        "<b><i>" * 700 + "密码加盐之后存储",
        "<b><p>" * 700 + "密码加盐之后存储",
        "<ul><li>" * 700 + "密码加盐之后存储",
        "<table><tr><td>" * 300 + "密码加盐之后存储",
        "<p>密码加盐之后存储\0\x1b&#0;&#xD800;&#x1f;</p>",
    ],
)
def test_broken_html_gives_what_text_it_has(html: str) -> None:
    text = read_page(html, url=None).text
    for word in ("密码", "存储"):
        assert word in text
    assert text.isprintable() or set("\n") >= {each for each in text if not each.isprintable()}


@pytest.mark.parametrize(
    ("encoding", "meta", "words"),
    [
        ("gb18030", "gb2312", "密码应该加盐之后再存储。"),
        ("big5", "big5", "密碼應該加鹽之後再儲存。"),
        ("shift_jis", "Shift_JIS", "パスワードはハッシュ化して保存する。"),
        ("euc_jp", "euc-jp", "パスワードはハッシュ化して保存する。"),
        ("cp1252", "iso-8859-1", "A naïve café’s “résumé” – déjà vu."),
        ("utf-8", "latin-1", "密码应该加盐之后再存储。"),  # what it says is not so, and shows
        ("gb18030", "no-such-charset", "密码应该加盐之后再存储，每个密码都有唯一的盐，盐的长度为十六字节。"),
        ("utf-16", "utf-8", "密码应该加盐之后再存储。"),
        ("utf-16-le", "utf-16", "<!-- marked by no bytes --> パスワードはハッシュ化して保存する。"),
    ],
)
def test_a_page_is_read_in_the_charset_that_it_or_its_bytes_name(
    encoding: str, meta: str, words: str
) -> None:
    html = f'<html><head><meta charset="{meta}"></head><body><p>{words}</p></body></html>'
    loaded = load("page.html", html.encode(encoding))
    assert loaded.text == words.removeprefix("<!-- marked by no bytes --> ")
    assert loaded.kind == "web"


markup = st.lists(
    st.sampled_from(
        [
            *("<p>", "</p>", "<div>", "</div>", "<h1>", "</h1>", "<h3>", "</h3>", "<ul>", "<li>", "</ul>"),
            *("<table>", "<tr>", "<td>", "</td>", "</table>", "<pre>", "</pre>", "<br>", "<b>", "</b>"),
            *("<code>", "</code>", "<a href='x'>", "</a>", "<span hidden>", "</span>", "<!--", "-->", "&lt;"),
            *(
                "words. More",
                " 密码。存储 ",
                "パスワード",
                "\n\n",
                "\t",
                "```",
                "| a |",
                "# x",
                "&#x200b;",
                "<",
            ),
        ]
    ),
    max_size=40,
).map("".join)


@given(markup)
def test_blocks_of_a_page_are_its_text_in_order(html: str) -> None:
    try:
        page = read_page(html, url=None)
    except LoadError:
        return
    end = 0
    for block in page.blocks:
        assert block.start >= end
        assert page.text[block.start : block.end].strip() == page.text[block.start : block.end] != ""
        end = block.end
    assert end <= len(page.text)
