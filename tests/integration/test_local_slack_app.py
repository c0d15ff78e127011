"""An unmodified Bolt app on the local Slack: commands, messages, events, files, and lost words."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from slack_bolt.async_app import AsyncAck, AsyncRespond
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError

from bot.local_slack.plain_text import plain_text
from bot.local_slack.server import LocalSlack
from tests.integration.local_slack_desk import EACH_LANGUAGE, TEXTS, Desk, Json, buttons, desk_on


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with desk_on(LocalSlack()) as desk:
        yield desk


@EACH_LANGUAGE
async def test_a_command_reaches_the_app_whole_and_its_ack_is_seen_by_the_person_alone(
    desk: Desk, text: str
) -> None:
    heard: list[Json] = []

    @desk.app.command("/article")
    async def article(ack: AsyncAck, command: Json) -> None:
        heard.append(command)
        await ack(f"Taken: {command['text']}")

    answer = await desk.ana.command(desk.channel, "/article", text)

    assert answer.acked
    assert answer.text == f"Taken: {text}"
    assert [m.only_for for m in answer.seen] == [desk.ana.id]
    assert desk.slack.history(desk.channel) == []
    assert heard[0]["channel_id"] == desk.channel.id
    assert heard[0]["user_id"] == desk.ana.id
    assert "ts" not in heard[0]


async def test_a_command_arrives_escaped_as_slack_escapes_it(desk: Desk) -> None:
    heard: list[str] = []

    @desk.app.command("/article")
    async def article(ack: AsyncAck, command: Json) -> None:
        heard.append(command["text"])
        await ack()

    await desk.ana.command(desk.channel, "/article", f"  R&D: <b> “quotes” {desk.ana.mention} ")

    assert heard == [f"R&amp;D: &lt;b&gt; “quotes” {desk.ana.mention}"]


async def test_a_command_that_is_not_acked_in_time_fails_before_the_person() -> None:
    async with desk_on(LocalSlack(ack_seconds=0.2)) as desk:
        gate = asyncio.Event()

        @desk.app.command("/article")
        async def article(ack: AsyncAck) -> None:
            await gate.wait()
            await ack("too late")

        answer = await desk.ana.command(desk.channel, "/article", "x")

        assert not answer.acked
        assert desk.ana.notices == ['/article failed with the error "operation_timeout"']
        assert [(f.kind, f.reason) for f in desk.slack.ack_failures] == [("slash_commands", "timeout")]
        gate.set()
        await desk.slack.wait_for(lambda: desk.slack.ack_failures[0].late_after)
        assert desk.ana.ephemerals == []


async def test_a_command_without_a_running_app_fails_at_once() -> None:
    async with LocalSlack() as slack:
        ana = slack.add_person("Ana")
        answer = await ana.command(slack.add_channel("articles", [ana]), "/article", "x")
        assert not answer.acked
        assert ana.notices == ['/article failed with the error "dispatch_failed"']


async def test_a_command_works_where_the_bot_cannot_post_and_answers_through_its_response_url(
    desk: Desk,
) -> None:
    refused: list[str] = []

    @desk.app.command("/article")
    async def article(ack: AsyncAck, respond: AsyncRespond, command: Json) -> None:
        await ack()
        try:
            await desk.client.chat_postMessage(channel=command["channel_id"], text="hello")
        except SlackApiError as error:
            refused.append(error.response["error"])
        await respond(f"Type /invite {desk.slack.bot.name}")

    private = desk.slack.add_channel("secret", [desk.ana], private=True)
    await desk.ana.command(private, "/article", "x")
    seen = await desk.slack.wait_for(lambda: desk.ana.ephemerals)

    assert refused == ["channel_not_found"]
    assert seen[0].text == "Type /invite Copydesk"
    assert seen[0].channel == private.id


@EACH_LANGUAGE
async def test_a_mention_arrives_twice_with_two_event_ids(desk: Desk, text: str) -> None:
    heard: list[tuple[str, str, str]] = []

    async def listener(body: Json, event: Json) -> None:
        heard.append((event["type"], body["event_id"], event["ts"]))

    desk.app.event("app_mention")(listener)
    desk.app.event("message")(listener)
    said = await desk.ana.say(desk.channel, f"<@{desk.slack.bot.id}> {text}")
    await desk.slack.wait_for(lambda: len(desk.slack.ack_times) == 2)

    assert sorted(kind for kind, _, _ in heard) == ["app_mention", "message"]
    assert len({event_id for _, event_id, _ in heard}) == 2
    assert {ts for _, _, ts in heard} == {said.ts}
    assert said.text == f"<@{desk.slack.bot.id}> {text}"


async def test_an_event_that_nobody_acks_comes_again_with_its_event_id() -> None:
    async with desk_on(LocalSlack(ack_seconds=0.5, retry_after=(0, 0, 0))) as desk:
        heard: list[str] = []

        @desk.app.middleware
        async def lose_the_first(body: Json, next_: Callable[[], Awaitable[None]]) -> BoltResponse | None:
            heard.append(body["event_id"])
            if len(heard) == 1:
                return BoltResponse(status=503)  # Bolt sends no ack then
            await next_()
            return None

        @desk.app.event("message")
        async def listener() -> None: ...

        said = await desk.ana.say(desk.channel, "approve")
        await desk.slack.wait_for(lambda: desk.slack.events_about(said)[0].acked)

        assert len(heard) == 2
        assert len(set(heard)) == 1
        assert [f.reason for f in desk.slack.ack_failures] == ["timeout"]


async def test_redelivery_repeats_the_event_id(desk: Desk) -> None:
    heard: list[str] = []

    @desk.app.event("message")
    async def listener(body: Json) -> None:
        heard.append(body["event_id"])

    said = await desk.ana.say(desk.channel, "approve")
    await desk.slack.wait_for(lambda: desk.slack.events_about(said)[0].acked)
    assert await desk.slack.redeliver(desk.slack.events_about(said)[0])

    assert heard == [desk.slack.events_about(said)[0].id] * 2


async def test_a_deleted_parent_leaves_a_tombstone_and_the_thread_goes_on(desk: Desk) -> None:
    parent = await desk.post(text="status")
    await desk.ana.say(desk.channel, "approve", thread_ts=parent.ts)
    await desk.client.chat_delete(channel=desk.channel.id, ts=parent.ts)
    await desk.post(text="still here", thread_ts=parent.ts)

    texts = [m.text for m in desk.slack.thread(desk.channel, parent.ts)]
    assert texts == ["This message was deleted.", "approve", "still here"]
    with pytest.raises(SlackApiError, match="message_not_found"):
        await desk.client.chat_update(channel=desk.channel.id, ts=parent.ts, text="back")


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("see https://example.com/a?b=1&c=2.", "see <https://example.com/a?b=1&amp;c=2>."),
        ("参见 https://example.com/指南。", "参见 <https://example.com/>指南。"),
        ("（https://example.com/a）を参照", "（<https://example.com/a>）を参照"),
        ("<https://example.com/a<b>", "&lt;<https://example.com/a>&lt;b&gt;"),
        ("a < b && <!channel>", "a &lt; b &amp;&amp; &lt;!channel&gt;"),
    ],
)
async def test_typed_text_is_stored_as_slack_stores_it(desk: Desk, typed: str, stored: str) -> None:
    said = await desk.ana.say(desk.channel, typed)
    assert said.text == stored
    assert "".join(plain_text(said).split()) == "".join(typed.split())


async def test_a_file_is_uploaded_and_shared_in_a_thread(desk: Desk) -> None:
    parent = await desk.post(text="status")
    content = "\n".join(TEXTS.values())
    await desk.client.files_upload_v2(
        channel=desk.channel.id, thread_ts=parent.ts, filename="文章.md", content=content, title="文章"
    )
    reply = await desk.slack.wait_for(lambda: desk.slack.thread(desk.channel, parent.ts)[1:])

    (file,) = desk.slack.files
    assert file.content == content.encode()
    assert reply[0].files == (file.id,)
    info = await desk.client.files_info(file=file.id)
    assert info["file"]["title"] == "文章"
    assert info["file"]["channels"] == [desk.channel.id]


async def test_the_app_reads_a_file_that_a_person_shared_and_only_with_its_token(desk: Desk) -> None:
    heard: list[Json] = []

    @desk.app.event("message")
    async def listener(event: Json) -> None:
        heard.append(event)

    await desk.ana.share_file(desk.channel, "notes.md", "笔记".encode())
    await desk.slack.wait_for(lambda: heard)
    event = heard[0]
    url = event["files"][0]["url_private"]
    assert event["subtype"] == "file_share"

    async with aiohttp.ClientSession() as session:
        async with session.get(url, headers={"Authorization": f"Bearer {desk.slack.bot_token}"}) as answer:
            assert await answer.read() == "笔记".encode()
        async with session.get(url) as answer:
            assert answer.status == 200
            assert answer.content_type == "text/html"


async def test_metadata_of_a_message_is_read_back_from_its_thread(desk: Desk) -> None:
    metadata = {"event_type": "copydesk", "event_payload": {"key": "outline:1", "name": "大纲"}}
    parent = await desk.post(text="status")
    await desk.post(text="Outline 1", thread_ts=parent.ts, metadata=metadata)

    shown = await desk.client.conversations_replies(
        channel=desk.channel.id, ts=parent.ts, include_all_metadata=True
    )
    hidden = await desk.client.conversations_replies(channel=desk.channel.id, ts=parent.ts)

    assert [m.get("metadata") for m in shown["messages"]] == [None, metadata]
    assert [m.get("metadata") for m in hidden["messages"]] == [None, None]
    assert shown["messages"][0]["reply_count"] == 1


async def test_an_edit_and_a_reply_both_come_as_message_changed(desk: Desk) -> None:
    heard: list[tuple[str | None, str]] = []

    @desk.app.event({"type": "message", "subtype": "message_changed"})
    async def listener(event: Json) -> None:
        heard.append((event["subtype"], event["message"]["text"]))

    said = await desk.ana.say(desk.channel, "approve?")
    await desk.ana.edit(said, "approve")
    await desk.ana.say(desk.channel, "a reply", thread_ts=said.ts)

    await desk.slack.wait_for(lambda: len(heard) == 2)
    assert heard == [("message_changed", "approve"), ("message_changed", "approve")]


@EACH_LANGUAGE
async def test_a_message_reads_as_its_blocks_say(desk: Desk, text: str) -> None:
    message = await desk.post(
        text=text,
        blocks=[
            {"type": "header", "text": {"type": "plain_text", "text": text}},
            {
                "type": "rich_text",
                "elements": [
                    {
                        "type": "rich_text_list",
                        "style": "ordered",
                        "elements": [
                            {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
                        ],
                    }
                ],
            },
            buttons("Approve", "Cancel"),
        ],
    )
    assert plain_text(message).splitlines() == [f"# {text}", f"1. {text}", "[Approve] [Cancel]"]
