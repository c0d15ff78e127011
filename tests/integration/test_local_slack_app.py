"""An unmodified Bolt app on the local Slack: commands, messages, clicks, modals, files, and lost words."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack.people import Person
from bot.local_slack.plain_text import plain_text
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message, NotPossible

TEXTS = {
    "en": "Why should Go backends move from MD5 to Argon2id?",
    "zh": "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    "ja": "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきですか？",
}
EACH_LANGUAGE = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
Json = dict[str, Any]


class Desk:
    """A workspace with one person, one channel and one app; tests register listeners on `app`."""

    def __init__(self, slack: LocalSlack) -> None:
        self.slack = slack
        self.ana: Person = slack.add_person("Ana", tz="Asia/Tokyo")
        self.channel: Channel = slack.add_channel("articles", [self.ana, slack.bot])
        self.client = AsyncWebClient(token=slack.bot_token, base_url=slack.base_url)
        self.app = AsyncApp(client=self.client)

    async def post(self, **content: Any) -> Message:
        answer = await self.client.chat_postMessage(channel=self.channel.id, **content)
        message = self.slack.workspace.message(self.channel.id, answer["ts"])
        assert message is not None
        return message


@asynccontextmanager
async def desk_on(
    slack: LocalSlack, prepare: Callable[[Desk], None] = lambda desk: None
) -> AsyncIterator[Desk]:
    async with slack:
        desk = Desk(slack)
        prepare(desk)
        handler = AsyncSocketModeHandler(desk.app, slack.app_token)
        await handler.connect_async()  # type: ignore[no-untyped-call]  # slack_bolt gives it no types
        await slack.wait_for(lambda: slack.connections)
        try:
            yield desk
        finally:
            await handler.close_async()  # type: ignore[no-untyped-call]  # slack_bolt gives it no types


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with desk_on(LocalSlack(ack_seconds=0.5, retry_after=(0, 60))) as desk:
        yield desk


def buttons(*names: str, block_id: str = "decide") -> Json:
    elements = [
        {
            "type": "button",
            "action_id": name.lower(),
            "text": {"type": "plain_text", "text": name},
            "value": f"{name}:1",
        }
        for name in names
    ]
    return {"type": "actions", "block_id": block_id, "elements": elements}


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


async def test_a_command_that_is_not_acked_in_time_fails_before_the_person(desk: Desk) -> None:
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


async def test_an_event_that_nobody_acks_comes_again_with_its_event_id(desk: Desk) -> None:
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


async def test_a_click_carries_the_value_and_the_place_of_the_button(desk: Desk) -> None:
    heard: list[Json] = []

    @desk.app.action("approve")
    async def approve(ack: AsyncAck, body: Json) -> None:
        await ack()
        heard.append(body)

    parent = await desk.post(text="status")
    message = await desk.post(text="Outline 1", thread_ts=parent.ts, blocks=[buttons("Approve", "Cancel")])
    assert await desk.ana.click(message, "Approve")

    await desk.slack.wait_for(lambda: heard)
    body = heard[0]
    assert body["actions"][0]["value"] == "Approve:1"
    assert body["container"]["message_ts"] == body["message"]["ts"] == message.ts
    assert body["container"]["thread_ts"] == parent.ts
    assert body["user"]["id"] == desk.ana.id


async def test_a_button_that_is_gone_is_clicked_only_on_a_stale_screen(desk: Desk) -> None:
    heard: list[str] = []

    @desk.app.action("approve")
    async def approve(ack: AsyncAck, action: Json) -> None:
        await ack()
        heard.append(action["value"])

    message = await desk.post(text="Outline 1", blocks=[buttons("Approve")])
    await desk.client.chat_update(channel=desk.channel.id, ts=message.ts, text="Done", blocks=[])

    with pytest.raises(NotPossible, match="there are: none"):
        await desk.ana.click(message, "Approve")
    assert await desk.ana.click(message, "Approve", stale=True)
    assert heard == ["Approve:1"]
    assert [m.text for m in desk.slack.revisions(message)] == ["Outline 1", "Done"]


MODAL: Json = {
    "type": "modal",
    "callback_id": "changes",
    "title": {"type": "plain_text", "text": "Request changes"},
    "submit": {"type": "plain_text", "text": "Send"},
    "private_metadata": "12:1",
    "blocks": [
        {
            "type": "input",
            "block_id": "what",
            "label": {"type": "plain_text", "text": "What to change"},
            "element": {"type": "plain_text_input", "action_id": "text", "min_length": 3, "max_length": 60},
        }
    ],
}


@EACH_LANGUAGE
async def test_a_modal_opens_refuses_empty_words_and_sends_them_whole(desk: Desk, text: str) -> None:
    heard: list[Json] = []

    @desk.app.action("change")
    async def change(ack: AsyncAck, body: Json) -> None:
        await ack()
        await desk.client.views_open(trigger_id=body["trigger_id"], view=MODAL)

    @desk.app.view("changes")
    async def changes(ack: AsyncAck, view: Json) -> None:
        heard.append(view)
        if len(heard) == 1:
            await ack(response_action="errors", errors={"what": "Say more."})
        else:
            await ack()

    await desk.ana.click(await desk.post(text="Outline 1", blocks=[buttons("Change")]), "Change")
    (view,) = await desk.slack.wait_for(lambda: desk.ana.open_views)
    with pytest.raises(NotPossible, match="required"):
        await desk.ana.submit(view)
    with pytest.raises(NotPossible, match="at least 3"):
        await desk.ana.submit(view, {"what": "x"})
    with pytest.raises(NotPossible, match="at most 60"):
        await desk.ana.submit(view, {"what": "好" * 61})
    assert heard == []

    assert (await desk.ana.submit(view, {"what/text": text})).errors == {"what": "Say more."}
    assert desk.ana.open_views == [view]
    assert (await desk.ana.submit(view, {"what/text": text})).acked
    assert desk.ana.open_views == []
    assert heard[1]["state"]["values"]["what"]["text"]["value"] == text
    assert heard[1]["private_metadata"] == "12:1"


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
