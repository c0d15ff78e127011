"""An unmodified Bolt app on the local Slack: message shortcuts, and the bytes of files that people share."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_bolt.async_app import AsyncAck, AsyncRespond
from slack_sdk.errors import SlackApiError

from bot.local_slack.app import BOT_SCOPES
from bot.local_slack.faults import Drop
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import NotPossible
from tests.integration.local_slack_desk import EACH_LANGUAGE, Desk, Json, desk_on

NAME = "Add to knowledge base"


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with desk_on(LocalSlack()) as desk:
        yield desk


def heard_shortcuts(desk: Desk) -> list[Json]:
    heard: list[Json] = []

    @desk.app.message_shortcut("add_to_knowledge_base")
    async def add(ack: AsyncAck, shortcut: Json, respond: AsyncRespond) -> None:
        await ack()
        heard.append(shortcut)
        await respond(text="Taken.", response_type="ephemeral")

    return heard


@EACH_LANGUAGE
async def test_a_message_shortcut_brings_the_whole_message(desk: Desk, text: str) -> None:
    heard = heard_shortcuts(desk)
    message = await desk.ana.say(desk.channel, f"{text} https://example.com/a?b=1&c=2")

    assert await desk.ana.shortcut(message, NAME)
    [seen] = await desk.slack.wait_for(lambda: desk.ana.ephemerals)

    [payload] = heard
    assert payload["type"] == "message_action"
    assert payload["callback_id"] == "add_to_knowledge_base"
    assert payload["channel"] == {"id": desk.channel.id, "name": "articles"}
    assert payload["message_ts"] == payload["message"]["ts"] == message.ts
    assert payload["message"]["text"] == f"{text} <https://example.com/a?b=1&amp;c=2>"
    assert (payload["user"]["id"], payload["team"]["id"]) == (desk.ana.id, desk.slack.workspace.team)
    assert (seen.text, seen.only_for, seen.channel) == ("Taken.", desk.ana.id, desk.channel.id)


async def test_a_message_shortcut_works_where_the_app_is_not(desk: Desk) -> None:
    heard = heard_shortcuts(desk)
    private = desk.slack.add_channel("secret", [desk.ana], private=True)
    message = await desk.ana.share_file(private, "notes.md", b"# Salt")

    assert await desk.ana.shortcut(message, NAME)
    await desk.slack.wait_for(lambda: desk.ana.ephemerals)

    [file] = heard[0]["message"]["files"]
    with pytest.raises(SlackApiError, match="file_not_found"):
        await desk.client.files_info(file=file["id"])


async def test_an_app_that_does_not_hear_a_shortcut_is_seen_to(desk: Desk) -> None:
    message = await desk.ana.say(desk.channel, "hello")
    assert not await desk.ana.shortcut(message, NAME)
    assert desk.ana.notices == [f"{NAME}: this app did not respond"]
    desk.slack.ack_failures.clear()


async def test_what_has_no_menu_offers_no_shortcut(desk: Desk) -> None:
    bo = desk.slack.add_person("Bo")
    private = desk.slack.add_channel("secret", [desk.ana], private=True)
    hidden = await desk.ana.say(private, "hello")
    with pytest.raises(NotPossible, match="cannot see"):
        await bo.shortcut(hidden, NAME)
    with pytest.raises(NotPossible, match=NAME):
        await desk.ana.shortcut(hidden, "Remind me")
    await desk.ana.delete(hidden)
    with pytest.raises(NotPossible, match="gone"):
        await desk.ana.shortcut(hidden, NAME)


async def download(desk: Desk, url: str, token: str | None = None) -> tuple[int, str, bytes]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
        return answer.status, answer.content_type, await answer.read()


@pytest.mark.parametrize("name", ["notes.md", "笔记.md", "メモ.md"])
async def test_a_shared_file_is_downloaded_with_the_token_and_with_nothing_else(
    desk: Desk, name: str
) -> None:
    content = "# Salt 盐 ソルト".encode()
    message = await desk.ana.share_file(desk.channel, name, content)
    file = (await desk.client.files_info(file=message.files[0]))["file"]
    url = file["url_private_download"]

    assert (file["name"], file["size"], file["mode"]) == (name, len(content), "hosted")
    assert await download(desk, url, desk.slack.bot_token) == (200, "text/markdown", content)
    for token in (None, "xoxb-wrong"):
        status, kind, page = await download(desk, url, token)
        assert (status, kind) == (200, "text/html")
        assert b"Sign in" in page


async def test_without_the_scope_there_is_a_login_page_in_place_of_the_file() -> None:
    async with desk_on(LocalSlack(scopes=[s for s in BOT_SCOPES if s != "files:read"])) as desk:
        message = await desk.ana.share_file(desk.channel, "notes.md", b"# Salt")
        file = desk.slack.workspace.files[message.files[0]]
        url = f"{desk.slack.workspace.origin}/files-pri/{desk.slack.workspace.team}-{file.id}/download/n.md"
        assert (await download(desk, url, desk.slack.bot_token))[1] == "text/html"


async def test_a_file_that_is_kept_elsewhere_has_an_address_and_no_bytes(desk: Desk) -> None:
    message = await desk.ana.share_files(
        desk.channel, {"Plan": "https://docs.example.com/plan", "notes.md": b"# Salt"}
    )
    plan, notes = [(await desk.client.files_info(file=file))["file"] for file in message.files]
    assert (plan["mode"], plan["is_external"]) == ("external", True)
    assert plan["url_private"] == "https://docs.example.com/plan"
    assert "url_private_download" not in plan
    assert (notes["mode"], notes["is_external"]) == ("hosted", False)


async def test_a_download_can_go_wrong(desk: Desk) -> None:
    drops: tuple[Drop, ...] = ("before", "after")
    message = await desk.ana.share_file(desk.channel, "notes.md", b"# Salt\n" * 100)
    url = (await desk.client.files_info(file=message.files[0]))["file"]["url_private_download"]
    desk.slack.fail("download", status=503)
    assert (await download(desk, url, desk.slack.bot_token))[0] == 503
    for drop in drops:
        desk.slack.fail("download", times=2 if drop == "before" else 1, drop=drop)  # aiohttp asks once more
        with pytest.raises(aiohttp.ClientError):
            await download(desk, url, desk.slack.bot_token)
    assert (await download(desk, url, desk.slack.bot_token))[2] == b"# Salt\n" * 100
