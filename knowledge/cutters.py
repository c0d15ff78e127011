"""Processes that cut documents: all cores are used, and a file on which a parser dies ends only its own."""

import asyncio
import gc
import os
import pickle
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from knowledge.cutting import Cut, NamedFile, cut
from knowledge.files import LoadError

if TYPE_CHECKING:
    from knowledge.fetch import Fetched

_ROOT = Path(__file__).parent.parent
_LENGTH = struct.Struct(">Q")
_MOST = 4  # processes; the database has to keep up
# A page takes milliseconds and the largest PDF a minute; what takes longer was made to.
_SECONDS = 180.0
_QUICK_BYTES = 100_000  # no page of this size takes long; one of a megabyte can be made to take an hour

CutAll = Callable[[Sequence["NamedFile | Fetched"]], Awaitable[list[Cut | LoadError]]]
"""Makes each ready, or says why it cannot be."""

_DIED = "its reading fails: it is damaged, or needs too much memory; open it and save it again"


async def cut_apart(given: "NamedFile | Fetched") -> Cut:
    """Made ready without holding up the event loop, in a process of its own where a parser in C reads it or
    where it is large: that can be ended. Raises LoadError.
    """
    if given.content.startswith((b"%PDF", b"PK")) or len(given.content) > _QUICK_BYTES:
        one = Cutter()
        try:
            [result] = await one.cut_all([given])
        finally:
            await one.stop()
    else:
        [result] = await _cut_all_here([given])
    if isinstance(result, LoadError):
        raise result
    return result


@asynccontextmanager
async def cutters(*, few: bool) -> AsyncIterator[list[CutAll]]:
    """As many as there are cores to use; for few files a thread does. They are gone at the end, and also if
    this process dies.
    """
    if few:
        yield [_cut_all_here]
        return
    made = [Cutter() for _ in range(min(os.cpu_count() or 1, _MOST))]
    try:
        yield [each.cut_all for each in made]
    finally:
        for each in made:
            await each.stop()


async def _cut_all_here(batch: "Sequence[NamedFile | Fetched]") -> list[Cut | LoadError]:
    return await asyncio.to_thread(lambda: [_result(each) for each in batch])


class Cutter:
    """One process, started with its first work."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def cut_all(self, batch: "Sequence[NamedFile | Fetched]") -> list[Cut | LoadError]:
        """Each made ready, or why it cannot be. One at a time, if the process dies of one of them."""
        try:
            return await self._ask(batch)
        except (OSError, EOFError, asyncio.IncompleteReadError, TimeoutError) as error:
            await self.stop()
            if len(batch) == 1:
                too_slow = f"its reading takes longer than {_SECONDS:.0f} s: split it"
                return [LoadError(too_slow if isinstance(error, TimeoutError) else _DIED)]
            return [result for each in batch for result in await self.cut_all([each])]

    async def stop(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.communicate()  # its pipes are closed then

    async def _ask(self, batch: "Sequence[NamedFile | Fetched]") -> list[Cut | LoadError]:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "knowledge.cutters"),
                cwd=_ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the process that asks
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        async with asyncio.timeout(_SECONDS):
            stdin.write(_packed(batch))
            await stdin.drain()
            [length] = _LENGTH.unpack(await stdout.readexactly(_LENGTH.size))
            # From a process of this program's own: what is in it was made by `_serve`.
            results: list[Cut | LoadError] = pickle.loads(await stdout.readexactly(length))
            return results


def _packed(value: object) -> bytes:
    content = pickle.dumps(value, protocol=5)
    return _LENGTH.pack(len(content)) + content


def _serve(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Cut what comes in until nobody is there any more to send it."""
    # A document is thousands of small objects, none in a circle; to look for one takes a tenth of the time.
    gc.freeze()
    gc.set_threshold(100_000)
    while length := stdin.read(_LENGTH.size):
        batch: list[NamedFile | Fetched] = pickle.loads(stdin.read(*_LENGTH.unpack(length)))
        stdout.write(_packed([_result(each) for each in batch]))
        stdout.flush()


def _result(given: "NamedFile | Fetched") -> Cut | LoadError:
    try:
        return cut(given)
    except LoadError as error:
        return LoadError(str(error))
    except Exception as error:  # what no loader has foreseen: the other files are read all the same
        return LoadError(f"{_DIED} ({type(error).__name__})")


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between
    with os.fdopen(0, "rb", closefd=False) as questions:
        _serve(questions, answers)
