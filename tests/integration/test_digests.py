"""Who posts a digest, for which period, and what it tells."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from bot.digest import Digest
from bot.messages import DigestMessage
from bot.schedule import Schedule
from knowledge.article import Status
from knowledge.changes import Outgoing
from knowledge.database import Pool, open_pool
from knowledge.digests import Digests
from knowledge.language import Language
from knowledge.outbox import Outbox, Unsent
from tests.integration.published_articles import Newsroom

LONG_AGO = datetime(2019, 1, 1, tzinfo=UTC)
TITLES: dict[Language, str] = {
    "en": "Moving Go services from MD5 to Argon2id",
    "zh": "Go 服务如何从 MD5 迁移到 Argon2id",
    "ja": "Go のサービスを MD5 から Argon2id へ移す",
}


def at(text: str) -> datetime:
    """A time in UTC; all are years ago, so that no test depends on today."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def weekly(
    pool: Pool,
    cron: str = "0 9 * * mon",
    timezone: str = "UTC",
    *,
    channel: str = "C1",
    language: Language | None = None,
) -> Digest:
    return Digest(Digests(pool), Schedule.parse(cron, timezone), channel_id=channel, language=language)


async def posted(pool: Pool) -> list[DigestMessage]:
    rows = await pool.fetch("select message from outbox where message->>'kind' = 'digest' order by id")
    return [DigestMessage.model_validate(row["message"]) for row in rows]


async def periods(pool: Pool) -> list[tuple[str, str]]:
    return [(f"{m.start:%m-%d %H:%M}", f"{m.end:%m-%d %H:%M}") for m in await posted(pool)]


async def count_posts(digest: Digest, start: datetime, end: datetime, *, minutes: int = 10) -> int:
    """How many digests a bot posts that looks every ten minutes, as if it were started again each time."""
    now, keys = start, []
    while now <= end:
        keys.append(await digest.post_due(start, now))
        now += timedelta(minutes=minutes)
    return sum(key is not None for key in keys)


async def head_of(pool: Pool) -> Unsent:
    [head] = [head for head in await Outbox(pool).heads() if head.message["kind"] == "digest"]
    return head


async def eventually(look: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(10):
        while True:
            if await look():
                return
            await asyncio.sleep(0.01)


# -- who posts --------------------------------------------------------------------------------------------


async def test_of_many_processes_at_one_moment_one_posts(dsn: str, pool: Pool) -> None:
    other = await open_pool(dsn)
    try:
        digests = [weekly(each) for each in (pool, other) for _ in range(5)]
        due = at("2020-03-02T09:00")
        keys = await asyncio.gather(*(digest.post_due(LONG_AGO, due) for digest in digests))
    finally:
        await other.close()
    assert [key for key in keys if key] == ["digest:articles:C1:2020-03-02T09:00:00"]
    assert len(await posted(pool)) == 1


async def test_a_digest_goes_to_its_channel_without_an_article(pool: Pool) -> None:
    await weekly(pool, channel="CDIGEST").post_due(LONG_AGO, at("2020-03-02T09:00"))
    head = await head_of(pool)
    assert (head.channel_id, head.thread_ts, head.article_id, head.asks) == ("CDIGEST", None, None, False)


async def test_a_slot_before_the_first_start_is_not_posted(pool: Pool) -> None:
    digest = weekly(pool)
    since = await digest.set_up()
    assert await digest.post_due(since, since) is None
    first = digest.schedule.next(since)
    assert await digest.post_due(since, first.moment - timedelta(seconds=1)) is None
    assert await digest.post_due(since, first.moment) is not None


async def test_a_start_with_the_same_settings_changes_nothing(pool: Pool) -> None:
    since = await weekly(pool).set_up()
    assert await weekly(pool, "0  9 * * MON").set_up() == since


@pytest.mark.parametrize(
    "changed",
    [
        {"cron": "0 8 * * mon"},
        {"timezone": "Asia/Tokyo"},
        {"channel": "C2"},
    ],
)
async def test_changed_settings_post_nothing_for_the_past_not_even_when_they_come_back(
    pool: Pool, changed: dict[str, Any]
) -> None:
    first = await weekly(pool).set_up()
    second = await weekly(pool, **changed).set_up()
    third = await weekly(pool).set_up()
    assert first < second < third


async def test_another_time_zone_does_not_post_the_same_moment_again(pool: Pool) -> None:
    await weekly(pool).post_due(LONG_AGO, at("2020-03-02T09:00"))
    same_moment = weekly(pool, "0 18 * * mon", "Asia/Tokyo")
    assert await same_moment.post_due(LONG_AGO, at("2020-03-02T09:00")) is None
    same_words = weekly(pool, "0 9 * * mon", "America/New_York")
    assert await same_words.post_due(LONG_AGO, at("2020-03-02T14:00")) is None
    earlier = weekly(pool, "0 8 * * mon")
    assert await earlier.post_due(LONG_AGO, at("2020-03-02T09:30")) is None


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2020-03-28T12:00", "2020-03-29T12:00"),  # 02:30 does not exist
        ("2020-10-24T12:00", "2020-10-25T12:00"),  # 02:30 comes twice
    ],
)
async def test_on_the_nights_when_clocks_are_set_one_digest_is_posted(
    pool: Pool, start: str, end: str
) -> None:
    digest = weekly(pool, "30 2 * * *", "Europe/Paris")
    assert await count_posts(digest, at(start), at(end)) == 1


