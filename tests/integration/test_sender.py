"""The sender over a real outbox: what it must not do however its own steps fall together."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot import announcements
from bot.blocks import Drawn
from bot.messages import Progress
from bot.sender import Pace, Sender
from bot.slack import NotNow, Posted, SlackChannel, slack_client
from knowledge.article import Article, Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle, Outgoing
from knowledge.database import Pool
from knowledge.outbox import SETTLED_AFTER, Outbox, Unsent


class Channel(SlackChannel):
    """A Slack that takes a message only once it is let go."""

    def __init__(self, *, wanted: int = 0) -> None:
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


class SlowChannel(Channel):
    """A Slack that is slow to edit, and that has had enough of one channel."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go.set()
        self.editing = asyncio.Event()
        self.let_edit = asyncio.Event()
        self.edited: list[tuple[str, str]] = []
        self.had_enough: str | None = None
        self.refusals = 0

    async def post(self, channel_id: str, thread_ts: str | None, drawn: Drawn, *, key: str) -> Posted:
        if channel_id == self.had_enough:
            self.refusals += 1
            raise NotNow("ratelimited", retry_after=3600)
        return await super().post(channel_id, thread_ts, drawn, key=key)

    async def edit(self, channel_id: str, ts: str, drawn: Drawn, *, key: str) -> None:
        self.editing.set()
        await self.let_edit.wait()
        self.edited.append((key, drawn.text))


@asynccontextmanager
async def sending(pool: Pool, slack: Channel) -> AsyncIterator[None]:
    async def refused(article_id: int, code: str) -> None:
        raise AssertionError(code)

    running = asyncio.create_task(Sender(Outbox(pool), slack, refused=refused).run())
    try:
        yield
    finally:
        running.cancel()
        if isinstance(slack, SlowChannel):
            slack.let_edit.set()  # what is under way is finished
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def stopped(pool: Pool, slack: Channel, under_way: asyncio.Event, *, grace: float = 3600) -> None:
    """A sender that is told to stop while something is under way, and has."""

    async def refused(article_id: int, code: str) -> None:
        raise AssertionError(code)

    sender = Sender(Outbox(pool), slack, refused=refused, edit_pace=Pace(1, 3600), grace=grace)
    running = asyncio.create_task(sender.run())
    async with asyncio.timeout(20):
        await under_way.wait()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def test_who_is_told_to_stop_does_not_wait_for_slacks_pace(pool: Pool) -> None:
    articles, slack = Articles(pool), SlowChannel()
    slack.let_edit.set()
    topics = ["Argon2id", "密码哈希", "パスワード"]
    each = [await begun(articles, topic) for topic in topics]
    async with sending(pool, slack):
        await all_sent(pool)
    for article in each:
        await articles.tell(article, at_step(article, 1))
    await stopped(pool, slack, slack.editing)
    assert len(slack.edited) == 1  # the one whose turn it was
    assert await pool.fetchval("select count(*) from outbox where sent_revision < revision") == 2


async def test_who_is_told_to_stop_leaves_what_slack_does_not_answer_to_the_next(pool: Pool) -> None:
    articles, slack = Articles(pool), Channel()
    await begun(articles, "密码哈希")
    await stopped(pool, slack, slack.posting, grace=0.1)
    [head] = await Outbox(pool).heads()
    assert head.begun_at is not None  # so it is looked for in Slack first


async def begun(articles: Articles, topic: str, *, channel_id: str = "C1") -> Article:
    return await articles.add(
        NewArticle(topic, "zh", Mode.SUPERVISED, "T1", channel_id, "U1"),
        first_messages=lambda article: [announcements.status(article, max_reviews=3)],
    )


async def all_sent(pool: Pool, *, but: int = 0) -> None:
    async with asyncio.timeout(20):
        while True:
            if await pool.fetchval("select count(*) from outbox where sent_revision < revision") == but:
                return
            await asyncio.sleep(0.01)


def at_step(article: Article, step: int) -> Outgoing:
    progress = Progress(searches=step, passages=step, sources=step)
    return announcements.status(article, max_reviews=3, progress=progress)


