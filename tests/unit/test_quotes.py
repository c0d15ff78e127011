"""A quote is found whatever its characters' forms and white space; and what is not there is not found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.contracts import SourcePassage
from agents.quotes import find, locate

ENGLISH = (
    "bcrypt reads at most 72 bytes.\nMost implementations\nsilently ignore the rest — “without an error”."
)
CHINESE = "MD5 是为快速计算\n消息摘要而设计的，而保存密码需要的恰恰是慢。ＭＤ５ 的摘要有 128 位。"
JAPANESE = "MD5 は高速に計算できるように設計されたため、パスワードの\n保存には向かない。ﾊｯｼｭ は別の話である。"


@pytest.mark.parametrize(
    ("quote", "text", "found"),
    [
        (
            "Most implementations silently ignore the rest",
            ENGLISH,
            "Most implementations\nsilently ignore the rest",
        ),
        ('"bcrypt reads at most 72 bytes."', ENGLISH, "bcrypt reads at most 72 bytes."),
        ("  bcrypt   reads\tat most 72 bytes", ENGLISH, "bcrypt reads at most 72 bytes"),
        ('- "without an error"', ENGLISH, "— “without an error”"),
        ("…silently ignore the rest…", ENGLISH, "silently ignore the rest"),
        ("bcrypt reads\u200b at most\u00a072 bytes", ENGLISH, "bcrypt reads at most 72 bytes"),
        ("MD5 是为快速计算消息摘要而设计的", CHINESE, "MD5 是为快速计算\n消息摘要而设计的"),
        ("MD5的摘要有128位", CHINESE, "ＭＤ５ 的摘要有 128 位"),
        ("「而保存密码需要的恰恰是慢。」", CHINESE, "而保存密码需要的恰恰是慢。"),
        ("パスワードの保存には向かない", JAPANESE, "パスワードの\n保存には向かない"),
        ("ハッシュは別の話である", JAPANESE, "ﾊｯｼｭ は別の話である"),
        ("if a <b>", "Code: if a ‹b> then", "if a ‹b>"),
        ("cafe\u0301 latte", "A café latte.", "café latte"),
        ("ハッシュ値のバイト数", "ﾊｯｼｭ値のﾊﾞｲﾄ数。", "ﾊｯｼｭ値のﾊﾞｲﾄ数"),
        ("x² grows", "so x2 grows", "x2 grows"),
    ],
)
def test_a_quote_is_found_and_given_back_as_it_stands(quote: str, text: str, found: str) -> None:
    span = find(quote, text)
    assert span is not None
    assert text[span[0] : span[1]] == found


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("bcrypt reads at most 71 bytes.", ENGLISH),
        ("bcrypt reads … ignore the rest", ENGLISH),
        ("BCRYPT READS AT MOST 72 BYTES", ENGLISH),
        ("bcrypt can read at most 72 bytes", ENGLISH),
        ("A cafe", "A café latte."),
        ("", ENGLISH),
        ("   \n\u200b", ENGLISH),
        ("a", ENGLISH),
        ("…", ENGLISH),
        ('""', ENGLISH),
        ("MD5 是为慢速计算消息摘要而设计的", CHINESE),
        ("MD4 是为快速计算消息摘要而设计的", CHINESE),
        ("パスワードの保存には向く", JAPANESE),
    ],
)
def test_what_the_text_does_not_say_is_not_found(quote: str, text: str) -> None:
    assert find(quote, text) is None


def test_the_passage_that_has_the_quote_is_named() -> None:
    passages = [
        SourcePassage(source_id="S1", chunk_id=number, heading="", text=text, lang=lang)
        for number, (text, lang) in enumerate([(ENGLISH, "en"), (CHINESE, "zh"), (JAPANESE, "ja")], start=1)
    ]
    located = locate("保存には 向かない", passages)
    assert located is not None
    assert (located.passage.chunk_id, located.quote) == (3, "保存には向かない")
    assert locate("向いている", passages) is None


@given(
    st.text(min_size=1, max_size=80),
    st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=6, max_size=30),
    st.text(max_size=80),
)
def test_any_word_that_stands_in_a_text_is_found(before: str, quote: str, after: str) -> None:
    text = f"{before} {quote} {after}"
    span = find(quote, text)
    assert span is not None
    assert 0 <= span[0] < span[1] <= len(text)
    assert find(text[span[0] : span[1]], text) is not None
