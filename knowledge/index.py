"""The index: documents, their chunks and the words these are found by, written in one transaction."""

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
from pgvector import SparseVector

from knowledge.bm25 import EVERY_CHUNK
from knowledge.cutting import INDEX_VERSION, Cut
from knowledge.database import Connection, Pool
from knowledge.fetch import Validators
from knowledge.known import exists, known
from knowledge.loaders import Loaded
from knowledge.sources import Added, Provenance, Written

# One writer at a time: it keeps the counts of terms exact, and makes "is this content known?" and "put it
# in" one step. Files are read and cut before it is taken, so it is held for a fraction of a second.
_WRITE_LOCK = 0x6B6E6F77  # "know"


@dataclass(frozen=True)
class Origin:
    """Where a document is from."""

    name: str  # its identity: an absolute path, a web address, or what who added it named it by
    path: str | None  # as people gave it; None for a web page
    url: str | None = None  # where readers find it, if the document itself does not say
    listed_in: str | None = None  # the sitemap or list that named a page
    validators: Validators = field(default_factory=Validators)


class _Packed(SparseVector):
    """A sparsevec that was packed for the database already, in another process."""

    def __init__(self, packed: bytes) -> None:
        self.packed = packed

    def to_binary(self) -> bytes:
        return self.packed


async def lock_for_writing(connection: Connection) -> None:
    """Until the caller's transaction ends, nobody else writes documents."""
    await connection.execute("select pg_advisory_xact_lock($1)", _WRITE_LOCK)


async def write(connection: Connection, origin: Origin, cut: Cut, provenance: Provenance) -> Added:
    """Put a document in, inside the caller's transaction."""
    [added] = await write_all(connection, [(origin, cut)], provenance)
    return added


async def write_all(
    connection: Connection, ready: Sequence[tuple[Origin, Cut]], provenance: Provenance
) -> list[Added]:
    """Put documents in, inside the caller's transaction: a reader sees all of them, each whole, or none.

    Returns what became of each. A document keeps who added it first.
    """
    await lock_for_writing(connection)
    before = await known(
        connection, [(origin.name, cut.loaded.sha256) for origin, cut in ready], provenance.article_id
    )
    added: list[Added] = []
    here: dict[str, Added] = {}  # by content: what of these is in already
    new: list[_NewChunk] = []
    gone: list[int] = []
    for (origin, cut), document in zip(ready, before, strict=True):
        loaded = cut.loaded
        same = here.get(loaded.sha256) if document is None or document.here == "moved" else None
        if same is not None:
            added.append(replace(same, written="unchanged", chunks=0))
            continue
        if document and document.is_up_to_date(loaded.sha256):  # by another ingest, since this one looked
            added.append(Added(document.document_id, "unchanged", document.title, document.url, 0))
            continue
        written: Written = "updated" if document else "added"
        if document is None:
            document_id = await _insert(connection, origin, loaded, provenance)
            fresh = [_NewChunk(document_id, place, cut) for place in range(len(cut.chunks))]
        else:
            document_id = document.document_id
            await _update(connection, document_id, origin, loaded)
            fresh, old = await _keep_same(connection, document_id, cut, keep=document.same_version)
            gone += old
        new += fresh
        here[loaded.sha256] = Added(document_id, written, loaded.title, loaded.url or origin.url, len(fresh))
        added.append(here[loaded.sha256])
    await _delete_chunks(connection, gone)
    await _write_chunks(connection, new)
    return added


async def mark_seen(pool: Pool, origin: Origin) -> None:
    """A page is as it was: keep what its server calls this version now, and which list names it now."""
    await pool.execute(
        """
        update documents
        set listed_in = coalesce($2, listed_in), etag = coalesce($3, etag),
            last_modified = coalesce($4, last_modified)
        where origin = $1 and article_id is null
        """,
        origin.name,
        origin.listed_in,
        origin.validators.etag,
        origin.validators.last_modified,
    )


