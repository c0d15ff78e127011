"""Fifty articles over two workers, and over four, while one at work is killed every few seconds.

`.venv/bin/python -m bench.many_workers` runs `python -m bot serve --no-worker` and the workers as processes.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median

from bench import report
from bench.acks import topics
from bench.kill_everywhere import PAGE
from bot.demo import DemoSettings
from knowledge.embedded import EmbeddedPostgres
from tests.chaos.databases import Databases
from tests.chaos.many_workers import TAKEN_OVER_SECONDS, Worked, work
from tests.chaos.process import new_folder

WORKERS = (2, 4)
KILLS = 10
EVERY_SECONDS = 3.0
DELAY_SECONDS = 1.0


def found_by_words() -> list[str]:
    """Topics of which a search by words finds something, in turn English, Chinese and Japanese."""
    return [topic for topic in topics() if not topic.startswith(("请介绍", "关于"))]


async def measure(articles: int) -> list[Worked]:
    with ExitStack() as stack:
        folder = stack.enter_context(new_folder())
        server = stack.enter_context(EmbeddedPostgres(folder, durable=False))
        databases = Databases(await asyncio.to_thread(server.start))
        await databases.prepare(DemoSettings(home=folder, embedding_model="none"))
        return [
            await work(
                databases,
                found_by_words()[:articles],
                workers=workers,
                kills=KILLS,
                every=EVERY_SECONDS,
                delay=DELAY_SECONDS,
            )
            for workers in WORKERS
        ]


def describe(measured: Sequence[Worked]) -> str:
    """The figures as Markdown."""
    head = [
        *("workers", "articles", "published", "seconds", "kills", "legs", "taken over", "after (median)"),
        *("longest", "model calls", "under way, asked again", "kept, asked again", "wrong"),
    ]
    rows = [
        [
            *(one.workers, one.articles, one.published, f"{one.seconds:.0f}", one.kills, one.legs),
            len(one.takeovers),
            f"{median(one.takeovers):.1f} s" if one.takeovers else "",
            f"{max(one.takeovers):.1f} s" if one.takeovers else "",
            *(one.asked, one.asked_again, len(one.asked_though_kept), len(one.problems())),
        ]
        for one in measured
    ]
    target = ["target", "", "all", "", "", "", "", "", f"≤ {TAKEN_OVER_SECONDS:g} s", "", "", 0, 0]
    told = (
        f"A model call takes {DELAY_SECONDS:g} s; a worker that has legs at work is killed {KILLS} times, "
        f"{EVERY_SECONDS:g} s after the one before was replaced; {report.machine()}."
    )
    return f"{told}\n\n{report.table(head, [*rows, target])}"


async def bench(articles: int, *, write: bool) -> int:
    measured = await measure(articles)
    text = describe(measured)
    print(text)
    if write:
        report.write("many workers", text, PAGE)
    return report.told(
        [f"{one.workers} workers: {problem}" for one in measured for problem in one.problems()]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.many_workers")
    parser.add_argument("--articles", type=int, choices=range(1, 81), default=50, metavar="N", help="(50)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    given = parser.parse_args()
    return report.run(bench(given.articles, write=given.write))


if __name__ == "__main__":
    sys.exit(main())
