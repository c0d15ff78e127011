"""Slack does what it is asked, and its answer is lost: the thread has everything once, and in order."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bot.local_slack.people import Person
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Message
from knowledge.article import Status
from tests.bot_command import running
from tests.e2e.desk import PATIENCE, TOPICS, Desk


def is_parent(arguments: Mapping[str, Any]) -> bool:
    return not arguments.get("thread_ts")


def in_thread(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments.get("thread_ts"))


def is_draft(arguments: Mapping[str, Any]) -> bool:
    return ":draft:" in str(arguments.get("metadata"))


def keys_of(messages: list[Message]) -> list[str]:
    return [m.metadata["event_payload"]["key"].partition(":note:")[0] for m in messages if m.metadata]


async def published(desk: Desk, topic: str, words: tuple[str, str]) -> Message:
    """An article from the command to the end: its thread."""
    parent = await desk.request(topic)
    for word, status in zip(words, (Status.AWAITING_OUTLINE, Status.AWAITING_APPROVAL), strict=True):
        await asked(desk, parent, status)
        await desk.ana.say(desk.channel, word, thread_ts=parent.ts)
    await desk.article(parent, Status.PUBLISHED)
    await desk.slack.wait_for(lambda: desk.slack.files, PATIENCE)
    await until(desk, "select not exists (select from outbox where begun_at is not null)")
    return parent


async def until(desk: Desk, true: str) -> None:
    """Until the database says so."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await desk.knowledge.pool.fetchval(true):
                return
            await asyncio.sleep(0.02)


async def asked(desk: Desk, parent: Message, status: Status) -> None:
    await desk.article(parent, status)
    await desk.slack.wait_for(lambda: asks(desk, parent, status), PATIENCE)


def asks(desk: Desk, parent: Message, status: Status) -> bool:
    """Whether what people are to decide on is in the thread."""
    kind = "outline" if status is Status.AWAITING_OUTLINE else "draft"
    return any(f":{kind}:" in key for key in keys_of(desk.bots(parent)))


@pytest.mark.parametrize(
    ("method", "which", "language"),
    [
        ("chat.postMessage", is_parent, "zh"),
        ("chat.postMessage", in_thread, "ja"),
        ("chat.postMessage", is_draft, "en"),
        ("chat.update", None, "zh"),
        ("files.getUploadURLExternal", None, "ja"),
        ("upload", None, "en"),
        ("files.completeUploadExternal", None, "zh"),
    ],
)
async def test_an_article_goes_on_and_has_everything_once(
    desk: Desk, method: str, which: Callable[[Mapping[str, Any]], bool] | None, language: str
) -> None:
    desk.slack.fail(method, drop="after", when=which)
    await desk.start()
    words = {"en": ("approve", "approve"), "zh": ("通过", "通过"), "ja": ("承認", "承認")}[language]
    parent = await published(desk, TOPICS[language], words)
    assert len(desk.slack.history(desk.channel)) == 1
    assert Counter(keys_of(desk.thread(parent))).most_common(1)[0][1] == 1
    # What was lost was posted by the first call: it stands where it belongs.
    [file] = [m for m in desk.thread(parent) if m.files]
    draft = next(m for m in desk.bots(parent) if m.metadata and ":draft:" in keys_of([m])[0])
    assert parent.ts < desk.bots(parent)[0].ts < file.ts < draft.ts
    assert len(desk.slack.files) == 1


async def test_what_slack_did_not_take_is_sent_again_after_looking_for_it(desk: Desk) -> None:
    desk.slack.fail("chat.postMessage", drop="before", when=in_thread)
    await desk.start()
    parent = await desk.request(TOPICS["zh"])
    await desk.asked(parent, "通过大纲 1")
    assert [call.args.get("ts") for call in desk.slack.calls_of("conversations.replies")] == [parent.ts]
    assert len([call for call in desk.slack.calls_of("chat.postMessage") if in_thread(call.args)]) == 2


async def test_nothing_is_posted_in_a_thread_while_the_look_for_a_message_is_refused(desk: Desk) -> None:
    desk.slack.fail("chat.postMessage", drop="after", when=in_thread)
    desk.slack.fail("conversations.replies", times=1, status=429, retry_after=1)
    desk.slack.fail("conversations.replies", times=1, status=503)
    await desk.start()
    parent = await desk.request(TOPICS["ja"])
    await desk.asked(parent, "構成案 1 を承認")
    await desk.ana.say(desk.channel, "status", thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: desk.ana.ephemerals, PATIENCE)
    methods = [
        call.method for call in desk.slack.calls if call.method.startswith(("conversations.rep", "chat.post"))
    ]
    assert methods == ["chat.postMessage"] * 2 + ["conversations.replies"] * 3 + ["chat.postEphemeral"]
    assert len(desk.bots(parent)) == 1


