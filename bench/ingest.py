"""How fast files become searchable by words, and how soon an ingest sees that nothing has changed.

`.venv/bin/python -m bench.ingest [FOLDER]`: a folder of documents; without one this project's own pages and
its sample knowledge in three languages, many times, each copy with a line of its own, so that none is a copy.
"""

import argparse
import asyncio
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import report
from bench.report import BenchError
from bench.retrieval import PAGE
from knowledge.database import Pool, migrate, open_pool
from knowledge.documents import Documents
from knowledge.embedded import EmbeddedPostgres
from tests.chaos.process import new_folder

ROOT = Path(__file__).parent.parent
COPIES = 100
ROUNDS = 5
TARGET = 2_000  # chunks a second


@dataclass(frozen=True)
class Measured:
    """One ingest of a folder into an empty base, and the same again."""

    documents: int
    megabytes: float
    chunks: int
    characters: float  # of a chunk, on average
    seconds: float
    again_seconds: float
    memory: float  # MB, the most that this process had


async def measure(folder: Path, home: Path) -> Measured:
    """Ingest a folder into a new embedded database below `home`. Raises BenchError."""
    server = EmbeddedPostgres(home)
    dsn = await asyncio.to_thread(server.start)
    try:
        await migrate(dsn)
        pool = await open_pool(dsn)
        try:
            return await _measure(pool, folder)
        finally:
            await pool.close()
    finally:
        await asyncio.to_thread(server.stop)


async def _measure(pool: Pool, folder: Path) -> Measured:
    started = time.perf_counter()
    first = await Documents(pool).ingest([folder])
    seconds = time.perf_counter() - started
    if not first.added:
        raise BenchError(f"{folder} holds no document that can be read: name another.")
    started = time.perf_counter()
    again = await Documents(pool).ingest([folder])
    again_seconds = time.perf_counter() - started
    if again.added or again.updated:
        raise BenchError("The second ingest found changes where there were none.")
    row = await pool.fetchrow(
        """
        select (select sum(size) from documents) as size, (select avg(length(text)) from chunks) as characters
        """
    )
    assert row is not None
    return Measured(
        documents=first.added,
        megabytes=row["size"] / 1e6,
        chunks=first.chunks,
        characters=float(row["characters"]),
        seconds=seconds,
        again_seconds=again_seconds,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def describe(rounds: Sequence[Measured]) -> str:
    """The figures as Markdown."""
    first = rounds[0]
    seconds = sorted(each.seconds for each in rounds)
    usual = median(seconds)
    slowest, quickest = (first.chunks / each for each in (seconds[-1], seconds[0]))
    rows = [
        ["documents", f"{first.documents:,} ({first.megabytes:.1f} MB)"],
        ["passages", f"{first.chunks:,} of {first.characters:.0f} characters"],
        ["until all are searchable by words", f"{usual:.1f} s ({seconds[0]:.1f}–{seconds[-1]:.1f} s)"],
        [
            "passages a second (target ≥ 2,000)",
            f"{first.chunks / usual:,.0f} ({slowest:,.0f}–{quickest:,.0f})",
        ],
        ["the same again, nothing changed", f"{median(each.again_seconds for each in rounds):.2f} s"],
        ["memory of the process at most", f"{rounds[-1].memory:.0f} MB"],
    ]
    return report.table([f"ingest, the median of {len(rounds)}", ""], rows)


def copies(folder: Path) -> None:
    """The project's own pages and sample, many times."""
    pages = [*sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("knowledge/sample/*.md"))]
    for number in range(COPIES):
        for page in pages:
            text = page.read_text(encoding="utf-8")
            (folder / f"{number}-{page.name}").write_text(f"{text}\n\nCopy {number}.\n", encoding="utf-8")


async def bench(folder: Path | None, *, write: bool) -> int:
    with new_folder() as home:
        if folder is None:
            folder = home / "documents"
            folder.mkdir()
            copies(folder)
        rounds = [await measure(folder, home / str(number)) for number in range(ROUNDS)]
    text = f"{describe(rounds)}\n\n{report.machine()}."
    print(text)
    if write:
        report.write("ingest", text, PAGE)
    return int(rounds[0].chunks / median(each.seconds for each in rounds) < TARGET)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--write", action="store_true", help=f"also into {PAGE.name}")
    given = parser.parse_args()
    return report.run(bench(given.folder, write=given.write))


if __name__ == "__main__":
    sys.exit(main())
