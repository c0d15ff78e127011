"""The digest in Slack: by its schedule, by hand, and through the death of the process that claimed it."""

import asyncio
import json
import signal
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from bot import app
from bot.digest_command import NotPosted, post_digest
from bot.doctor import examine
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge.article import Status
from knowledge.digests import Digests, Setup
from tests.bot_command import PIPE, run, start
from tests.e2e.desk import PATIENCE, TOPICS, Desk

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
TITLE = {"en": "# Articles, ", "zh": "# 文章汇总，", "ja": "# 記事のまとめ、"}


def digests(desk: Desk) -> list[Message]:
    return [
        message
        for message in desk.slack.history(desk.channel)
        if plain_text(message).startswith(tuple(TITLE.values()))
    ]


async def next_digest(desk: Desk) -> Message:
    await desk.slack.wait_for(lambda: digests(desk), PATIENCE)
    return digests(desk)[-1]


async def missed(desk: Desk, *, cron: str = "0 9 * * mon") -> None:
    """As it is after the bot was down: set up long ago, and nothing posted since."""
    setup = Setup("articles", desk.channel.id, cron, "UTC")
    await Digests(desk.knowledge.pool).set_up(setup)
    await desk.knowledge.pool.execute("update digests set since = $1", LONG_AGO)


class Bot:
    """Runs `python -m bot` on the desk's database and Slack."""

    def __init__(self, desk: Desk) -> None:
        self._settings: Mapping[str, str] = {
            **desk.environment,
            "COPYDESK_DIGEST_CHANNEL": desk.channel.id,
            "LOG_LEVEL": "WARNING",
        }

    async def start(self, *arguments: str, **settings: str) -> asyncio.subprocess.Process:
        return await start(*arguments, settings={**self._settings, **settings}, stdout=PIPE, stderr=PIPE)

    async def run(self, *arguments: str, **settings: str) -> tuple[int, str, str]:
        """Exit code, stdout, stderr."""
        ran = await run(*arguments, settings={**self._settings, **settings}, seconds=90)
        return ran.code, ran.out, ran.err

    async def fails(self, *arguments: str, **settings: str) -> str:
        """The one sentence that it fails with."""
        code, out, err = await self.run(*arguments, **settings)
        assert (code, out) == (1, ""), err
        [line] = err.strip().splitlines()
        return line


@pytest.fixture
def bot(desk: Desk) -> Bot:
    return Bot(desk)


@pytest.mark.parametrize(
    ("language", "buttons"),
    [
        ("en", ("Approve outline 1", "Approve draft 1")),
        ("zh", ("通过大纲 1", "通过草稿 1")),
        ("ja", ("構成案 1 を承認", "原稿 1 を承認")),
    ],
)
async def test_two_bots_that_start_at_once_post_the_missed_digest_once(
    desk: Desk, language: str, buttons: tuple[str, str]
) -> None:
    stop = await desk.start()
    parent = await desk.request(TOPICS[language])
    for button in buttons:
        await desk.ana.click(await desk.asked(parent, button), "approve")
    await desk.article(parent, Status.PUBLISHED)
    await stop()
    await missed(desk)
    # So that the article is in the time that the missed digest tells of.
    await desk.knowledge.pool.execute("update article_moves set at = $1", datetime(2020, 1, 2, tzinfo=UTC))
    stops = await asyncio.gather(*(desk.start(digest_channel=desk.channel.id) for _ in range(2)))
    digest = await next_digest(desk)
    for stop in stops:
        await stop()
    assert digests(desk) == [digest]
    text = plain_text(digest)
    assert text.startswith(TITLE[language])
    assert text.count(f"<@{desk.ana.id}>") == 2
    assert "https://" in text
    assert digest.thread_ts is None


async def test_a_bot_that_starts_for_the_first_time_posts_nothing_of_the_past(desk: Desk) -> None:
    await desk.start(digest_channel=desk.channel.id)
    await desk.article(await desk.request(TOPICS["en"]), Status.AWAITING_OUTLINE)
    assert await desk.knowledge.pool.fetchval("select count(*) from digests") == 1
    assert await desk.knowledge.pool.fetchval("select count(*) from digest_slots") == 0


async def test_a_digest_whose_process_is_killed_before_it_is_sent_is_posted_once_by_the_next(
    desk: Desk, bot: Bot
) -> None:
    await missed(desk)
    away = True
    desk.slack.fail("chat.postMessage", times=1_000, status=503, when=lambda _: away)
    first = await bot.start("serve", "--no-worker")
    await desk.slack.wait_for(lambda: desk.slack.calls_of("chat.postMessage"), PATIENCE)
    first.send_signal(signal.SIGKILL)
    await first.communicate()
    assert digests(desk) == []
    assert await desk.knowledge.pool.fetchval("select count(*) from digest_slots") == 1
    away = False
    second = await bot.start("serve", "--no-worker")
    await next_digest(desk)
    second.send_signal(signal.SIGTERM)
    await second.communicate()
    assert len(digests(desk)) == 1


