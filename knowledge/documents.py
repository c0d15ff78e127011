"""Documents: what the bot knows, put in from files, folders and the web, and taken out again."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from knowledge.addresses import WebAddress, checked_url
from knowledge.cutters import cut_apart
from knowledge.cutting import Cut, NamedFile
from knowledge.database import Connection, Pool
from knowledge.fetch import USUAL_LIMITS, FetchLimits, fetch
from knowledge.files import find_files
from knowledge.index import Origin, delete_document, lock_for_writing, remove_gone, write
from knowledge.ingest import ingest_files
from knowledge.ingest_report import IngestProgress, IngestReport, Tally
from knowledge.listing import AddressList
from knowledge.sources import BY_COMMAND_LINE, Added, Provenance, Source
from knowledge.web_ingest import ingest_pages

_SOURCE = """
    select id as document_id, title, url, path, origin, kind, lang, collection, added_by, added_from,
           created_at as added_at, article_id
    from documents
"""


@dataclass(frozen=True)
class KnowledgeCount:
    """How much is known."""

    documents: int
    chunks: int
    newest: datetime | None  # when a document was last added or updated


class Documents:
    """The documents in the database."""

    def __init__(self, pool: Pool, *, limits: FetchLimits = USUAL_LIMITS) -> None:
        self._pool = pool
        self._limits = limits

    async def ingest(
        self,
        places: Sequence[Path | WebAddress | AddressList],
        *,
        prune: bool = False,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Bring the knowledge base up to date with files, folders, pages, sitemaps and lists of addresses.

        A reader sees each document old or new, and what is done stays if the process dies. Content that
        stands under another path already is `unchanged`: two copies would look like two sources that agree.
        What cannot be read any more keeps its last good text and is `failed`.

        `prune` removes documents below a given folder whose file is gone, and pages that are gone or that
        their list does not name any more. A folder without any file, or a list without any address, is left
        alone: rather a disk that is not mounted than a wish to forget.
        """
        tally = Tally(progress)
        found = await asyncio.to_thread(find_files, [place for place in places if isinstance(place, Path)])
        tally.report.failed += found.failed
        await ingest_files(self._pool, found.files, tally)
        for folder in found.folders if prune else ():
            tally.report.removed += await remove_gone(self._pool, folder)
        pages = [place for place in places if not isinstance(place, Path)]
        await ingest_pages(self._pool, pages, tally, limits=self._limits, prune=prune)
        return tally.report

    async def add_page(self, url: str, *, provenance: Provenance = BY_COMMAND_LINE) -> Added:
        """Fetch a page or document and put it in. Raises LoadError, its message a reason for people."""
        name = str(checked_url(url))
        fetched = await fetch(name, limits=self._limits)
        ready = await cut_apart(fetched)
        origin = Origin(name, path=None, validators=fetched.validators)
        return await self._write(origin, ready, provenance)

    async def add_file(
        self, name: str, content: bytes, *, origin: str, url: str | None, provenance: Provenance
    ) -> Added:
        """Put in a file that somebody sent. Raises LoadError, its message a reason for people.

        `origin` is its identity (a second file of that origin replaces it), `url` where readers find it.
        """
        ready = await cut_apart(NamedFile(name, content))
        return await self._write(Origin(origin, path=name, url=url), ready, provenance)

    async def of(self, document_id: int) -> Source | None:
        """The document of this id, None if it is not there (any more)."""
        return await _source(self._pool, document_id)

    async def sources_of_base(self, limit: int) -> list[Source]:
        """The newest documents of the base."""
        rows = await self._pool.fetch(
            f"{_SOURCE} where article_id is null order by created_at desc, id desc limit $1", limit
        )
        return [Source(**row) for row in rows]

    async def sources_of_article(self, article_id: int) -> list[Source]:
        """The documents of this article alone, newest first."""
        rows = await self._pool.fetch(
            f"{_SOURCE} where article_id = $1 order by created_at desc, id desc", article_id
        )
        return [Source(**row) for row in rows]

    async def remove(self, document_id: int, *, by: str | None, from_where: str | None) -> Source | None:
        """Take a document out and write down who did, in one transaction. None if it is not there (any more).

        `by` is a person's Slack id, None the command line; `from_where` a permalink.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await lock_for_writing(connection)
            gone = await _source(connection, document_id)
            if gone is None:
                return None
            await connection.execute(
                """
                insert into removals (document_id, origin, title, url, sha256, added_by, added_at, article_id,
                                      removed_by, removed_from)
                select id, origin, title, url, sha256, added_by, created_at, article_id, $2, $3
                from documents where id = $1
                """,
                document_id,
                by,
                from_where,
            )
            await delete_document(connection, document_id)
        return gone

    async def count(self) -> KnowledgeCount:
        """How much is in the database now."""
        row = await self._pool.fetchrow(
            """
            select (select count(*) from documents) as documents,
                   (select count(*) from chunks) as chunks,
                   (select max(updated_at) from documents) as newest
            """
        )
        assert row is not None
        return KnowledgeCount(**row)

    async def _write(self, origin: Origin, ready: Cut, provenance: Provenance) -> Added:
        async with self._pool.acquire() as connection, connection.transaction():
            return await write(connection, origin, ready, provenance)


async def _source(database: "Connection | Pool", document_id: int) -> Source | None:
    row = await database.fetchrow(f"{_SOURCE} where id = $1", document_id)
    return None if row is None else Source(**row)
