"""Results as Markdown: tables, and their place in a page of docs."""

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
STOPPED = 130  # the exit code after Ctrl-C or SIGTERM, as a shell says it


class BenchError(Exception):
    """The benchmark cannot be carried out; the sentence says why."""


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
