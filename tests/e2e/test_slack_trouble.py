"""Slack late, busy or gone for a moment, and messages that are nobody's word."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.blocks import Drawn
from bot.decisions import Limits
from bot.local_slack.workspace import Member, Message
from bot.slack import NotNow, SlackChannel, slack_client
from bot.workflow import Said, Workflow
from knowledge.article import Status
from knowledge.outbox import Outbox
from knowledge.shared_sources import SharedSources
from tests.e2e.desk import PATIENCE, TOPICS, Desk


def asks(message: Message | None) -> bool:
    return message is not None and any(block["type"] == "actions" for block in message.blocks)


def in_thread(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments.get("thread_ts"))


@pytest.mark.parametrize(
    "fault", [{"status": 429, "retry_after": 1}, {"status": 503}, {"error": "internal_error"}]
)
async def test_a_message_that_slack_could_not_take_is_sent_later(desk: Desk, fault: dict[str, Any]) -> None:
    desk.slack.fail("chat.postMessage", when=in_thread, **fault)
    await desk.start()
    parent = await desk.request(TOPICS["zh"])
    await desk.asked(parent, "通过大纲 1")
    article = await desk.article(parent)
    assert (article.status, article.error) == (Status.AWAITING_OUTLINE, None)


async def test_slack_is_not_called_again_before_the_time_it_named(desk: Desk) -> None:
    desk.slack.fail("chat.postMessage", status=429, retry_after=3600)
    await desk.start(worker=False)
    await desk.ana.command(desk.channel, "/article", TOPICS["ja"])
    outbox = Outbox(desk.knowledge.pool)
    async with asyncio.timeout(PATIENCE):
        while True:
            heads = await outbox.heads()
            if heads and heads[0].attempts:
                break
            await asyncio.sleep(0.02)
    [head] = heads
    assert 3000 < head.wait_seconds <= 3600


async def test_a_lost_answer_is_told_and_not_tried_again_behind_our_back(desk: Desk) -> None:
    channel = SlackChannel(slack_client(desk.slack.bot_token, base_url=desk.slack.base_url))
    desk.slack.fail("chat.postMessage", drop="before")
    with pytest.raises(NotNow) as lost:
        await channel.post(desk.channel.id, None, Drawn("你好", []), key="k")
    assert lost.value.ambiguous
    assert len(desk.slack.calls_of("chat.postMessage")) == 1


async def test_every_message_of_the_bot_carries_its_key_also_after_an_edit(desk: Desk) -> None:
    await desk.start()
    parent = await desk.request(TOPICS["en"])
    outline = await desk.asked(parent, "Approve outline 1")
    await desk.ana.click(outline, "approve")
    await desk.asked(parent, "Approve draft 1")
    await desk.slack.wait_for(lambda: not asks(desk.slack.current(outline)), PATIENCE)
    own = [m for m in desk.thread(parent) if m.user == desk.slack.bot.id and not m.files]
    keys = [m.metadata["event_payload"]["key"] for m in own if m.metadata]
    assert len(keys) == len(set(keys)) == len(own)
    edits = desk.slack.calls_of("chat.update")
    assert edits
    assert {call.args["metadata"]["event_payload"]["key"] for call in edits} <= set(keys)


async def test_a_word_of_another_bot_or_said_in_passing_decides_nothing(desk: Desk) -> None:
    stop = await desk.start()
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, "Approve outline 1")
    workspace = desk.slack.workspace
    other = Member(workspace.next_id("U"), "Release bot", workspace.team, is_bot=True)
    workspace.members[other.id] = other
    said = Message(
        channel=desk.channel.id,
        ts=workspace.next_ts(),
        user=other.id,
        bot_id=workspace.next_id("B"),
        text="通过",
        thread_ts=parent.ts,
    )
    workspace.add(said)
    desk.slack.parts.events.posted(said)
    await desk.ana.say(desk.channel, "承認", thread_ts=parent.ts, subtype="me_message")
    status = await desk.ana.say(desk.channel, "status", thread_ts=parent.ts)
    await desk.told(desk.ana, "waits for a decision")
    article = await desk.article(parent)
    assert (article.status, article.decisions) == (Status.AWAITING_OUTLINE, ())
    await stop()  # what was heard has been answered now
    heard = await desk.knowledge.pool.fetch("select key from inbox where key like 'message:%'")
    assert [row["key"].rpartition(":")[2] for row in heard] == [status.ts]


@pytest.mark.parametrize(("language", "word"), [("en", "approve"), ("zh", "通过"), ("ja", "承認")])
async def test_a_word_waits_until_it_is_known_what_stands_above_it(
    desk: Desk, language: str, word: str
) -> None:
    stop = await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    await desk.slack.wait_for(lambda: desk.bots(parent), PATIENCE)
    await stop()
    pool = desk.knowledge.pool
    ts = await pool.fetchval("select ts from outbox where on_what = 'outline'")
    # As it is between Slack's taking the message and its answer.
    await pool.execute("update outbox set ts = null, sent_revision = 0 where on_what = 'outline'")
    workflow = Workflow(
        desk.knowledge.articles,
        desk.knowledge.documents,
        SharedSources(desk.knowledge.pool),
        SlackChannel(slack_client(desk.slack.bot_token, base_url=desk.slack.base_url)),
        approvers="anyone",
        limits=Limits(max_reviews=3, max_research_rounds=2),
    )
    message = await desk.ana.say(desk.channel, word, thread_ts=parent.ts)
    said = Said(
        channel_id=desk.channel.id,
        thread_ts=parent.ts,
        ts=message.ts,
        user_id=desk.ana.id,
        text=word,
        bot_user_id=desk.slack.bot.id,
        claims=(message.ts,),
    )
    hearing = asyncio.create_task(workflow.hear(said))
    heard, _ = await asyncio.wait({hearing}, timeout=0.5)
    assert not heard
    await pool.execute("update outbox set ts = $1, sent_revision = revision where on_what = 'outline'", ts)
    await hearing
    assert (await desk.article(parent)).status is Status.WRITING


async def test_a_button_that_nobody_knows_any_more_is_acknowledged(desk: Desk) -> None:
    await desk.start(worker=False)
    client = AsyncWebClient(token=desk.slack.bot_token, base_url=desk.slack.base_url)
    button = {"type": "button", "action_id": "of_last_year", "text": {"type": "plain_text", "text": "Go"}}
    answer = await client.chat_postMessage(
        channel=desk.channel.id, text="old", blocks=[{"type": "actions", "elements": [button]}]
    )
    old = desk.slack.workspace.message(desk.channel.id, answer["ts"])
    assert old is not None
    assert await desk.ana.click(old, "of_last_year")


async def test_a_guest_neither_starts_an_article_nor_asks_for_changes_by_the_modal(desk: Desk) -> None:
    guest = desk.slack.add_person("Guest", is_restricted=True)
    desk.slack.invite(desk.channel, guest)
    await desk.start()
    parent = await desk.request(TOPICS["en"])
    outline = await desk.asked(parent, "Approve outline 1")
    await guest.command(desk.channel, "/article", TOPICS["ja"])
    await desk.told(guest, "ゲスト")
    assert len(await desk.knowledge.articles.newest()) == 1
    await guest.click(outline, "request_changes")
    await desk.slack.wait_for(lambda: guest.open_views, PATIENCE)
    await guest.submit(guest.open_views[-1], {"request": "drop section 1"})
    await desk.told(guest, "Guests")
    assert (await desk.article(parent)).decisions == ()


async def test_a_message_that_cannot_be_marked_as_sent_is_not_sent_over_and_over(desk: Desk) -> None:
    pool, outbox = desk.knowledge.pool, Outbox(desk.knowledge.pool)
    await pool.execute("alter table outbox add constraint away check (ts is null) not valid")
    await desk.start(worker=False)
    await desk.ana.command(desk.channel, "/article", TOPICS["en"])
    async with asyncio.timeout(PATIENCE):
        while True:
            heads = await outbox.heads()
            if heads and heads[0].attempts >= 2:
                break
            await asyncio.sleep(0.02)
    # Each try is counted, and waits longer than the one before; what was posted is found, not posted again.
    await pool.execute("alter table outbox drop constraint away")
    async with asyncio.timeout(PATIENCE):
        while True:
            if not await outbox.heads():
                break
            await asyncio.sleep(0.02)
    [parent] = desk.slack.history(desk.channel)
    assert len(desk.slack.calls_of("chat.postMessage")) == 1
    assert (await desk.article(parent)).status is Status.RESEARCHING
