"""A benchmark as a command, and its results as Markdown: tables, and their place in a page of docs."""

import asyncio
import os
import platform
import sys
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from bot.app import until_stopped

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
STOPPED = 130  # the exit code after Ctrl-C or SIGTERM, as a shell says it


class BenchError(Exception):
    """The benchmark cannot be carried out; the sentence says why."""


def run(bench: Coroutine[Any, Any, int]) -> int:
    """Its exit code, `STOPPED` if it was told to stop; 1 with one sentence for a `BenchError`."""
    try:
        code = asyncio.run(until_stopped(bench))
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    return STOPPED if code is None else code


def told(problems: Sequence[str]) -> int:
    """The exit code that goes with what is wrong, a sentence each, which is printed."""
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; all columns but the first are numbers, and stand to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def machine() -> str:
    """What the figures were taken on."""
    cores, system, python = os.cpu_count(), platform.system(), platform.python_version()
    return f"{cores} cores, {system} {platform.machine()}, Python {python}"


def write(name: str, text: str, page: Path = PAGE) -> None:
    """Puts `text` between the page's markers of that name; raises `BenchError` if they are not there."""
    begin, end = f"<!-- {name}: written by the command -->", f"<!-- end of {name} -->"
    old = page.read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1:
        raise BenchError(f"{page.name} has no place for it: give it the lines {begin} and {end}, once each.")
    before, rest = old.split(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}", encoding="utf-8")
