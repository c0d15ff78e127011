"""Terms of word search: what finds what, in three languages."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knowledge.language import language_of, language_of_part
from knowledge.sentences import sentences
from knowledge.tokens import STOP_WORDS, TERM_SPACE, says_something, term_counts, term_id, tokens


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("migrations", "We migrated every hash."),
        ("beyonce", "Beyoncé sang."),
        ("bcrypt_sha256", "Django calls it bcrypt_sha256."),
        ("sha256", "It is bcrypt_sha256 there."),
        ("SHA-256", "sha256 is fast"),
        ("sha256", "SHA-256 is fast"),
        ("SHA 256", "sha256 is fast"),
        ("crypto/md5", 'import "crypto/md5"'),
        ("md5", 'import "crypto/md5"'),
        ("golang.org/x/crypto/argon2", "See golang.org/x/crypto/argon2 for it."),
        ("argon2", "See golang.org/x/crypto/argon2 for it."),
        ("1.19", "OpenSSL and Go v1.19 differ."),
        ("46", "46MiB of memory"),
        ("1000000", "at least 1,000,000 rounds"),
        ("0.45", "a weight of 0.45."),
        ("key", "call argon2.IDKey once"),
        ("argon2.IDKey", "call argon2.IDKey(password, salt)"),
        ("C++", "a library for C++ and C#"),
        ("backends", "two back-ends"),
        ("Ａｒｇｏｎ２ｉｄ", "argon2id"),
        ("密码", "团队的密码存储方案"),
        ("存储密码", "密码应该安全存储"),
        ("哈希", "先算哈希，再写入数据库"),
        ("argon2id", "推荐使用Argon2id算法"),
        ("パスワード", "ﾊﾟｽﾜｰﾄﾞの保存"),
        ("ハッシュ", "パスワードはハッシュ化する"),
        ("移行手順", "移行の手順を説明する"),
        ("データ", "重要なデータ・ベース"),
    ],
)
def test_the_query_finds_the_text(query: str, text: str) -> None:
    assert set(tokens(query)) & set(tokens(text))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("c++", "plain c and d"),
        ("119", "version 1.19"),
        ("cat", "concatenate"),
        ("密码", "码头很密集"),  # single characters are shared, the pair is not
        ("東京", "京都の東"),
    ],
)
def test_the_whole_term_is_not_in_the_text(query: str, text: str) -> None:
    whole = max(tokens(query), key=len)
    assert whole not in tokens(text)


def test_stop_words_are_no_terms_but_names_made_of_them_are() -> None:
    assert tokens("What is the point of it?") == ["point"]
    assert not STOP_WORDS & set(tokens("It is what we would have done, isn't it?"))


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "???",
        "😀 🎉",
        "what is the",
        "How do I",
        "什么是",
        "这是什么？",
        "这个怎么样",
        "これは何ですか",
        "どうですか？",
        "…——",
    ],
)
def test_a_query_of_function_words_says_nothing(query: str) -> None:
    assert not says_something(query)


@pytest.mark.parametrize(
    "query",
    ["salt", "5", "密码", "什么是盐？", "塩とは何ですか", "ハッシュ", "C#", "why MD5", "Argon2idとは"],
)
def test_a_query_with_a_word_in_it_says_something(query: str) -> None:
    assert says_something(query)


@given(st.text(max_size=200))
def test_any_text_has_terms_that_can_be_stored(text: str) -> None:
    for token in tokens(text):
        assert token
        assert len(token) <= 64
        assert 0 <= term_id(token) < TERM_SPACE
    says_something(text)


@given(
    st.text(max_size=200)
    | st.text(st.sampled_from("aC1_-./@#+ ,'密码パ０é"), max_size=40)
    | st.text(st.sampled_from("aC1_-./@#+ ,'"), max_size=40)
)
@example("C# and C++, _C# and a_C++: F#-1,000.5")
@example("密码学 C++ 与 パスワード v1.2")
def test_a_chunk_is_found_by_the_terms_that_a_query_has(text: str) -> None:
    assert term_counts(text) == Counter(map(term_id, tokens(text)))


def test_term_ids_are_the_same_in_every_release() -> None:
    """They are stored: when this fails, raise INDEX_VERSION and pin the new ones."""
    assert [term_id(token) for token in ("password", "密码", "パス")] == [515265974, 512452805, 109404527]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Argon2id is memory-hard.", "en"),
        ("The word 密码 means password in Chinese, and ハッシュ is a hash.", "en"),
        ("密码应该用 Argon2id 存储。", "zh"),
        ("Go 后端 MD5 迁移 Argon2id", "zh"),
        ("约翰・史密斯写了这本书", "zh"),
        ("パスワードを保存する", "ja"),
        ("Go の Argon2id パラメータ", "ja"),
        ("東京都の人口", "ja"),
        ("12345 — ?!", "en"),
        ("", "en"),
    ],
)
def test_the_script_tells_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_a_heading_in_kanji_is_japanese_in_a_japanese_document() -> None:
    assert language_of_part("暗号化手順", whole="ja") == "ja"
    assert language_of_part("暗号化手順", whole="en") == "zh"
    assert language_of_part("密码应该加盐之后再计算哈希值" * 5, whole="ja") == "zh"
    assert language_of_part("func main() {}", whole="ja") == "en"
    assert language_of_part("123", whole="zh") == "zh"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One fact. Another one! A third?", ["One fact.", "Another one!", "A third?"]),
        (
            "Use e.g. Argon2id, i.e. the hybrid. It works.",
            ["Use e.g. Argon2id, i.e. the hybrid.", "It works."],
        ),
        (
            "Go 1.19 costs 0.5 s. See example.com. Done.",
            ["Go 1.19 costs 0.5 s.", "See example.com.", "Done."],
        ),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("wrapped\nin two lines. Next", ["wrapped\nin two lines.", "Next"]),
        ("no mark\n\nnew paragraph", ["no mark", "new paragraph"]),
        ("密码要加盐。不要用MD5！为什么？因为快。", ["密码要加盐。", "不要用MD5！", "为什么？", "因为快。"]),
        ("他说：“可以。”然后走了。", ["他说：“可以。”", "然后走了。"]),
        (
            "ハッシュ化する。「はい。」と答えた。終わり",
            ["ハッシュ化する。", "「はい。」", "と答えた。", "終わり"],
        ),
        ("  ", []),
    ],
)
def test_sentences_end_where_readers_see_it(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected
