"""Two hundred articles on one worker: memory, own time and acks from the first to the last.

`.venv/bin/python -m bench.soak` runs one `python -m bot serve`, with its worker, on a real PostgreSQL; a
model call takes 1 s. Each article is asked for with `--auto`, and approved once its draft is there.
"""

import argparse
import asyncio
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from statistics import median

from bench import report
from bench.acks import keep_asking, part
from bench.chain import Interval
from bench.kill_everywhere import PAGE
from bench.many_workers import found_by_words
from bench.report import BenchError
from bench.stage import asks_for
from bot.blocks import APPROVE
from bot.demo import DemoSettings
from bot.local_slack.people import Person
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, Message, WaitedInVain
from bot.manifest import bot_events, bot_scopes
from knowledge.embedded import EmbeddedPostgres
from tests.chaos.databases import Databases
from tests.chaos.many_workers import key_of
from tests.chaos.office import Memory, SteadyOffice
from tests.chaos.process import BotProcess, new_folder, settings_of
from tests.scripted_openai.server import ScriptedOpenAI

ARTICLES = 200
AT_ONCE = 6  # enough for no turn at the model to be left unused
DELAY_SECONDS = 1.0
WARM_UP = 50  # articles after which memory is to stay as it is
LARGEST_GROWTH = 0.10
MOST_MILLISECONDS = 500

CALLS = 9  # of an article that is searched for once and revised never, as `bench.first_draft` counts them

START_SECONDS = 60.0
ARTICLE_SECONDS = 300.0


@dataclass(frozen=True)
class Done:
    """One article. Times are in seconds of `time.monotonic`; the bot's memory afterwards is in MB."""

    began: float
    asked: float  # its draft was in the thread, with its buttons
    ended: float  # it is published
    memory: float


@dataclass
class Soaked:
    """What came of all of them."""

    at_once: int
    done: list[Done] = field(default_factory=list)  # as they ended
    acks: list[float] = field(default_factory=list)  # of `/article help`, asked all the time
    acked_before: list[int] = field(default_factory=list)  # how many acks there were when each article ended
    late: int = 0
    calls: list[Interval] = field(default_factory=list)
    turns: int = 0  # the most model calls that were under way at once
    seconds: float = 0.0

    @property
    def growth(self) -> float | None:
        """How far the memory rose above what it was after the warm-up; None if that was all."""
        after = [done.memory for done in self.done[WARM_UP - 1 :]]
        return max(after) / after[0] - 1 if len(after) > 1 else None

    def own(self, began: float, ended: float) -> float:
        """The part of the model's turns that the bot left unused in that time, though articles waited."""
        used = sum(max(0.0, min(call.ended, ended) - max(call.began, began)) for call in self.calls)
        return 1 - used / (self.turns * (ended - began))

    def parts(self) -> Iterator[tuple[str, Sequence[Done], list[float]]]:
        """A quarter of the articles each, with the acks of that time."""
        size = math.ceil(len(self.done) / 4)
        for start in range(0, len(self.done), size):
            end = min(start + size, len(self.done))
            acks = self.acks[self.acked_before[start] : self.acked_before[end - 1]]
            yield f"{start + 1}–{end}", self.done[start:end], sorted(acks)

    def problems(self) -> Iterator[str]:
        """One sentence for each thing that must not be."""
        if self.growth is not None and self.growth > LARGEST_GROWTH:
            yield f"Memory grew by {self.growth:.0%} after article {WARM_UP}."
        if self.late:
            yield f"{self.late} commands, clicks or events were not acknowledged within three seconds."
        if len(self.calls) != CALLS * len(self.done):
            yield f"{len(self.calls)} model calls for {len(self.done)} articles, where each has {CALLS}."
        for name, _, acks in self.parts():
            if acks and acks[math.ceil(0.99 * len(acks)) - 1] * 1000 > MOST_MILLISECONDS:
                yield f"Acks took longer than {MOST_MILLISECONDS} ms during articles {name}."


async def measure(articles: int, at_once: int) -> Soaked:
    """That many articles, `at_once` of them at the same time. Raises `BenchError`."""
    soaked = Soaked(at_once)
    with ExitStack() as stack:
        folder = stack.enter_context(new_folder())
        server = stack.enter_context(EmbeddedPostgres(folder, durable=False))
        databases = Databases(await asyncio.to_thread(server.start))
        await databases.prepare(DemoSettings(home=folder, embedding_model="none"))
        async with (
            databases.copy() as dsn,
            LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack,
            ScriptedOpenAI(
                Memory(SteadyOffice(), delay=DELAY_SECONDS).answer, models=("gpt-4.1-mini",)
            ) as host,
        ):
            bot = await BotProcess.start(
                "serve",
                settings={**settings_of(dsn, folder, slack, host), "LOG_LEVEL": "WARNING"},
                log=folder / "bot.log",
            )
            try:
                await slack.wait_for(lambda: slack.connections, START_SECONDS)
                asking = asyncio.create_task(ask_all_the_time(slack, soaked))
                began = time.monotonic()
                await all_of(soaked, slack, bot, several(articles))
                soaked.seconds = time.monotonic() - began
                asking.cancel()
                # Not what happens while it stops: then nobody listens.
                soaked.late = sum(failure.reason == "timeout" for failure in slack.ack_failures)
            except (WaitedInVain, ExceptionGroup) as error:
                raise BenchError(f"After {len(soaked.done)} articles: {error}\n{bot.trouble()}") from error
            finally:
                await bot.stop()
            soaked.calls = [Interval(one.at, one.finished_at or one.at) for one in host.requests]
            soaked.turns = host.most_at_once
    return soaked


