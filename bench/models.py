"""How each kind of host is asked for an article, and what becomes of answers that are wrong.

`.venv/bin/python -m bench.models` writes articles with each kind of scripted host, puts every misbehaviour of
the tests' catalogues to every stage, and prints three tables; `--write` puts them into docs/models.md.
"""

import argparse
import itertools
import logging
import math
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.abilities import Output
from agents.errors import AgentError
from agents.models import abilities_for
from bench import report
from bench.report import BenchError
from knowledge.database import Pool, migrate, open_pool
from knowledge.embedded import EmbeddedPostgres
from knowledge.language import Language
from tests.chaos.process import new_folder
from tests.editorial_office import Office
from tests.host_kinds import KINDS, TOPICS, Kind, an_article, desk_at
from tests.misbehaving_desk import MisbehavingDesk, misbehaving_desk
from tests.misbehaviours import MISBEHAVIOURS, Fate, Misbehaviour
from tests.research_misbehaviours import RESEARCH_MISBEHAVIOURS, put
from tests.usual_answers import LANGUAGES, STAGES, StageName

PAGE = Path(__file__).parent.parent / "docs" / "models.md"
MEASURED: tuple[Language, ...] = ("en", "zh")
STAGE_NAMES: dict[StageName, str] = {
    "formatter": "findings",
    "analyst": "outline",
    "front": "title page",
    "section": "section",
    "planner": "plan",
    "reviewer": "review",
}


@dataclass(frozen=True)
class Article:
    """What one article took of a host."""

    output: Output
    calls: int
    refused: int
    asked_again: int
    repaired: int


async def articles(pool: Pool) -> AsyncIterator[tuple[Kind, list[Article]]]:
    """An article in each language with each kind of host, with a revision and two reviews."""
    for kind in KINDS:
        written = []
        for language in MEASURED:
            office = Office(reviews=["revise", "approve"])
            async with desk_at(kind, office, pool) as (host, desk):
                try:
                    reviews = await an_article(TOPICS[language], language, desk)
                except AgentError as error:
                    raise BenchError(f"{kind.name}: {error}") from error
            if [one.decision for one in reviews] != ["revise", "approve"]:
                raise BenchError(f"The article of {kind.name} was not approved.")
            written.append(
                Article(
                    abilities_for(desk.models.writer).output,
                    len(host.requests),
                    len(host.refusals),
                    sum(one.asked_again for one in desk.conducts),
                    sum(one.repaired for one in desk.conducts),
                )
            )
        yield kind, written


@dataclass(frozen=True)
class Outcome:
    """What became of a misbehaviour at a stage: if it comes and then the right answer, always, and alone."""

    stage: StageName
    fates: Sequence[Fate]


async def outcomes(desk: MisbehavingDesk, misbehaviour: Misbehaviour) -> list[Outcome]:
    """Of all its stages; languages and ways of asking in turn. Raises `BenchError` if not as expected."""
    found = []
    number = MISBEHAVIOURS.index(misbehaviour)
    for at, stage in enumerate(misbehaviour.stages):
        case = misbehaviour.case(stage, LANGUAGES[(at + number) % len(LANGUAGES)])  # as the tests have it
        came, way = misbehaviour.came(case), misbehaviour.way_at(stage)
        became = [
            await desk.put(case, came, way, times=times, helped=helped)
            for times, helped in ((misbehaviour.times, True), (math.inf, True), (math.inf, False))
        ]
        fates = [(one.end, one.extra) for one in became]
        if fates != [*misbehaviour.fates_at(stage)]:
            raise BenchError(f"{misbehaviour.name}, {stage}, {way}: {fates} is not what the catalogue has.")
        found.append(Outcome(stage, fates))
    return found


def articles_table(measured: Iterable[tuple[Kind, list[Article]]]) -> str:
    rows = []
    for kind, written in measured:
        first = written[0]
        host, *_ = kind.name.split(", ")  # of a family; other kinds are called as their model is
        rows.append(
            [
                kind.model.partition(":")[0] if kind.model.endswith(host) else host,
                f"`{kind.model}`",
                kind.structured_output,
                first.output,
                *(one.calls for one in written),
                sum(one.refused for one in written),
                sum(one.asked_again for one in written),
                sum(one.repaired for one in written),
            ]
        )
    calls = [f"calls, {language}" for language in MEASURED]
    head = ["host", "model", "setting", "asked by", *calls, "refused", "asked again", "repaired"]
    return report.table(head, rows).replace("---: | ---: | ---:", "--- | --- | ---", 1)


