"""The whole bot in this process, over the real Socket Mode wire, against the local Slack."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from bot import app
from bot.app import Knowledge
from bot.local_slack.people import Person
from bot.local_slack.plain_text import plain_text
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message
from bot.sender import Pace
from bot.settings import Settings
from knowledge.article import Article, Status

PATIENCE = 30.0  # seconds for what takes well under one; machines of others may be slow

UNHURRIED = Pace(1000, 1)  # the local Slack takes what comes; Slack's pace has a test of its own

TOPICS = {
    "en": "Why should Go backends move from MD5 to Argon2id?",
    "zh": "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    "ja": "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか",
}


@dataclass
class Desk:
    """A Slack with two colleagues in #articles, and the knowledge behind the bot."""

    slack: LocalSlack
    ana: Person
    bo: Person
    channel: Channel
    knowledge: Knowledge
    settings: Settings
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start(self, *, worker: bool = True, **changed: object) -> Callable[[], Awaitable[None]]:
        """Start the bot, and return what stops it; with `worker=False` agents stand still."""
        settings = self.settings.model_copy(update=changed)
        ready = asyncio.Event()
        running = asyncio.create_task(
            app.serve(settings, self.knowledge, worker=worker, ready=ready.set, pace=UNHURRIED)
        )

        async def stop() -> None:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

        self.stack.push_async_callback(stop)
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait(
                {running, waiting := asyncio.create_task(ready.wait())}, return_when=asyncio.FIRST_COMPLETED
            )
        waiting.cancel()
        if running.done():
            running.result()
        if not settings.over_http:
            await self.slack.wait_for(lambda: self.slack.connections, PATIENCE)
        return stop

    @property
    def environment(self) -> dict[str, str]:
        """The settings of a bot that is a process of its own, on this database and Slack."""
        assert self.settings.database_url is not None
        return {
            "DATABASE_URL": self.settings.database_url,
            "COPYDESK_HOME": str(self.settings.home),
            "COPYDESK_EMBEDDING_MODEL": "none",
            "SLACK_API_URL": self.slack.base_url,
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
        }

    async def request(self, topic: str, *, by: Person | None = None) -> Message:
        """`/article topic`; the article's message in the channel."""
        before = len(self.slack.history(self.channel))
        await (by or self.ana).command(self.channel, "/article", topic)
        await self.slack.wait_for(lambda: len(self.slack.history(self.channel)) > before, PATIENCE)
        return self.slack.history(self.channel)[-1]

    async def asked(self, parent: Message, what: str) -> Message:
        """The message of the thread with the button that approves `what` ("outline 1", "大纲 2")."""

        def found() -> Message | None:
            return next((m for m in self.thread(parent) if f"{what}]" in plain_text(m)), None)

        message = await self.slack.wait_for(found, PATIENCE)
        assert message is not None
        return message

    async def next_whisper(self, person: Person, before: int) -> Message:
        """The next message to that person alone, who had `before` of them."""
        await self.slack.wait_for(lambda: len(person.ephemerals) > before, PATIENCE)
        return person.ephemerals[before]

    async def told(self, person: Person, words: str) -> Message:
        """What that person alone is told, with these words in it."""

        def found() -> Message | None:
            return next((m for m in person.ephemerals if words in plain_text(m)), None)

        message = await self.slack.wait_for(found, PATIENCE)
        assert message is not None
        return message

    async def said(self, parent: Message, words: str) -> Message:
        """A message of the bot in the thread, with these words in it."""

        def found() -> Message | None:
            return next((m for m in self.bots(parent) if words in plain_text(m)), None)

        message = await self.slack.wait_for(found, PATIENCE)
        assert message is not None
        return message

    async def article(self, parent: Message, *reached: Status) -> Article:
        """The article of a thread; with states given, once it is in one of them."""
        async with asyncio.timeout(PATIENCE):
            while True:
                article = await self.knowledge.articles.in_thread(parent.channel, parent.ts)
                if article is not None and (not reached or article.status in reached):
                    return article
                await asyncio.sleep(0.02)

    async def second_outline(self, parent: Message) -> Article:
        """The article, once it waits for a decision on its second outline."""
        async with asyncio.timeout(PATIENCE):
            while True:
                article = await self.article(parent, Status.AWAITING_OUTLINE)
                if article.outline_version == 2:
                    return article
                await asyncio.sleep(0.02)

    async def usage(self, article: Article, *, requests: int) -> dict[str, Any]:
        """The article's account, once it counts that many calls: a leg that is cut off writes it last."""
        async with asyncio.timeout(PATIENCE):
            while True:
                now = await self.knowledge.articles.get(article.id)
                assert now is not None
                if now.usage["requests"] >= requests:
                    return now.usage
                await asyncio.sleep(0.02)

    async def until(self, question: str, answer: object) -> None:
        """Until the database answers a question so."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if await self.knowledge.pool.fetchval(question) == answer:
                    return
                await asyncio.sleep(0.02)

    async def vectors(self) -> None:
        """Until every passage has its vector."""
        async with asyncio.timeout(PATIENCE):
            while True:
                if await self.knowledge.without_vector() == 0:
                    return
                await asyncio.sleep(0.05)

    def thread(self, parent: Message) -> list[Message]:
        return self.slack.thread(self.channel, parent.ts)

    def bots(self, parent: Message) -> list[Message]:
        """What the bot said below the article's message."""
        return [m for m in self.thread(parent)[1:] if m.user == self.slack.bot.id]

    def status(self, parent: Message) -> str:
        return plain_text(self.slack.current(parent) or parent)