def several(count: int) -> list[str]:
    """As many topics, in turn English, Chinese and Japanese, each of them new."""
    base = found_by_words()
    return [f"{base[at % len(base)]} {at // len(base) + 1}" for at in range(count)]


async def all_of(soaked: Soaked, slack: LocalSlack, bot: BotProcess, topics: Sequence[str]) -> None:
    """Each topic becomes a published article, in a channel of its own: none waits for Slack's pace."""
    ana = slack.add_person("Ana")
    turns = asyncio.Semaphore(soaked.at_once)

    async def one(number: int, topic: str) -> None:
        async with turns:
            channel = slack.add_channel(f"soak-{number}", [ana, slack.bot])
            began = time.monotonic()
            asked = await publish(slack, ana, channel, topic)
            soaked.done.append(Done(began, asked, time.monotonic(), await memory_of(bot.pid)))
            soaked.acked_before.append(len(soaked.acks))

    async with asyncio.TaskGroup() as group:
        for number, topic in enumerate(topics):
            group.create_task(one(number, topic))


async def publish(slack: LocalSlack, ana: Person, channel: Channel, topic: str) -> float:
    """From the command to the publication; when the draft was asked about."""
    await ana.command(channel, "/article", f"--auto {topic}")

    def found() -> Message | None:
        messages = slack.workspace.all_messages(channel.id)
        return next((message for message in messages if asks_for(message) == "draft"), None)

    draft = await slack.wait_for(found, ARTICLE_SECONDS)
    assert draft is not None
    asked = time.monotonic()
    await ana.click(draft, APPROVE)
    await slack.wait_for(
        lambda: any(":note:published:" in key_of(m) for m in slack.workspace.all_messages(channel.id)),
        ARTICLE_SECONDS,
    )
    return asked


async def ask_all_the_time(slack: LocalSlack, soaked: Soaked) -> None:
    somebody = slack.add_person("Newcomer")
    with suppress(asyncio.CancelledError):
        await keep_asking(somebody, slack.add_channel("help", [somebody, slack.bot]), soaked.acks)


async def memory_of(pid: int) -> float:
    """What a process has in memory, in MB."""
    ps = await asyncio.create_subprocess_exec(
        *("ps", "-o", "rss=", "-p", str(pid)), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await ps.communicate()
    return int(out) / 1024


def describe(soaked: Soaked) -> str:
    """The figures as Markdown."""
    rows = [
        [
            name,
            f"{done[-1].memory:.0f} MB",
            f"{max(one.memory for one in done):.0f} MB",
            f"{soaked.own(done[0].ended, done[-1].ended):.1%}".replace("%", " %"),
            f"{median(one.asked - one.began for one in done):.2f} s",
            *(part(acks, share) for share in (0.5, 0.99, 1)),
        ]
        for name, done, acks in soaked.parts()
    ]
    head = [
        *("articles", "memory after", "highest", "own time", "to the draft (median)"),
        *("ack p50 (ms)", "p99", "max"),
    ]
    target = ["target", "", f"≤ {LARGEST_GROWTH:.0%} more after {WARM_UP}", "≤ 5 %", "", "", "< 500", ""]
    grown = (
        "" if soaked.growth is None else f" After article {WARM_UP} it rose by {soaked.growth:.1%} at most."
    )
    told = (
        f"{len(soaked.done)} articles in {soaked.seconds:.0f} s, {soaked.at_once} at a time, in turn in "
        f"English, Chinese and Japanese; a model call takes {DELAY_SECONDS:g} s, an article {CALLS} of them; "
        f"{soaked.turns} were under way at once at most. Memory is that of `python -m bot serve`.{grown} "
        f"{report.machine()}."
    )
    return f"{told}\n\n{report.table(head, [*rows, target])}"


async def bench(given: argparse.Namespace) -> int:
    soaked = await measure(given.articles, given.at_once)
    text = describe(soaked)
    print(text)
    if given.write:
        report.write("soak", text, PAGE)
    return report.told(list(soaked.problems()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.soak")
    parser.add_argument("--articles", type=int, choices=range(1, 2001), default=ARTICLES, metavar="N")
    parser.add_argument("--at-once", type=int, choices=range(1, 11), default=AT_ONCE, metavar="N")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    return report.run(bench(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