async def test_a_digest_that_slack_refuses_is_not_tried_over_and_over_and_doctor_says_so(desk: Desk) -> None:
    await missed(desk)
    desk.slack.kick(desk.channel, desk.slack.bot)
    stop = await desk.start(worker=False, digest_channel=desk.channel.id)
    pool = desk.knowledge.pool
    async with asyncio.timeout(PATIENCE):
        while True:
            if await pool.fetchval("select error from outbox where error is not null"):
                break
            await asyncio.sleep(0.02)
    await stop()
    assert len(desk.slack.calls_of("chat.postMessage")) == 1
    settings = desk.settings.model_copy(update={"digest_channel": desk.channel.id})
    told = [f"{finding.mark} {finding.text}" async for finding in examine(settings)]
    assert any(line.startswith("! the digest of ") and "(not_in_channel)" in line for line in told)
    assert any(line.startswith("✗ digest: the bot is not in") and "/invite" in line for line in told)
    desk.slack.invite(desk.channel, desk.slack.bot)
    await post_digest(settings, desk.knowledge)
    assert len(digests(desk)) == 1
    told = [f"{finding.mark} {finding.text}" async for finding in examine(settings)]
    assert not any("refused" in line for line in told)
    assert any(line.startswith(f"✓ digest: next for {desk.channel.id} at ") for line in told)
    without = [finding.text async for finding in examine(desk.settings)]
    assert "no COPYDESK_DIGEST_CHANNEL: no digest is posted" in without


async def test_the_next_digest_is_printed_and_posted_by_hand_with_and_without_a_bot_that_runs(
    desk: Desk, bot: Bot
) -> None:
    stop = await desk.start()
    parent = await desk.request(TOPICS["zh"])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    code, out, err = await bot.run("digest", "--json", COPYDESK_DIGEST_TIMEZONE="Asia/Tokyo")
    assert (code, err) == (0, "")
    printed = json.loads(out)
    assert set(printed) == {"name", "channel", "period", "articles", "waiting", "failed", "cancelled"}
    assert (printed["channel"], printed["period"]["timezone"]) == (desk.channel.id, "Asia/Tokyo")
    assert printed["period"]["from"].endswith("Z")
    [waiting] = printed["waiting"]
    assert (waiting["topic"], waiting["on"], waiting["version"]) == (TOPICS["zh"], "outline", 1)
    code, out, _ = await bot.run("digest")
    assert code == 0
    assert out.startswith(TITLE["zh"])
    assert TOPICS["zh"] in out
    assert digests(desk) == []

    code, out, err = await bot.run("digest", "--post")  # sent by the bot that runs
    assert code == 0, err
    assert "Posted in" in err
    assert TOPICS["zh"] in plain_text(await next_digest(desk))
    assert "less than a minute ago" in await bot.fails("digest", "--post")
    assert len(digests(desk)) == 1

    await stop()
    # An hour later.
    for change in (
        "update digest_slots set slot = slot - interval '1 hour', period_to = period_to - interval '1 hour'",
        "update digest_slots set message_key = 'earlier'",
        "update outbox set key = 'earlier' where channel_id is not null",
    ):
        await desk.knowledge.pool.execute(change)
    code, _, err = await bot.run("digest", "--post", "--json")  # sent by the command itself
    assert code == 0, err
    assert "https://" in err
    assert len(digests(desk)) == 2


async def test_without_a_channel_the_digest_can_be_printed_but_not_posted(desk: Desk, bot: Bot) -> None:
    code, out, _ = await bot.run("digest", "--json", COPYDESK_DIGEST_CHANNEL="")
    assert (code, json.loads(out)["channel"]) == (0, None)
    sentence = await bot.fails("digest", "--post", COPYDESK_DIGEST_CHANNEL="")
    assert "COPYDESK_DIGEST_CHANNEL is not set" in sentence


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"slack_bot_token": None}, "SLACK_BOT_TOKEN is not set"),
        ({"slack_bot_token": "xoxb-1"}, "invalid_auth"),
        ({"slack_api_url": "http://127.0.0.1:1/"}, "does not answer"),
        ({"digest_channel": "C0NOWHERE"}, "/invite"),
    ],
)
async def test_what_keeps_a_digest_from_being_posted_is_said_and_nothing_is_claimed(
    desk: Desk, changed: dict[str, str | None], says: str
) -> None:
    settings = desk.settings.model_copy(update={"digest_channel": desk.channel.id, **changed})
    with pytest.raises(NotPosted, match=says):
        await post_digest(settings, desk.knowledge)
    assert await desk.knowledge.pool.fetchval("select count(*) from digest_slots") == 0


async def test_a_digest_for_an_archived_channel_is_not_posted(desk: Desk) -> None:
    desk.channel.is_archived = True
    settings = desk.settings.model_copy(update={"digest_channel": desk.channel.id})
    with pytest.raises(NotPosted, match="archived"):
        await post_digest(settings, desk.knowledge)
    assert desk.slack.calls_of("chat.postMessage") == []


async def test_the_demo_and_a_bot_without_a_channel_post_no_digest(desk: Desk) -> None:
    assert desk.settings.digest_channel is None
    await desk.start(worker=False)
    assert await desk.knowledge.pool.fetchval("select count(*) from digests") == 0
    assert app.digest_of(desk.settings, desk.knowledge).channel_id is None