def cell(outcomes: Sequence[Outcome], at: int) -> str:
    """What became of it at most stages, and at which stages something else did."""
    counted = Counter(one.fates[at] for one in outcomes)
    usual = counted.most_common(1)[0][0]
    others = [
        f"{STAGE_NAMES[one.stage]}: {said(one.fates[at])}" for one in outcomes if one.fates[at] != usual
    ]
    return "; ".join([said(usual), *others])


def said(fate: Fate) -> str:
    return f"{fate[0]}, {fate[1]}" if fate[1] else fate[0]


def misbehaviours_table(measured: Iterable[tuple[Misbehaviour, list[Outcome]]]) -> str:
    rows = []
    for misbehaviour, found in measured:
        stages = [STAGE_NAMES[one.stage] for one in found]
        where = "all" if len(stages) == len(STAGES) else ", ".join(stages)
        again = [cell(found, at) for at in range(3)]
        if len(set(again)) == 1:
            again = [again[0], "the same", "the same"]
        rows.append([misbehaviour.name.replace("|", "\\|"), where, *again])
    head = ["what came", "where", "once, then the right answer", "always", "always, and nobody helps"]
    return report.table(head, rows).replace("---:", "---")


async def researches(pool: Pool) -> AsyncIterator[tuple[str, list[str]]]:
    """What becomes of each misbehaviour of research, with a fallback model and alone."""
    for at, misbehaviour in enumerate(RESEARCH_MISBEHAVIOURS):
        ends = []
        for helped in (True, False):
            became = await put(misbehaviour, LANGUAGES[at % len(LANGUAGES)], pool, helped=helped)
            if (became.end, became.extra) != misbehaviour.fate(helped=helped):
                raise BenchError(f"{misbehaviour.name}: {became} is not what the catalogue has.")
            ends.append(f"{became.end}, {became.extra}" if became.extra > 0 else became.end)
        yield misbehaviour.name, ends


@asynccontextmanager
async def database() -> AsyncIterator[Pool]:
    """A fresh one, gone afterwards."""
    with new_folder() as folder, EmbeddedPostgres(folder, durable=False) as postgres:
        dsn = postgres.start()
        await migrate(dsn)
        pool = await open_pool(dsn)
        try:
            yield pool
        finally:
            await pool.close()


async def measure() -> tuple[str, str, str]:
    """The tables as Markdown. Raises `BenchError`."""
    async with database() as pool:
        by_kind = [each async for each in articles(pool)]
        by_research = [[name, *ends] async for name, ends in researches(pool)]
    async with misbehaving_desk() as desk:
        by_misbehaviour = [(one, await outcomes(desk, one)) for one in MISBEHAVIOURS]
    runs = sum(len(found) for _, found in by_misbehaviour) * 3
    ends = Counter(
        fate[0] for _, found in by_misbehaviour for one in found for fate in itertools.islice(one.fates, 1, 2)
    )
    said = ", ".join(f"{end} {count}" for end, count in ends.most_common())
    most = max(fate[1] for _, found in by_misbehaviour for one in found for fate in one.fates)
    return (
        articles_table(by_kind),
        f"{len(MISBEHAVIOURS)} misbehaviours, {runs} runs. Where one comes always and other models help: "
        f"{said}. The most calls beyond the one of a good answer: {most}.\n\n"
        f"{misbehaviours_table(by_misbehaviour)}",
        report.table(["what came of the researcher", "with a fallback", "alone"], by_research).replace(
            "---:", "---"
        ),
    )


async def bench(*, write: bool) -> int:
    for name, text in zip(("hosts", "misbehaviours", "research"), await measure(), strict=True):
        print(text, end="\n\n")
        if write:
            report.write(name, text, PAGE)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.models")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/models.md")
    given = parser.parse_args()
    logging.disable(logging.WARNING)  # what goes wrong here is meant to
    return report.run(bench(write=given.write))


if __name__ == "__main__":
    sys.exit(main())
