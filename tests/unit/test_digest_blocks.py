"""What people see of a digest, in the three languages, and that Slack takes it whatever it holds."""

from datetime import datetime, timedelta
from typing import get_args

import pytest

from bot import dates
from bot.blocks import MESSAGE_CHARACTERS, draw
from bot.fitting import size
from bot.local_slack.limits import check_message
from bot.local_slack.plain_text import block_text, pings
from bot.messages import DigestArticle, DigestMessage, DigestWaiting
from knowledge.language import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
MONDAY = datetime.fromisoformat("2026-11-30T09:00:00+01:00")

each_language = pytest.mark.parametrize("language", LANGUAGES)


def article(title: str, description: str, *, approved_by: str | None = "UBO") -> DigestArticle:
    return DigestArticle(
        title=title,
        description=description,
        words=1_240,
        sources=6,
        drafts=2,
        requested_by="UANA",
        approved_by=approved_by,
        thread="https://x.test/thread",
        file="https://x.test/file",
    )


ARTICLES: dict[Language, DigestArticle] = {
    "en": article("Moving Go services from MD5 to Argon2id", "Why fast hashes fail and how to migrate."),
    "zh": article("Go 服务如何迁移到 Argon2id", "为什么快速哈希不可靠，以及如何平稳迁移。"),
    "ja": article("Go のサービスを Argon2id へ移す", "高速なハッシュの弱点と、無停止での移行。"),
}
TOPICS: dict[Language, str] = {
    "en": "Zero-downtime schema changes",
    "zh": "不停机修改数据库结构",
    "ja": "無停止でのスキーマ変更",
}


def waiting(topic: str, *, since: datetime = MONDAY - timedelta(days=6)) -> DigestWaiting:
    return DigestWaiting(
        topic=topic,
        on="outline",
        version=2,
        since=since,
        requested_by="UCHEN",
        link="https://x.test/gate",
    )


def digest(
    language: Language,
    *articles: DigestArticle,
    waits: tuple[DigestWaiting, ...] = (),
    cancelled: int = 0,
    failed: int = 0,
    days: int = 7,
) -> DigestMessage:
    return DigestMessage(
        language=language,
        start=MONDAY - timedelta(days=days),
        end=MONDAY,
        at=MONDAY,
        articles=list(articles),
        waiting=list(waits),
        failed=failed,
        cancelled=cancelled,
        tokens=84_000 if articles else 0,
        cost_usd=0.19,
    )


def read(message: DigestMessage) -> list[str]:
    drawn = draw(message)
    check_message(drawn.text, drawn.blocks, longest_text=3_999)
    return "\n".join(map(block_text, drawn.blocks)).splitlines()


SEEN: dict[Language, list[str]] = {
    "en": [
        "# Articles, 23–29 November",
        "Moving Go services from MD5 to Argon2id — Why fast hashes fail and how to migrate.",
        "1,240 words · 6 sources · 2 drafts · asked by <@UANA>, approved by <@UBO>"
        " · thread (https://x.test/thread) file (https://x.test/file)",
        "Waiting for a decision: Zero-downtime schema changes — outline 2, since Tuesday, for <@UCHEN>"
        " → read and decide (https://x.test/gate)",
        "1 published, 1 waiting, 1 cancelled · 84k tokens, $0.19",
    ],
    "zh": [
        "# 文章汇总，11月23日–29日",
        "Go 服务如何迁移到 Argon2id — 为什么快速哈希不可靠，以及如何平稳迁移。",
        "1,240 字 · 6 个来源 · 共 2 稿 · <@UANA> 提出，<@UBO> 批准"
        " · 消息列 (https://x.test/thread) 文件 (https://x.test/file)",
        "等待决定：不停机修改数据库结构 — 大纲 2，自周二起，等 <@UCHEN> → 查看并决定 (https://x.test/gate)",
        "发布 1 篇、等待决定 1 篇、取消 1 篇 · 84k token，$0.19",
    ],
    "ja": [
        "# 記事のまとめ、11月23日〜29日",
        "Go のサービスを Argon2id へ移す — 高速なハッシュの弱点と、無停止での移行。",
        "1,240 字 · 出典 6 件 · 原稿 2 版 · 依頼 <@UANA>、承認 <@UBO>"
        " · スレッド (https://x.test/thread) ファイル (https://x.test/file)",
        "判断待ち：無停止でのスキーマ変更 — 構成案 2、火曜日から、<@UCHEN> さん → 見て判断する (https://x.test/gate)",
        "公開 1 件、判断待ち 1 件、取消 1 件 · 84k トークン、$0.19",
    ],
}


@each_language
def test_a_week_reads_as_the_storyboard_says(language: Language) -> None:
    message = digest(language, ARTICLES[language], waits=(waiting(TOPICS[language]),), cancelled=1)
    assert read(message) == SEEN[language]


QUIET: dict[Language, list[str]] = {
    "en": ["A quiet week: nothing was published.", "Two wait for a decision:"],
    "zh": ["平静的一周：没有发布文章。", "有两篇等待决定："],
    "ja": ["静かな一週間でした。公開された記事はありません。", "2 件が判断待ちです："],
}


@each_language
def test_a_quiet_week_is_told_kindly(language: Language) -> None:
    message = digest(language, waits=(waiting("A"), waiting("B")))
    lines = read(message)
    assert lines[1:3] == QUIET[language]
    assert [line[:3] for line in lines[3:5]] == ["• A", "• B"]
    assert QUIET[language][0] in draw(message).text
    assert read(digest(language)) == [lines[0], QUIET[language][0]]


