"""The sender at awkward moments: a stop with much to send, late requests, Retry, a newer text."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from bot import announcements
from bot.blocks import Drawn
from bot.messages import Progress
from bot.sender import Pace, Sender
from bot.slack import NotNow, Posted, Refused
from knowledge.article import Article, ArticleError, Status
from knowledge.articles import Articles
from knowledge.changes import Change, Outgoing
from knowledge.database import Pool
from knowledge.outbox import Outbox
from tests.integration.test_sender import Channel, SlowChannel, all_sent, at_step, begun, sending

TOPICS = ("Why Argon2id?", "为什么用 Argon2id？", "なぜ Argon2id か")


async def ignore(article_id: int, code: str) -> None: ...


async def test_a_stop_does_not_wait_for_all_that_a_channel_has_to_get(pool: Pool) -> None:
    articles, slack = Articles(pool), Channel()
    slack.let_go.set()
    for number in range(40):
        await begun(articles, f"{TOPICS[number % 3]} {number}")
    sender = Sender(Outbox(pool), slack, refused=ignore, pace=Pace(1, 1))
    running = asyncio.create_task(sender.run())
    async with asyncio.timeout(20):
        await slack.posting.wait()
    began = time.monotonic()
    running.cancel()
    await asyncio.wait({running}, timeout=10)
    assert running.done(), f"still sending, {slack.posts.total()} so far"
    assert time.monotonic() - began < 5


class LateChannel(SlowChannel):
    """A gateway that gives up on a request which Slack carries out all the same, a second later."""

    def __init__(self, *, gives_up_after: float, late: float) -> None:
        super().__init__()
        self.let_edit.set()
        self._gives_up_after, self._late = gives_up_after, late
        self.there: dict[str, str] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def post(self, channel_id: str, thread_ts: str | None, drawn: Drawn, *, key: str) -> Posted:
        self.posts[key] += 1
        ts = f"{time.time():.6f}"
        if self.posts.total() > 1:
            self.there[key] = ts
            return Posted(ts, None)

        async def carried_out() -> None:
            await asyncio.sleep(self._gives_up_after + self._late)
            self.there[key] = ts

        self.tasks.add(asyncio.create_task(carried_out()))
        await asyncio.sleep(self._gives_up_after)
        raise NotNow("http_504", ambiguous=True)

    async def find(
        self, channel_id: str, thread_ts: str | None, *, key: str, after: str | None
    ) -> str | None:
        return self.there.get(key)


async def test_a_request_that_is_given_up_late_has_its_time_to_arrive_all_the_same(pool: Pool) -> None:
    articles, slack = Articles(pool), LateChannel(gives_up_after=3.0, late=1.0)
    async with sending(pool, slack):
        article = await begun(articles, TOPICS[1])
        await all_sent(pool)
        await asyncio.gather(*slack.tasks)
    assert slack.posts == {f"article:{article.id}:status": 1}


class ReadBack(SlowChannel):
    """A Slack with a thread that can be read; `lost` answers do not come back."""

    def __init__(self) -> None:
        super().__init__()
        self.let_edit.set()
        self.thread: list[tuple[float, str]] = []
        self.refuses: set[str] = set()
        self.lost: set[str] = set()
        self.blind = False
        self._now = time.time()

    async def post(self, channel_id: str, thread_ts: str | None, drawn: Drawn, *, key: str) -> Posted:
        if key in self.refuses:
            raise Refused("restricted_action_thread_locked")
        self.posts[key] += 1
        self._now += 1
        self.thread.append((self._now, key))
        if key in self.lost:
            self.lost.remove(key)
            self.blind = True
            raise NotNow("ServerDisconnectedError", ambiguous=True)
        return Posted(f"{self._now:.6f}", None)

    async def find(
        self, channel_id: str, thread_ts: str | None, *, key: str, after: str | None
    ) -> str | None:
        if self.blind:
            raise NotNow("http_503")
        for ts, there in self.thread:
            if there == key and (after is None or ts > float(after)):
                return f"{ts:.6f}"
        return None


async def test_what_retry_sends_again_does_not_hide_a_later_message_whose_answer_was_lost(pool: Pool) -> None:
    articles, slack = Articles(pool), ReadBack()

    async def refused(article_id: int, code: str) -> None:
        before = await articles.get(article_id)
        assert before is not None
        if before.status is Status.FAILED:
            return
        note = announcements.note(before, "failed", "publishing_now", {})
        after = replace(before, status=Status.FAILED, error=ArticleError(before.status, "slack", code))
        await articles.save(before, Change(after, why="refused", messages=[note]))

    running = asyncio.create_task(Sender(Outbox(pool), slack, refused=refused).run())
    try:
        article = await begun(articles, TOPICS[2])
        await all_sent(pool)
        gate, note = f"article:{article.id}:outline:1", f"article:{article.id}:note:failed"
        slack.refuses, slack.lost = {gate}, {note}
        asks = announcements.note(article, "x", "publishing_now", {})
        await articles.tell(article, Outgoing(gate, asks.message, on="outline", version=1))
        await until(lambda: slack.posts[note] == 1)
        # While nobody knows whether the note is there, the channel is mended, and somebody says retry.
        slack.refuses = set()
        now = await articles.get(article.id)
        assert now is not None
        await articles.save(now, Change(replace(now, status=Status.RESEARCHING, error=None), why="retry"))
        await until(lambda: slack.posts[gate] == 1)
        slack.blind = False
        await all_sent(pool)
    finally:
        running.cancel()
        await asyncio.wait({running})
    assert slack.posts == {f"article:{article.id}:status": 1, gate: 1, note: 1}


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while True:
            if holds():
                break
            await asyncio.sleep(0.01)


class EditsRefused(SlowChannel):
    """A Slack that does not take one edit, and takes its time to say so."""

    refuse = True

    async def edit(self, channel_id: str, ts: str, drawn: Drawn, *, key: str) -> None:
        self.editing.set()
        await self.let_edit.wait()
        if self.refuse:
            self.refuse = False
            raise Refused("invalid_blocks")
        self.edited.append((key, drawn.text))


def progress(article: Article, step: int) -> Outgoing:
    return announcements.status(
        article, max_reviews=3, progress=Progress(searches=step, passages=step, sources=step)
    )


async def test_a_text_that_slack_refuses_takes_no_newer_one_with_it(pool: Pool) -> None:
    articles, slack = Articles(pool), EditsRefused()
    async with sending(pool, slack):
        article = await begun(articles, TOPICS[0])
        await all_sent(pool)
        await articles.tell(article, at_step(article, 1))
        async with asyncio.timeout(20):
            await slack.editing.wait()
        await articles.tell(article, at_step(article, 2))  # the last word on it
        slack.let_edit.set()
        await all_sent(pool)
    assert await pool.fetchval("select error from outbox") is None
    [(_, text)] = slack.edited
    assert "2" in text


async def test_a_lost_answer_in_a_thread_is_found_also_by_a_clock_that_is_an_hour_ahead(pool: Pool) -> None:
    articles, slack = Articles(pool), ReadBack()
    slack._now -= 3600
    async with sending(pool, slack):
        article = await begun(articles, TOPICS[1])
        await all_sent(pool)
        note = announcements.note(article, "1", "publishing_now", {})
        slack.lost = {note.key}
        await articles.tell(article, note)
        await until(lambda: slack.posts[note.key] == 1)
        slack.blind = False
        await all_sent(pool)
    assert slack.posts[note.key] == 1


async def test_a_message_that_is_under_way_at_a_stop_is_finished_and_marked(pool: Pool) -> None:
    articles, slack = Articles(pool), Channel()
    await begun(articles, TOPICS[2])
    running = asyncio.create_task(Sender(Outbox(pool), slack, refused=ignore).run())
    async with asyncio.timeout(20):
        await slack.posting.wait()
    running.cancel()
    await asyncio.wait({running}, timeout=0.2)
    assert not running.done()  # it keeps the lock, so that no other sender begins meanwhile
    slack.let_go.set()
    await asyncio.wait({running}, timeout=20)
    assert await pool.fetchval("select (ts, begun_at is null) = ('1.0', true) from outbox")
