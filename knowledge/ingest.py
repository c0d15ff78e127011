"""Ingest: the knowledge base brought up to date with files and folders, many at a time."""

import asyncio
import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from knowledge.cutters import CutAll, cutters
from knowledge.cutting import Cut, NamedFile
from knowledge.database import Pool
from knowledge.files import FoundFile, LoadError
from knowledge.index import Origin, write_all
from knowledge.ingest_report import Tally
from knowledge.known import known, no_longer_here
from knowledge.loaders import read_bytes
from knowledge.sources import BY_COMMAND_LINE

# Files that are read, cut and written together: so many that a word which they share is counted once, so few
# that little is in memory, and that no other writer waits for long.
_FILES_AT_ONCE = 100
_BYTES_AT_ONCE = 400_000

_FEW_BYTES = 300_000  # of all files; for so few no process is started
_BY_PARSERS_IN_C = frozenset({".pdf", ".docx", ".docm"})


@dataclass
class _Batch:
    """Some files on their way in."""

    read: list[tuple[FoundFile, bytes | LoadError]] = field(default_factory=list)
    results: dict[FoundFile, Cut | LoadError] = field(default_factory=dict)  # none for what is known as it is
    copies: list[tuple[FoundFile, str]] = field(default_factory=list)  # with their hashes


async def ingest_files(pool: Pool, files: Sequence[FoundFile], tally: Tally) -> None:
    """Bring the base up to date with these files.

    Some documents are one transaction: a reader sees each old or new, and what is done stays if the process
    dies. While some are written, the next are read and cut.
    """
    tally.expect(len(files))
    async with cutters(few=await asyncio.to_thread(_are_few, files)) as cut_alls:
        copies = await _ingest(pool, files, tally, cut_alls)
        again = await no_longer_here(pool, [(file, str(file.file), sha256) for file, sha256 in copies])
        tally.again(len(again))
        await _ingest(pool, again, tally, cut_alls)


async def _ingest(
    pool: Pool, files: Sequence[FoundFile], tally: Tally, cut_alls: Sequence[CutAll]
) -> list[tuple[FoundFile, str]]:
    """Returns the files that are copies of documents of other files, with their hashes."""
    idle: asyncio.Queue[CutAll] = asyncio.Queue()
    for each in cut_alls:
        idle.put_nowait(each)
    batches = _batches(files)
    under_way: deque[asyncio.Task[_Batch]] = deque()
    copies: list[tuple[FoundFile, str]] = []
    try:
        more = True
        while more or under_way:
            if more and len(under_way) <= len(cut_alls):
                batch = await asyncio.to_thread(next, batches, None)
                if batch is None:
                    more = False
                else:
                    under_way.append(asyncio.create_task(_cut(pool, batch, idle)))
            else:
                batch = await under_way.popleft()
                await _write(pool, batch, tally)
                copies += batch.copies
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
    return copies


async def _cut(pool: Pool, batch: _Batch, idle: "asyncio.Queue[CutAll]") -> _Batch:
    """Cut what is not known as it is."""
    readable = [(file, content) for file, content in batch.read if isinstance(content, bytes)]
    batch.results = {file: error for file, error in batch.read if isinstance(error, LoadError)}
    hashes = [hashlib.sha256(content).hexdigest() for _, content in readable]
    before = await known(
        pool, [(str(file.file), sha256) for (file, _), sha256 in zip(readable, hashes, strict=True)], None
    )
    batch.copies = [
        (file, sha256)
        for (file, _), sha256, document in zip(readable, hashes, before, strict=True)
        if document is not None and document.here == "copy"
    ]
    wanted = [
        (file, NamedFile(file.file.name, content))
        for (file, content), sha256, document in zip(readable, hashes, before, strict=True)
        if document is None or not document.is_up_to_date(sha256)
    ]
    if wanted:
        cut_all = await idle.get()
        try:
            results = await cut_all([named for _, named in wanted])
        finally:
            idle.put_nowait(cut_all)
        batch.results |= {file: result for (file, _), result in zip(wanted, results, strict=True)}
    return batch


async def _write(pool: Pool, batch: _Batch, tally: Tally) -> None:
    ready = [
        (Origin(str(file.file), file.path), result)
        for file, result in batch.results.items()
        if isinstance(result, Cut)
    ]
    added = {}
    if ready:
        async with pool.acquire() as connection, connection.transaction():
            written = await write_all(connection, ready, BY_COMMAND_LINE)
        added = {origin.name: each for (origin, _), each in zip(ready, written, strict=True)}
    for file, _ in batch.read:
        result = batch.results.get(file)
        if isinstance(result, LoadError):
            tally.failed(file.path, result)
        elif each := added.get(str(file.file)):
            tally.wrote(file.path, each.written, each.chunks)
        else:
            tally.wrote(file.path, "unchanged", 0)


def _batches(files: Sequence[FoundFile]) -> Iterator[_Batch]:
    """The files with their content, some at a time."""
    batch, size = _Batch(), 0
    for file in files:
        try:
            content: bytes | LoadError = read_bytes(file.file)
        except LoadError as error:
            content = error
        batch.read.append((file, content))
        size += len(content) if isinstance(content, bytes) else 0
        if size >= _BYTES_AT_ONCE or len(batch.read) == _FILES_AT_ONCE:
            yield batch
            batch, size = _Batch(), 0
    if batch.read:
        yield batch


def _are_few(files: Sequence[FoundFile]) -> bool:
    size = 0
    for each in files:
        try:
            size += each.file.stat().st_size
        except OSError:
            continue
        if size > _FEW_BYTES or each.file.suffix.lower() in _BY_PARSERS_IN_C:
            return False
    return True
