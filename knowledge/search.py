"""Search: the passages of the knowledge base that say most about a query."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import asyncpg
import numpy as np
from numpy.typing import NDArray
from pgvector import Vector
from pydantic import BaseModel, ConfigDict
from pydantic_ai.embeddings import Embedder

from knowledge.database import Pool, storable
from knowledge.embeddings import embed_query, embedding_name, serving_embedder
from knowledge.filters import Filters, Scope, scope_of
from knowledge.hosted_model import EmbeddingError, EmbeddingPause
from knowledge.language import Language, language_of
from knowledge.means import Means, read_means
from knowledge.near_duplicates import Prints, prints
from knowledge.ranking import Likeness, Ranked, Score, ranked, scored, together
from knowledge.tokens import says_something
from knowledge.vector_index import nearest
from knowledge.word_search import Words, by_words

logger = logging.getLogger(__name__)

_CANDIDATES = 100  # of each list
_READ_AT_ONCE = 20  # candidates whose texts are looked at together, however many are asked for
_LONGEST_QUERY = 1_000  # characters; a topic is shorter, and the model needs a second for more
MOST_PASSAGES = 100


class SearchError(ValueError):
    """A search that cannot be done. The message says what is wrong with it."""


class Passage(BaseModel):
    """A chunk that was found."""

    model_config = ConfigDict(frozen=True)

    rank: int  # from 1
    score: float  # knowledge/ranking.py; what is shown lies between about 0.15 and 2
    text: str
    title: str
    url: str | None
    path: str | None  # as ingested
    heading: str  # title > h1 > h2
    document_id: int
    chunk_id: int
    lang: Language
    copies: int = 0  # passages that say the same in nearly the same words, and were left out for it


@dataclass(frozen=True)
class _Near:
    """What a query's vector found."""

    query: NDArray[np.float32]  # centred
    means: Means
    chunks: set[int]


