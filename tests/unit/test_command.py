"""What `/article …` asks for: a hostile table in three languages, and properties."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.command import (
    TOPIC_CHARACTERS,
    BadCommand,
    CancelArticle,
    Command,
    ForgetSource,
    Help,
    LearnPage,
    ListArticles,
    ListSources,
    ShowStatus,
    StartArticle,
    read_command,
    spoken_language,
    topic_language,
)
from knowledge.language import Language


@pytest.mark.parametrize(
    ("text", "command"),
    [
        *((text, Help()) for text in ("help", "HELP", " help ", "ｈｅｌｐ", "帮助", "幫助", "ヘルプ", "ﾍﾙﾌﾟ")),
        *((text, ListArticles()) for text in ("list", "List", "\u200blist\u00a0", "列表", "一覧")),
        *((text, ShowStatus()) for text in ("status", "状态", "狀態", "状態")),
        ("cancel 12", CancelArticle(12)),
        ("Cancel #12", CancelArticle(12)),
        ("cancel  １２", CancelArticle(12)),
        ("cancel 0012", CancelArticle(12)),
        ("cancel 2147483647", CancelArticle(2147483647)),
        ("取消 12", CancelArticle(12)),
        ("取消12", CancelArticle(12)),
        ("キャンセル 12", CancelArticle(12)),
        *((text, ListSources(None)) for text in ("sources", "Sources", "来源", "來源", "出典")),
        *((text, ListSources(12)) for text in ("sources 12", "sources #12", "来源 12", "出典１２")),
        *((text, ForgetSource(34)) for text in ("forget 34", "forget #34", "移除 34", "删除34", "削除 34")),
        ("learn https://example.com/a?b=1&amp;c=2#d", LearnPage("https://example.com/a?b=1&c=2#d")),
        ("Learn HTTP://Example.com/Guide", LearnPage("HTTP://Example.com/Guide")),
        ("learn <https://example.com/a|example.com/a>", LearnPage("https://example.com/a")),
        ("learn  <https://example.com>\u200b", LearnPage("https://example.com")),
        ("学习 https://例子.测试/盐", LearnPage("https://例子.测试/盐")),
        ("學習 https://example.com/鹽", LearnPage("https://example.com/鹽")),
        ("学習 https://example.com/ソルト", LearnPage("https://example.com/ソルト")),
    ],
)
def test_a_subcommand_counts_when_the_whole_text_fits_its_form(text: str, command: Command) -> None:
    assert read_command(text) == command


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        (
            "Why should Go backends move from MD5 to Argon2id?",
            "Why should Go backends move from MD5 to Argon2id?",
        ),
        ("Go 后端为什么应该从 MD5 迁移到 Argon2id？", "Go 后端为什么应该从 MD5 迁移到 Argon2id？"),
        ("Go のバックエンドを MD5 から移行する理由", "Go のバックエンドを MD5 から移行する理由"),
        ("list of hash functions", "list of hash functions"),
        ("help desk software", "help desk software"),
        ("status pages", "status pages"),
        ("cancel culture", "cancel culture"),
        ("cancel 12 and 13", "cancel 12 and 13"),
        ("cancel12", "cancel12"),
        ("learn Go", "learn Go"),
        ("learn Node.js", "learn Node.js"),
        ("learn CI/CD", "learn CI/CD"),
        ("learn from https://example.com", "learn from https://example.com"),
        ("learn https://example.com and more", "learn https://example.com and more"),
        ("learn ://", "learn ://"),
        ("learning https://example.com", "learning https://example.com"),
        ("sources of entropy", "sources of entropy"),
        ("sources 12 and 13", "sources 12 and 13"),
        ("forget me not", "forget me not"),
        ("来源可靠性", "来源可靠性"),
        ("删除线的写法", "删除线的写法"),
        ("学习曲线", "学习曲线"),
        ("学習 Go", "学習 Go"),
        ("出典の書き方", "出典の書き方"),
        ('"learn https://example.com"', "learn https://example.com"),
        ("canceling 12", "canceling 12"),
        ("列表渲染的性能", "列表渲染的性能"),
        ("帮助中心怎么写", "帮助中心怎么写"),
        ("取消订阅的流程", "取消订阅的流程"),
        ("一覧画面の設計", "一覧画面の設計"),
        ("ヘルプデスクの運用", "ヘルプデスクの運用"),
        ('"list"', "list"),
        ("“list”", "list"),
        ("“sources”", "sources"),
        ("「学習」", "学習"),
        ("”list”", "list"),
        ("„list“", "list"),
        ("«list»", "list"),
        ("'help'", "help"),
        ("‘help’", "help"),
        ("「一覧」", "一覧"),
        ("『ヘルプ』", "ヘルプ"),
        ("“取消 12”", "取消 12"),
        ('" list of hash functions "', "list of hash functions"),
        ('"a" or "b"', '"a" or "b"'),
        ("「強い」と「弱い」", "「強い」と「弱い」"),
        ('what is "salt"', 'what is "salt"'),
        ('"unfinished', '"unfinished'),
        ("《红楼梦》的版本", "《红楼梦》的版本"),
        ("R&amp;D at &lt;scale&gt;", "R&D at <scale>"),
        ("two   spaces\nand\ta line", "two spaces and a line"),
        ("全角　空格", "全角 空格"),
        ("<https://a.b/c|the RFC> explained", "the RFC (https://a.b/c) explained"),
        ("<@U1|ana> on <#C1|go>", "@ana on #go"),
        ("2030", "2030"),
        ("C++", "C++"),
        ("why ≠ how", "why ≠ how"),
        ("लंबा विषय", "लंबा विषय"),
        ("パスワード🔒", "パスワード🔒"),
        ("auto", "auto"),
        ("self-auto", "self-auto"),
        ("pay--auto", "pay--auto"),
        ("what --auto does", "what --auto does"),
        ('"what is --auto"', "what is --auto"),
    ],
)
def test_anything_else_is_a_topic(text: str, topic: str) -> None:
    assert read_command(text) == StartArticle(topic, auto=False)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("--auto hash functions", "hash functions"),
        ("hash functions --auto", "hash functions"),
        ("—auto hash functions", "hash functions"),
        ("–auto hash functions", "hash functions"),
        ("―auto hash functions", "hash functions"),
        ("hash functions —auto", "hash functions"),
        ("hash functions  ––AUTO ", "hash functions"),
        ('--auto "list"', "list"),
        ("“list” —auto", "list"),
        ("list --auto", "list"),  # with a flag it does not fit the form of `list`
        ("为什么要迁移？——auto", "为什么要迁移？"),
        ("—auto 为什么要迁移", "为什么要迁移"),
        ("移行する理由 —auto", "移行する理由"),
        ("「一覧」 --auto", "一覧"),
    ],
)
def test_auto_is_understood_however_the_keyboard_writes_it(text: str, topic: str) -> None:
    assert read_command(text) == StartArticle(topic, auto=True)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        *(
            (text, "empty_topic")
            for text in ("", "  \n", "\u200b", "\u3164", "--auto", "—auto", '""', "“ ”", "「」")
        ),
        *(
            (text, "topic_without_words")
            for text in ("🎉", "🎉 🚀", ":tada:", "?!", "……", "。。。", "—", '"?"', "--auto ？")
        ),
        *(
            (text, "usage_cancel")
            for text in ("cancel", "取消", "キャンセル", "cancel 12 13", "cancel #", "取消 1、2")
        ),
        *((text, "unknown_article") for text in ("cancel 0", "cancel 2147483648", "cancel " + "9" * 5_000)),
    ],
)
def test_a_bad_command_says_what_is_wrong(text: str, key: str) -> None:
    command = read_command(text)
    assert isinstance(command, BadCommand)
    assert command.key == key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        *((text, "usage_learn") for text in ("learn", "学习", "学習", " LEARN ")),
        *(
            (text, "learn_not_web")
            for text in ("learn ftp://a.b/c", "学习 file:///etc/passwd", "learn x-y://z")
        ),
        *((text, "learn_without_scheme") for text in ("learn www.a.b", "learn a.b/c", "学習 例え.jp/あ")),
        *((text, "usage_forget") for text in ("forget", "forget #", "删除", "削除 1 2")),
        *((text, "usage_sources") for text in ("sources 1 2", "来源 1、2", "出典 #")),
        *((text, "unknown_source") for text in ("forget 0", "forget 99999999999")),
        ("sources 0", "unknown_article"),
    ],
)
def test_what_is_nearly_a_command_for_sources_says_what_is_missing(text: str, key: str) -> None:
    command = read_command(text)
    assert isinstance(command, BadCommand)
    assert command.key == key


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("learn https://example.com/塩", "zh"),
        ("learn https://example.com", "en"),
        ("学习 https://example.com", "zh"),
        ("学習 https://example.com", "ja"),
        ("出典", "ja"),
        ("来源 3", "zh"),
        ("削除 12", "ja"),
        ("移除 12", "zh"),
        ("状態", "ja"),
        ("学習", "ja"),
        ("学習曲線の話", "ja"),
        ("学習理論", "zh"),  # a topic: as `topic_language` says
    ],
)
def test_a_subcommand_is_answered_in_the_language_of_its_word(text: str, language: Language) -> None:
    assert spoken_language(text, read_command(text)) == language


@pytest.mark.parametrize("letter", ["a", "密", "あ"])
def test_a_topic_has_a_longest_length_in_characters(letter: str) -> None:
    assert read_command(letter * TOPIC_CHARACTERS) == StartArticle(letter * TOPIC_CHARACTERS, auto=False)
    for length in (TOPIC_CHARACTERS + 1, 5_000):
        assert read_command(letter * length) == BadCommand(
            "topic_too_long", {"length": length, "limit": TOPIC_CHARACTERS}
        )


@pytest.mark.parametrize(
    ("topic", "language"),
    [
        ("Why should Go backends move from MD5 to Argon2id?", "en"),
        ("Pourquoi migrer ?", "en"),
        ("2030", "en"),
        ("", "en"),
        ("Go 后端为什么应该从 MD5 迁移到 Argon2id？", "zh"),
        ("React Server Components 入门", "zh"),
        ("密碼雜湊", "zh"),
        ("列奥纳多・达・芬奇的笔记", "zh"),  # the middle dot is no kana
        ("Go、MD5、Argon2id、bcrypt の比較", "ja"),
        ("ﾊﾟｽﾜｰﾄﾞ", "ja"),
        ("サーバー", "ja"),
        ("脆弱性対応", "ja"),
        ("一覧", "ja"),
        ("移行手順", "zh"),  # could be either: said in the docstring
    ],
)
def test_the_topic_language_a_topic_is_that_of_its_script(topic: str, language: Language) -> None:
    assert topic_language(topic) == language


def test_what_is_only_written_in_japan_is_in_no_chinese_character_set() -> None:
    # Every kanji of Japan's JIS X 0208 that is neither in GB 2312 nor in Big5 may count; no other does.
    def in_set(letter: str, encoding: str) -> bool:
        return letter.encode(encoding, "ignore") != b""

    han = [chr(code) for code in range(0x4E00, 0xA000)]
    japanese = [letter for letter in han if topic_language(letter) == "ja"]
    assert len(japanese) > 30
    assert all(in_set(letter, "shift_jis") for letter in japanese)
    assert not any(in_set(letter, "gb2312") or in_set(letter, "big5") for letter in japanese)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    command = read_command(text)
    if isinstance(command, StartArticle):
        assert command.topic == " ".join(command.topic.split())
        assert 0 < len(command.topic) <= TOPIC_CHARACTERS
        command.topic.encode()  # PostgreSQL takes no lone surrogates, and no NUL
        assert "\x00" not in command.topic


TOPICS = st.sampled_from(["list", "cancel 12", "hash functions", "密码哈希", "帮助", "パスワード", "一覧"])


@given(TOPICS, st.sampled_from(["“”", "''", "«»", "「」", "『』", '""']))
def test_quotes_force_any_topic(topic: str, quotes: str) -> None:
    assert read_command(f"{quotes[0]}{topic}{quotes[1]}") == StartArticle(topic, auto=False)


@pytest.mark.parametrize(
    "piece",
    [*" —“<:1\u200b./|", "&amp;", "cancel ", "--auto ", "<@U1|", "a.", "://"],
)
@pytest.mark.parametrize("word", ["cancel", "learn", "forget", "sources"])
def test_the_longest_text_is_read_in_no_time(word: str, piece: str) -> None:
    started = time.process_time()
    read_command(f"{word} " + piece * (40_000 // len(piece)) + "x")
    # Linear reading takes some 50 ms; a pattern that looks again from each character takes minutes.
    assert time.process_time() - started < 2
