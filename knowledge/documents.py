"""Documents: what the bot knows, put in from files and folders."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from knowledge.database import Pool
from knowledge.files import FailedPath, FoundFile, LoadError, find_files
from knowledge.index import Written, cut, knows, remove_gone, write
from knowledge.loaders import read_bytes

Outcome = Written | Literal["failed"]


@dataclass(frozen=True)
class IngestProgress:
    """One file is done."""

    done: int
    total: int
    path: str
    outcome: Outcome
    chunks: int  # written so far by this ingest


class IngestReport(BaseModel):
    """What became of the paths of an ingest."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0  # with `prune`: documents below a given folder whose file is gone
    failed: list[FailedPath] = []
    chunks: int = 0  # written by this ingest


@dataclass(frozen=True)
class KnowledgeCount:
    """How much is known."""

    documents: int
    chunks: int
    newest: datetime | None  # when a document was last added or updated


class Documents:
    """The documents in the database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def ingest(
        self,
        paths: Sequence[Path],
        *,
        prune: bool = False,
        progress: Callable[[IngestProgress], None] | None = None,
    ) -> IngestReport:
        """Bring the knowledge base up to date with these files and folders.

        Each document is one transaction: a reader sees it old or new, and what is done stays if the process
        dies. A file whose content stands under another path already is `unchanged`: two copies would look
        like two sources that agree. A file that cannot be read any more keeps its last good text and is
        `failed`. `prune` removes documents below a given folder whose file is gone; a folder without any file
        is left alone: rather a disk that is not mounted than a wish to forget.
        """
        found = await asyncio.to_thread(find_files, paths)
        report = IngestReport(failed=found.failed)
        for done, file in enumerate(found.files, start=1):
            outcome = await self._ingest_file(file, report)
            if progress:
                progress(IngestProgress(done, len(found.files), file.path, outcome, report.chunks))
        for folder in found.folders if prune else ():
            report.removed += await remove_gone(self._pool, folder)
        return report

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

    async def _ingest_file(self, file: FoundFile, report: IngestReport) -> Outcome:
        try:
            content = await asyncio.to_thread(read_bytes, file.file)
            written: Written = "unchanged"
            if not await knows(self._pool, str(file.file), hashlib.sha256(content).hexdigest()):
                ready = await asyncio.to_thread(cut, file.file.name, content)
                async with self._pool.acquire() as connection, connection.transaction():
                    written, chunks = await write(connection, str(file.file), file.path, ready)
                report.chunks += chunks
        except LoadError as error:
            report.failed.append(FailedPath(path=file.path, reason=str(error)))
            return "failed"
        match written:
            case "added":
                report.added += 1
            case "updated":
                report.updated += 1
            case "unchanged":
                report.unchanged += 1
        return written
