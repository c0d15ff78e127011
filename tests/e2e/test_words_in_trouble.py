"""What people said while Slack is away or hiccups: none of it ends in silence, and the first comes first."""

import asyncio

import aiohttp
import pytest

from bot import arrivals
from knowledge.article import Status
from tests.e2e.desk import PATIENCE, TOPICS, Desk
from tests.e2e.test_acknowledged import at_outline, database_that_hangs
from tests.free_port import free_port


@pytest.fixture(autouse=True)
def _deliveries_into_nothing(desk: Desk) -> None:
    """What was on its way to a bot that was stopped is sent again."""
    desk.stack.callback(desk.slack.ack_failures.clear)


WORDS = {"en": "revise: put the migration first", "zh": "修改：先写迁移", "ja": "修正：移行を先に"}
APPROVE = {"en": "approve", "zh": "通过", "ja": "承認"}


@pytest.mark.parametrize("language", TOPICS)
async def test_a_word_is_carried_out_after_an_outage_that_left_no_way_to_say_that_it_was_not(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setattr(arrivals, "TRIES", 1)
    await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    await desk.slack.wait_for(lambda: desk.bots(parent), PATIENCE)
    desk.slack.fail("users.info", times=1, status=503)
    desk.slack.fail("chat.postEphemeral", times=1, status=503)
    await desk.ana.say(desk.channel, WORDS[language], thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: desk.slack.calls_of("chat.postEphemeral"), PATIENCE)
    await asyncio.sleep(0.5)
    article = await desk.article(parent)
    waits = await desk.knowledge.pool.fetchval("select count(*) from arrivals")
    assert waits or article.decisions or desk.ana.ephemerals, "nothing is left of the word"


@pytest.mark.parametrize("language", TOPICS)
async def test_of_two_words_in_a_thread_the_first_is_carried_out_first(desk: Desk, language: str) -> None:
    await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    await desk.slack.wait_for(lambda: desk.bots(parent), PATIENCE)
    desk.slack.fail("users.info", times=1, status=503)  # Slack hiccups once
    first = await desk.ana.say(desk.channel, WORDS[language], thread_ts=parent.ts)
    [event] = desk.slack.events_about(first)
    await desk.slack.wait_for(lambda: event.acked, PATIENCE)
    await desk.slack.wait_for(lambda: desk.slack.calls_of("users.info")[-1].result, PATIENCE)
    await desk.bo.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    await desk.article(parent, Status.AWAITING_APPROVAL, Status.AWAITING_OUTLINE)
    async with asyncio.timeout(PATIENCE):
        while True:
            if decisions := (await desk.article(parent)).decisions:
                break
            await asyncio.sleep(0.02)
    assert decisions[0].action == "revise"


CANCEL = {"en": "cancel", "zh": "取消", "ja": "キャンセル"}


@pytest.mark.parametrize("language", TOPICS)
async def test_a_word_below_a_message_whose_answer_was_lost_is_heard_once_it_is_found(
    desk: Desk, language: str
) -> None:
    await desk.start(worker=False)
    desk.slack.fail("chat.postMessage", drop="after")
    desk.slack.fail("conversations.history", times=4, status=503)  # it is known after some 9 s
    parent = await desk.request(TOPICS[language])
    await desk.ana.say(desk.channel, CANCEL[language], thread_ts=parent.ts)
    await desk.article(parent, Status.CANCELLED)
    assert len(desk.slack.history(desk.channel)) == 1


@pytest.mark.parametrize("language", TOPICS)
async def test_a_click_is_acknowledged_only_after_the_try_to_write_it_down(desk: Desk, language: str) -> None:
    """What is acknowledged first is lost with a process that dies in between."""
    await desk.start()
    parent = await at_outline(desk, language)
    outline = desk.bots(parent)[0]
    async with database_that_hangs(desk):
        await desk.ana.click(outline, "approve")
        assert desk.slack.ack_times[-1].seconds > arrivals.KEEP_SECONDS * 0.9


@pytest.mark.parametrize("language", TOPICS)
async def test_a_word_that_is_being_carried_out_at_a_stop_is_finished(desk: Desk, language: str) -> None:
    stop = await desk.start(worker=False)
    parent = await desk.request(TOPICS[language])
    desk.slack.fail("users.info", delay=1.0)
    asked = len(desk.slack.calls_of("users.info"))
    await desk.ana.say(desk.channel, CANCEL[language], thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: len(desk.slack.calls_of("users.info")) > asked, PATIENCE)
    await stop()
    assert (await desk.article(parent)).status is Status.CANCELLED


async def test_a_bot_that_slack_cannot_reach_is_not_ready(desk: Desk) -> None:
    async def ready() -> tuple[int, bool]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/readyz") as response,
        ):
            return response.status, (await response.json())["slack"]["ok"]

    with free_port() as port:
        await desk.start(worker=False, port=port)
        assert await ready() == (200, True)
        await desk.slack.stop()
        async with asyncio.timeout(PATIENCE):
            while True:
                if await ready() == (503, False):
                    break
                await asyncio.sleep(0.2)
        await desk.slack.start()
