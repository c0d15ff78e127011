"""At every step of an article: kill the bot, start it again, and compare what people see in the end."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import get_args

from knowledge.language import Language
from tests.chaos.databases import Databases
from tests.chaos.run import Ran, run
from tests.chaos.steps import Point

LANGUAGES: tuple[Language, ...] = get_args(Language)
TRIES = 3  # a step may not come: edits of one message are put together when they come fast

# What to do in one run: kill at this point, or nothing.
Task = tuple[Point | None, Language]

UNDISTURBED: Sequence[Task] = [(None, language) for language in LANGUAGES]


# While sections are written: their calls are under way when the bot dies.
TAKEN_OVER: Sequence[Task] = [
    (Point("model: section 2 #1", "answered, not read"), language) for language in LANGUAGES
]


async def run_all(
    databases: Databases, tasks: Iterable[Task], *, at_once: int, real_time: bool = False
) -> AsyncIterator[Ran]:
    """One run for each task, `at_once` of them at the same time; they come as they end."""
    turns = asyncio.Semaphore(at_once)

    async def one(point: Point | None, language: Language) -> Ran:
        async with turns:
            for _ in range(TRIES):
                ran = await run(databases, language, point, real_time=real_time)
                if not ran.missed or ran.stuck:
                    break
            return ran

    running = [asyncio.create_task(one(point, language)) for point, language in tasks]
    try:
        for task in asyncio.as_completed(running):
            yield await task
    finally:
        for unfinished in running:
            unfinished.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def kills(undisturbed: Iterable[Ran]) -> list[Task]:
    """Every moment that came in an undisturbed run, each in one of the languages, in turn."""
    points = dict.fromkeys(itertools.chain.from_iterable(ran.reached for ran in undisturbed))
    return [(point, LANGUAGES[at % len(LANGUAGES)]) for at, point in enumerate(points)]


def problems(ran: Ran, undisturbed: Mapping[Language, Ran]) -> list[str]:
    """What must not be, a sentence each."""
    return ran.problems(undisturbed[ran.language])
