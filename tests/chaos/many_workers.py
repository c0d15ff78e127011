"""Many articles over several workers, of which one is killed again and again."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg

from bot.blocks import APPROVE
from bot.local_slack.people import Person
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message, WaitedInVain
from bot.manifest import bot_events, bot_scopes
from tests.chaos.databases import Databases, until
from tests.chaos.observers import Background, DatabaseWatch, ModelWatch, SlackWatch
from tests.chaos.office import Memory, SteadyOffice
from tests.chaos.process import BotProcess, new_folder, settings_of
from tests.chaos.steps import Watch

START_SECONDS = 60.0
ARTICLE_SECONDS = 180.0
TAKEN_OVER_SECONDS = 30.0  # what the design asks for


@dataclass
class Worked:
    """What came of it."""

    articles: int
    workers: int
    published: int = 0
    seconds: float = 0.0
    kills: int = 0
    takeovers: list[float] = field(default_factory=list)  # seconds from a kill until another has its leg
    legs: int = 0
    started: int = 0
    asked: int = 0
    asked_again: int = 0
    asked_though_kept: list[str] = field(default_factory=list)
    exit_codes: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def problems(self) -> list[str]:
        """What must not be, a sentence each."""
        told = list(self.wrong)
        if self.published < self.articles:
            told.append(f"{self.articles - self.published} of {self.articles} articles are not published")
        told += [f"asked again though its answer was kept: {name}" for name in self.asked_though_kept]
        if late := [seconds for seconds in self.takeovers if seconds > TAKEN_OVER_SECONDS]:
            told.append(f"{len(late)} legs of dead workers were taken over late, one after {max(late):.0f} s")
        if any(self.exit_codes):
            told.append(f"SIGTERM in the end gave the exit codes {self.exit_codes}")
        return told


class Workers:
    """`python -m bot worker`, several times; who is killed is replaced at once, as a supervisor would."""

    def __init__(
        self, connection: asyncpg.Connection, settings: dict[str, str], stack: AsyncExitStack
    ) -> None:
        self._connection, self._settings = connection, settings
        self._folder = stack.enter_context(new_folder())
        self.running: dict[int, BotProcess] = {}  # by procrastinate's id of the worker
        self.killed: dict[int, datetime] = {}

    async def start(self) -> None:
        """One more, from when it is registered."""
        before = await self._registered()
        process = await BotProcess.start("worker", settings=self._settings, log=self._folder / "worker.log")
        async with asyncio.timeout(START_SECONDS):
            await until(
                self._connection,
                "select exists (select from procrastinate_workers where not id = any ($1::bigint[]))",
                [*before, *self.running, *self.killed],
            )
        [worker] = await self._registered() - before - {*self.running, *self.killed}
        self.running[worker] = process

    async def kill_one_at_work(self, seconds: float) -> bool:
        """One that has a leg, and has lived longest; False when none has had one for so long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for worker in sorted(self.running):
                if await self._connection.fetchval(
                    "select exists (select from procrastinate_jobs where task_name = 'copydesk.leg'"
                    " and status = 'doing' and worker_id = $1)",
                    worker,
                ):
                    process = self.running.pop(worker)
                    process.kill()
                    self.killed[worker] = await self._connection.fetchval("select clock_timestamp()")
                    await process.ended()
                    await self.start()
                    return True
            await asyncio.sleep(0.02)
        return False

    async def stop(self) -> list[int]:
        """SIGTERM to all; their exit codes."""
        return list(await asyncio.gather(*(process.stop() for process in self.running.values())))

    async def _registered(self) -> set[int]:
        return {row["id"] for row in await self._connection.fetch("select id from procrastinate_workers")}


async def work(
    databases: Databases, topics: Sequence[str], *, workers: int, kills: int, every: float, delay: float
) -> Worked:
    """An article on each topic at the same time, in auto mode, each approved by somebody in the end.

    A worker at work is killed every `every` seconds, `kills` times; a model call takes `delay` seconds. Each
    article has a channel of its own, so that none waits for Slack's pace.
    """
    worked = Worked(len(topics), workers)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(new_folder())
        dsn = await stack.enter_async_context(databases.copy())
        slack = await stack.enter_async_context(LocalSlack(scopes=bot_scopes(), events=bot_events()))
        background, watch = Background(), Watch(None, lambda: None)
        models = ModelWatch(watch, Memory(SteadyOffice(), delay=delay), lambda: None, background)
        host = await stack.enter_async_context(models.host)
        slacks = SlackWatch(slack, watch, lambda: None, background)
        await stack.enter_async_context(DatabaseWatch(dsn, watch, models, slacks).watching(background))
        connection = await asyncpg.connect(dsn)
        stack.push_async_callback(connection.close)
        stack.push_async_callback(background.end)
        settings = settings_of(dsn, folder, slack, host)
        serving = await BotProcess.start("serve", "--no-worker", settings=settings, log=folder / "serve.log")
        stack.callback(serving.kill)
        pool = Workers(connection, settings, stack)
        try:
            await slack.wait_for(lambda: slack.connections, START_SECONDS)
            for _ in range(workers):
                await pool.start()
            ana = slack.add_person("Ana")
            channels = [slack.add_channel(f"team-{at}", [ana, slack.bot]) for at in range(len(topics))]
            began = time.monotonic()
            people = asyncio.gather(
                *(
                    request(slack, ana, channel, topic)
                    for channel, topic in zip(channels, topics, strict=True)
                )
            )
            while worked.kills < kills and not people.done():
                await asyncio.sleep(every)
                worked.kills += await pool.kill_one_at_work(every)
            await people
            worked.seconds = time.monotonic() - began
        finally:
            worked.exit_codes = await pool.stop()
            worked.exit_codes.append(await serving.stop())
        await read(worked, connection, pool)
        worked.wrong += posted_twice(slack, channels)
    worked.asked, worked.asked_again = len(models.asked), len(models.asked) - len(set(models.asked))
    worked.asked_though_kept = models.asked_though_kept
    return worked


