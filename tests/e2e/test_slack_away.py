"""Slack refuses the bot, closes its channel, or is not there: articles are kept and go on afterwards."""

import asyncio
from collections.abc import Callable
from typing import Any, Literal

import pytest

from bot import announcements, app, connection
from bot.doctor import examine
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge.article import Status
from tests.e2e.desk import PATIENCE, TOPICS, Desk

APPROVE_OUTLINE = {"en": "Approve outline 1", "zh": "通过大纲 1", "ja": "構成案 1 を承認"}
RETRY = {"en": "retry", "zh": "重试", "ja": "再試行"}


@pytest.fixture(autouse=True)
def _deliveries_into_nothing(desk: Desk) -> None:
    """What was on its way into a connection that went is not acknowledged: Slack sends it again."""
    desk.stack.callback(desk.slack.ack_failures.clear)


def refused(desk: Desk, code: str) -> int:
    return len([call for call in desk.slack.calls if call.result and call.result.get("error") == code])


@pytest.mark.parametrize("language", TOPICS)
async def test_a_token_that_is_taken_away_stops_articles_until_there_is_a_good_one(
    desk: Desk, caplog: pytest.LogCaptureFixture, language: str
) -> None:
    stop = await desk.start(worker=False)
    parent = await desk.request(TOPICS[language])
    await stop()
    old = desk.slack.bot_token
    desk.slack.fail("chat.postMessage", error="token_revoked")  # the outline is the first to meet it
    stop = await desk.start()
    article = await desk.article(parent, Status.FAILED)
    assert article.error is not None
    assert (article.error.code, article.error.leg) == ("slack_token", Status.AWAITING_OUTLINE)
    assert "SLACK_BOT_TOKEN" in article.error.message
    assert "SLACK_BOT_TOKEN (token_revoked)" in caplog.text
    # Nothing of what is to be sent is tried with it: the word of a person goes unanswered.
    posts = len(desk.slack.calls_of("chat.postMessage"))
    await stop()
    desk.slack.app.bot_token = "xoxb-of-today"
    findings = [
        finding async for finding in examine(desk.settings.model_copy(update={"slack_bot_token": old}))
    ]
    assert any(f.mark == "✗" and "SLACK_BOT_TOKEN (invalid_auth)" in f.text for f in findings)
    assert len(desk.slack.calls_of("chat.postMessage")) == posts
    await desk.start(slack_bot_token="xoxb-of-today")
    outline = await desk.asked(parent, APPROVE_OUTLINE[language])
    await desk.slack.wait_for(lambda: len(desk.bots(parent)) == 2, PATIENCE)  # and why it stopped
    await desk.ana.say(desk.channel, RETRY[language], thread_ts=parent.ts)
    await desk.article(parent, Status.AWAITING_OUTLINE)
    await desk.ana.click(outline, "approve")
    await desk.article(parent, Status.AWAITING_APPROVAL)


async def test_a_refused_token_is_not_tried_over_and_over(desk: Desk) -> None:
    await desk.start(worker=False)
    parent = await desk.request(TOPICS["zh"])
    await desk.until("select count(permalink) from articles", 1)  # the last that is asked for a message
    desk.slack.app.bot_token = "xoxb-of-today"
    article = await desk.article(parent)
    for number in range(5):
        note = announcements.note(article, str(number), "publishing_now", {})
        await desk.knowledge.articles.tell(article, note)
        await desk.slack.wait_for(lambda: refused(desk, "invalid_auth"), PATIENCE)
    assert len(desk.slack.calls_of("chat.postMessage")) == 2  # the article's own message, and one that met it
    assert await desk.knowledge.pool.fetchval("select count(*) from outbox where error is not null") == 0


