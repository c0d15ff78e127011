"""Search: the passages of the knowledge base that say most about a query."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector, SparseVector, Vector
from pydantic import BaseModel, ConfigDict
from pydantic_ai.embeddings import Embedder

from knowledge.bm25 import EVERY_CHUNK, query_terms, query_vector
from knowledge.database import Pool, storable
from knowledge.embeddings import embed_query, embedding_name
from knowledge.hosted_model import EmbeddingError, EmbeddingPause
from knowledge.language import LANGUAGES, Language, language_of
from knowledge.means import Means, read_means
from knowledge.tokens import says_something

logger = logging.getLogger(__name__)

# A passage's score is cosine + 0.45 * share: how near its vector is to the query's without language and
# topic, and the share of the query's words, by their idf, that it has. Both have a natural zero and a fixed
# scale, so the sum ranks one query's passages, is comparable between queries, and can be too low.
_WORDS_WEIGHT = 0.45
# Below this a passage has nothing to do with the query. Measured so that nothing right is lost (0.3 to 0.8
# % is).
_FLOOR = 0.25
_FLOOR_BY_TOPIC = 0.45  # what is left of a cosine is smaller the more of a topic was taken out
_FLOOR_BY_WORDS = 0.2  # where there are no vectors: a share of 0.22

_CANDIDATES = 100  # of each of the two lists
_LONGEST_QUERY = 1_000  # characters; a topic is shorter, and the model needs a second for more
MOST_PASSAGES = 100


class SearchError(ValueError):
    """A search that cannot be done. The message says what is wrong with it."""


class Passage(BaseModel):
    """A chunk that was found."""

    model_config = ConfigDict(frozen=True)

    rank: int  # from 1
    score: float  # see above; what is shown lies between about 0.15 and 2
    text: str
    title: str
    url: str | None
    path: str | None  # as ingested
    heading: str  # title > h1 > h2
    document_id: int
    chunk_id: int
    lang: Language


@dataclass(frozen=True)
class _Words:
    """What a query's words found."""

    query: SparseVector
    most: float  # the score of a chunk that has each of the query's terms about once
    scores: dict[int, float]  # chunk id to BM25


@dataclass(frozen=True)
class _Near:
    """What a query's vector found."""

    query: NDArray[np.float32]  # centred
    means: Means
    chunks: set[int]


