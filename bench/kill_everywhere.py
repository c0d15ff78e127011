"""Kills the bot at every step of an article and starts it again: nothing lost, nothing twice.

`.venv/bin/python -m bench.kill_everywhere` lists the steps of an undisturbed article (every call of a model
and of Slack, every commit, everything that people do), and then makes one article for each moment before,
within and after each of them: the bot is a process, and dies there by SIGKILL.
"""

import argparse
import asyncio
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import report
from bench.report import BenchError
from bot.demo import DemoSettings
from knowledge.embedded import EmbeddedPostgres
from tests.chaos.databases import Databases
from tests.chaos.kill_everywhere import TAKEN_OVER, UNDISTURBED, kills, problems, run_all
from tests.chaos.process import new_folder
from tests.chaos.run import Ran

PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
AT_ONCE = 3

# The moments of a step in the order of the table: before its effect, after it and before the bot knows, and
# when it is durable.
COLUMNS = (
    ("asked, not answered", "sent, not applied", "not committed", "while the bot is away"),
    ("answered, not read", "applied, not answered"),
    ("kept in the journal", "marked as sent", "committed", "acknowledged"),
)


@dataclass(frozen=True)
class Outcome:
    """A kill and what must not have come of it."""

    ran: Ran
    problems: Sequence[str]

    def __str__(self) -> str:
        told = "; ".join(self.problems) or ("did not come" if self.ran.missed else "the same thread")
        return f"{self.ran.language} {self.ran.target}: {told}"


async def measure(*, only: str, at_once: int) -> tuple[list[Outcome], list[Outcome]]:
    """Every moment whose name matches `only`, and a few with the wait until a worker counts as dead.

    Raises `BenchError`.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(new_folder())
        server = stack.enter_context(EmbeddedPostgres(folder, durable=False))
        databases = Databases(await asyncio.to_thread(server.start))
        await databases.prepare(DemoSettings(home=folder, embedding_model="none"))
        undisturbed = {
            ran.language: ran async for ran in run_all(databases, UNDISTURBED, at_once=len(UNDISTURBED))
        }
        for ran in undisturbed.values():
            if found := ran.problems(ran):
                raise BenchError(f"Undisturbed, in {ran.language}: {'; '.join(found)}\n{ran.log}")
        tasks = [task for task in kills(undisturbed.values()) if re.search(only, str(task[0]))]
        if not tasks:
            raise BenchError(f"No moment is called {only}.")
        waited = [
            Outcome(ran, problems(ran, undisturbed))
            async for ran in run_all(databases, TAKEN_OVER, at_once=len(TAKEN_OVER), real_time=True)
        ]
        outcomes: list[Outcome] = []
        async for ran in run_all(databases, tasks, at_once=at_once):
            outcomes.append(Outcome(ran, problems(ran, undisturbed)))
            print(f"{len(outcomes)}/{len(tasks)} {outcomes[-1]}", flush=True)
            if outcomes[-1].problems and ran.log:
                print(ran.log, flush=True)
        order = [point for point, _ in tasks]
        return sorted(outcomes, key=lambda outcome: order.index(outcome.ran.target)), waited


def describe(outcomes: Sequence[Outcome], waited: Sequence[Outcome]) -> str:
    """The figures as Markdown."""
    steps: dict[str, dict[str, Outcome]] = defaultdict(dict)
    for outcome in outcomes:
        assert outcome.ran.target is not None
        steps[outcome.ran.target.step][outcome.ran.target.moment] = outcome
    killed = [outcome.ran for outcome in outcomes if not outcome.ran.missed]
    bad = [outcome for outcome in outcomes if outcome.problems]
    rows = [
        [step.replace("|", "/"), *(cell(moments, column) for column in COLUMNS)]
        for step, moments in steps.items()
    ]
    summary = (
        f"{len(killed)} kills at {len(steps)} steps, in turn in English, Chinese and Japanese: "
        f"{len(killed) - len(bad)} ended with the thread of an undisturbed run, message for message; "
        f"{sum(bool(ran.stuck) for ran in killed)} were stuck; "
        f"{sum(len(ran.asked_though_kept) for ran in killed)} finished model calls were made again "
        f"({sum(ran.asked_twice() for ran in killed)} that were under way were); "
        f"{len(outcomes) - len(killed)} moments did not come; {report.machine()}."
    )
    resumed = sorted(one.ran.resumed_after for one in waited if one.ran.resumed_after is not None)
    taken_over = (
        f"With the wait until a worker counts as dead, {len(resumed)} of {len(waited)} times while sections "
        f"were written: a model was asked again {', '.join(f'{seconds:.1f}' for seconds in resumed)} s after "
        f"the kill, the start of the new process included; "
        f"{sum(not one.problems for one in waited)} ended with the same thread."
    )
    table = report.table(["step", "before", "done, but the bot does not know", "after"], rows)
    return f"{summary}\n\n{taken_over}\n\n{table}"


def cell(moments: dict[str, Outcome], column: Sequence[str]) -> str:
    for moment in column:
        if (outcome := moments.get(moment)) is None:
            continue
        if outcome.problems:
            return f"{moment}: **{'; '.join(outcome.problems)}**".replace("|", "/")
        if outcome.ran.missed:
            return f"{moment}: did not come"
        again = outcome.ran.asked_twice()
        return f"{moment}: same" + (f", {again} asked again" if again else "")
    return ""


async def bench(given: argparse.Namespace) -> int:
    outcomes, waited = await measure(only=given.only, at_once=given.at_once)
    text = describe(outcomes, waited)
    print(text)
    if given.write:
        report.write("kill everywhere", text, PAGE)
    return 1 if any(outcome.problems for outcome in [*outcomes, *waited]) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.kill_everywhere")
    parser.add_argument("--only", default="", metavar="REGEX", help="moments whose name matches (all)")
    parser.add_argument("--at-once", type=int, choices=range(1, 17), default=AT_ONCE, metavar="N")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    return report.run(bench(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
