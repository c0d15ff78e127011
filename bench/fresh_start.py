"""From nothing to the first answer: an empty folder, a first ingest, the first search, the first outline.

`.venv/bin/python -m bench.fresh_start`: each of the rounds begins without a database and with no process.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import report
from bench.first_draft import STEP_SECONDS, TOPICS
from bench.report import BenchError
from bench.retrieval import PAGE
from bench.stage import asks_for
from bot.demo import SAMPLE
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Channel, WaitedInVain
from bot.manifest import bot_events, bot_scopes
from tests.bot_command import PIPE, run, running
from tests.chaos.process import new_folder

ROUNDS = 5
TARGET = 10  # seconds


@dataclass(frozen=True)
class Round:
    """Seconds, each from the start of a process."""

    ingest: float  # until the sample can be searched by words, the database made and started before
    search: float  # until the passages are printed, the database started before
    ready: float  # until the bot listens to Slack
    outline: float  # until an outline, asked for as soon as it listens, waits in the thread


async def start_afresh(home: Path, topic: str) -> Round:
    """One round in an empty folder. Raises BenchError."""
    settings = {"COPYDESK_HOME": str(home)}
    ingest = await _seconds("ingest", str(SAMPLE), settings=settings)
    search = await _seconds("search", topic, settings=settings)
    async with LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack:
        ana = slack.add_person("Ana")
        channel = slack.add_channel("articles", [ana, slack.bot])
        tokens = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.base_url,
        }
        began = time.monotonic()
        async with running("serve", settings={**settings, **tokens}, stdout=PIPE) as bot:
            assert bot.stdout is not None
            if b"ready" not in await bot.stdout.readline():
                raise BenchError("`bot serve` did not start.")
            ready = time.monotonic() - began
            await ana.command(channel, "/article", topic)
            try:
                await slack.wait_for(lambda: _asks(slack, channel), STEP_SECONDS)
            except WaitedInVain as error:
                raise BenchError(f"The outline has not come. {error}") from None
            outline = time.monotonic() - began
            bot.terminate()
            await bot.wait()
    return Round(ingest, search, ready, outline)


async def _seconds(*arguments: str, settings: dict[str, str]) -> float:
    began = time.monotonic()
    ran = await run(*arguments, settings=settings, seconds=STEP_SECONDS)
    if ran.code or not ran.out:
        raise BenchError(f"`bot {arguments[0]}` ended with {ran.code}: {ran.err}")
    return time.monotonic() - began


def _asks(slack: LocalSlack, channel: Channel) -> bool:
    return any(
        asks_for(reply) == "outline"
        for parent in slack.history(channel)
        for reply in slack.thread(channel, parent.ts)[1:]
    )


def describe(rounds: Sequence[Round]) -> str:
    """The figures as Markdown."""
    columns = {
        "first ingest (database made, 16 documents)": [each.ingest for each in rounds],
        f"the first search (target < {TARGET} s)": [each.search for each in rounds],
        "the bot, until it listens": [each.ready for each in rounds],
        f"the bot, until its first outline (target < {TARGET} s)": [each.outline for each in rounds],
    }
    rows = [
        [name, f"{median(seconds):.1f} s", f"{min(seconds):.1f}–{max(seconds):.1f} s"]
        for name, seconds in columns.items()
    ]
    return report.table(["from the start of a process", f"median of {len(rounds)}", "from–to"], rows)


async def bench(*, write: bool) -> int:
    rounds = []
    with new_folder() as folder:
        for number in range(ROUNDS):
            topic = [*TOPICS.values()][number % len(TOPICS)]
            rounds.append(await start_afresh(folder / str(number), topic))
    text = f"{describe(rounds)}\n\n{report.machine()}."
    print(text)
    if write:
        report.write("fresh start", text, PAGE)
    return int(median(each.outline for each in rounds) >= TARGET)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fresh_start", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"also into {PAGE.name}")
    return report.run(bench(write=parser.parse_args().write))


if __name__ == "__main__":
    sys.exit(main())
