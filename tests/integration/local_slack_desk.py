"""An unmodified Bolt app on the local Slack, for the tests of both."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack.people import Person
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message

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
async def desk_on(slack: LocalSlack) -> AsyncIterator[Desk]:
    async with slack:
        desk = Desk(slack)
        handler = AsyncSocketModeHandler(desk.app, slack.app_token)
        await handler.connect_async()  # type: ignore[no-untyped-call]  # slack_bolt gives it no types
        await slack.wait_for(lambda: slack.connections)
        try:
            yield desk
        finally:
            await handler.close_async()  # type: ignore[no-untyped-call]  # slack_bolt gives it no types


def text_object(text: str) -> Json:
    return {"type": "plain_text", "text": text}


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
