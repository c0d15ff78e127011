"""The sender over a real outbox: what it must not do however its own steps fall together."""

import asyncio
import contextlib
from collections import Counter

from bot import announcements
from bot.blocks import Drawn
from bot.sender import Sender
from bot.slack import Posted, SlackChannel, slack_client
from knowledge.article import Article, Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle, Outgoing
from knowledge.database import Pool
from knowledge.outbox import Outbox, Unsent


class Channel(SlackChannel):
    """A Slack that takes a message only once it is let go."""

    def __init__(self) -> None:
        super().__init__(slack_client("xoxb-1", base_url="http://127.0.0.1:1/"))
        self.posts: Counter[str] = Counter()
        self.posting = asyncio.Event()
        self.let_go = asyncio.Event()
        self.both_posted = asyncio.Event()

    async def post(self, channel_id: str, thread_ts: str | None, drawn: Drawn, *, key: str) -> Posted:
        self.posts[key] += 1
        self.posting.set()
        if len(self.posts) == 2:
            self.both_posted.set()
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

    articles, slack = Articles(pool), Channel()
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
        await slack.both_posted.wait()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert slack.posts == {f"article:{article.id}:status": 1, f"article:{article.id}:note:1": 1}