async def test_an_edit_under_way_holds_up_no_message_and_many_edits_are_one(pool: Pool) -> None:
    articles, slack = Articles(pool), SlowChannel()
    async with sending(pool, slack):
        article = await begun(articles, "密码哈希")
        other = await begun(articles, "パスワード")
        await all_sent(pool)
        await articles.tell(article, at_step(article, 1))
        async with asyncio.timeout(20):
            await slack.editing.wait()
        # While Slack takes its time over the first edit: a result, and nine more edits.
        for step in range(2, 11):
            await articles.tell(article, at_step(article, step))
        await articles.tell(article, announcements.note(article, "1", "publishing_now", {}))
        await articles.tell(other, announcements.note(other, "1", "publishing_now", {}))
        await all_sent(pool, but=1)
        assert slack.posts[f"article:{article.id}:note:1"] == slack.posts[f"article:{other.id}:note:1"] == 1
        slack.let_edit.set()
        await all_sent(pool)
    [first, last] = slack.edited
    assert "10" in last[1]
    assert "10" not in first[1]


async def test_edits_that_take_buttons_away_go_before_those_that_show_progress(pool: Pool) -> None:
    articles, slack, outbox = Articles(pool), SlowChannel(), Outbox(pool)
    slack.let_edit.set()
    async with sending(pool, slack):
        article = await begun(articles, "密码哈希")
        await articles.tell(article, announcements.note(article, "1", "publishing_now", {}))
        await all_sent(pool)
    await articles.tell(article, at_step(article, 1))
    await articles.tell(article, announcements.note(article, "1", "cancelled_kept", {}))
    [head] = await outbox.heads()
    assert head.key.endswith("note:1")


async def test_where_slack_has_had_enough_of_one_channel_the_others_go_on(pool: Pool) -> None:
    articles, slack = Articles(pool), SlowChannel()
    slack.let_edit.set()
    async with sending(pool, slack):
        here = await begun(articles, "一", channel_id="C1")
        there = await begun(articles, "二", channel_id="C2")
        await all_sent(pool)
        slack.had_enough = "C1"
        await articles.tell(here, announcements.note(here, "1", "publishing_now", {}))
        async with asyncio.timeout(20):
            while True:
                if slack.refusals:
                    break
                await asyncio.sleep(0.01)
        # Another article of that channel is not tried before the time that Slack named; its edits are.
        also_here = await begun(articles, "三", channel_id="C1")
        await articles.tell(there, announcements.note(there, "1", "publishing_now", {}))
        await pool.execute("update outbox set not_before = now() where sent_revision < revision")
        await all_sent(pool, but=2)
        assert slack.refusals == 1
        assert slack.posts[f"article:{there.id}:note:1"] == 1
        assert slack.posts[f"article:{also_here.id}:status"] == 0


async def test_of_two_senders_that_see_the_same_message_one_begins_it(pool: Pool) -> None:
    articles, outbox = Articles(pool), Outbox(pool)
    await begun(articles, "密码")
    [head] = await outbox.heads()
    tries = await asyncio.gather(outbox.begin(head), outbox.begin(head))
    [begun_by_one] = [one for one in tries if one is not None]
    assert (begun_by_one.begun_revision, begun_by_one.message) == (1, head.message)
    [waits] = await outbox.heads()
    assert 0 < waits.wait_seconds <= SETTLED_AFTER.total_seconds()
    assert waits.begun_at == begun_by_one.begun_at


async def test_what_was_changed_while_its_first_text_was_on_its_way_is_found_and_then_edited(
    pool: Pool,
) -> None:
    class Reading(SlowChannel):
        async def find(
            self, channel_id: str, thread_ts: str | None, *, key: str, after: str | None
        ) -> str | None:
            return "7.000000"

    articles, slack, outbox = Articles(pool), Reading(), Outbox(pool)
    slack.let_edit.set()
    article = await begun(articles, "密码")
    [head] = await outbox.heads()
    assert await outbox.begin(head) is not None
    await articles.tell(article, at_step(article, 3))
    await pool.execute("update outbox set begun_at = begun_at - interval '1 minute'")
    async with sending(pool, slack):
        await all_sent(pool)
    assert slack.posts.total() == 0
    assert len(slack.edited) == 1
    after = await articles.get(article.id)
    assert after is not None
    assert after.thread_ts == "7.000000"
