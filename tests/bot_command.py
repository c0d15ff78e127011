"""`python -m bot …` as a process that sees nothing of this machine but what it is given."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ("PATH", "HOME", "LANG")
DEVNULL, PIPE = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


async def start(
    *arguments: str, settings: Mapping[str, str], stdout: int = DEVNULL, stderr: int = DEVNULL
) -> asyncio.subprocess.Process:
    """From the moment that it is there; whoever starts it ends it."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", *arguments),
        cwd=ROOT,
        env={**kept, **settings},
        stdin=DEVNULL,
        stdout=stdout,
        stderr=stderr,
    )


@asynccontextmanager
async def running(
    *arguments: str, settings: Mapping[str, str], stdout: int = DEVNULL
) -> AsyncIterator[asyncio.subprocess.Process]:
    """While it lasts; what still lives at the end is killed."""
    process = await start(*arguments, settings=settings, stdout=stdout)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def run(*arguments: str, settings: Mapping[str, str], seconds: float) -> Ran:
    """To its end, which comes within so many seconds."""
    process = await start(*arguments, settings=settings, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())