async def delete_document(connection: Connection, document_id: int) -> None:
    """Take a document out, inside the caller's transaction."""
    await lock_for_writing(connection)
    chunks = await connection.fetch("select id from chunks where document_id = $1", document_id)
    await _delete_chunks(connection, [chunk["id"] for chunk in chunks])
    await connection.execute("delete from documents where id = $1", document_id)


async def take_over(connection: Connection, newer_id: int, document_id: int) -> None:
    """Give a document the text and chunks of a newer one of its origin, inside the caller's transaction."""
    await lock_for_writing(connection)
    old = await connection.fetch("select id from chunks where document_id = $1", document_id)
    await _delete_chunks(connection, [chunk["id"] for chunk in old])
    await connection.execute(
        "update chunks set document_id = $2 where document_id = $1", newer_id, document_id
    )
    await connection.execute(
        """
        update documents d
        set (path, url, kind, title, lang, published, sha256, size, index_version, text, updated_at)
          = (select path, url, kind, title, lang, published, sha256, size, index_version, text, now()
             from documents where id = $1)
        where d.id = $2
        """,
        newer_id,
        document_id,
    )


async def remove_gone(pool: Pool, folder: Path) -> int:
    """Remove the base's documents below a folder whose files are gone. Returns how many."""
    inside = await pool.fetch(
        "select id, origin from documents where starts_with(origin, $1) and article_id is null",
        f"{folder}{os.sep}".replace("//", "/"),
    )
    there = await asyncio.to_thread(lambda: [exists(row["origin"]) for row in inside])
    return await _remove(
        pool, [row["id"] for row, is_there in zip(inside, there, strict=True) if not is_there]
    )


async def remove_pages(
    pool: Pool, *, gone: Collection[str] = (), unlisted: Mapping[str, Collection[str]]
) -> int:
    """Remove the base's pages `gone` (addresses), and those that a list (key) named but does not any more.

    Returns how many.
    """
    rows = await pool.fetch(
        """
        select id, origin, listed_in from documents
        where article_id is null and (origin = any($1) or listed_in = any($2))
        """,
        [*gone],
        [*unlisted],
    )
    return await _remove(
        pool,
        [
            row["id"]
            for row in rows
            if row["origin"] in gone or row["origin"] not in unlisted[row["listed_in"]]
        ],
    )


async def _remove(pool: Pool, document_ids: Sequence[int]) -> int:
    for document_id in document_ids:
        async with pool.acquire() as connection, connection.transaction():
            await delete_document(connection, document_id)
    return len(document_ids)


@dataclass(frozen=True)
class _NewChunk:
    """A chunk to be written."""

    document_id: int
    place: int  # among the document's chunks
    cut: Cut


def _values(origin: Origin, loaded: Loaded) -> tuple[object, ...]:
    return (
        *(origin.name, origin.path, loaded.url or origin.url, loaded.kind, loaded.title, loaded.lang),
        *(loaded.published, loaded.sha256, loaded.size, INDEX_VERSION, loaded.text, origin.listed_in),
        *(origin.validators.etag, origin.validators.last_modified),
    )


async def _insert(connection: Connection, origin: Origin, loaded: Loaded, provenance: Provenance) -> int:
    document_id: int = await connection.fetchval(
        """
        insert into documents
            (origin, path, url, kind, title, lang, published, sha256, size, index_version, text, listed_in,
             etag, last_modified, added_by, added_from, article_id, collection)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) returning id
        """,
        *_values(origin, loaded),
        *(provenance.added_by, provenance.added_from, provenance.article_id, provenance.collection),
    )
    return document_id


