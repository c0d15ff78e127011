"""One article, two replicas, four people: plays a schedule and holds every outcome against the rules."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from bot import announcements
from bot.blocks import APPROVE, CANCEL, REQUEST_CHANGES
from knowledge.article import AT_WORK, FOLLOWS, Action, Article, Mode, Status
from knowledge.changes import NewArticle
from knowledge.database import Pool
from knowledge.leg_jobs import LEG_TASK
from tests.races.payloads import TEAM, click, event, form
from tests.races.replica import MODEL_IS_AWAY, Replica
from tests.races.rules import GATES, Effect, Standing, Text, effect, walk
from tests.races.schedules import Act, Deed, Round, Schedule
from tests.races.thread import Thread

PEOPLE = ("UANA", "UBO", "UCHEN", "UDAI")
PATIENCE = 30.0

# What people type, in turn: the three languages are equals.
WORDS = {
    Deed.APPROVE: ("approve", "通过", "承認"),
    Deed.REVISE: ("revise: name the unit ({})", "修改：写明单位（{}）", "修正：単位を書く（{}）"),
    Deed.RESEARCH: (
        "research: salts and peppers ({})",
        "补充：盐和胡椒（{}）",
        "調査：ソルトとペッパー（{}）",
    ),
    Deed.CANCEL: ("cancel", "取消", "キャンセル"),
    Deed.RETRY: ("retry", "重试", "再試行"),
    Deed.STATUS: ("status", "状态", "状態"),
    Deed.TALK: ("Add a note on bcrypt.", "这里可以提一下 bcrypt。", "bcrypt にも触れたい。"),
}
ACTIONS = {
    Deed.APPROVE: Action.APPROVE,
    Deed.QUICK_APPROVE: Action.APPROVE,
    Deed.CLICK_APPROVE: Action.APPROVE,
    Deed.CLICK_OLD_APPROVE: Action.APPROVE,
    Deed.REVISE: Action.REVISE,
    Deed.FORM: Action.REVISE,
    Deed.OLD_FORM: Action.REVISE,
    Deed.RESEARCH: Action.RESEARCH,
    Deed.CANCEL: Action.CANCEL,
    Deed.CLICK_CANCEL: Action.CANCEL,
    Deed.RETRY: Action.RETRY,
    Deed.STATUS: Action.STATUS,
}


@dataclass(frozen=True, slots=True)
class Done:
    """What a person did: `key` names it in the keys of notes, `seen` is what its author had seen."""

    deed: Deed
    by: str
    key: str
    seen: Text | None


@dataclass
class Room:
    """Plays rounds. `numbers` makes every event of all rooms another one."""

    pool: Pool  # of the test, to look on
    replicas: Sequence[Replica]
    article_id: int
    mode: Mode
    thread: Thread
    numbers: Iterator[int]
    doings: list[Done] = field(default_factory=list)

    @classmethod
    async def open(
        cls,
        pool: Pool,
        replicas: Sequence[Replica],
        threads: dict[str, Thread],
        schedule: Schedule,
        numbers: Iterator[int],
    ) -> "Room":
        """An article whose message stands in a channel of its own."""
        channel_id = f"C{next(numbers)}"
        threads[channel_id] = Thread(channel_id, random.Random(schedule.chance))
        new = NewArticle(
            "Why should Go backends move from MD5 to Argon2id?", "en", schedule.mode, TEAM, channel_id, "UANA"
        )
        article = await replicas[0].articles.add(
            new, first_messages=lambda article: [announcements.status(article, max_reviews=3)]
        )
        room = cls(pool, replicas, article.id, schedule.mode, threads[channel_id], numbers)
        await room.sent()
        return room

    async def play(self, this: Round) -> list[Done]:
        """One round, and what it has done to the article; what was done, in its order."""
        first_move = await self.pool.fetchval(
            "select max(id) from article_moves where article_id = $1", self.article_id
        )
        first_decision = await self.pool.fetchval("select coalesce(max(id), 0) from decisions")
        done: list[Done] = []
        async with asyncio.TaskGroup() as group:
            working = group.create_task(self.work(this.legs, twice=this.twice, broken=this.broken))
            for act, by in zip(this.acts, PEOPLE, strict=False):
                group.create_task(self._later(act, by, done))
        await self.work(this.legs - working.result(), twice=this.twice, broken=this.broken)
        await self.sent()
        self.doings += done
        await self._check_round(done, first_move, first_decision)
        await self.check()
        return done

    async def finish(self) -> None:
        """Agents do what is left to do: then nothing that people asked for may be left lying."""
        await self.work(40, twice=False, broken=False)
        await self.sent()
        await self.check()
        article = await self.article()
        assert article.status not in AT_WORK
        for one in article.decisions:
            if one.action in (Action.REVISE, Action.RESEARCH) and one.state == "done":
                assert one.outcome is not None, one

    # -- what happens ----------------------------------------------------------------------------------------

    async def work(self, legs: int, *, twice: bool, broken: bool) -> int:
        """Workers take the jobs that are there, so many at most, one after the other; returns how many."""
        MODEL_IS_AWAY.set(broken)
        for number in range(legs):
            job = await self.pool.fetchrow(
                "select id, args from procrastinate_jobs where args->>'article_id' = $1 and status = 'todo'"
                " and task_name = $2 order by id limit 1",
                str(self.article_id),
                LEG_TASK,
            )
            if job is None:
                return number
            workers = self.replicas if twice else [self.replicas[number % 2]]
            await asyncio.gather(*(worker.legs.work(**job["args"]) for worker in workers))
            await self.pool.execute("delete from procrastinate_jobs where id = $1", job["id"])
        return max(0, legs)

    async def _later(self, act: Act, by: str, done: list[Done]) -> None:
        if act.deed is Deed.QUICK_APPROVE:
            with contextlib.suppress(TimeoutError):  # then it is not so quick
                await asyncio.wait_for(self.thread.shown.wait(), timeout=act.at / 1000)
        else:
            await asyncio.sleep(act.at / 1000)
        if (payload := self._payload(act.deed, by, done)) is None:
            return
        replica, other = self.replicas[act.replica], self.replicas[1 - act.replica]
        deliveries: list[Awaitable[None]] = [replica.take(payload)]
        if act.again is not None:
            second = payload
            if "event_id" in payload and act.at % 2:  # a mention comes as two events, of two kinds
                second = payload | {"event_id": f"{payload['event_id']}M"}
            deliveries.append(_after(act.again / 1000, lambda: other.take(second)))
        await asyncio.gather(*deliveries)

    def _payload(self, deed: Deed, by: str, done: list[Done]) -> dict[str, Any] | None:
        """What Slack sends for it; None where there is nothing to click."""
        number, channel_id = next(self.numbers), self.thread.channel_id
        gates = [gate for gate in self.thread.gates if gate.buttons]
        old = deed in (Deed.CLICK_OLD_APPROVE, Deed.OLD_FORM)
        if deed in (Deed.CLICK_APPROVE, Deed.CLICK_OLD_APPROVE, Deed.CLICK_CANCEL, Deed.FORM, Deed.OLD_FORM):
            if len(gates) < 1 + old:
                return None
            gate = gates[-2] if old else gates[-1]
            if deed in (Deed.FORM, Deed.OLD_FORM):
                view_id = f"V{number}"
                done.append(Done(deed, by, f"view:{view_id}", gate.text))
                return form(by, view_id, gate.buttons[REQUEST_CHANGES], f"({number}) より短く、更短")
            trigger = f"T{number}"
            done.append(Done(deed, by, f"click:{trigger}", gate.text))
            action = CANCEL if deed is Deed.CLICK_CANCEL else APPROVE
            return click(channel_id, by, trigger, action, gate.buttons[action])
        ts = self.thread.next_ts()
        done.append(Done(deed, by, f"{channel_id}:{ts}", self.thread.above(ts)))
        message: dict[str, Any] = {"type": "message", "user": by, "ts": ts, "text": "approve"}
        if deed is Deed.EDIT:
            changed = {"type": "message", "subtype": "message_changed", "ts": ts, "message": message}
            return event(channel_id, number, changed)
        words = WORDS[Deed.APPROVE if deed is Deed.QUICK_APPROVE else deed]
        message["text"] = words[number % 3].format(number)
        return event(channel_id, number, message)

    async def sent(self) -> None:
        """Until all that the bot has to say stands in the thread."""
        unsent = "select count(*) from outbox where article_id = $1 and sent_revision = 0"  # edits follow
        async with asyncio.timeout(PATIENCE):
            while True:
                if not await self.pool.fetchval(unsent, self.article_id):
                    return
                await asyncio.sleep(0.005)

    # -- what must hold --------------------------------------------------------------------------------------

    async def _check_round(self, done: Sequence[Done], first_move: int, first_decision: int) -> None:
        """Each deed had one effect, and one that the rules allow where the article stood in this round."""
        standings = await self._standings(since=first_move)
        decisions = await self.pool.fetch(
            "select * from decisions where article_id = $1 and id > $2", self.article_id, first_decision
        )
        notes = await self.notes()
        moves = await self.pool.fetch(
            "select id, to_status, why from article_moves where article_id = $1 and id >= $2 order by id",
            self.article_id,
            first_move,
        )
        for one in done:
            made = [row for row in decisions if row["by"] == one.by]
            told = notes.get(f"to:{one.by}:{one.key}")
            kept = notes.get(f"kept:{one.key}")
            if one.deed not in ACTIONS:
                assert (made, told, kept) == ([], None, None), one
                continue
            action = ACTIONS[one.deed]
            assert all(row["action"] == action for row in made), one
            assert len(made) + (told is not None) <= 1, f"{one}: more than one effect"
            if not made:
                await self._check_answer(one, action, told, standings)
            elif kept is not None:
                assert Effect("kept", kept["key"]) in self._may(standings, action, one.seen), one
            else:
                steps = [at for at, row in enumerate(moves) if at and row["why"] == f"{action} by {one.by}"]
                assert len(steps) == 1, f"{one}: {len(steps)} moves"
                before = standings[steps[0] - 1]
                moved = Effect("moved", moves[steps[0]]["to_status"])
                assert effect(before, action, one.seen, self.mode) == moved, f"{one} at {before}: {moved}"
                [row] = made
                if action is Action.APPROVE:
                    assert Text(row["on_what"], row["version"]) == one.seen, f"{one} approved another"
                elif action is not Action.CANCEL and one.seen not in (None, before.current):
                    note = notes.get(f"moved:{one.key}")
                    if action in (Action.REVISE, Action.RESEARCH):
                        assert note is not None, one
                        assert note["key"] == "request_for_current", one

    async def _check_answer(
        self, one: Done, action: Action, told: dict[str, Any] | None, standings: Sequence[Standing]
    ) -> None:
        """Nothing is silent, but for a second click of who was first."""
        allowed = self._may(standings, action, one.seen)
        if told is None:
            mine = [own for own in self.doings if own.by == one.by and ACTIONS.get(own.deed) is action]
            assert Effect("told", "somebody_faster") in allowed, f"{one} was silent; allowed: {allowed}"
            assert mine, f"{one} was silent, and was not the first"
            assert one.seen is not None
            assert await self._approved_by(one.seen) == [one.by]
            return
        assert Effect("told", told["key"]) in allowed, f"{one}: {told} at {standings}"
        if told["key"] == "somebody_faster":
            assert one.seen is not None
            [first] = await self._approved_by(one.seen)
            assert (told["params"]["by"], first != one.by) == (first, True)

    def _may(self, standings: Sequence[Standing], action: Action, seen: Text | None) -> set[Effect]:
        return {effect(at, action, seen, self.mode) for at in standings}

    async def check(self) -> None:
        """What is true of an article at any time."""
        article = await self.article()
        standings = await self._standings(since=0)
        for before, after in pairwise(standings):
            allowed = FOLLOWS[before.status]
            if before.failed_in is not None:
                allowed = frozenset({before.failed_in, Status.CANCELLED})
            assert after.status in allowed, (before, after)
        last = standings[-1]
        assert (article.status, article.moves) == (last.status, len(standings))
        assert (article.outline_version, article.version) == (last.outline, last.draft)
        assert article.heard == len(article.decisions)
        jobs = await self.pool.fetch(
            "select args from procrastinate_jobs where args->>'article_id' = $1 and status = 'todo'"
            " and (args->>'moves')::integer = $2",
            str(self.article_id),
            article.moves,
        )
        assert len(jobs) == (article.status in AT_WORK), "stuck, or worked on twice"
        if article.status in GATES or article.status is Status.PUBLISHED:
            assert article.waiting == article.taken == (), (
                "people are asked before what they asked for is done"
            )
        await self._check_versions(article, standings)
        await self._check_gates(article)

    async def _check_versions(self, article: Article, standings: Sequence[Standing]) -> None:
        """One text per version, one publication per version, and the file before what is asked about it."""
        numbers = [version["number"] for version in await self.replicas[0].articles.versions(article.id)]
        assert numbers == list(range(1, article.version + 1))
        published = [at.draft for at in standings if at.status is Status.PUBLISHED]
        assert len(published) == len(set(published))
        approved = [one.version for one in article.decisions if (one.on, one.action) == ("draft", "approve")]
        assert len(approved) == len(set(approved))
        assert set(published) <= set(approved)
        posts = self.thread.posts
        assert len(posts) == len(set(posts)), "posted twice"
        drafts = [f"article:{article.id}:draft:{number}" for number in numbers]
        order = [post for post in posts if post in drafts or post.startswith("file:")]
        assert order == [one for at, draft in enumerate(drafts, 1) for one in (f"file:{at}", draft)]
        noted = await self.notes()
        assert sorted(key for key in noted if key.startswith("published:")) == sorted(
            f"published:{version}" for version in published
        )

    async def _check_gates(self, article: Article) -> None:
        """Only what waits for a word has buttons; of the others is told who decided."""
        asked = await self.pool.fetch(
            "select on_what, version, message from outbox where article_id = $1 and on_what is not null",
            article.id,
        )
        for row in asked:
            text = Text(row["on_what"], row["version"])
            if text.on == "outline" and self.mode is Mode.AUTO:
                continue
            current = Text("outline", article.outline_version)
            if article.status is Status.AWAITING_APPROVAL:
                current = Text("draft", article.version)
            waits = article.status in GATES and text == current
            assert (row["message"]["asks"], row["message"]["decided"] is None) == (waits, waits), text

    async def _approved_by(self, text: Text) -> list[str]:
        rows = await self.pool.fetch(
            "select by from decisions"
            " where article_id = $1 and action = 'approve' and on_what = $2 and version = $3",
            self.article_id,
            text.on,
            text.version,
        )
        return [row["by"] for row in rows]

    async def article(self) -> Article:
        article = await self.replicas[0].articles.get(self.article_id)
        assert article is not None
        return article

    async def _standings(self, *, since: int) -> list[Standing]:
        """From the move `since` on."""
        rows = await self.pool.fetch(
            "select id, from_status, to_status from article_moves where article_id = $1 order by id",
            self.article_id,
        )
        steps = [
            (None if row["from_status"] is None else Status(row["from_status"]), Status(row["to_status"]))
            for row in rows
        ]
        return walk(steps)[sum(row["id"] < since for row in rows) :]

    async def notes(self) -> dict[str, dict[str, Any]]:
        """What was said in the thread or to one person, by the end of its key."""
        prefix = f"article:{self.article_id}:note:"
        rows = await self.pool.fetch(
            "select key, message from outbox where article_id = $1 and starts_with(key, $2) order by id",
            self.article_id,
            prefix,
        )
        return {row["key"].removeprefix(prefix): row["message"] for row in rows}


async def _after(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    await asyncio.sleep(seconds)
    await work()
