"""A hundred `/article` commands at once: how soon each is acknowledged, and when all outlines are there.

`.venv/bin/python -m bench.acks` uses the offline model, once with `serve` alone and once with `serve
--no-worker` beside a `worker`. The local Slack counts the time from sending a command to its ack.
"""

import argparse
import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import chain, product

from bench import report
from bench.stage import Stage, open_stage
from bot.local_slack.people import Person
from bot.local_slack.plain_text import plain_text
from bot.local_slack.workspace import Channel, Message
from knowledge.article import Article, Status

COMMANDS = 100
ALL_AT_OUTLINE_SECONDS = 150.0
LOOK_SECONDS = 0.25

# At most one message a second goes into a channel, after the first five: with all articles in one channel
# the wait for Slack would be all that is measured.
CHANNELS = 20

LAYOUTS: dict[str, list[tuple[str, ...]]] = {
    "one process": [("serve",)],
    "two processes": [("serve", "--no-worker"), ("worker",)],
}

SUBJECTS_AND_QUESTIONS = (
    (
        (
            "MD5",
            "Argon2id",
            "bcrypt",
            "a salt",
            "a pepper",
            "re-hashing at login",
            "password cracking on GPUs",
        ),
        (
            "Why does {} matter for stored passwords?",
            "What should a Go team know about {}?",
            "How does {} change a migration of passwords?",
            "What do our documents say about {} in production?",
            "Which risks come with {} in a password store?",
        ),
    ),
    (
        ("MD5", "Argon2id", "Argon2id 的参数", "密码迁移", "登录时重新计算", "Argon2id 的内存", "密码策略"),
        ("请介绍{}。", "{}是什么？", "Go 后端如何处理{}？", "{}与 OWASP 的建议", "关于{}，我们应该怎么做？"),
    ),
    (
        (
            "MD5",
            "Argon2id",
            "ソルト",
            "パスワードの移行",
            "ログイン時の再ハッシュ",
            "メモリの使用量",
            "MD5 と Argon2id",
        ),
        (
            "パスワードの保存で{}はなぜ重要か",
            "Go のバックエンドで{}について知るべきことは何か",
            "移行のとき{}をどう扱うか",
            "{}を本番で使うときの確認項目は何か",
            "{}にはどんな危険があるか",
        ),
    ),
)


@dataclass(frozen=True)
class Measured:
    """What came of the commands in one layout; times in seconds."""

    acks: list[float]
    acks_at_work: list[float]  # of `/article help`, asked again and again while the articles are worked on
    late: int  # not acknowledged within Slack's three seconds
    articles: list[Article]
    told_why_not: list[str]
    outlines_asked: float | None  # from the commands until each thread shows its outline; None = not in time
    posted_twice: list[str]
    posts: int

    @property
    def problems(self) -> Iterator[str]:
        """One sentence for each thing that must not be."""
        if self.late:
            yield f"{self.late} commands were not acknowledged within Slack's three seconds."
        if missing := COMMANDS - len(self.articles) - len(self.told_why_not):
            yield f"{missing} commands have neither an article nor an answer."
        for article in self.articles:
            if article.status is not Status.AWAITING_OUTLINE:
                why = f" ({article.error.message})" if article.error else ""
                yield f"Article {article.id} is {article.status}{why}: {article.topic}"
        if self.outlines_asked is None:
            yield f"Not every outline was in its thread after {ALL_AT_OUTLINE_SECONDS:g} s."
        for key in self.posted_twice:
            yield f"{key} was posted twice."


def topics() -> list[str]:
    """As many different topics as there are commands, in turn English, Chinese and Japanese."""
    each = [
        [question.format(subject) for question, subject in product(questions, subjects)]
        for subjects, questions in SUBJECTS_AND_QUESTIONS
    ]
    mixed = list(chain.from_iterable(zip(*each, strict=True)))[:COMMANDS]
    assert len(set(mixed)) == COMMANDS, mixed
    return mixed