class Search:
    """Search over the chunks in the database, by words and, with an embedder, by meaning."""

    def __init__(self, pool: Pool, embedder: Embedder | None) -> None:
        self._pool = pool
        self._embedder = embedder

    async def search(self, query: str, *, k: int = 5) -> list[Passage]:
        """The `k` best passages for a query in any language, best first; fewer if fewer have to do with it.

        Raises SearchError for a `k` outside 1 to 100.
        """
        return await self.search_many([query], k=k)

    async def search_many(self, queries: Sequence[str], *, k: int = 5) -> list[Passage]:
        """The `k` best passages for several queries on one matter, such as one in each language.

        A passage counts with its best query, since scores of queries are comparable. Not with the sum: it
        would favour passages that say a little about everything over the one that answers a single query
        well.
        """
        if not 1 <= k <= MOST_PASSAGES:
            raise SearchError(f"k must be between 1 and {MOST_PASSAGES}, not {k}.")
        wanted = dict.fromkeys(storable(query).strip()[:_LONGEST_QUERY] for query in queries)
        best: dict[int, float] = {}
        for scores in await asyncio.gather(
            *(self._scores(query) for query in wanted if says_something(query))
        ):
            for chunk_id, score in scores.items():
                best[chunk_id] = max(score, best.get(chunk_id, score))
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]
        return await self._passages(ranked)

    async def around(self, chunk_id: int, *, before: int = 1, after: int = 1) -> list[Passage]:
        """A chunk and its neighbours in its document, in reading order, with score 0; [] if there is none."""
        rows = await self._pool.fetch(
            """
            select c.id from chunks c
            join chunks here on here.document_id = c.document_id
            where here.id = $1 and c.position between here.position - $2 and here.position + $3
            order by c.position
            """,
            chunk_id,
            max(before, 0),
            max(after, 0),
        )
        return await self._passages([(row["id"], 0.0) for row in rows])

    async def _scores(self, query: str) -> dict[int, float]:
        """Chunk id to score, for the chunks that have to do with the query."""
        words, near = await asyncio.gather(self._by_words(query), self._by_meaning(query))
        if near is None:
            shares = {chunk_id: score / words.most for chunk_id, score in words.scores.items()}
            cosines: dict[int, float] = {}
            floor = _FLOOR_BY_WORDS
        else:
            shares, cosines = await self._both(words, near)
            floor = _FLOOR - _FLOOR_BY_TOPIC * near.means.topic
        scores = {
            # A chunk without a vector yet is taken to be as near as its words suggest.
            chunk_id: _WORDS_WEIGHT * share + cosines.get(chunk_id, _WORDS_WEIGHT * share)
            for chunk_id, share in shares.items()
        }
        return {chunk_id: score for chunk_id, score in scores.items() if score >= floor}

    async def _by_words(self, query: str) -> _Words:
        """The chunks with the highest BM25."""
        terms = query_terms(query)
        rows = await self._pool.fetch(
            "select term, chunks from terms where term = any($1::int[])", [*terms, EVERY_CHUNK]
        )
        vector, most = query_vector(terms, {row["term"]: row["chunks"] for row in rows})
        found = await self._pool.fetch(
            "select chunk_id, -(words <#> $1) as score from chunk_words order by words <#> $1 limit $2",
            vector,
            _CANDIDATES,
        )
        return _Words(vector, most, {row["chunk_id"]: row["score"] for row in found if row["score"] > 0})

    async def _by_meaning(self, query: str) -> _Near | None:
        """The chunks with the nearest vectors, or None when there is nothing to compare with."""
        if self._embedder is None:
            return None
        means = await read_means(self._pool, embedding_name(self._embedder))
        if means is None:
            return None
        try:
            vector = await embed_query(self._embedder, query)
        except EmbeddingPause:  # it has been said why
            return None
        except EmbeddingError as error:
            logger.warning("%s", error)
            return None
        if len(vector) != means.dimensions:  # until the first chunk is embedded anew
            return None
        centred = means.centred(vector, language_of(query))
        # (vector - mean) . query without a subtraction in each row; _both makes cosines of the best.
        found = await self._pool.fetch(
            """
            select chunk_id from chunk_vectors where model_id = $1
            order by (vector <#> $2)
                + case lang when 'en' then $3::float8 when 'zh' then $4::float8 else $5::float8 end
            limit $6
            """,
            means.model_id,
            HalfVector(centred),
            *(float(means.of[lang] @ centred) for lang in LANGUAGES),
            _CANDIDATES,
        )
        return _Near(centred, means, {row["chunk_id"] for row in found})

    async def _both(self, words: _Words, near: _Near) -> tuple[dict[int, float], dict[int, float]]:
        """Shares, and cosines where there are vectors, of the chunks that either list has, exactly."""
        rows = await self._pool.fetch(
            """
            select w.chunk_id, -(w.words <#> $3) as score,
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
        shares = {row["chunk_id"]: row["score"] / words.most for row in rows}
        return shares, {row["chunk_id"]: row["cosine"] for row in rows if row["cosine"] is not None}

    async def _passages(self, ranked: Sequence[tuple[int, float]]) -> list[Passage]:
        rows = await self._pool.fetch(
            """
            select c.id as chunk_id, c.text, c.heading, c.lang, c.document_id, d.title, d.url, d.path
            from chunks c join documents d on d.id = c.document_id
            where c.id = any($1::int[])
            """,
            [chunk_id for chunk_id, _ in ranked],
        )
        found = {row["chunk_id"]: row for row in rows}
        # A chunk may have been replaced since it was ranked.
        there = [(chunk_id, score) for chunk_id, score in ranked if chunk_id in found]
        return [
            Passage(rank=rank, score=round(score, 4), **found[chunk_id])
            for rank, (chunk_id, score) in enumerate(there, start=1)
        ]