async def test_twice_a_day_is_twice_on_each_working_day(pool: Pool) -> None:
    digest = weekly(pool, "0 9,17 * * mon-fri", "Europe/Paris")
    assert await count_posts(digest, at("2020-03-06T00:00"), at("2020-03-09T23:00"), minutes=60) == 4
    assert await periods(pool) == [
        ("03-05 17:00", "03-06 09:00"),
        ("03-06 09:00", "03-06 17:00"),
        ("03-06 17:00", "03-09 09:00"),
        ("03-09 09:00", "03-09 17:00"),
    ]


@pytest.mark.parametrize("by_hand", [False, True])
async def test_a_slot_whose_message_cannot_be_put_out_is_not_claimed(pool: Pool, by_hand: bool) -> None:
    digest = weekly(pool)

    async def post() -> str | None:
        return await digest.post_now() if by_hand else await digest.post_due(LONG_AGO, at("2020-03-02T09:00"))

    await pool.execute("alter table outbox add constraint full_disk check (message->>'kind' <> 'digest')")
    with pytest.raises(asyncpg.CheckViolationError):
        await post()
    assert await pool.fetchval("select count(*) from digest_slots") == 0
    await pool.execute("alter table outbox drop constraint full_disk")
    assert await post() is not None
    assert len(await posted(pool)) == 1


# -- the period -------------------------------------------------------------------------------------------


async def test_the_first_digest_tells_of_a_whole_week(pool: Pool) -> None:
    await weekly(pool).post_due(at("2020-02-26T12:00"), at("2020-03-02T09:00"))
    assert await periods(pool) == [("02-24 09:00", "03-02 09:00")]


async def test_after_three_mondays_away_one_digest_tells_of_all_the_time(pool: Pool) -> None:
    news = Newsroom(pool)
    digest = weekly(pool)
    await digest.post_due(LONG_AGO, at("2020-03-02T09:00"))
    await news.published(TITLES["zh"], "zh", at("2020-03-03T10:00"))
    await news.published(TITLES["ja"], "ja", at("2020-03-22T10:00"))
    for now in ("2020-03-23T11:00", "2020-03-23T11:01", "2020-03-29T09:00"):
        await digest.post_due(LONG_AGO, at(now))
    assert await periods(pool) == [("02-24 09:00", "03-02 09:00"), ("03-02 09:00", "03-23 09:00")]
    assert [article.title for article in (await posted(pool))[-1].articles] == [TITLES["zh"], TITLES["ja"]]


async def test_slots_missed_before_the_first_digest_are_not_lost_either(pool: Pool) -> None:
    digest = weekly(pool)
    await digest.set_up()
    await pool.execute("update digests set since = $1", at("2020-03-04T12:00"))
    await digest.post_due(at("2020-03-04T12:00"), at("2020-03-23T11:00"))
    assert await periods(pool) == [("03-04 12:00", "03-23 09:00")]


async def test_each_article_is_told_in_exactly_one_digest(pool: Pool) -> None:
    news = Newsroom(pool)
    for number, when in enumerate(("2020-03-02T08:59:59", "2020-03-02T09:00", "2020-03-09T08:59:59")):
        await news.published(f"{number}", "en", at(when))
    digest = weekly(pool)
    for monday in ("2020-03-02", "2020-03-09", "2020-03-16"):
        await digest.post_due(LONG_AGO, at(f"{monday}T09:00"))
    told = [[article.title for article in message.articles] for message in await posted(pool)]
    assert told == [["0"], ["1", "2"], []]