@pytest.mark.parametrize("language", TOPICS)
async def test_a_message_to_one_person_alone_is_not_said_twice(desk: Desk, language: str) -> None:
    await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    desk.slack.fail("chat.postEphemeral", drop="after")
    await desk.ana.say(desk.channel, "status", thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: desk.ana.ephemerals, PATIENCE)
    await desk.bo.say(desk.channel, "status", thread_ts=parent.ts)
    await desk.slack.wait_for(lambda: desk.bo.ephemerals, PATIENCE)  # in order: Ana's is settled
    assert len(desk.ana.ephemerals) == 1
    assert len(desk.slack.calls_of("chat.postEphemeral")) == 2


@pytest.mark.parametrize(
    ("language", "words"), [("en", "did not say whether"), ("zh", "没有说明"), ("ja", "返答がありません")]
)
async def test_a_form_that_may_be_open_is_not_said_to_be_closed(
    desk: Desk, language: str, words: str
) -> None:
    await desk.start()
    parent = await desk.request(TOPICS[language])
    await desk.slack.wait_for(lambda: asks(desk, parent, Status.AWAITING_OUTLINE), PATIENCE)
    desk.slack.fail("views.open", drop="after")
    await desk.ana.click(desk.bots(parent)[0], "request_changes")
    await desk.told(desk.ana, words)
    assert len(desk.ana.open_views) == 1
    assert len(desk.slack.calls_of("views.open")) == 1


async def test_a_direct_message_is_not_sent_twice(desk: Desk) -> None:
    await desk.start(worker=False)
    parent = await desk.request(TOPICS["zh"])
    article = await desk.article(parent)
    desk.slack.fail("conversations.open", drop="after")
    desk.slack.fail("chat.postMessage", drop="after", when=lambda arguments: arguments["channel"][0] == "D")
    note = {
        "article_id": article.id,
        "language": "zh",
        "kind": "note",
        "key": "publishing_now",
        "params": {},
        "to": None,
    }
    await desk.knowledge.pool.execute(
        "insert into outbox (key, channel_id, message) values ('direct', $1, $2)", desk.ana.id, note
    )
    await until(desk, "select ts is not null from outbox where key = 'direct'")
    assert len(desk.slack.history(desk.slack.dm(desk.ana))) == 1
    assert len(desk.slack.calls_of("conversations.open")) == 2


@pytest.mark.parametrize(
    ("method", "which"),
    [
        ("chat.postMessage", is_parent),
        ("chat.postMessage", in_thread),
        ("files.completeUploadExternal", None),
        ("chat.update", None),
    ],
)
async def test_a_bot_that_is_killed_while_slack_keeps_silent_posts_nothing_twice(
    desk: Desk, method: str, which: Callable[[Mapping[str, Any]], bool] | None
) -> None:
    desk.stack.callback(desk.slack.ack_failures.clear)  # of a bot that is gone, or cannot write
    desk.slack.fail(method, drop="never", when=which)
    async with running("serve", settings=desk.environment):
        await desk.slack.wait_for(lambda: desk.slack.connections, 2 * PATIENCE)
        await desk.ana.command(desk.channel, "/article", TOPICS["ja"])
        approving = asyncio.create_task(approve_all(desk, desk.ana))
        silent = await desk.slack.wait_for(
            lambda: next((c for c in desk.slack.calls_of(method) if which is None or which(c.args)), None),
            PATIENCE,
        )
        assert silent is not None
        await desk.slack.wait_for(lambda: silent.result is not None, PATIENCE)
    await desk.start()
    await approving
    [parent] = desk.slack.history(desk.channel)
    await desk.article(parent, Status.PUBLISHED)
    assert Counter(keys_of(desk.thread(parent))).most_common(1)[0][1] == 1
    assert [plain_text(m) for m in desk.thread(parent) if m.files] != []
    assert len([m for m in desk.thread(parent) if m.files]) == len(desk.slack.files) == 1


async def approve_all(desk: Desk, person: Person) -> None:
    """Approve the outline and the draft as soon as they ask."""
    parent = (await desk.slack.wait_for(lambda: desk.slack.history(desk.channel), PATIENCE))[0]
    for status in (Status.AWAITING_OUTLINE, Status.AWAITING_APPROVAL):
        await asked(desk, parent, status)
        await person.say(desk.channel, "承認", thread_ts=parent.ts)
