"""Citations are read in every form that people and models write, and kept in one."""

import time

import pytest

from agents.citations import (
    cited_ids,
    normalised,
    unknown_ids,
    unlinked,
    unread,
    without_citations,
    without_definitions,
)

FORMS = [
    ("MD5 is fast [S1].", ["S1"], "MD5 is fast [S1]."),
    ("MD5 is fast (S1).", ["S1"], "MD5 is fast [S1]."),
    ("MD5 很快（S1）。", ["S1"], "MD5 很快[S1]。"),
    ("MD5 は速い【S1】。", ["S1"], "MD5 は速い[S1]。"),
    ("MD5 很快［S1］。", ["S1"], "MD5 很快[S1]。"),
    ("Two [S1, S2].", ["S1", "S2"], "Two [S1, S2]."),
    ("两个[S1，S2]。", ["S1", "S2"], "两个[S1, S2]。"),
    ("两个[S1、S2]。", ["S1", "S2"], "两个[S1, S2]。"),
    ("二つ[S1；S2]。", ["S1", "S2"], "二つ[S1, S2]。"),
    ("Two [S1; S2] and (S1 and S3).", ["S1", "S2", "S3"], "Two [S1, S2] and [S1, S3]."),
    ("Side by side [S1][S2].", ["S1", "S2"], "Side by side [S1, S2]."),
    ("Side by side [S1] (S2)【S3】.", ["S1", "S2", "S3"], "Side by side [S1, S2, S3]."),
    ("Twice [S2, S2] then [S1].", ["S2", "S1"], "Twice [S2] then [S1]."),
    ("Blanks [ S10 ,S2 ].", ["S10", "S2"], "Blanks [S10, S2]."),
    ("全角【Ｓ１２】。", ["S12"], "全角[S12]。"),
    ("lower [s3].", ["S3"], "lower [S3]."),
    ("二つ（S1と S2）。", ["S1", "S2"], "二つ[S1, S2]。"),
    ("| cell [S1] | (S2) |", ["S1", "S2"], "| cell [S1] | [S2] |"),
    ("**bold [S1]**", ["S1"], "**bold [S1]**"),
    ("A range [S1-S3].", ["S1", "S2", "S3"], "A range [S1, S2, S3]."),
    ("(S1–3), then [S9—S8; S2].", ["S1", "S2", "S3", "S8", "S9"], "[S1, S2, S3], then [S8, S9, S2]."),
    ("范围【S1～S3】。", ["S1", "S2", "S3"], "范围[S1, S2, S3]。"),
    ("範囲（Ｓ１〜３）。", ["S1", "S2", "S3"], "範囲[S1, S2, S3]。"),
    ("Too long to be meant [S1-S900].", ["S1", "S900"], "Too long to be meant [S1, S900]."),
    ("It is fast (Source: S1).", ["S1"], "It is fast [S1]."),
    ("It is fast [S9, P12].", ["S9"], "It is fast [S9]."),
    ("It is fast [S8; S7; and S9].", ["S8", "S7", "S9"], "It is fast [S8, S7, S9]."),
    ("It is fast [S8 or S9].", ["S8", "S9"], "It is fast [S8, S9]."),
    ("It is fast [see source S9, p. 3].", ["S9"], "It is fast [S9]."),
    ("It is fast [**S9**] and [S09] {S9}.", ["S9"], "It is fast [S9] and [S9]."),
    ("It is fast [\u200bS9] and [^S9], [S 9].", ["S9"], "It is fast [S9] and [S9], [S9]."),
    ("它很快［参见S1，第3页］。", ["S1"], "它很快[S1]。"),
    ("速い【出典：S1、3ページ】。", ["S1"], "速い[S1]。"),
    ("It is fast [sources S1, S2].", ["S1", "S2"], "It is fast [S1, S2]."),
    ("它很快（来源：S1）。", ["S1"], "它很快[S1]。"),
    ("速い（出典：S1、S2）。", ["S1", "S2"], "速い[S1, S2]。"),
]


@pytest.mark.parametrize(("text", "ids", "stored"), FORMS)
def test_every_form_is_read_and_kept_in_one(text: str, ids: list[str], stored: str) -> None:
    assert cited_ids(text) == ids
    assert normalised(text) == stored
    assert normalised(stored) == stored


@pytest.mark.parametrize(
    "text",
    [
        "[S1](https://example.com) is a link",
        "see [the S1 chip](https://example.com/S1)",
        "![S1](picture.png)",
        "`[S1]` is code",
        "``a ` [S1]`` is code",
        "```go\nx := m[S1] // [S2]\n```",
        "~~~\n[S1]\n~~~",
        "[S1]: https://example.com",
        "the S1 and the S2",
        "[S0], [S], [S12345] and [XS1]",
        "[S1x], (S1 is better)",
        "[SHA1] (S1-a) [S1-S]",
        "(open source: S1 chip)",
        "型号（S1型）与【S】",
        "（S1の場合）",
    ],
)
def test_code_links_and_other_brackets_are_no_citations(text: str) -> None:
    assert cited_ids(text) == []
    assert normalised(text) == text