async def test_a_move_that_is_being_written_while_the_digest_is_put_together_is_told(pool: Pool) -> None:
    news = Newsroom(pool)
    article = await news.published(TITLES["en"], "en", at("2020-01-01T10:00"))
    async with pool.acquire() as writer:
        transaction = writer.transaction()
        await transaction.start()
        await writer.execute(
            "insert into article_moves (article_id, to_status, why, at) values ($1, 'published', '', $2)",
            article.id,
            at("2020-03-02T08:59:59"),
        )
        posting = asyncio.create_task(weekly(pool).post_due(LONG_AGO, at("2020-03-02T09:00")))
        await eventually(lambda: pool.fetchval("select true from pg_locks where not granted limit 1"))
        assert not posting.done()
        await transaction.commit()
        await posting
    assert [len(message.articles) for message in await posted(pool)] == [1]


# -- by hand ----------------------------------------------------------------------------------------------


async def test_by_hand_it_is_posted_once_however_often_one_clicks(pool: Pool) -> None:
    digest = weekly(pool)
    keys = await asyncio.gather(*(digest.post_now() for _ in range(5)))
    assert len([key for key in keys if key]) == 1
    assert len(await posted(pool)) == 1


async def test_a_second_click_after_the_minute_has_turned_is_one_all_the_same(pool: Pool) -> None:
    digest = weekly(pool)
    await digest.post_now()
    await pool.execute("update digest_slots set slot = slot - interval '1 minute', message_key = 'a minute'")
    await pool.execute("update outbox set key = 'a minute'")
    assert await digest.post_now() is None
    await pool.execute("update digest_slots set period_to = period_to - interval '1 minute'")
    assert await digest.post_now() is not None


async def test_by_hand_it_is_posted_again_in_an_hour_that_comes_twice(pool: Pool) -> None:
    digest = weekly(pool)
    await digest.post_now()
    # An hour ago, when the clock on the wall showed this very minute too.
    await pool.execute(
        """
        update digest_slots set period_to = period_to - interval '1 hour', message_key = 'an hour ago',
            slot = date_trunc('minute', now() at time zone 'UTC')
        """
    )
    assert await digest.post_now() is not None


async def test_after_a_digest_by_hand_the_next_begins_there(pool: Pool) -> None:
    digest = weekly(pool)
    await digest.post_now()
    record = await digest.preview()
    [by_hand] = await posted(pool)
    assert record.start == by_hand.end
    # What was due before it has been told.
    assert await digest.post_due(LONG_AGO, datetime.now(UTC)) is None


async def test_what_slack_refused_is_told_by_the_next_one_and_can_be_posted_at_once(pool: Pool) -> None:
    news = Newsroom(pool)
    await news.published(TITLES["ja"], "ja", at("2020-03-01T10:00"))
    digest, outbox = weekly(pool), Outbox(pool)
    await digest.post_due(LONG_AGO, at("2020-03-02T09:00"))
    await outbox.give_up(await head_of(pool), "not_in_channel")
    assert await digest.refused() == (datetime(2020, 3, 2, 9, 0), "not_in_channel")
    assert await digest.post_due(LONG_AGO, at("2020-03-02T10:00")) is None
    await digest.set_up()
    await pool.execute("update digests set since = $1", at("2020-02-28T12:00"))
    await digest.post_due(LONG_AGO, at("2020-03-09T09:00"))
    assert [len(message.articles) for message in await posted(pool)] == [1, 1]
    assert await digest.refused() is None


async def test_a_digest_by_hand_that_slack_refused_is_posted_again_in_the_same_minute(pool: Pool) -> None:
    digest, outbox = weekly(pool), Outbox(pool)
    first = await digest.post_now()
    await outbox.give_up(await head_of(pool), "is_archived")
    second = await digest.post_now()
    assert None not in (first, second)
    assert (await head_of(pool)).key == second


# -- what it tells ----------------------------------------------------------------------------------------