async def measure(processes: list[tuple[str, ...]], *, embeddings: str) -> Measured:
    """All commands at once, in a fresh workspace with a fresh database."""
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(open_stage(embeddings=embeddings))
        for arguments in processes:
            await stack.enter_async_context(stage.bot(*arguments, settings={"COPYDESK_MODEL": "offline"}))
        slack = stage.slack
        await slack.wait_for(lambda: slack.connections, ALL_AT_OUTLINE_SECONDS)
        people = [slack.add_person(f"Person {number}") for number in range(CHANNELS)]
        channels = [
            slack.add_channel(f"team-{number}", [person, slack.bot]) for number, person in enumerate(people)
        ]
        began = time.monotonic()
        await asyncio.gather(
            *(
                people[number % CHANNELS].command(channels[number % CHANNELS], "/article", topic)
                for number, topic in enumerate(topics())
            )
        )
        acks = sorted(ack.seconds for ack in slack.ack_times if ack.kind == "slash_commands")
        acks_at_work: list[float] = []
        asking = asyncio.create_task(keep_asking(slack.add_person("Newcomer"), channels[0], acks_at_work))
        outlines_asked = await until_outlines(stage, channels, people, began)
        asking.cancel()
        keys = Counter(posted_keys(stage, channels))
        return Measured(
            acks=acks,
            acks_at_work=sorted(acks_at_work),
            late=len(slack.ack_failures),
            articles=await stage.knowledge.articles.newest(),
            told_why_not=[plain_text(message) for message in told(people)],
            outlines_asked=outlines_asked,
            posted_twice=[key for key, times in keys.items() if times > 1],
            posts=keys.total(),
        )


async def until_outlines(
    stage: Stage, channels: list[Channel], people: list[Person], began: float
) -> float | None:
    """Seconds until no article is worked on and each outline is in its thread; None if not in time."""
    while (now := time.monotonic() - began) < ALL_AT_OUTLINE_SECONDS:
        articles = await stage.knowledge.articles.newest()
        ended = [a for a in articles if a.status in (Status.AWAITING_OUTLINE, Status.FAILED)]
        if len(ended) == len(articles) and len(articles) + len(told(people)) >= COMMANDS:
            waiting = sum(a.status is Status.AWAITING_OUTLINE for a in articles)
            if sum(len(stage.asked(channel, "outline")) for channel in channels) >= waiting:
                return now
        await asyncio.sleep(LOOK_SECONDS)
    return None


async def keep_asking(person: Person, channel: Channel, acks: list[float]) -> None:
    """`/article help` until cancelled; adds the seconds that each answer took."""
    while True:
        began = time.monotonic()
        await person.command(channel, "/article", "help")
        acks.append(time.monotonic() - began)
        await asyncio.sleep(LOOK_SECONDS)


def told(people: list[Person]) -> list[Message]:
    """What was said to those alone who asked for articles: why there is none."""
    return [message for person in people for message in person.ephemerals]


def posted_keys(stage: Stage, channels: list[Channel]) -> Iterator[str]:
    """The outbox key of every message of the bot that stands in a channel or thread."""
    for channel in channels:
        for parent in stage.slack.history(channel):
            for message in stage.slack.thread(channel, parent.ts):
                if message.user == stage.slack.bot.id and message.metadata:
                    yield str(message.metadata["event_payload"]["key"])


def part(ordered: list[float], share: float) -> str:
    """The time within which that share of the commands was acknowledged, in milliseconds."""
    if not ordered:
        return "none"
    return f"{ordered[math.ceil(share * len(ordered)) - 1] * 1000:.0f}"


def describe(measured: dict[str, Measured], *, embeddings: str) -> str:
    """The figures as Markdown."""
    rows = [
        [
            name,
            *(part(one.acks, share) for share in (0.5, 0.99, 1)),
            part(one.acks_at_work, 0.99),
            f"{sum(a.status is Status.AWAITING_OUTLINE for a in one.articles)} of {COMMANDS}",
            "not all" if one.outlines_asked is None else f"{one.outlines_asked:.1f} s",
            one.posts,
            len(one.posted_twice),
        ]
        for name, one in measured.items()
    ]
    searched = "by words and meaning" if embeddings == "bundled" else "by words"
    head = [
        "",
        "ack p50 (ms)",
        "p99",
        "max",
        "p99 at work",
        "outlines",
        "all in Slack",
        "posts",
        "posted twice",
    ]
    return "\n\n".join(
        [
            f"{COMMANDS} commands at once in {CHANNELS} channels, a third each in English, Chinese and "
            f"Japanese; the offline model, search {searched}; {report.machine()}. At work: `/article help`, "
            f"asked every {LOOK_SECONDS:g} s while the outlines are made.",
            report.table(head, [*rows, ["target", "", "< 500", "", "", COMMANDS, "", "", 0]]),
        ]
    )


async def bench(given: argparse.Namespace) -> int:
    embeddings = "none" if given.words else "bundled"
    measured = {
        name: await measure(processes, embeddings=embeddings)
        for name, processes in LAYOUTS.items()
        if given.layout in ("both", name.split()[0])
    }
    text = describe(measured, embeddings=embeddings)
    print(text)
    if given.write:
        report.write("acks", text)
    return report.told([f"{name}: {problem}" for name, one in measured.items() for problem in one.problems])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.acks")
    parser.add_argument(
        "--layout", choices=["one", "two", "both"], default="both", help="which processes (both)"
    )
    parser.add_argument(
        "--words", action="store_true", help="search by words only, without the bundled model"
    )
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    return report.run(bench(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
