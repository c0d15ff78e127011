"""Markdown as Slack blocks: what it looks like, that it is whole, harmless and within Slack's limits."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.elements import PIECE_CHARACTERS, fit, is_url, plain
from bot.fitting import cut_at, length, shares, shorten, size, split
from bot.local_slack.limits import block_problems
from bot.local_slack.plain_text import block_text, pings
from bot.render import TABLE_CHARACTERS, escape, inline, quoted, to_blocks

SNIPPETS = [
    # marks of Markdown, alone and where they begin something
    *("# ", "## ", "### ", "- ", "1. ", "7) ", "> ", "    ", "```\n", "~~~go\n", "---\n", "|"),
    *("| a | b |\n|---|:-:|\n", "\n", "\n\n", " ", "  \n", "\\\n", "\\", "*", "**", "_", "~~", "`", "``"),
    *("[", "](", ")", "![", "<", ">", "&", "#", "[S1]", "[S1]: ", "[S1](https://x.test)"),
    # what would ping, link or run elsewhere
    *("<!channel>", "<@U123ABC>", "<!subteam^S1>", "<#C1>", "@here", "&lt;!here&gt;", "&#60;!here&#62;"),
    *("https://x.test/a_(b)", "javascript:alert(1)", "mailto:a@b.test", "http://[", "<https://x.test>"),
    *("![](https://x.test/i.png)", "<b>", "</div>", "<!-- ", "<script>", "]]>", "<?", "{x}", "&#x202e;"),
    # people's languages, and characters that are more or less than they look
    *("word", "A sentence. ", "重要。", "「引用」", "これは文です。", "数値、", "ｶﾅ", "ＡＢＣ", "　"),
    *("עברית", "العربية", "👩\u200d👩\u200d👧\u200d👦", "🇩🇪🇯🇵", "👍🏽", "e\u0301"),
    *("\u200b", "\u202e", "\u0000", "\u2028", "\ud83d", "\ufeff", "a" * 200, "漢" * 200),
]

markdown = st.one_of(
    st.lists(st.sampled_from(SNIPPETS), max_size=60).map("".join),
    st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=8)), max_size=40).map("".join),
)
long_markdown = st.tuples(markdown, st.integers(1, 60)).map(lambda given: given[0] * given[1])


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (value["text"] for _ in [0] if isinstance(value.get("text"), str))
        yield from (text for part in value.values() for text in texts(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in texts(part))


def seen(markdown: str) -> str:
    return "\n".join(map(block_text, to_blocks(markdown)))


@settings(max_examples=150, deadline=None)
@given(long_markdown)
def test_any_markdown_gives_blocks_that_slack_takes(markdown: str) -> None:
    blocks = to_blocks(markdown)
    assert block_problems(blocks, "") == []
    assert sum(block["type"] == "table" for block in blocks) <= 1
    for block in blocks:
        assert size(block) <= (TABLE_CHARACTERS if block["type"] == "table" else PIECE_CHARACTERS)
    json.dumps(blocks, ensure_ascii=False).encode()


@settings(max_examples=150, deadline=None)
@given(long_markdown)
def test_no_markdown_mentions_anybody_or_links_elsewhere(markdown: str) -> None:
    blocks = to_blocks(markdown)
    assert list(pings(blocks)) == []
    assert '"type": "mrkdwn"' not in json.dumps(blocks)
    urls = re.findall(r'"url": "([^"]*)"', json.dumps(blocks))
    assert all(url.startswith(("http://", "https://", "mailto:")) for url in urls)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["one", "zwei", "三个字", "四つ目", "[S1]", "[S1, S2]", "émigré", "👍🏽"]),
        max_size=900,
    )
)
def test_nothing_of_a_text_is_lost_however_long(words: list[str]) -> None:
    for markdown in (
        " ".join(words),
        "- " + "\n- ".join(words),
        "> " + " ".join(words),
        "~~~\n" + "\n".join(words),
    ):
        shown = "".join(texts(to_blocks(markdown)))
        assert re.sub(r"\s", "", shown) == "".join(words).replace(" ", "")


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**重要。**后面", [("重要。", "bold"), ("后面", None)]),
        ("前面**「引用」**后面", [("前面", None), ("「引用」", "bold"), ("后面", None)]),
        ("これは**「重要」**です。", [("これは", None), ("「重要」", "bold"), ("です。", None)]),
        ("a **b** *c* ~~d~~ `e`", [("a ", None), ("b", "bold"), (" ", None), ("c", "italic"), (" ", None),
                                   ("d", "strike"), (" ", None), ("e", "code")]),
        ("2 * 3 * 4 and snake_case_name", [("2 * 3 * 4 and snake_case_name", None)]),
    ],
)  # fmt: skip
def test_emphasis_works_in_every_language(markdown: str, shown: list[tuple[str, str | None]]) -> None:
    elements = inline(markdown)
    assert [(e["text"], next(iter(e.get("style", {})), None)) for e in elements] == shown


@pytest.mark.parametrize(
    ("markdown", "links", "text"),
    [
        ("see [doc](https://x.test/a_(b)) [S1]", ["https://x.test/a_(b)"], "see doc [S1]"),
        ("[S1](https://x.test)", ["https://x.test"], "[S1]"),
        ("见[S1，S2](https://x.test)。", ["https://x.test"], "见[S1，S2]。"),
        ("[S1][S2] 与 [S1、S2]", [], "[S1][S2] 与 [S1、S2]"),
        ("[[S1]](https://x.test)", ["https://x.test"], "[S1]"),
        ("<https://x.test/?a=1&b=2>", ["https://x.test/?a=1&b=2"], "https://x.test/?a=1&b=2"),
        ("![図](https://x.test/i.png)です", ["https://x.test/i.png"], "図です"),
        ("![](https://x.test/i.png)", ["https://x.test/i.png"], "https://x.test/i.png"),
        ("[![alt](https://i.test/i.png)](https://x.test)", ["https://x.test"], "alt"),
        ("[mail](mailto:a@b.test)", ["mailto:a@b.test"], "mail"),
        ("[x](javascript:alert(1))", [], "[x](javascript:alert(1))"),
        ("[x](data:text/html,1)", [], "[x](data:text/html,1)"),
        ("[x](file:///etc/passwd) [y](docs/a.md)", [], "[x](file:///etc/passwd) [y](docs/a.md)"),
        ("[x](slack://open) [y](https://)", [], "[x](slack://open) [y](https://)"),
        ("<b>bold</b> &amp; <!-- c -->", [], "<b>bold</b> & <!-- c -->"),
        ("<!channel> <@U1> &lt;!here&gt;", [], "<!channel> <@U1> <!here>"),
        ("# not a heading, - not a list", [], "# not a heading, - not a list"),
    ],
)
def test_links_citations_and_html_in_a_line(markdown: str, links: list[str], text: str) -> None:
    elements = inline(markdown)
    assert [element["url"] for element in elements if element["type"] == "link"] == links
    assert plain(elements) == text
    assert {element["type"] for element in elements} <= {"text", "link"}


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("one\ntwo", "one two"),
        ("中文\n换行", "中文换行"),
        ("日本語の\n**改行**", "日本語の改行"),
        ("中文\nGo", "中文 Go"),
        ("one  \ntwo", "one\ntwo"),
        ("[S1]: https://evil.test\n\ntext [S1]", "[S1]: https://evil.test\n\ntext [S1]"),
        ("# Title\n\ntext", "# Title\ntext"),
        ("### Deep *one*\n\ntext", "Deep one\n\ntext"),
        ("1. a\n2. b\n   - c\n     d\n3. e", "1. a\n2. b\n    • c d\n3. e"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- a\n\n  zwei\n\n  - c\n\n  z\n- d", "• a\nzwei\n    • c\n\nz\n• d"),
        ("- [ ] a\n-\n- b", "• [ ] a\n•  \n• b"),
        ("1. a\n   ```\n   x\n   y\n   ```\n2. b", "1. a\n    x\n    y\n2. b"),
        ("> a\n>\n> - b\n> - c", "> a\n> • b\n> • c"),
        ("```go\nx := \"<!here>\" // **no**\n```", '    x := "<!here>" // **no**'),
        ("    indented", "    indented"),
        ("a\n\n---\n\nb", "a\n———\nb"),
        ("<div>\n**b**\n</div>", "<div> b </div>"),
        ("", ""),
        ("\u200b\n\n\u202e", ""),
    ],
)  # fmt: skip
def test_blocks_of_markdown(markdown: str, shown: str) -> None:
    assert seen(markdown) == shown


def test_a_first_table_is_a_table_and_a_second_is_aligned_text() -> None:
    table = "| 名前 | n |\n|---|--:|\n| **Go** | 1 |\n| 中文 | |\n"
    first, second = to_blocks(f"{table}\n{table}")
    assert first["rows"][0] == [{"type": "raw_text", "text": "名前"}, {"type": "raw_text", "text": "n"}]
    assert first["rows"][1][0]["type"] == "rich_text"
    assert [column["align"] for column in first["column_settings"]] == ["left", "right"]
    lines = second["elements"][0]["elements"][0]["text"].splitlines()
    assert lines == ["名前  n", "----  -", "Go    1", "中文"]


@pytest.mark.parametrize(("rows", "columns"), [(120, 2), (3, 21), (60, 19)])
def test_a_table_too_large_for_a_table_block_is_aligned_text(rows: int, columns: int) -> None:
    row = "|" + "漢字セル|" * columns + "\n"
    blocks = to_blocks(row + "|" + "---|" * columns + "\n" + row * rows)
    assert {block["type"] for block in blocks} == {"rich_text"}
    assert block_problems(blocks, "") == []
    assert "".join(texts(blocks)).count("漢字セル") == (rows + 1) * columns


def test_a_long_fence_is_closed_and_opened_again_where_lines_end() -> None:
    code = "\n".join(f"line {number}: 漢字 = {number}" for number in range(600))
    parts = [e for block in to_blocks(f"```\n{code}\n```") for e in block["elements"]]
    assert len(parts) > 3
    assert {part["type"] for part in parts} == {"rich_text_preformatted"}
    assert "\n".join(part["elements"][0]["text"] for part in parts) == code


def test_a_long_chinese_paragraph_is_cut_between_sentences_only() -> None:
    sentence = "这是一句用来测试断句的中文，里面没有空格[S1, S2]。"
    blocks = to_blocks(sentence * 300)
    assert len(blocks) > 2
    for block in blocks:
        assert "".join(texts(block)).endswith("。")


def test_a_heading_too_long_for_a_header_is_a_bold_line_and_whole() -> None:
    [block] = to_blocks("# " + "长标题" * 60)
    assert block["type"] == "rich_text"
    assert "".join(texts(block)) == "长标题" * 60


@pytest.mark.parametrize("heading", ["<!channel>", "<@U1AB>", "@here 通知", "**<!here>**"])
def test_a_header_mentions_nobody(heading: str) -> None:
    [block] = to_blocks(f"# {heading}")
    assert block["type"] == "header"
    assert not re.search(r"[@!#]\w", block["text"]["text"])


@settings(deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(SNIPPETS), max_size=12).map("".join)))
def test_escaped_text_has_no_life_in_it(text: str) -> None:
    escaped = escape(text)
    assert not re.search(
        r"[<>]|&(?!(?:amp|lt|gt);)|[@#!]\w|://|mailto:\S", escaped.replace("mailto:\u2060", "")
    )


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("&lt;!here&gt;", "&amp;lt;!\u2060here&amp;gt;"),
        ("中文 <!channel>", "中文 &lt;!\u2060channel&gt;"),
        ("日本語 @here", "日本語 @\u2060here"),
        ("https://evil.test", "https:\u2060//evil.test"),
        ("a@b.test", "a@\u2060b.test"),
        ("C# 12, 5!", "C# 12, 5!"),
    ],
)
def test_escape_leaves_the_words_readable(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@pytest.mark.parametrize(
    "url",
    [
        "https://x.test",
        "http://x.test:8080/a?b=c#d",
        "https://例え.jp/パス",
        "mailto:a@b.test",
        "HTTPS://X.TEST",
    ],
)
def test_a_url_of_the_web_or_of_mail_may_be_linked(url: str) -> None:
    assert is_url(url)


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", "//x.test", "https://", "http:///a", "http://[", "ftp://x.test", "javascript:alert(1)"),
        *("https://x.test/a|b", "https://x.test/>", "https://x.test/ a", "https://x.test/\n"),
        "https://x.test/" + "a" * 2000,
    ],
)
def test_nothing_else_may_be_linked(url: str) -> None:
    assert not is_url(url)


@settings(max_examples=100, deadline=None)
@given(long_markdown, st.integers(100, 4000))
def test_what_is_cut_to_fit_says_so(markdown: str, room: int) -> None:
    elements = quoted(markdown)
    fitted = fit(elements, room)
    assert size(fitted) <= room
    assert fitted == elements or fitted[-1]["text"] == "…"
    assert all(element["text"] for element in fitted)


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(2, 100))
def test_the_pieces_of_a_text_are_the_text(text: str, limit: int) -> None:
    pieces = list(split(text, limit))
    assert "".join(pieces) == text
    assert all(0 < length(piece) <= limit for piece in pieces)
    assert length(shorten(text, limit)) <= limit


@pytest.mark.parametrize(
    ("text", "limit", "head"),
    [
        ("One sentence here. Another one follows.", 30, "One sentence here."),
        ("第一句话在这里。第二句话还没有结束", 12, "第一句话在这里。"),
        ("最初の文です。次の文は途中で", 10, "最初の文です。"),
        ("several words in a row", 10, "several "),
        ("没有空格的一段文字，后面还有", 11, "没有空格的一段文字，"),
        ("abc [S1, S2] def", 9, "abc "),
        ("结论【S1】很长", 5, "结论"),
        ("xx👩\u200d👩\u200d👧\u200d👦", 6, "xx"),
        ("ae\u0301", 2, "a"),
        ("xx🇩🇪", 5, "xx"),
    ],
)
def test_texts_are_cut_where_people_would_cut_them(text: str, limit: int, head: str) -> None:
    assert text[: cut_at(text, limit)] == head


@given(st.lists(st.integers(0, 5000), max_size=12), st.integers(0, 20000))
def test_room_is_shared_and_none_is_wasted(wanted: list[int], room: int) -> None:
    given_out = shares(wanted, room)
    assert all(share <= want for share, want in zip(given_out, wanted, strict=True))
    assert sum(given_out) <= room
    if sum(wanted) <= room:
        assert given_out == wanted
    else:
        assert room - sum(given_out) < len(wanted)