async def test_it_tells_what_was_published_what_waits_and_what_came_to_an_end(pool: Pool) -> None:
    news = Newsroom(pool)
    tuesday, sunday = at("2020-03-03T10:00"), at("2020-03-08T10:00")
    article = await news.published(TITLES["en"], "en", tuesday)
    outline = await news.at_outline("不停机修改数据库结构", "zh", tuesday, by="UCHEN")
    draft = await news.at_outline("インデックスの再構築", "ja", tuesday)
    await news.at_draft(draft, "REINDEX", sunday)
    await news.cancel(await news.at_outline("cancelled", "en", tuesday), sunday)
    await news.fail(await news.at_outline("failed", "en", tuesday), sunday)
    again = await news.fail(await news.at_outline("failed, and tried again", "en", tuesday), tuesday)
    await news.retry(again, sunday)
    await weekly(pool).post_due(LONG_AGO, at("2020-03-09T09:00"))
    [message] = await posted(pool)
    [told] = message.articles
    assert told.model_dump() == {
        "title": TITLES["en"],
        "description": f"What {TITLES['en']} is about.",
        "words": 1_240,
        "sources": 2,
        "drafts": 1,
        "requested_by": "UANA",
        "approved_by": "UBO",
        "thread": None,
        "file": f"https://x.test/article:{article.id}:file:1",
    }
    waiting = [(each.topic, each.on, each.version, each.requested_by) for each in message.waiting]
    assert waiting == [
        ("不停机修改数据库结构", "outline", 1, "UCHEN"),
        ("インデックスの再構築", "draft", 1, "UANA"),
        ("failed, and tried again", "outline", 1, "UANA"),
    ]
    assert [each.since for each in message.waiting] == [tuesday, sunday, sunday]
    assert message.waiting[1].link == f"https://x.test/article:{draft.id}:draft:1"
    assert (message.failed, message.cancelled, message.tokens, message.cost_usd) == (1, 1, 21_000, 0.05)
    assert outline.status is Status.AWAITING_OUTLINE


async def test_a_revised_article_is_told_once_with_its_newest_version(pool: Pool) -> None:
    news = Newsroom(pool)
    article = await news.published("原来的标题", "zh", at("2020-03-03T10:00"))
    article = await news.at_draft(article, "新的标题", at("2020-03-04T10:00"))
    article = await news.publish(article, at("2020-03-05T10:00"), by="UCHEN")
    # A third draft waits: what was published is still the second.
    await news.at_draft(article, "第三个标题", at("2020-03-06T10:00"))
    await weekly(pool).post_due(LONG_AGO, at("2020-03-09T09:00"))
    [message] = await posted(pool)
    told = [(each.title, each.drafts, each.approved_by) for each in message.articles]
    assert told == [("新的标题", 2, "UCHEN")]
    assert [(each.on, each.version) for each in message.waiting] == [("draft", 3)]


async def test_an_article_published_again_in_another_week_is_told_again(pool: Pool) -> None:
    news = Newsroom(pool)
    article = await news.published("最初の題", "ja", at("2020-03-03T10:00"))
    digest = weekly(pool)
    await digest.post_due(LONG_AGO, at("2020-03-09T09:00"))
    article = await news.at_draft(article, "新しい題", at("2020-03-10T10:00"))
    await news.publish(article, at("2020-03-11T10:00"))
    await digest.post_due(LONG_AGO, at("2020-03-16T09:00"))
    assert [[each.title for each in message.articles] for message in await posted(pool)] == [
        ["最初の題"],
        ["新しい題"],
    ]


async def test_direct_messages_are_told_to_nobody(pool: Pool) -> None:
    news = Newsroom(pool)
    await news.published("给我自己看的", "zh", at("2020-03-03T10:00"), channel="D1")
    await news.at_outline("my own notes", "en", at("2020-03-03T10:00"), channel="D1")
    await news.cancel(
        await news.at_outline("取り消し", "ja", at("2020-03-03T10:00"), channel="D1"), at("2020-03-04")
    )
    await weekly(pool).post_due(LONG_AGO, at("2020-03-09T09:00"))
    [message] = await posted(pool)
    assert (message.articles, message.waiting, message.cancelled) == ([], [], 0)


@pytest.mark.parametrize(
    ("languages", "setting", "expected"),
    [
        (["zh", "en", "zh"], None, "zh"),
        (["ja", "ja", "en"], None, "ja"),
        (["zh", "ja"], "en", "en"),
        (["en"], "ja", "ja"),
        ([], None, "en"),
    ],
)
async def test_it_speaks_the_language_of_most_of_its_articles_or_that_of_the_setting(
    pool: Pool, languages: Sequence[Language], setting: Language | None, expected: Language
) -> None:
    news = Newsroom(pool)
    for language in languages:
        await news.published(TITLES[language], language, at("2020-03-03T10:00"))
    await weekly(pool, language=setting).post_due(LONG_AGO, at("2020-03-09T09:00"))
    assert [message.language for message in await posted(pool)] == [expected]