def test_one_that_waits_in_a_quiet_week_waits_in_the_singular() -> None:
    assert "One waits for a decision: A — outline 2" in "\n".join(read(digest("en", waits=(waiting("A"),))))


@pytest.mark.parametrize(("days", "said"), [(1, "A quiet day:"), (7, "A quiet week:"), (21, "A quiet time:")])
def test_the_quiet_is_as_long_as_it_was(days: int, said: str) -> None:
    assert read(digest("en", days=days))[1].startswith(said)


def test_several_weeks_are_said_in_the_header() -> None:
    assert read(digest("en", days=28))[0] == "# Articles, 2–29 November"
    assert read(digest("zh", days=35))[0] == "# 文章汇总，10月26日–11月29日"


@each_language
def test_who_approved_is_left_out_where_nobody_knows(language: Language) -> None:
    text = "\n".join(read(digest(language, article("A", "B", approved_by=None))))
    assert "UANA" in text
    assert "UBO" not in text


@pytest.mark.parametrize("count", [1, 12, 40, 400])
@each_language
def test_of_many_articles_those_without_room_are_counted(language: Language, count: int) -> None:
    long = {"en": "Why fast hashes fail. ", "zh": "为什么快速哈希不可靠。", "ja": "高速なハッシュの弱点。"}[
        language
    ]
    message = digest(
        language,
        *(article(f"{number} {long}", long * 40) for number in range(count)),
        waits=tuple(waiting(f"{number} {long * 20}") for number in range(count)),
    )
    drawn = draw(message)
    assert size(drawn.blocks) <= MESSAGE_CHARACTERS
    lines = read(message)
    told = sum(long.strip() in line and " — " in line for line in lines)
    if count == 400:
        assert 5 <= told < count
        assert [line for line in lines if line.startswith("…")]
    assert lines[-1].startswith(
        {"en": f"{count} published", "zh": f"发布 {count}", "ja": f"公開 {count}"}[language]
    )


HOSTILE = [
    "<!channel>",
    "<@UEVIL>",
    "@here",
    "[x](https://x.test)",
    "&lt;!here&gt;",
    "# *T* `c`",
    "\u202e",
    " ",
]


@pytest.mark.parametrize("hostile", HOSTILE)
@each_language
def test_titles_descriptions_and_topics_ping_nobody(language: Language, hostile: str) -> None:
    drawn = draw(digest(language, article(hostile, hostile), waits=(waiting(hostile),)))
    check_message(drawn.text, drawn.blocks, longest_text=3_999)
    assert {*pings(drawn.blocks)} == {"@UANA", "@UBO", "@UCHEN"}
    assert "<" not in drawn.text


@each_language
def test_a_title_is_laid_out_and_turns_no_words_around(language: Language) -> None:
    title = f"\u202e{ARTICLES[language].title}\u2066 **v2**"
    drawn = draw(digest(language, article(title, "…")))
    shown = "\n".join(map(block_text, drawn.blocks))
    for text in (shown, drawn.text):
        assert f"{ARTICLES[language].title} v2" in text
        assert "\u202e" not in text
        assert "\u2066" not in text


# -- days -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "en", "zh", "ja"),
    [
        ("2026-11-23T09:00", "2026-11-30T09:00", "23–29 November", "11月23日–29日", "11月23日〜29日"),
        ("2026-11-23T09:00", "2026-11-27T18:00", "23–27 November", "11月23日–27日", "11月23日〜27日"),
        ("2026-11-29T09:00", "2026-11-30T09:00", "29 November", "11月29日", "11月29日"),
        (
            *("2026-12-28T09:00", "2027-01-04T09:00", "28 December 2026 – 3 January 2027"),
            *("2026年12月28日–2027年1月3日", "2026年12月28日〜2027年1月3日"),
        ),
        (
            *("2026-11-30T09:00", "2026-11-30T17:00", "30 November, 09:00 – 17:00"),
            *("11月30日 09:00–17:00", "11月30日 09:00〜17:00"),
        ),
        (
            *("2026-11-29T17:00", "2026-11-30T09:00", "29 November, 17:00 – 30 November, 09:00"),
            *("11月29日 17:00–11月30日 09:00", "11月29日 17:00〜11月30日 09:00"),
        ),
        (
            "2026-11-30T09:00",
            "2026-11-30T09:00",
            "30 November, 09:00 – 09:00",
            "11月30日 09:00–09:00",
            "11月30日 09:00〜09:00",
        ),
    ],
)
def test_a_period_is_told_by_its_days(start: str, end: str, en: str, zh: str, ja: str) -> None:
    moments = datetime.fromisoformat(f"{start}+01:00"), datetime.fromisoformat(f"{end}+01:00")
    assert [dates.period(language, *moments) for language in ("en", "zh", "ja")] == [en, zh, ja]


@pytest.mark.parametrize(
    ("days", "en", "zh", "ja"),
    [
        (0, "since today", "今天起", "今日から"),
        (1, "since Sunday", "自周日起", "日曜日から"),
        (6, "since Tuesday", "自周二起", "火曜日から"),
        (7, "since 23 November", "自11月23日起", "11月23日から"),
        (400, "since 26 October 2025", "自2025年10月26日起", "2025年10月26日から"),
    ],
)
def test_what_waits_is_told_with_its_age(days: int, en: str, zh: str, ja: str) -> None:
    moment = MONDAY - timedelta(days=days)
    assert [dates.since(language, moment, MONDAY) for language in ("en", "zh", "ja")] == [en, zh, ja]
