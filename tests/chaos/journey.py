"""The people's side of a run: an article is asked for, changed twice and approved twice."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.blocks import APPROVE
from bot.local_slack.people import Person
from bot.local_slack.plain_text import plain_text
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message
from knowledge.language import Language
from tests.chaos.steps import Point, Watch

PATIENCE = 90.0  # seconds for what takes about ten; machines of others may be slow
SECOND_LOOK = 3.0  # so long somebody looks whether what was not acknowledged has come to pass


@dataclass(frozen=True)
class Words:
    topic: str
    revise_outline: str
    outline: str  # as its button says it
    revise_draft: str
    draft: str


WORDS: dict[Language, Words] = {
    "en": Words(
        "Why should Go backends move from MD5 to Argon2id?",
        "revise: say what it costs",
        "Approve outline {}]",
        "revise 2: name the unit",
        "Approve draft {}]",
    ),
    "zh": Words(
        "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
        "修改：说明代价",
        "通过大纲 {}]",
        "修改 2：写明单位",
        "通过草稿 {}]",
    ),
    "ja": Words(
        "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか",
        "修正：費用に触れる",
        "構成案 {} を承認]",
        "修正 2：単位を書く",
        "原稿 {} を承認]",
    ),
}


class Journey:
    """Acts as people do: what Slack says was not taken is looked at, and done again if nothing came of it."""

    def __init__(self, slack: LocalSlack, channel: Channel, ana: Person, words: Words, watch: Watch) -> None:
        self._slack, self._channel, self._ana = slack, channel, ana
        self._words, self._watch = words, watch
        self.stands_at = "the command"

    async def run(self) -> Message:
        """The article's message in the channel, once the second draft is approved."""
        words = self._words
        parent = await self._request()
        await self._waits_for(parent, words.outline.format(1))
        await self._say(parent, words.revise_outline, "revise outline 1")
        await self._approve(parent, words.outline.format(2), "approve outline 2")
        await self._waits_for(parent, words.draft.format(1))
        await self._say(parent, words.revise_draft, "revise draft 1")
        await self._approve(parent, words.draft.format(2), "approve draft 2")
        return parent

    async def _request(self) -> Message:
        async def command() -> bool:
            return (await self._ana.command(self._channel, "/article", self._words.topic)).acked

        def came() -> Message | None:
            return next(iter(self._slack.history(self._channel)), None)

        await self._do("/article", command, lambda: came() is not None)
        self.stands_at = "the article's message"
        parent = await self._slack.wait_for(came, PATIENCE)
        assert parent is not None
        return parent

    async def _say(self, parent: Message, text: str, what: str) -> None:
        """A reply is an event: Slack itself sends it again until it is acknowledged."""
        step = f"person: {what}"
        self._watch.reach(Point(step, "while the bot is away"))
        message = await self._ana.say(self._channel, text, thread_ts=parent.ts)
        [sent] = self._slack.events_about(message)
        self.stands_at = f"the acknowledgement of “{what}”"
        await self._slack.wait_for(lambda: sent.acked, PATIENCE)
        self._watch.reach(Point(step, "acknowledged"))

    async def _approve(self, parent: Message, button: str, what: str) -> None:
        message = await self._waits_for(parent, button)

        def gone() -> bool:
            return button not in plain_text(self._slack.current(message) or message)

        await self._do(what, lambda: self._ana.click(message, APPROVE), gone)

    async def _do(
        self, what: str, act: Callable[[], Awaitable[bool]], came_to_pass: Callable[[], bool]
    ) -> None:
        """Until it is acknowledged, or seen to have come to pass all the same."""
        step = f"person: {what}"
        self._watch.reach(Point(step, "while the bot is away"))
        self.stands_at = f"the acknowledgement of “{what}”"
        while not await act():
            await self._slack.wait_for(lambda: self._slack.connections, PATIENCE)
            try:
                async with asyncio.timeout(SECOND_LOOK):
                    await self._slack.wait_for(came_to_pass, PATIENCE)
            except TimeoutError:
                continue
            return
        self._watch.reach(Point(step, "acknowledged"))

    async def _waits_for(self, parent: Message, button: str) -> Message:
        self.stands_at = f"the button {button.rstrip(']')}"

        def found() -> Message | None:
            thread = self._slack.thread(self._channel, parent.ts)
            return next((message for message in thread if button in plain_text(message)), None)

        message = await self._slack.wait_for(found, PATIENCE)
        assert message is not None
        return message