class Search:
    """Search over the base's chunks, by words and, with an embedder, by meaning.

    With `article_id` over that article's own sources too; nobody else sees these.
    """

    def __init__(self, pool: Pool, embedder: Embedder | None, *, article_id: int | None = None) -> None:
        self._pool = pool
        self._embedder = embedder
        self._article_id = article_id

    def for_article(self, article_id: int) -> "Search":
        """The same search, over the base and this article's own sources."""
        return Search(self._pool, self._embedder, article_id=article_id)

    async def search(self, query: str, *, k: int = 5, filters: Filters | None = None) -> list[Passage]:
        """The `k` best passages for a query in any language, best first; fewer if fewer have to do with it.

        Raises SearchError for a `k` outside 1 to 100.
        """
        return await self.search_many([query], k=k, filters=filters)

    async def search_many(
        self, queries: Sequence[str], *, k: int = 5, filters: Filters | None = None
    ) -> list[Passage]:
        """The `k` best passages for several queries on one matter, such as one in each language.

        Of those that say the same in nearly the same words the best is there. Raises SearchError for a `k`
        outside 1 to 100.
        """
        if not 1 <= k <= MOST_PASSAGES:
            raise SearchError(f"k must be between 1 and {MOST_PASSAGES}, not {k}.")
        wanted = dict.fromkeys(storable(query).strip()[:_LONGEST_QUERY] for query in queries)
        scope = scope_of(self._article_id, filters)
        try:
            async with asyncio.TaskGroup() as group:
                each = [
                    group.create_task(self._scores(query, scope)) for query in wanted if says_something(query)
                ]
        except ExceptionGroup as failures:
            raise _first(failures) from failures
        return await self._best(ranked(together(scores.result() for scores in each)), k)

    async def around(self, chunk_id: int, *, before: int = 1, after: int = 1) -> list[Passage]:
        """A chunk and its neighbours in its document, in reading order, with score 0; [] if there is none."""
        rows = await self._pool.fetch(
            f"""
            select c.id from chunks c
            join chunks here on here.document_id = c.document_id
            where here.id = $1 and c.position between here.position - $2 and here.position + $3
              and {(scope := scope_of(self._article_id, None)).sql("c.id", first=4)}
            order by c.position
            """,
            chunk_id,
            max(before, 0),
            max(after, 0),
            *scope.arguments,
        )
        found = await self._rows([row["id"] for row in rows])
        return [
            _passage(found[row["id"]], rank, 0.0)
            for rank, row in enumerate(rows, start=1)
            if row["id"] in found
        ]

    async def likeness(self, query: str) -> dict[int, Likeness]:
        """What words and vectors say of the chunks that either finds, before they are ranked."""
        likeness, _ = await self._likeness(query, scope_of(self._article_id, None))
        return likeness

    async def _scores(self, query: str, scope: Scope) -> dict[int, Score]:
        """Chunk id to score, for the chunks that have to do with the query."""
        likeness, topic = await self._likeness(query, scope)
        return scored(likeness, topic=topic)

    async def _likeness(self, query: str, scope: Scope) -> tuple[dict[int, Likeness], float | None]:
        """Of the chunks that either list has; and the length of the topic, None without vectors."""
        async with asyncio.TaskGroup() as group:
            with_words = group.create_task(by_words(self._pool, query, scope, most=_CANDIDATES))
            with_meaning = group.create_task(self._by_meaning(query, scope))
        words, near = with_words.result(), with_meaning.result()
        if near is None:
            return words.likeness(), None
        return await self._both(query, words, near), near.means.topic

    async def _by_meaning(self, query: str, scope: Scope) -> _Near | None:
        """The chunks with the nearest vectors, or None when there is nothing to compare with."""
        embedder = await serving_embedder(self._pool, self._embedder)
        if embedder is None:
            return None
        means = await read_means(self._pool, embedding_name(embedder))
        if means is None:
            return None
        try:
            vector = await embed_query(embedder, query)
        except EmbeddingPause:  # it has been said why
            return None
        except EmbeddingError as error:
            logger.warning("%s", error)
            return None
        if len(vector) != means.dimensions:  # until the first chunk is embedded anew
            return None
        centred = means.centred(vector, language_of(query))
        return _Near(centred, means, await nearest(self._pool, means, centred, scope, most=_CANDIDATES))

    async def _both(self, query: str, words: Words, near: _Near) -> dict[int, Likeness]:
        """Of the chunks that either list has, exactly."""
        rows = await self._pool.fetch(
            """
            select w.chunk_id, -(w.words <#> $3) as score, v.lang,
                   -- NaN: a vector that is its mean says nothing.
                   nullif(1 - ((v.vector::vector - mean) <=> $4), 'NaN') as cosine
            from chunk_words w
            left join chunk_vectors v on v.chunk_id = w.chunk_id and v.model_id = $2
            left join unnest($5::text[], $6::vector[]) as of_language(lang, mean) on of_language.lang = v.lang
            where w.chunk_id = any($1::int[])
            """,
            [*words.scores.keys() | near.chunks],
            near.means.model_id,
            words.query,
            Vector(near.query),
            [*near.means.of],
            [Vector(mean) for mean in near.means.of.values()],
        )
        asked_in = language_of(query)
        return {
            row["chunk_id"]: Likeness(
                row["score"] / words.most, row["cosine"], row["lang"] not in (None, asked_in)
            )
            for row in rows
        }

    async def _best(self, order: Sequence[Ranked], k: int) -> list[Passage]:
        """The first `k` that say something new. Of two that are as good as each other the newer is first.

        Within a document the same words under another heading are about something else, and stay.
        """
        kept: list[tuple[asyncpg.Record, float, Prints]] = []
        copies: Counter[int] = Counter()
        for start in range(0, len(order), _READ_AT_ONCE):
            some = order[start : start + _READ_AT_ONCE]
            rows = await self._rows([each.chunk_id for each in some])
            there = [each for each in some if each.chunk_id in rows]  # it may be gone since it was ranked
            there.sort(key=lambda each: (*each.tie(), -rows[each.chunk_id]["of"].toordinal()))
            for each in there:
                if len(kept) == k:
                    return _passages(kept, copies)
                row = rows[each.chunk_id]
                own = prints(row["text"])
                for better, _, of_better in kept:
                    another = better["document_id"] != row["document_id"]
                    if another and own.says_nothing_new(of_better):
                        copies[better["chunk_id"]] += 1
                        break
                else:
                    kept.append((row, each.score, own))
        return _passages(kept, copies)

    async def _rows(self, chunk_ids: Sequence[int]) -> dict[int, asyncpg.Record]:
        rows = await self._pool.fetch(
            """
            select c.id as chunk_id, c.text, c.heading, c.lang, c.document_id, d.title, d.url, d.path,
                   coalesce(d.published, d.created_at::date) as of
            from chunks c join documents d on d.id = c.document_id
            where c.id = any($1::int[])
            """,
            chunk_ids,
        )
        return {row["chunk_id"]: row for row in rows}


def _passages(
    kept: Sequence[tuple[asyncpg.Record, float, Prints]], copies: Mapping[int, int]
) -> list[Passage]:
    return [
        _passage(row, rank, score, copies.get(row["chunk_id"], 0))
        for rank, (row, score, _) in enumerate(kept, start=1)
    ]


def _passage(row: asyncpg.Record, rank: int, score: float, copies: int = 0) -> Passage:
    return Passage(
        rank=rank,
        score=round(score, 4),
        text=row["text"],
        title=row["title"],
        url=row["url"],
        path=row["path"],
        heading=row["heading"],
        document_id=row["document_id"],
        chunk_id=row["chunk_id"],
        lang=row["lang"],
        copies=copies,
    )


def _first(failures: ExceptionGroup[Exception]) -> Exception:
    """What failed first: who searches knows the database's own errors."""
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, ExceptionGroup) else failure