def test_a_fence_that_is_never_closed_is_code_to_the_end() -> None:
    assert cited_ids("First [S1].\n\n```\n[S2]\n\n[S3]") == ["S1"]


@pytest.mark.parametrize(
    "rest", ["then [S1].\n\nMore [S2].", "然后[S1]。\n\n再[S2]。", "次に[S1]。\n\n更に[S2]。"]
)
def test_three_backticks_within_a_line_are_a_code_span(rest: str) -> None:
    assert cited_ids(f"```x := m[S9]``` {rest}") == ["S1", "S2"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It is fast [S1](https://evil.test/a).", "It is fast [S1]."),
        ("它很快[S1，S2](https://evil.test)。", "它很快[S1，S2]。"),
        ("速い[[S1]](<https://evil.test>)。", "速い[S1]。"),
        ("Bold [**S1**](https://evil.test/a_(b)) and ![S2](x.png).", "Bold [S1] and [S2]."),
        ("`[S1](x)` is code, [the memo](https://a.test) a link", None),
        ("```\n[S1](https://evil.test)\n```", None),
        ("[S1][S2] (see https://a.test)", None),
    ],
)
def test_a_citation_leads_to_its_source_and_nowhere_else(text: str, kept: str | None) -> None:
    assert unlinked(text) == (text if kept is None else kept)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Fast [S1].\n\n[S1]: https://evil.test\n", "Fast [S1].\n\n"),
        ('很快[S1]。\n\n[S1]:\n<https://evil.test> "S1"\n慢。', "很快[S1]。\n\n慢。"),
        ("速い[S1][x]。\n\n[x]: //evil.test", "速い[S1][x]。\n\n"),
        ("```yaml\n[S1]: https://a.test\n```", None),
        ("[Note]: the default is 100.\n[^1]: https://a.test", None),
    ],
)
def test_the_address_of_a_link_does_not_stand_apart(text: str, kept: str | None) -> None:
    assert without_definitions(text) == (text if kept is None else kept)


def test_unknown_ids_are_named_once() -> None:
    assert unknown_ids("A [S1, S9]. B（S9）。C【S4】。", {"S1", "S2"}) == ["S9", "S4"]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("MD5 is fast [S1]. Really [S1][S2].", "MD5 is fast. Really."),
        ("MD5 很快[S1]。的确【S2】。", "MD5 很快。的确。"),
        ("MD5 は速い（S1）。本当に[S1、S2]。", "MD5 は速い。本当に。"),
        ("`x[S1]` stays [S1].", "`x[S1]` stays."),
    ],
)
def test_a_text_without_its_citations_reads_on(text: str, bare: str) -> None:
    assert without_citations(text) == bare


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "Put it into Simple Storage Service (S3), see (S1).",
            "Put it into Simple Storage Service (S3), see [S1].",
        ),
        ("存到对象存储（S3），见（S1）。", "存到对象存储（S3），见[S1]。"),
        ("S3（S3）に置く（S1）。", "S3（S3）に置く[S1]。"),
    ],
)
def test_round_brackets_around_what_is_no_source_are_left_alone(text: str, kept: str) -> None:
    assert normalised(text, known=["S1"]) == kept
    assert cited_ids(text, known=["S1"]) == ["S1"]
    assert unknown_ids(text, ["S1"]) == []


@pytest.mark.parametrize("text", ["It is so [S1 says so].", "是这样[S1 中说]。", "そうだ【S1 による】。"])
def test_brackets_with_more_than_a_citation_are_noticed(text: str) -> None:
    assert cited_ids(text) == []
    assert len(unread(text)) == 1
    assert unread(f"`{text}` and [S1], [S1, p. 2], (S1 says so), [a link to S1](https://a.test)") == []


@pytest.mark.parametrize(
    "text",
    [
        "[S1" + " " * 200_000,
        "(出典" + " " * 200_000,
        "[S1" + ", S1" * 50_000,
        "[S1]" + " " * 200_000 + "x",
        "[a]:" + " " * 200_000,
        "[a]:\n" + "\t" * 200_000,
        "[[S1" + " " * 200_000 + "](https://a.test)",
    ],
    ids=range(7),
)
def test_long_texts_take_linear_time(text: str) -> None:
    """The processor's time; a quadratic expression needs minutes."""
    started = time.process_time()
    for read in (cited_ids, normalised, without_citations, unlinked, without_definitions):
        read(text)
    assert time.process_time() - started < 3
