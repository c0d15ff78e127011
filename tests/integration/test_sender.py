"""The sender over a real outbox: what it must not do however its own steps fall together."""

import asyncio
import contextlib
import time
from collections import Counter

from bot import announcements
from bot.blocks import Drawn
from bot.sender import Pace, Sender
from bot.slack import Posted, SlackChannel, slack_client
from knowledge.article import Article, Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle, Outgoing
from knowledge.database import Pool
from knowledge.outbox import Outbox, Unsent


class Channel(SlackChannel):
    """A Slack that takes a message only once it is let go."""

    def __init__(self, *, wanted: int) -> None:
        """`all_posted` is set once so many messages, each counted once, have been posted."""
        super().__init__(slack_client("xoxb-1", base_url="http://127.0.0.1:1/"))
        self._wanted = wanted
        self.posts: Counter[str] = Counter()
        self.posting = asyncio.Event()
        self.let_go = asyncio.Event()
        self.all_posted = asyncio.Event()

    async def post(self, channel_id: str, thread_ts: str | None, drawn: Drawn, *, key: str) -> Posted:
        self.posts[key] += 1
        self.posting.set()
        if len(self.posts) == self._wanted:
            self.all_posted.set()
        await self.let_go.wait()
        return Posted(f"{self.posts.total()}.0", None)

    async def permalink(self, channel_id: str, ts: str) -> str | None:
        return None


class LateOutbox(Outbox):
    """An outbox whose answer to a look is late: meanwhile what it names as unsent is sent."""

    def __init__(self, pool: Pool, channel: Channel) -> None:
        super().__init__(pool)
        self._channel = channel
        self.late = asyncio.Event()
        self.sent_meanwhile = asyncio.Event()

    async def heads(self) -> list[Unsent]:
        heads = await super().heads()
        if self._channel.posting.is_set() and not self.late.is_set():
            self.late.set()
            await self.sent_meanwhile.wait()
        return heads

    async def link(self, unsent: Unsent, permalink: str | None) -> None:
        await super().link(unsent, permalink)
        self.sent_meanwhile.set()


async def test_what_was_sent_during_a_look_at_the_outbox_is_not_sent_again(pool: Pool) -> None:
    def first(article: Article) -> list[Outgoing]:
        return [announcements.status(article, max_reviews=3)]

    articles, slack = Articles(pool), Channel(wanted=2)
    outbox = LateOutbox(pool, slack)

    async def refused(article_id: int, code: str) -> None:
        raise AssertionError(code)

    running = asyncio.create_task(Sender(outbox, slack, refused=refused).run())
    new = NewArticle("密码哈希", "zh", Mode.SUPERVISED, "T1", "C1", "U1")
    async with asyncio.timeout(20):
        article = await articles.add(new, first_messages=first)
        await slack.posting.wait()
        # Something else is put out, so the sender looks again while the first is on its way.
        await articles.tell(article, announcements.note(article, "1", "publishing_now", {}))
        await outbox.late.wait()
        slack.let_go.set()
        await slack.all_posted.wait()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert slack.posts == {f"article:{article.id}:status": 1, f"article:{article.id}:note:1": 1}


async def test_a_channel_gets_its_messages_at_a_pace(pool: Pool) -> None:
    articles, slack = Articles(pool), Channel(wanted=6)
    slack.let_go.set()

    async def refused(article_id: int, code: str) -> None:
        raise AssertionError(code)

    new = NewArticle("パスワード", "ja", Mode.SUPERVISED, "T1", "C1", "U1")
    article = await articles.add(
        new, first_messages=lambda article: [announcements.status(article, max_reviews=3)]
    )
    for number in range(5):
        await articles.tell(article, announcements.note(article, str(number), "publishing_now", {}))
    began = time.monotonic()
    running = asyncio.create_task(Sender(Outbox(pool), slack, refused=refused, pace=Pace(2, 0.4)).run())
    async with asyncio.timeout(20):
        await slack.all_posted.wait()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    # Two at once, the other four one by one as the pace leaves room: every 0.2 s.
    assert time.monotonic() - began >= 4 * 0.2 * 0.9
