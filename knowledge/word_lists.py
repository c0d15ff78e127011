"""Lists of the chunks that have a term, for bases in which looking at every chunk is slow."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import asyncpg
import numpy as np
from numpy.typing import NDArray
from pgvector import SparseVector

from knowledge.database import Connection, Pool

# Chunks of a segment: fewer than so many at the end of the base are looked at one by one, in 5 to 10 ms.
_SEGMENT = 4096
_WIDEST = 1 << 16  # ids of a segment: an entry has two bytes for the place of a chunk in it

_ENTRY = np.dtype([("place", "<u2"), ("weight", "<f2")])
# A weight in two bytes is off by one part in 2,048 at most, and so is a sum of them: what might be among the
# best is looked at exactly.
_OFF = 2.0**-11

_WORN = 0.75  # share of the chunks in the lists that are still there; below it they are made anew
_MAINTENANCE_LOCK = 0x6C697374  # "list": one worker makes them


@dataclass(frozen=True)
class Listed:
    """What the lists say of a query."""

    last_chunk: int  # chunks with larger ids are in no list
    chunk_ids: NDArray[np.int64]  # best first
    scores: NDArray[np.float64]  # BM25, nearly

    def best(self, number: int) -> list[int]:
        """The ids of the `number` best, and of those that might be among them."""
        if number >= len(self.scores):
            return [int(chunk_id) for chunk_id in self.chunk_ids]
        least = self.scores[number - 1] * (1 - _OFF) / (1 + _OFF)
        return [int(chunk_id) for chunk_id in self.chunk_ids[self.scores >= least]]


async def read_lists(pool: Pool, query: SparseVector) -> Listed:
    """The chunks in the lists that have a term of the query."""
    terms = dict(zip(query.indices(), query.values(), strict=True))
    rows = await pool.fetch(
        """
        select s.first_chunk, s.last_chunk, l.term, l.entries from word_segments s
        left join lateral (select term, entries from word_lists
                           where segment_id = s.id and term = any($1::int[])) l on true
        order by s.first_chunk
        """,
        [*terms],
    )
    return _ranked(rows, terms)


def _ranked(rows: Sequence[asyncpg.Record], terms: Mapping[int, float]) -> Listed:
    last = max((row["last_chunk"] for row in rows), default=0)
    rows = [row for row in rows if row["entries"] is not None]
    entries = np.frombuffer(b"".join(row["entries"] for row in rows), dtype=_ENTRY)
    sizes = [len(row["entries"]) // _ENTRY.itemsize for row in rows]
    places = entries["place"] + np.repeat([row["first_chunk"] for row in rows], sizes).astype(np.int64)
    weights = entries["weight"] * np.repeat([terms[row["term"]] for row in rows], sizes)
    scores = np.bincount(places, weights=weights).astype(np.float64)  # with no places it counts
    found = np.flatnonzero(scores)
    order = np.argsort(-scores[found], kind="stable")
    return Listed(last, found[order], scores[found][order])


async def extend_lists(pool: Pool, *, segment: int = _SEGMENT) -> int:
    """Make the next segment, if there are `segment` chunks for one. Returns how many chunks it has.

    Lists of which many chunks are gone are thrown away first; until they are made again, search looks at each
    chunk, and it never waits for this. One process at a time; for the others there is nothing to do.
    """
    async with pool.acquire() as connection, connection.transaction():
        if not await connection.fetchval("select pg_try_advisory_xact_lock($1)", _MAINTENANCE_LOCK):
            return 0
        state = await connection.fetchrow(
            """
            select coalesce(max(last_chunk), 0) as last, coalesce(sum(chunks), 0) as listed,
                   (select count(*) from chunk_words
                    where chunk_id <= (select max(last_chunk) from word_segments)) as there
            from word_segments
            """
        )
        assert state is not None
        last = state["last"]
        if state["there"] < state["listed"] * _WORN:
            await connection.execute("delete from word_segments")  # no truncate: search would wait for us
            last = 0
        # Whoever writes chunks holds a lock until the end: no smaller id than one that is seen comes later.
        ids = [
            row["chunk_id"]
            for row in await connection.fetch(
                "select chunk_id from chunk_words where chunk_id > $1 order by chunk_id limit $2",
                last,
                segment,
            )
        ]
        if len(ids) < segment:
            return 0
        ids = [chunk_id for chunk_id in ids if chunk_id < ids[0] + _WIDEST]
        await _make_segment(connection, ids)
        return len(ids)


async def _make_segment(connection: Connection, ids: Sequence[int]) -> None:
    rows = await connection.fetch(
        "select chunk_id, words from chunk_words where chunk_id = any($1::int[]) order by chunk_id", ids
    )
    segment_id = await connection.fetchval(
        "insert into word_segments (first_chunk, last_chunk, chunks) values ($1, $2, $3) returning id",
        ids[0],
        ids[-1],
        len(rows),
    )
    lists = await asyncio.to_thread(_lists, rows, ids[0])
    await connection.copy_records_to_table(
        "word_lists",
        records=[(segment_id, term, entries) for term, entries in lists],
        columns=("segment_id", "term", "entries"),
    )


def _lists(rows: Sequence[asyncpg.Record], first_chunk: int) -> list[tuple[int, bytes]]:
    """A term's chunks, term after term."""
    vectors: list[SparseVector] = [row["words"] for row in rows]
    sizes = [len(vector.indices()) for vector in vectors]
    terms = np.fromiter(chain.from_iterable(vector.indices() for vector in vectors), np.int64, sum(sizes))
    entries = np.empty(len(terms), dtype=_ENTRY)
    entries["place"] = np.repeat([row["chunk_id"] - first_chunk for row in rows], sizes)
    entries["weight"] = np.fromiter(
        chain.from_iterable(vector.values() for vector in vectors), np.float32, len(terms)
    )
    order = np.argsort(terms, kind="stable")
    terms, entries = terms[order], entries[order]
    starts = np.flatnonzero(np.diff(terms, prepend=-1))
    return [
        (int(terms[start]), entries[start:end].tobytes())
        for start, end in zip(starts, [*starts[1:], len(terms)], strict=True)
    ]
