"""A thread of a Slack in this process: it gives out the ts, and knows what stood above which word."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from bot.blocks import Drawn
from bot.decisions import Person
from bot.messages import FileMessage
from bot.slack import Posted, SlackChannel, slack_client
from tests.races.rules import Text


@dataclass(frozen=True, slots=True)
class Gate:
    """An outline or a draft, with its buttons as they were when it came: action to value; some have none."""

    ts: str
    text: Text
    buttons: dict[str, str]


@dataclass
class Thread:
    """What people of one channel see, whoever of the replicas sends."""

    channel_id: str
    chance: random.Random
    gates: list[Gate] = field(default_factory=list)
    posts: list[str] = field(default_factory=list)  # keys of outbox messages, in the order of the thread
    shown: asyncio.Event = field(default_factory=asyncio.Event)  # replaced with each gate
    _last: int = 0

    def next_ts(self) -> str:
        self._last += 1
        return f"1700000000.{self._last:06}"

    def above(self, ts: str) -> Text | None:
        """What was last shown for decision above a message."""
        texts = [gate.text for gate in self.gates if gate.ts < ts]
        return texts[-1] if texts else None


class Slack(SlackChannel):
    """What one replica has of Slack: messages end in the thread of their channel."""

    def __init__(self, threads: dict[str, Thread]) -> None:
        super().__init__(slack_client("xoxb-1", base_url="http://127.0.0.1:1/"))
        self._threads = threads

    async def post(self, channel_id: str, thread_ts: str | None, drawn: Drawn, *, key: str) -> Posted:
        thread = self._threads[channel_id]
        ts = thread.next_ts()
        thread.posts.append(key)
        _, _, what, *version = key.split(":")
        if what in ("outline", "draft"):
            text = Text("outline" if what == "outline" else "draft", int(version[0]))
            thread.gates.append(Gate(ts, text, _buttons(drawn)))
            thread.shown.set()
            thread.shown = asyncio.Event()
            await asyncio.sleep(thread.chance.random() * 0.1)  # in which somebody quick answers
        await self._late(thread)
        return Posted(ts, None)

    async def edit(self, channel_id: str, ts: str, drawn: Drawn, *, key: str) -> None:
        await self._late(self._threads[channel_id])

    async def whisper(self, channel_id: str, user_id: str, thread_ts: str | None, drawn: Drawn) -> Posted:
        await self._late(self._threads[channel_id])
        return Posted(self._threads[channel_id].next_ts(), None)

    async def upload(
        self,
        channel_id: str,
        thread_ts: str,
        file: FileMessage,
        *,
        file_id: str | None,
        uploaded: Callable[[str], Awaitable[None]],
    ) -> Posted:
        thread = self._threads[channel_id]
        await uploaded(file_id or f"F{channel_id}{file.version}")
        thread.posts.append(f"file:{file.version}")
        return Posted(thread.next_ts(), None)

    async def permalink(self, channel_id: str, ts: str) -> str | None:
        return f"https://example.test/{channel_id}/{ts}"

    async def person(self, user_id: str, *, groups: frozenset[str]) -> Person:
        return Person(user_id, full_member=True, groups=frozenset())

    async def _late(self, thread: Thread) -> None:
        """Slack's answer takes a while: meanwhile people see what the bot does not know of yet."""
        await asyncio.sleep(thread.chance.random() * 0.03)


def _buttons(drawn: Drawn) -> dict[str, str]:
    elements: list[dict[str, Any]] = [
        element for block in drawn.blocks if block["type"] == "actions" for element in block["elements"]
    ]
    return {element["action_id"]: element["value"] for element in elements}
