"""Chunks: where documents are cut, and that a chunk is its document's text verbatim."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowledge.blocks import Block, code_blocks, markdown_blocks, prose_blocks, read_markdown
from knowledge.chunks import LIMIT, TARGET, Chunk, cut_into_chunks, size_of
from knowledge.language import Language, language_of
from knowledge.sentences import sentences

ENGLISH = "A salted hash of a password is stored once for each account of the service. "
CHINESE = "每个账户的密码都要加盐之后再计算哈希并且只保存结果。"
JAPANESE = "パスワードはソルトを加えてからハッシュ化して保存する。"


def chunks_of(text: str, blocks: list[Block] | None = None, title: str = "Title") -> list[Chunk]:
    lang: Language = language_of(text)
    return cut_into_chunks(text, markdown_blocks(text) if blocks is None else blocks, title=title, lang=lang)


def test_headings_stand_above_their_chunks_and_not_in_them() -> None:
    text = f"# Guide\n\n{ENGLISH * 10}\n\n## 盐\n\n{CHINESE * 15}\n\n### 手順\n\n{JAPANESE * 15}\n"
    chunks = chunks_of(text, title="Guide")
    assert [(chunk.heading, chunk.lang) for chunk in chunks] == [
        ("Guide", "en"),
        ("Guide > 盐", "zh"),
        ("Guide > 盐 > 手順", "ja"),
    ]
    assert [chunk.text[:4] for chunk in chunks] == ["A sa", "每个账户", "パスワー"]


TABLES = [
    "| a | b |",
    "|---|---|",
    "| 表 | `値|x` |",
    "  |:-:|--|",
    "",
    "- item",
    "    code",
    "> quote",
    "# h",
    "```",
]


@given(
    st.lists(
        st.sampled_from([*TABLES, "text | pipe", "> |---|---|", "2) c", "***", "<div>", "--|--"]), max_size=12
    )
)
def test_a_table_is_one_block_from_its_first_row_to_its_last(lines: list[str]) -> None:
    text = "\n".join(lines)
    parsed = MarkdownIt("commonmark").enable("table").disable("reference").parse(text)
    tables = [token.map for token in parsed if token.type == "table_open" and token.level == 0 and token.map]
    wholes = ["\n".join(lines[first:after]).strip() for first, after in tables]
    found = [text[block.start : block.end] for block in markdown_blocks(text) if block.cut == "lines"]
    assert [block for block in found if block in wholes] == wholes


@pytest.mark.parametrize(
    ("table", "after"),
    [
        ("Salts 盐:\n| a | b |\n|---|---|\n| 表 | x |", "2. 手順"),  # a list ends it with any number
        ("- | a | b |\n  |---|---|\n  | 表 | x |", "| 手順 | z |"),  # no longer in the item
    ],
)
def test_what_stands_behind_a_table_is_no_row_of_it(table: str, after: str) -> None:
    text = f"{table}\n{after}"
    *_, last = [text[block.start : block.end] for block in markdown_blocks(text)]
    assert last == after


def test_another_title_than_the_first_heading_stands_in_front() -> None:
    assert chunks_of("# Intro\n\nText.", title="Report")[0].heading == "Report > Intro"


def test_small_sections_share_a_chunk_under_what_they_have_in_common() -> None:
    text = "# T\n\n## Hashes\n\n### MD5\n\nMD5 is fast.\n\n### SHA-1\n\nSHA-1 is fast too.\n"
    (chunk,) = chunks_of(text, title="T")
    assert chunk.heading == "T > Hashes"
    assert chunk.text == "MD5 is fast.\n\n### SHA-1\n\nSHA-1 is fast too."


def test_a_long_section_is_shared_out_evenly_at_sentences() -> None:
    for sentence, repeat in ((ENGLISH, 40), (CHINESE, 60), (JAPANESE, 60)):
        text = f"# T\n\n{(sentence * repeat).strip()}"
        chunks = chunks_of(text)
        assert len(chunks) > 1
        assert all(chunk.text.endswith((".", "。")) for chunk in chunks)
        assert all(size_of(chunk.text) <= TARGET for chunk in chunks)
        assert min(len(chunk.text) for chunk in chunks) > max(len(chunk.text) for chunk in chunks) / 2


def test_fences_and_tables_stay_whole_up_to_the_limit() -> None:
    fence = "```go\n" + "hash := argon2.IDKey(password, salt)\n\n" * 50 + "```"
    table = "| 名前 | value |\n|---|---|\n" + "| 反復 | 2 |\n" * 100
    text = f"# T\n\n{ENGLISH * 5}\n\n{fence}\n\n{ENGLISH * 5}\n\n{table}\n\n{ENGLISH}"
    texts = [chunk.text for chunk in chunks_of(text)]
    assert fence in texts
    assert table.strip() in texts


def test_a_fence_in_a_long_list_item_stays_whole() -> None:
    fence = "  ```\n  one. Two\n  ```"
    text = f"- {ENGLISH * 20}\n\n{fence}\n- next item"
    assert any(fence.strip() in chunk.text for chunk in chunks_of(text))


def test_a_table_past_the_limit_is_cut_at_its_lines() -> None:
    row = "| " + "x" * 70 + " | 値 |\n"
    chunks = chunks_of("| a | b |\n|---|---|\n" + row * 200)
    assert len(chunks) > 5
    for chunk in chunks:
        assert size_of(chunk.text) <= LIMIT
        assert all(line.startswith("|") and line.endswith("|") for line in chunk.text.splitlines())


def test_a_minified_line_is_cut_anyway() -> None:
    for line in ("function(){a=b}" * 2000, "あ" * 20_000, "字" * 20_000):
        chunks = chunks_of(line, prose_blocks(line))
        assert "".join(chunk.text for chunk in chunks) == line
        assert max(size_of(chunk.text) for chunk in chunks) <= LIMIT


def test_a_heading_with_nothing_below_it_is_kept() -> None:
    text = "# T\n\n## Use Argon2id\n\n## 不要用 MD5\n\n## 見出しだけ\n"
    joined = "\n".join(chunk.text for chunk in chunks_of(text, title="T"))
    assert all(word in joined for word in ("Use Argon2id", "不要用 MD5", "見出しだけ"))


def test_headings_lose_their_markdown() -> None:
    assert (
        chunks_of("## **Use** `Argon2id` [now](http://x.org)\n\nText.")[0].heading
        == "Title > Use Argon2id now"
    )


def test_addresses_of_links_are_no_text_and_headings_lose_them() -> None:
    text = (
        "# [Guide][1] to 盐\n\nSee [a][1].\n\n## [手順]\n\n本文。\n\n[1]: https://a.example 'A'\n[手順]: /b"
    )
    (chunk,) = chunks_of(text, title="Guide to 盐")
    assert chunk.heading == "Guide to 盐"
    assert chunk.text == "See [a][1].\n\n## [手順]\n\n本文。"
    assert [block.headings for block in markdown_blocks(text)][1] == ("Guide to 盐", "手順")


def test_the_title_is_the_first_heading_of_level_one() -> None:
    assert read_markdown("intro\n\n## sub\n\n# 密码 *存储*\n\n# other")[0] == "密码 存储"
    assert read_markdown("見出し\n====\n\ntext")[0] == "見出し"
    assert read_markdown("```\n# no\n```\n\n## sub")[0] is None


def test_code_is_cut_at_definitions() -> None:
    body = "    value = salt + password\n\n    return value\n" * 18
    text = f"import hashlib\n\n\ndef hash_password(p):\n{body}\n\nclass 検証:\n{body}"
    chunks = chunks_of(text, code_blocks(text), title="auth.py")
    assert [chunk.heading for chunk in chunks] == ["auth.py", "auth.py > class 検証:"]
    assert chunks[0].text.startswith("import hashlib\n\n\ndef hash_password(p):\n")
    assert chunks[1].text.startswith("class 検証:\n")


def test_a_heading_of_a_megabyte_and_a_megabyte_of_blank_lines_are_cut_like_anything() -> None:
    for text in (
        "# " + "heading " * 130_000,
        "# T\n\nA.\n" + "\n" * 1_000_000 + "密码。",
        "一。\n\n" + "[a]: https://example.com/x\n" * 40_000 + "\n終わり。",
    ):
        chunks = chunks_of(text)
        assert max(size_of(chunk.text) for chunk in chunks) <= LIMIT
        assert max(len(chunk.heading) for chunk in chunks) < 2500


def test_a_text_of_abbreviations_is_cut_in_time() -> None:
    """Each full stop was once looked at with all of the sentence before it: 55 s for a tenth of this."""
    text = "foo. bar 見出し, 密码 " * 90_000
    started = time.process_time()
    chunks_of(text, prose_blocks(text))
    assert time.process_time() - started < 60


pieces = st.sampled_from(
    [
        ENGLISH,
        CHINESE,
        JAPANESE,
        ENGLISH * 12,
        CHINESE * 30,
        JAPANESE * 30,
        "## Heading `code`",
        "# 标题",
        "#### 見出し",
        "Setext\n------",
        "```py\n# not a heading\n\nx = 1. Y = 2\n```",
        "~~~\n" + "行。\n" * 300 + "~~~",
        "| a | 値 |\n|---|---|\n| 1. A | 二。三 |",
        "- item one. More.\n- 项目二。\n  - nested 三\n\n    ```\n    code\n    ```",
        "> quoted. 引用。\n> もっと",
        "1. first\n2. second",
        "***",
        "<div>\nhtml. 文\n</div>",
        "    indented code",
        "🎉 emoji 👩‍👩‍👧 é e\u0301",
        "x" * 5000,
        "\t \u3000",
        "# " + "very long heading " * 400,
        "## " + "長い見出し" * 1000,
        "标题" * 3000 + "\n===",
        "\n" * 6000,
        " \n" * 3000,
        "[a]: https://example.com/definitions/of/links\n" * 150,
        "words. and so on, e.g. more. " * 300,
        "```\n" + "行\n" * 3000,
        "public " * 2000 + "class X",
        "---\n" * 2000,
    ]
)
documents = st.lists(pieces, min_size=1, max_size=12).map("\n\n".join)


@given(documents, st.sampled_from([markdown_blocks, prose_blocks, code_blocks]))
def test_chunks_are_verbatim_in_order_and_bounded(text: str, blocks_of: Callable[[str], list[Block]]) -> None:
    end = 0
    for chunk in chunks_of(text, blocks_of(text)):
        assert chunk.text == text[chunk.start : chunk.end]
        assert len(chunk.heading) < 2500
        assert chunk.text.strip()
        assert chunk.text == chunk.text.rstrip().lstrip("\n")  # the indentation of code stays
        assert chunk.start >= end
        assert size_of(chunk.text) <= LIMIT
        end = chunk.end


@given(documents)
def test_no_block_is_lost_and_none_that_fits_is_cut(text: str) -> None:
    chunks = chunks_of(text)
    for block in markdown_blocks(text):
        inside = [chunk for chunk in chunks if chunk.start < block.end and block.start < chunk.end]
        covered = "".join(text[max(c.start, block.start) : min(c.end, block.end)] for c in inside)
        assert "".join(covered.split()) == "".join(text[block.start : block.end].split())
        if size_of(text[block.start : block.end]) <= (LIMIT if block.cut == "lines" else TARGET):
            assert len(inside) == 1


@given(
    st.lists(st.sampled_from([ENGLISH, CHINESE, JAPANESE, "Short one. "]), min_size=1, max_size=80).map(
        "".join
    )
)
def test_no_sentence_is_cut(text: str) -> None:
    starts = {start for start, _ in sentences(text)}
    assert all(chunk.start in starts for chunk in chunks_of(text, prose_blocks(text)))
