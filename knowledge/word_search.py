"""Search by words: the chunks with the highest BM25."""

from dataclasses import dataclass

from pgvector import SparseVector

from knowledge.bm25 import EVERY_CHUNK, query_terms, query_vector
from knowledge.database import Pool
from knowledge.filters import Scope
from knowledge.ranking import Likeness
from knowledge.word_lists import Listed, read_lists

_AT_MOST = 2_000  # of the lists' best that are looked at behind a filter


@dataclass(frozen=True)
class Words:
    """What a query's words found."""

    query: SparseVector
    most: float  # the score of a chunk that has each of the query's terms about once
    scores: dict[int, float]  # chunk id to BM25

    def likeness(self) -> dict[int, Likeness]:
        """Where there is nothing but words."""
        return {chunk_id: Likeness(score / self.most, None, False) for chunk_id, score in self.scores.items()}


async def by_words(pool: Pool, query: str, scope: Scope, *, most: int) -> Words:
    """The `most` chunks with the highest BM25, out of those in the scope.

    By the lists where there are some, and one by one where there are none yet or a filter leaves few: so a
    narrow filter has as many as a wide one.
    """
    terms = query_terms(query)
    rows = await pool.fetch(
        "select term, chunks from terms where term = any($1::int[])", [*terms, EVERY_CHUNK]
    )
    vector, sum_of_idf = query_vector(terms, {row["term"]: row["chunks"] for row in rows})
    listed = await read_lists(pool, vector)
    found = await _out_of_lists(pool, vector, listed, scope, most)
    found |= await _exact(pool, vector, scope, "chunk_id > $2", listed.last_chunk, most)
    best = sorted(found, key=lambda chunk_id: (-found[chunk_id], chunk_id))[:most]
    return Words(vector, sum_of_idf, {chunk_id: found[chunk_id] for chunk_id in best})


async def _out_of_lists(
    pool: Pool, vector: SparseVector, listed: Listed, scope: Scope, most: int
) -> dict[int, float]:
    """The best are looked at, and more of them as long as too few are there and in the scope."""
    looked_at = most
    while True:
        best = listed.best(looked_at)
        found = await _exact(pool, vector, scope, "chunk_id = any($2::int[])", best, most)
        if len(found) >= most or len(best) == len(listed.chunk_ids):
            return found
        looked_at *= 4
        if scope.narrow and looked_at > _AT_MOST:  # the filter leaves few: all of these
            return await _exact(pool, vector, scope, "chunk_id <= $2", listed.last_chunk, most)


async def _exact(
    pool: Pool, vector: SparseVector, scope: Scope, which: str, argument: int | list[int], most: int
) -> dict[int, float]:
    rows = await pool.fetch(
        f"""
        select chunk_id, -(words <#> $1) as score from chunk_words
        where {which} and {scope.sql("chunk_id", first=4)} order by words <#> $1, chunk_id limit $3
        """,
        vector,
        argument,
        most,
        *scope.arguments,
    )
    return {row["chunk_id"]: row["score"] for row in rows if row["score"] > 0}