async def test_where_nothing_was_published_it_speaks_the_language_of_what_waits(pool: Pool) -> None:
    await Newsroom(pool).at_outline("インデックスの再構築", "ja", at("2020-03-03T10:00"))
    await weekly(pool).post_due(LONG_AGO, at("2020-03-09T09:00"))
    assert [message.language for message in await posted(pool)] == ["ja"]


async def test_its_times_are_those_of_its_zone(pool: Pool) -> None:
    await weekly(pool, timezone="Asia/Tokyo").post_due(LONG_AGO, at("2020-03-09T00:00"))
    [message] = await posted(pool)
    assert message.end.isoformat() == "2020-03-09T09:00:00+09:00"


async def test_the_cost_is_told_only_where_all_of_it_is_known(pool: Pool) -> None:
    news = Newsroom(pool)
    await news.published(TITLES["en"], "en", at("2020-03-03T10:00"))
    unpriced = await news.published(TITLES["zh"], "zh", at("2020-03-03T10:00"))
    await pool.execute(
        "update articles set usage = usage || '{\"cost_usd\": null}' where id = $1", unpriced.id
    )
    await weekly(pool).post_due(LONG_AGO, at("2020-03-09T09:00"))
    [message] = await posted(pool)
    assert (message.tokens, message.cost_usd) == (42_000, None)


# -- beside articles --------------------------------------------------------------------------------------


async def test_neither_a_digest_nor_an_article_holds_up_the_other(pool: Pool) -> None:
    news, outbox = Newsroom(pool), Outbox(pool)
    article = await news.at_outline("同一个频道", "zh", at("2020-03-03T10:00"))
    await weekly(pool).post_due(LONG_AGO, at("2020-03-09T09:00"))
    digest = await head_of(pool)
    await outbox.postpone(digest, timedelta(hours=1))
    await news.articles.tell(article, Outgoing("note", {"kind": "note"}))
    waits = {head.message["kind"]: head.wait_seconds > 0 for head in await outbox.heads()}
    assert waits == {"digest": True, "outline": False}
    [gate] = [head for head in await outbox.heads() if head.message["kind"] == "outline"]
    await outbox.postpone(gate, timedelta(hours=1))
    await pool.execute("update outbox set not_before = now() where id = $1", digest.id)
    waits = {head.message["kind"]: head.wait_seconds > 0 for head in await outbox.heads()}
    assert waits == {"digest": False, "outline": True}


async def test_digests_of_two_channels_do_not_wait_for_each_other(pool: Pool) -> None:
    for channel in ("C1", "C2"):
        await weekly(pool, channel=channel).post_due(LONG_AGO, at("2020-03-09T09:00"))
    first, second = await Outbox(pool).heads()
    assert {first.channel_id, second.channel_id} == {"C1", "C2"}


async def test_a_digest_on_its_way_is_no_question_to_people(pool: Pool) -> None:
    await weekly(pool).post_due(LONG_AGO, at("2020-03-09T09:00"))
    assert not await Newsroom(pool).articles.posting_in("C1")


async def test_a_message_belongs_to_an_article_or_to_a_channel(pool: Pool) -> None:
    article = await Newsroom(pool).at_outline("x", "en", at("2020-03-03T10:00"))
    for article_id, channel_id in ((None, None), (article.id, "C1")):
        with pytest.raises(asyncpg.CheckViolationError):
            await pool.execute(
                "insert into outbox (key, article_id, channel_id, message) values ('k', $1, $2, '{}')",
                article_id,
                channel_id,
            )


async def test_what_the_database_could_not_take_at_its_time_is_posted_when_it_runs_again(
    pool: Pool,
) -> None:
    digest = weekly(pool, "* * * * *")
    await digest.set_up()
    await pool.execute("update digests set since = $1", LONG_AGO)
    await pool.execute("alter table digest_slots rename to away")
    with pytest.raises(asyncpg.UndefinedTableError):
        await digest.run()
    assert await posted(pool) == []
    await pool.execute("alter table away rename to digest_slots")
    running = asyncio.create_task(digest.run())
    await eventually(lambda: posted(pool))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
