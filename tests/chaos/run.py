"""One article from the command to its publication, with the bot killed once on the way, or never."""

import asyncio
import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import asyncpg

from bot.local_slack.server import LocalSlack
from bot.manifest import bot_events, bot_scopes
from knowledge.language import Language
from tests.chaos.databases import Databases, until
from tests.chaos.journey import PATIENCE, WORDS, Journey
from tests.chaos.observers import Background, DatabaseWatch, ModelWatch, SlackWatch
from tests.chaos.office import Memory, SteadyOffice
from tests.chaos.process import BotProcess, new_folder, settings_of
from tests.chaos.steps import Point, Watch
from tests.chaos.thread import Shown, differences, shown_thread

# Slack sends an event again at once, after one minute and after five. A tenth of that is waited for here.
SLACKS_RETRIES = (0.0, 6.0, 30.0)
RUN_SECONDS = 240.0
COST_ROUNDED = 0.0001  # dollars


@dataclass
class Ran:
    """What came of a run."""

    target: Point | None
    language: Language
    killed: bool = False
    reached: Sequence[Point] = ()
    thread: list[Shown] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # model calls that reached the host, in order
    asked_though_kept: list[str] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    usage: dict[str, float] = field(default_factory=dict)
    stuck: str = ""
    exit_code: int = 0
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0  # from the first start to the end
    resumed_after: float | None = None  # seconds from the kill until a model is asked again
    log: str = ""

    def problems(self, undisturbed: "Ran") -> list[str]:
        """What must not be, a sentence each."""
        if self.stuck:
            return [f"stuck: waits for {self.stuck}"]
        told = differences(undisturbed.thread, self.thread)
        told += [f"asked again though its answer was kept: {name}" for name in self.asked_though_kept]
        told += [f"Slack complains: {complaint}" for complaint in self.complaints]
        if self.moves != undisturbed.moves:
            told.append(f"other moves: {', '.join(self.moves)}")
        if not same_account(self.usage, undisturbed.usage):
            told.append(f"other account: {self.usage} for {undisturbed.usage}")
        if self.exit_code:
            told.append(f"SIGTERM in the end gave exit code {self.exit_code}")
        return told

    @property
    def missed(self) -> bool:
        """The step did not come this time: two edits of a message were one, say."""
        return self.target is not None and not self.killed

    def asked_twice(self) -> int:
        """Model calls that were under way when the bot was killed, and were made again."""
        return len(self.asked) - len(set(self.asked))


async def run(
    databases: Databases, language: Language, target: Point | None = None, *, real_time: bool = False
) -> Ran:
    """One article in `language`; with a target the bot is killed there, and started again.

    A dead worker's jobs are taken over when it has not been heard of for 15 s. Unless `real_time`, that time
    is made to have passed in the database.
    """
    ran = Ran(target, language)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(new_folder())
        dsn = await stack.enter_async_context(databases.copy())
        slack = await stack.enter_async_context(
            LocalSlack(scopes=bot_scopes(), events=bot_events(), retry_after=SLACKS_RETRIES)
        )
        ana = slack.add_person("Ana")
        channel = slack.add_channel("articles", [ana, slack.bot])
        processes: list[BotProcess] = []
        background = Background()
        watch = Watch(target, lambda: processes[-1].kill())
        models = ModelWatch(
            watch,
            Memory(SteadyOffice(reviews=("revise", "approve"))),
            lambda: processes[-1].freeze(),
            background,
        )
        host = await stack.enter_async_context(models.host)
        slacks = SlackWatch(slack, watch, lambda: processes[-1].freeze(), background)
        database = DatabaseWatch(dsn, watch, models, slacks)
        await stack.enter_async_context(database.watching(background))
        connection = await asyncpg.connect(dsn)
        stack.push_async_callback(connection.close)
        stack.push_async_callback(background.end)
        settings = settings_of(dsn, folder, slack, host)

        async def start() -> None:
            process = await BotProcess.start("serve", settings=settings, log=folder / "bot.log")
            processes.append(process)

        async def start_again() -> None:
            await watch.killed.wait()
            ran.killed = True
            await processes[-1].ended()
            await database.release(age=not real_time)
            await start()

        began = time.monotonic()
        await start()
        again = asyncio.create_task(start_again())
        journey = Journey(slack, channel, ana, WORDS[language], watch)
        try:
            async with asyncio.timeout(RUN_SECONDS):
                await slack.wait_for(lambda: slack.connections or watch.killed.is_set(), PATIENCE)
                await slack.wait_for(lambda: slack.connections, PATIENCE)
                await journey.run()
                journey.stands_at = "the publication, and for all to be in Slack"
                await _until_quiet(connection)
                await database.caught_up()
                if watch.killed.is_set():  # at the very end, perhaps
                    await again
                    await slack.wait_for(lambda: slack.connections, PATIENCE)
                    await _until_quiet(connection)
        except (TimeoutError, AssertionError):
            ran.stuck = f"{journey.stands_at}; {await _state_of(connection)}"
        finally:
            again.cancel()
            await asyncio.gather(again, return_exceptions=True)
            ran.exit_code = await processes[-1].stop()
        ran.seconds = time.monotonic() - began
        ran.log = processes[-1].trouble()
        ran.reached, ran.resumed_after = watch.reached, models.resumed_after
        ran.thread = shown_thread(slack, channel)
        ran.asked, ran.asked_though_kept = models.asked, models.asked_though_kept
        ran.moves, ran.complaints = database.moves, list(slack.complaints)
        ran.usage = json.loads(await connection.fetchval("select usage::text from articles") or "{}")
    return ran


def same_account(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """The same counts; costs are rounded each time they are written down."""
    return one.keys() == other.keys() and all(
        math.isclose(one[name], other[name], rel_tol=0, abs_tol=COST_ROUNDED) for name in one
    )


async def _until_quiet(connection: asyncpg.Connection) -> None:
    """Published, every message in Slack, and no leg at work or queued."""
    await until(
        connection,
        """
        select exists (select from articles where status = 'published')
           and not exists (select from outbox where sent_revision < revision and error is null)
           and not exists (select from procrastinate_jobs where task_name = 'copydesk.leg'
                           and status in ('todo', 'doing'))
        """,
    )


async def _state_of(connection: asyncpg.Connection) -> str:
    """Where the articles stand, for the sentence on one that is stuck."""
    rows = await connection.fetch("select status, moves from articles")
    unsent = await connection.fetch("select key from outbox where sent_revision < revision")
    jobs = await connection.fetch(
        "select status, args->>'moves' as moves from procrastinate_jobs where task_name = 'copydesk.leg'"
    )
    articles = ", ".join(f"{row['status']} at move {row['moves']}" for row in rows) or "no article"
    return f"{articles}; unsent {[row['key'] for row in unsent]}; jobs {[tuple(row) for row in jobs]}"