@pytest.mark.parametrize("language", TOPICS)
@pytest.mark.parametrize("trouble", ["removed", "archived"])
async def test_a_channel_that_is_closed_is_told_directly_and_retry_goes_on(
    desk: Desk, language: str, trouble: Literal["removed", "archived"]
) -> None:
    stop = await desk.start(worker=False)
    parent = await desk.request(TOPICS[language])
    await stop()
    if trouble == "removed":
        desk.slack.kick(desk.channel, desk.slack.bot)
    else:
        desk.channel.is_archived = True
    await desk.start()
    article = await desk.article(parent, Status.FAILED)
    assert article.error is not None
    assert article.error.code == "slack_channel"
    assert article.analysis is not None  # what was made is kept
    direct = desk.slack.dm(desk.ana)
    await desk.slack.wait_for(lambda: desk.slack.history(direct), PATIENCE)
    if trouble == "removed":
        desk.slack.invite(desk.channel, desk.slack.bot)
    else:
        desk.channel.is_archived = False
    await desk.ana.say(desk.channel, RETRY[language], thread_ts=parent.ts)
    await desk.asked(parent, APPROVE_OUTLINE[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    [told] = desk.slack.history(direct)
    assert TOPICS[language] in plain_text(told)
    assert RETRY[language] in plain_text(told)
    assert "/invite @Copydesk" in plain_text(told)


async def test_an_article_whose_first_message_finds_no_channel_is_told_directly(desk: Desk) -> None:
    await desk.start(worker=False)
    desk.slack.fail("chat.postMessage", error="restricted_action_read_only_channel")
    await desk.ana.command(desk.channel, "/article", TOPICS["ja"])
    direct = desk.slack.dm(desk.ana)
    await desk.slack.wait_for(lambda: desk.slack.history(direct), PATIENCE)
    [told] = desk.slack.history(direct)
    assert f"/article {TOPICS['ja']}" in plain_text(told)
    assert desk.slack.history(desk.channel) == []


async def test_after_an_outage_everything_is_there_once_and_in_order(desk: Desk) -> None:
    await desk.start()
    parent = await desk.request(TOPICS["zh"])
    await desk.asked(parent, "通过大纲 1")
    desk.slack.fail("chat.postMessage", times=4, status=503)
    desk.slack.fail("files.completeUploadExternal", times=2, status=502)
    desk.slack.fail("chat.update", times=3, status=500)
    await desk.ana.say(desk.channel, "通过", thread_ts=parent.ts)
    await desk.article(parent, Status.AWAITING_APPROVAL)
    await desk.slack.wait_for(
        lambda: any("通过草稿 1]" in plain_text(m) for m in desk.bots(parent)), 2 * PATIENCE
    )
    kinds = [
        "file" if m.files else str(m.metadata and m.metadata["event_payload"]["key"])
        for m in desk.bots(parent)
    ]
    assert len(kinds) == len(set(kinds))
    assert kinds[-2:] == ["file", "article:1:draft:1"]


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "link_disabled"])
async def test_a_connection_that_is_to_go_is_replaced_and_words_are_heard_once(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    reason: Literal["warning", "refresh_requested", "link_disabled"],
) -> None:
    monkeypatch.setattr(app, "PING_SECONDS", 0.3)
    await desk.start()
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, "Approve outline 1")
    opened = len(desk.slack.calls_of("apps.connections.open"))
    await desk.slack.disconnect(reason)
    word = await desk.ana.say(desk.channel, "修改：先写迁移", thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: len(desk.slack.calls_of("apps.connections.open")) > opened, PATIENCE)
    await desk.slack.wait_for(lambda: desk.slack.connections == 1, PATIENCE)
    await heard_once(desk, parent, word)


async def test_a_half_open_connection_is_noticed_and_replaced(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "PING_SECONDS", 0.5)
    await desk.start()
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, "Approve outline 1")
    opened = len(desk.slack.calls_of("apps.connections.open"))
    desk.slack.fall_silent()
    word = await desk.ana.say(desk.channel, "修正：移行を先に", thread_ts=parent.ts)
    began = asyncio.get_running_loop().time()
    await desk.slack.wait_for(lambda: len(desk.slack.calls_of("apps.connections.open")) > opened, PATIENCE)
    # Three pings without an answer, and some room for a busy machine.
    assert asyncio.get_running_loop().time() - began < 3 * 0.5 + 3
    await heard_once(desk, parent, word)


async def test_a_slack_that_was_away_finds_the_bot_connected_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "PING_SECONDS", 0.3)
    await desk.start()
    parent = await desk.request(TOPICS["en"])
    await desk.asked(parent, "Approve outline 1")
    await desk.slack.stop()
    await desk.slack.start()
    await desk.slack.wait_for(lambda: desk.slack.connections == 1, PATIENCE)
    word = await desk.ana.say(desk.channel, "revise: put the migration first", thread_ts=parent.ts)
    await heard_once(desk, parent, word)


async def test_an_address_that_was_used_up_without_a_connection_is_not_tried_for_ever(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "PING_SECONDS", 0.2)
    monkeypatch.setattr(connection, "LOST_SECONDS", 1.0)
    await desk.start(worker=False)
    desk.slack.refuse_connections(1)
    await desk.slack.disconnect("refresh_requested")
    await desk.slack.wait_for(lambda: not desk.slack.connections, PATIENCE)
    await desk.slack.wait_for(lambda: desk.slack.connections == 1, PATIENCE)


async def heard_once(desk: Desk, parent: Message, word: Message) -> None:
    """The word has had its effect, and no second one when it comes again."""
    [event] = desk.slack.events_about(word)
    if not event.acked:
        await desk.slack.redeliver(event)  # as Slack does a minute later
    await desk.slack.wait_for(lambda: event.acked, PATIENCE)
    await desk.slack.redeliver(event)
    await until(desk, lambda article: bool(article.outline_version == 2), parent)
    article = await desk.article(parent, Status.AWAITING_OUTLINE)
    assert [decision.action for decision in article.decisions] == ["revise"]


async def until(desk: Desk, true: Callable[[Any], bool], parent: Message) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if true(await desk.article(parent)):
                return
            await asyncio.sleep(0.02)