async def _update(connection: Connection, document_id: int, origin: Origin, loaded: Loaded) -> None:
    await connection.execute(
        """
        update documents
        set origin = $1, path = $2, url = $3, kind = $4, title = $5, lang = $6, published = $7, sha256 = $8,
            size = $9, index_version = $10, text = $11, listed_in = coalesce($12, listed_in), etag = $13,
            last_modified = $14, updated_at = now()
        where id = $15
        """,
        *_values(origin, loaded),
        document_id,
    )


async def _keep_same(
    connection: Connection, document_id: int, cut: Cut, *, keep: bool
) -> tuple[list[_NewChunk], list[int]]:
    """With `keep`, passages that stayed keep ids and vectors. Returns the new ones, and ids of those gone."""
    old = await connection.fetch(
        "select id, heading, text, lang from chunks where document_id = $1", document_id
    )
    reusable: dict[tuple[str, str, str], list[int]] = {}
    for row in old if keep else ():
        reusable.setdefault((row["heading"], row["text"], row["lang"]), []).append(row["id"])
    moved: list[tuple[int, int, int, int]] = []
    new: list[_NewChunk] = []
    for place, chunk in enumerate(cut.chunks):
        if same := reusable.get((chunk.heading, chunk.text, chunk.lang)):
            moved.append((same.pop(0), place, chunk.start, chunk.end))
        else:
            new.append(_NewChunk(document_id, place, cut))
    await connection.executemany(
        "update chunks set position = $2, start_offset = $3, end_offset = $4 where id = $1", moved
    )
    kept = {chunk_id for chunk_id, *_ in moved}
    return new, [row["id"] for row in old if row["id"] not in kept]


async def _write_chunks(connection: Connection, new: Sequence[_NewChunk]) -> None:
    if not new:
        return
    ids = await connection.fetch(
        "select nextval(pg_get_serial_sequence('chunks', 'id'))::int as id from generate_series(1, $1)",
        len(new),
    )
    chunks: list[tuple[object, ...]] = []
    words: list[tuple[int, SparseVector]] = []
    for row, each in zip(ids, new, strict=True):
        chunk = each.cut.chunks[each.place]
        place = (row["id"], each.document_id, each.place)
        chunks.append((*place, chunk.heading, chunk.text, chunk.start, chunk.end, chunk.lang))
        words.append((row["id"], _Packed(each.cut.words[each.place])))
    await connection.copy_records_to_table(
        "chunks",
        records=chunks,
        columns=("id", "document_id", "position", "heading", "text", "start_offset", "end_offset", "lang"),
    )
    await connection.copy_records_to_table("chunk_words", records=words, columns=("chunk_id", "words"))
    await _count_terms(connection, [each.cut.words[each.place] for each in new], by=1)


async def _delete_chunks(connection: Connection, chunk_ids: Sequence[int]) -> None:
    if not chunk_ids:
        return
    rows = await connection.fetch("select words from chunk_words where chunk_id = any($1::int[])", chunk_ids)
    await _count_terms(connection, [row["words"].to_binary() for row in rows], by=-1)
    await connection.execute("delete from chunks where id = any($1::int[])", chunk_ids)


async def _count_terms(connection: Connection, words: Sequence[bytes], *, by: Literal[1, -1]) -> None:
    """Keep the number of chunks that have a term, for the query's idf."""
    if not words:
        return
    # A sparsevec is three integers (dimensions, number of entries, 0), the entries' places, their values.
    terms = [np.frombuffer(packed, ">i4", int.from_bytes(packed[4:8]), 12) for packed in words]
    found, counts = np.unique(np.concatenate(terms), return_counts=True)
    ids, chunks = [EVERY_CHUNK, *found.tolist()], [by * len(words), *(by * counts).tolist()]
    await connection.execute(
        """
        insert into terms (term, chunks) select * from unnest($1::int[], $2::int[])
        on conflict (term) do update set chunks = terms.chunks + excluded.chunks
        """,
        ids,
        chunks,
    )
    if by == -1:
        await connection.execute("delete from terms where term = any($1::int[]) and chunks <= 0", ids)
