"""What Slack has been told is heard is carried out, and what could not be written down is not told so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot import arrivals
from bot.arrivals import WHAT, Spoken
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from bot.workflow import Said
from knowledge.article import Status
from knowledge.inbox import Inbox
from tests.bot_command import running
from tests.e2e.desk import PATIENCE, TOPICS, Desk

WORDS = {"en": "revise: put the migration first", "zh": "修改：先写迁移", "ja": "修正：移行を先に"}
TEXTS = {"en": "put the migration first", "zh": "先写迁移", "ja": "移行を先に"}


async def at_outline(desk: Desk, language: str = "en") -> Message:
    parent = await desk.request(TOPICS[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    await desk.slack.wait_for(lambda: desk.bots(parent), PATIENCE)
    return parent


async def all_crossed_off(desk: Desk) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if await desk.knowledge.pool.fetchval("select count(*) from arrivals") == 0:
                return
            await asyncio.sleep(0.02)


@asynccontextmanager
async def database_that_hangs(desk: Desk) -> AsyncIterator[None]:
    """Nothing can be written down, and nobody says so."""
    async with desk.knowledge.pool.acquire() as connection, connection.transaction():
        await connection.execute("lock table arrivals in access exclusive mode")
        yield


@pytest.mark.parametrize("language", TOPICS)
async def test_a_word_that_was_acknowledged_outlives_its_bot(desk: Desk, language: str) -> None:
    desk.stack.callback(desk.slack.ack_failures.clear)  # of a bot that is gone, or cannot write
    stop = await desk.start()
    parent = await at_outline(desk, language)
    await stop()
    async with running("serve", "--no-worker", settings=desk.environment):
        await desk.slack.wait_for(lambda: desk.slack.connections, 2 * PATIENCE)
        desk.slack.fail("users.info", drop="never")
        looked = len(desk.slack.calls_of("users.info"))
        word = await desk.ana.say(desk.channel, WORDS[language], thread_ts=parent.ts)
        [event] = desk.slack.events_about(word)
        await desk.slack.wait_for(lambda: event.acked, PATIENCE)
        await desk.slack.wait_for(
            lambda: any(call.result for call in desk.slack.calls_of("users.info")[looked:]), PATIENCE
        )
    assert (await desk.article(parent)).decisions == ()
    # As if the time had passed after which it is taken to be dead.
    await desk.knowledge.pool.execute("update arrivals set due_at = now()")
    await desk.start()
    article = await desk.second_outline(parent)
    assert [decision.text for decision in article.decisions] == [TEXTS[language]]
    assert await desk.slack.redeliver(event)
    await all_crossed_off(desk)
    assert len((await desk.article(parent)).decisions) == 1


async def test_a_command_whose_bot_died_before_it_was_done_starts_one_article(desk: Desk) -> None:
    desk.stack.callback(desk.slack.ack_failures.clear)  # of a bot that is gone, or cannot write
    stop = await desk.start(worker=False)
    await desk.request(TOPICS["ja"])
    await stop()
    # Carried out, but not crossed off: it is taken up again, and is not told that the article exists already.
    [key] = [row["key"] for row in await desk.knowledge.pool.fetch("select key from inbox")]
    before = len(desk.ana.ephemerals)
    pool = desk.knowledge.pool
    await pool.execute(
        "insert into arrivals (key, what, due_at) values ($1, $2, now())",
        key,
        {
            "kind": "commission",
            "respond_to": desk.slack.parts.response_urls.give(desk.ana.id, desk.channel.id),
            "started": None,
            "requested": {
                "topic": TOPICS["ja"], "language": "ja", "mode": "supervised", "anyway": False,
                "team_id": desk.slack.workspace.team, "channel_id": desk.channel.id,
                "user_id": desk.ana.id, "command": "/article", "claim": key,
            },
        },
    )  # fmt: skip
    await desk.start(worker=False)
    await all_crossed_off(desk)
    assert len(await desk.knowledge.articles.newest()) == 1
    assert len(desk.ana.ephemerals) == before


@pytest.mark.parametrize(
    ("language", "told"), [("en", "just now"), ("zh", "没能记下来"), ("ja", "記録できません")]
)
async def test_a_word_that_cannot_be_written_down_is_not_acknowledged_and_comes_again(
    desk: Desk, language: str, told: str
) -> None:
    desk.stack.callback(desk.slack.ack_failures.clear)  # of a bot that is gone, or cannot write
    await desk.start()
    parent = await at_outline(desk, language)
    async with database_that_hangs(desk):
        word = await desk.ana.say(desk.channel, WORDS[language], thread_ts=parent.ts)
        await desk.told(desk.ana, told)
        [event] = desk.slack.events_about(word)
        assert not event.acked
    await desk.slack.wait_for(lambda: event.acked, PATIENCE)
    article = await desk.second_outline(parent)
    assert [decision.text for decision in article.decisions] == [TEXTS[language]]
    assert len(desk.ana.ephemerals) == 1  # once, however often it came


async def test_commands_clicks_and_forms_are_answered_while_nothing_can_be_written_down(desk: Desk) -> None:
    await desk.start()
    parent = await at_outline(desk)
    outline = desk.bots(parent)[0]
    await desk.ana.click(outline, "request_changes")
    await desk.slack.wait_for(lambda: desk.ana.open_views, PATIENCE)
    async with database_that_hangs(desk):
        answer = await desk.ana.command(desk.channel, "/article", TOPICS["zh"])
        assert "没能记下来" in answer.text
        submission = await desk.ana.submit(desk.ana.open_views[-1], {"request": "put the migration first"})
        assert "could not write that down" in str(submission.errors)
        assert desk.ana.open_views  # with what was typed in it
        await desk.bo.click(outline, "approve")
        await desk.told(desk.bo, "could not write that down")
    assert (await desk.article(parent)).decisions == ()
    assert len(await desk.knowledge.articles.newest()) == 1


async def test_what_cannot_be_carried_out_for_long_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "TRIES", 1)
    await desk.start()
    parent = await at_outline(desk)
    outline = desk.bots(parent)[0]
    desk.slack.fail("users.info", times=4, status=503)
    await desk.ana.say(desk.channel, "通过", thread_ts=parent.ts)
    await desk.told(desk.ana, "没能记下来")
    await desk.ana.command(desk.channel, "/article", TOPICS["ja"])
    await desk.told(desk.ana, "記録できなかった")
    await desk.bo.click(outline, "approve")
    await desk.told(desk.bo, "could not write that down")
    await desk.bo.click(outline, "request_changes")
    await desk.slack.wait_for(lambda: desk.bo.open_views, PATIENCE)
    await desk.bo.submit(desk.bo.open_views[-1], {"request": "put the migration first"})
    direct = desk.slack.dm(desk.bo)
    await desk.slack.wait_for(lambda: desk.slack.history(direct), PATIENCE)
    assert "put the migration first" in plain_text(desk.slack.history(direct)[0])
    assert (await desk.article(parent)).decisions == ()
    assert await desk.knowledge.pool.fetchval("select count(*) from arrivals") == 0


async def test_what_another_release_wrote_down_and_nobody_can_read_is_crossed_off(desk: Desk) -> None:
    said = Said("C1", "1.0", "2.0", "U1", "approve", "", ("event:1", "message:1"))
    good = Spoken(said)
    assert WHAT.validate_python(WHAT.dump_python(good, mode="json")) == good
    inbox = Inbox(desk.knowledge.pool)
    kept = await inbox.keep("future", {"kind": "hologram"})
    assert kept is not None
    assert await inbox.keep("future", {"kind": "hologram"}) is None
    await desk.knowledge.pool.execute("update arrivals set due_at = now()")
    await desk.start(worker=False)
    await all_crossed_off(desk)


async def test_what_two_processes_take_up_one_carries_out(desk: Desk) -> None:
    inbox = Inbox(desk.knowledge.pool)
    first = await inbox.keep("k", {})
    assert first is not None
    assert await inbox.take(10) == []  # somebody works on it
    await desk.knowledge.pool.execute("update arrivals set due_at = now()")
    taken = await asyncio.gather(inbox.take(10), inbox.take(10))
    [second] = [arrival for of_one in taken for arrival in of_one]
    assert not await inbox.still_ours(first)
    assert await inbox.still_ours(second)
