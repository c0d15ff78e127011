"""The index: a document, its chunks and the words these are found by, written in one transaction."""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pgvector import SparseVector

from knowledge.bm25 import EVERY_CHUNK, chunk_vector
from knowledge.chunks import Chunk, cut_into_chunks, searchable
from knowledge.database import Connection, Pool
from knowledge.loaders import Loaded, load

INDEX_VERSION = 1
"""Raise it when loaders, chunks or tokens change: the next ingest then cuts unchanged documents again."""

Written = Literal["added", "updated", "unchanged"]

# One writer at a time: it keeps the counts of terms exact, and makes "is this content known?" and "put it
# in" one step. Files are read and cut before it is taken, so it is held for milliseconds.
_WRITE_LOCK = 0x6B6E6F77  # "know"


@dataclass(frozen=True)
class Cut:
    """A document ready to be written."""

    loaded: Loaded
    chunks: list[Chunk]
    words: list[SparseVector]


def cut(name: str, content: bytes) -> Cut:
    """A file's content made ready. Slow for large files: call it in a thread. Raises LoadError."""
    loaded = load(name, content)
    chunks = cut_into_chunks(loaded.text, loaded.blocks, title=loaded.title, lang=loaded.lang)
    return Cut(
        loaded, chunks, [chunk_vector(searchable(chunk.heading, chunk.text), chunk.lang) for chunk in chunks]
    )


async def knows(database: "Connection | Pool", origin: str, sha256: str) -> bool:
    """Whether this content, from here or as a copy from elsewhere, stands in the database as it is."""
    known = await _known(database, origin, sha256)
    return known is not None and known.up_to_date


async def write(connection: Connection, origin: str, path: str | None, cut: Cut) -> tuple[Written, int]:
    """Put a document in, inside the caller's transaction. Returns what happened and how many new chunks.

    `origin` is its identity, an absolute path or a URL; `path` what people gave for it.
    """
    await connection.execute("select pg_advisory_xact_lock($1)", _WRITE_LOCK)
    loaded = cut.loaded
    known = await _known(connection, origin, loaded.sha256)
    if known and known.up_to_date:  # by another ingest, since this one looked
        return "unchanged", 0
    values = (
        *(origin, path, loaded.url, loaded.kind, loaded.title, loaded.lang, loaded.published),
        *(loaded.sha256, loaded.size, INDEX_VERSION, loaded.text),
    )
    if known is None:
        document_id = await connection.fetchval(
            """
            insert into documents
                (origin, path, url, kind, title, lang, published, sha256, size, index_version, text)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id
            """,
            *values,
        )
        return "added", await _write_chunks(connection, document_id, cut, keep=False)
    await connection.execute(
        """
        update documents
        set origin = $1, path = $2, url = $3, kind = $4, title = $5, lang = $6, published = $7,
            sha256 = $8, size = $9, index_version = $10, text = $11, updated_at = now()
        where id = $12
        """,
        *values,
        known.id,
    )
    return "updated", await _write_chunks(connection, known.id, cut, keep=known.same_version)


async def remove_gone(pool: Pool, folder: Path) -> int:
    """Remove the documents below a folder whose files are gone. Returns how many."""
    inside = await pool.fetch(
        "select id, origin from documents where starts_with(origin, $1)",
        f"{folder}{os.sep}".replace("//", "/"),
    )
    gone = [row["id"] for row in inside if not await asyncio.to_thread(_exists, row["origin"])]
    for document_id in gone:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("select pg_advisory_xact_lock($1)", _WRITE_LOCK)
            chunks = await connection.fetch("select id from chunks where document_id = $1", document_id)
            await _delete_chunks(connection, [chunk["id"] for chunk in chunks])
            await connection.execute("delete from documents where id = $1", document_id)
    return len(gone)


@dataclass(frozen=True)
class _Known:
    """The document in the database that a file is."""

    id: int
    up_to_date: bool
    same_version: bool  # cut by this version of the code