async def request(slack: LocalSlack, ana: Person, channel: Channel, topic: str) -> None:
    """`/article --auto`, and Approve once the draft is there; until it is published or failed."""
    answer = await ana.command(channel, "/article", f"--auto {topic}")
    assert answer.acked, topic

    def messages() -> list[Message]:
        return slack.workspace.all_messages(channel.id)

    def ended() -> bool:
        """Not by the status message: its edits are slow where there are many, for Slack's rate."""
        return any(told in key_of(m) for m in messages() for told in (":note:published:", ":note:failed:"))

    def asked() -> Message | None:
        return next((message for message in messages() if has_button(message, APPROVE)), None)

    with suppress(WaitedInVain):  # what became of it is read from the database
        await slack.wait_for(lambda: asked() or ended(), ARTICLE_SECONDS)
        if (message := asked()) is not None:
            assert await ana.click(message, APPROVE), topic
            await slack.wait_for(ended, ARTICLE_SECONDS)


def has_button(message: Message, action_id: str) -> bool:
    elements = [element for block in message.blocks for element in block.get("elements", [])]
    return any(element.get("action_id") == action_id for element in elements)


async def read(worked: Worked, connection: asyncpg.Connection, pool: Workers) -> None:
    """What the database says of moves and legs."""
    worked.published = await connection.fetchval("select count(*) from articles where status = 'published'")
    moves = await connection.fetch(
        "select article_id, from_status, to_status from article_moves order by article_id, id"
    )
    articles = await connection.fetch("select id, moves, topic, status, error from articles")
    worked.wrong += [
        f"article {row['id']} ({row['topic']}) is {row['status']}: {row['error']}"
        for row in articles
        if row["status"] != "published"
    ]
    counts = {article["id"]: article["moves"] for article in articles}
    for article, walked in itertools.groupby(moves, key=lambda move: move["article_id"]):
        worked.wrong += walk_problems(article, list(walked), counts[article])
    legs = await connection.fetch("select * from chaos_legs order by id")
    starts = [leg for leg in legs if leg["event"] == "doing"]
    worked.started = len(starts)
    worked.legs = len({leg["job_id"] for leg in legs})
    ends = Counter((leg["article_id"], leg["moves"]) for leg in legs if leg["event"] == "succeeded")
    worked.wrong += [f"leg {leg} ended {times} times" for leg, times in ends.items() if times > 1]
    for article in counts:
        worked.wrong += order_problems(article, [leg for leg in legs if leg["article_id"] == article])
    worked.takeovers = list(takeovers(starts, legs, pool.killed))


def walk_problems(article: int, moves: Sequence[Any], count: int) -> Iterator[str]:
    """Each move begins where the one before it ended, and none is written twice."""
    if len(moves) != count:
        yield f"article {article} has {len(moves)} moves in its history, and says {count}"
    for before, after in itertools.pairwise(moves):
        if after["from_status"] != before["to_status"]:
            yield f"article {article} went from {after['from_status']}, where it was in {before['to_status']}"


def order_problems(article: int, legs: Sequence[Any]) -> Iterator[str]:
    """A leg starts only when the one before it has ended, or its worker is dead."""
    at_work: int | None = None
    last = 0
    for leg in legs:
        if leg["event"] != "doing":
            at_work = None
            continue
        if at_work is not None:
            yield f"article {article}: leg {leg['moves']} started while leg {at_work} was at work"
        if leg["moves"] < last:
            yield f"article {article}: leg {leg['moves']} started after leg {last}"
        at_work = last = leg["moves"]


def takeovers(starts: Sequence[Any], legs: Sequence[Any], killed: dict[int, datetime]) -> Iterator[float]:
    """Seconds from the death of a worker until each leg that it had is started by another."""
    for start in starts:
        died = killed.get(start["worker_id"])
        of_job = [leg for leg in legs if leg["job_id"] == start["job_id"] and leg["id"] > start["id"]]
        if died is None or start["at"] > died or (of_job and of_job[0]["at"] < died):
            continue  # it lives, or the leg had ended before it died
        again = next((leg for leg in of_job if leg["event"] == "doing"), None)
        if again is not None:
            yield (again["at"] - died).total_seconds()


def posted_twice(slack: LocalSlack, channels: Sequence[Channel]) -> list[str]:
    """Outbox keys that stand in Slack more than once."""
    keys = Counter(
        key_of(message) for channel in channels for message in slack.workspace.all_messages(channel.id)
    )
    return [f"{key} was posted {times} times" for key, times in keys.items() if key and times > 1]


def key_of(message: Message) -> str:
    """The outbox key of one of the bot's messages; "" of another's, and of a file."""
    return str((message.metadata or {}).get("event_payload", {}).get("key", ""))
