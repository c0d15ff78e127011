"""Headings are the program's: what a model puts into a section's text is lowered or left out."""

import pytest

from agents.headings import parts, plain_heading, unseen, without_headings


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("## Why MD5 fails\n\nIt is fast.", "It is fast."),
        ("# A\n\n## B\n\nText.", "Text."),
        ("First.\n\n# Big\n\nSecond.", "First.\n\n### Big\n\nSecond."),
        ("First.\n\n#### Deep ##\n\nSecond.", "First.\n\n#### Deep\n\nSecond."),
        ("## 为什么\n\nMD5 很快。", "MD5 很快。"),
        ("## 移行\n\n移行する。\n\n## 手順", "移行する。\n\n### 手順"),
        ("Text.\n\n```sh\n# a comment\n```", "Text.\n\n```sh\n# a comment\n```"),
        ("```\n# only code\n```", "```\n# only code\n```"),
        ("Text.\n\n```go\nx := 1", "Text.\n\n```go\nx := 1\n```"),
        ("正文。\n\n~~~~\n代码\n~~~", "正文。\n\n~~~~\n代码\n~~~\n~~~~"),
        ("本文。\n\n```go\nx\n```go", "本文。\n\n```go\nx\n```go\n```"),
        ("```x``` is a span.", "```x``` is a span."),
        ("#hashtag is no heading", "#hashtag is no heading"),
        ("## Only a heading", ""),
        ("  \n\n", ""),
    ],
)
def test_headings_in_a_section_stay_below_its_own(content: str, kept: str) -> None:
    assert without_headings(content) == kept


@pytest.mark.parametrize(
    ("heading", "plain"),
    [
        ("## 3. Migration", "Migration"),
        ("1.2. **Parameters**", "Parameters"),
        ("2、参数", "参数"),
        ("3）迁移", "迁移"),
        ("４．移行", "移行"),
        ("72 bytes", "72 bytes"),
        ("2024 in review", "2024 in review"),
        ("See [RFC 9106](https://example.com)", "See RFC 9106"),
        (" two\n lines ", "two lines"),
        ("From C to C#", "From C to C#"),
        ("## Closed ##", "Closed"),
        ("移行\n手順", "移行 手順"),
        ("Why MD5 fails [S1]", "Why MD5 fails"),
        ("迁移【S2】", "迁移"),
        ("移行（S1、S2）", "移行"),
        ("[S3]", ""),
        ("\u200b", ""),
        ("**\u2060\u00ad**", ""),
    ],
)
def test_a_heading_is_plain(heading: str, plain: str) -> None:
    assert plain_heading(heading) == plain


@pytest.mark.parametrize(
    ("text", "nothing"), [("", True), (" \n\u200b\ufe0f", True), ("字", False), ("か゛", False)]
)
def test_what_cannot_be_seen_is_nothing(text: str, nothing: bool) -> None:
    assert unseen(text) is nothing


def test_a_text_is_cut_at_its_headings_but_not_in_code() -> None:
    text = "Before.\n\n## 1. One\nA.\n\n```sh\n# no heading\n```\n### 二\n乙。\n## さん\n丙。"
    assert parts(text) == [
        ("", "Before."),
        ("One", "A.\n\n```sh\n# no heading\n```"),
        ("二", "乙。"),
        ("さん", "丙。"),
    ]