async def _known(database: "Connection | Pool", origin: str, sha256: str) -> _Known | None:
    """The document of this origin; else one of the same content, whose file is a copy or was moved here."""
    rows = await database.fetch(
        """
        select id, origin, sha256, index_version from documents where origin = $1 or sha256 = $2 order by id
        """,
        origin,
        sha256,
    )
    for row in rows:
        if row["origin"] == origin:
            same_version = row["index_version"] == INDEX_VERSION
            return _Known(row["id"], same_version and row["sha256"] == sha256, same_version)
    for row in rows:
        if await asyncio.to_thread(_exists, row["origin"]):
            return _Known(row["id"], up_to_date=True, same_version=True)
    return _Known(rows[0]["id"], False, rows[0]["index_version"] == INDEX_VERSION) if rows else None


async def _write_chunks(connection: Connection, document_id: int, cut: Cut, *, keep: bool) -> int:
    """Make the document's chunks those of `cut`. With `keep`, passages that stayed keep ids and vectors."""
    old = await connection.fetch(
        "select id, heading, text, lang from chunks where document_id = $1", document_id
    )
    reusable: dict[tuple[str, str, str], list[int]] = {}
    for row in old if keep else ():
        reusable.setdefault((row["heading"], row["text"], row["lang"]), []).append(row["id"])
    moved: list[tuple[int, int, int, int]] = []
    new: list[int] = []
    for position, chunk in enumerate(cut.chunks):
        if same := reusable.get((chunk.heading, chunk.text, chunk.lang)):
            moved.append((same.pop(0), position, chunk.start, chunk.end))
        else:
            new.append(position)
    kept = {chunk_id for chunk_id, *_ in moved}
    await _delete_chunks(connection, [row["id"] for row in old if row["id"] not in kept])
    await connection.executemany(
        "update chunks set position = $2, start_offset = $3, end_offset = $4 where id = $1", moved
    )
    chunks = [cut.chunks[position] for position in new]
    inserted = await connection.fetch(
        """
        insert into chunks (document_id, position, heading, text, start_offset, end_offset, lang)
        select $1, * from unnest($2::int[], $3::text[], $4::text[], $5::int[], $6::int[], $7::text[])
        returning id, position
        """,
        document_id,
        new,
        [chunk.heading for chunk in chunks],
        [chunk.text for chunk in chunks],
        [chunk.start for chunk in chunks],
        [chunk.end for chunk in chunks],
        [chunk.lang for chunk in chunks],
    )
    await connection.copy_records_to_table(
        "chunk_words",
        records=[(row["id"], cut.words[row["position"]]) for row in inserted],
        columns=("chunk_id", "words"),
    )
    await _count_terms(connection, [cut.words[position] for position in new], by=1)
    return len(new)


async def _delete_chunks(connection: Connection, chunk_ids: list[int]) -> None:
    rows = await connection.fetch("select words from chunk_words where chunk_id = any($1::int[])", chunk_ids)
    await _count_terms(connection, [row["words"] for row in rows], by=-1)
    await connection.execute("delete from chunks where id = any($1::int[])", chunk_ids)


async def _count_terms(connection: Connection, words: Sequence[SparseVector], *, by: Literal[1, -1]) -> None:
    """Keep the number of chunks that have a term, for the query's idf."""
    counts = Counter(term for vector in words for term in (EVERY_CHUNK, *vector.indices()))
    await connection.execute(
        """
        insert into terms (term, chunks) select * from unnest($1::int[], $2::int[])
        on conflict (term) do update set chunks = terms.chunks + excluded.chunks
        """,
        [*counts],
        [by * count for count in counts.values()],
    )
    if by == -1:
        await connection.execute("delete from terms where term = any($1::int[]) and chunks <= 0", [*counts])


def _exists(origin: str) -> bool:
    """False for a file that is certainly gone; one that cannot be looked at, and a web page, are there."""
    if "://" in origin:
        return True
    try:
        Path(origin).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
