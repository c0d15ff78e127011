"""What becomes of an ingest, counted while it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from knowledge.files import FailedPath
from knowledge.sources import Written

Outcome = Written | Literal["failed"]


@dataclass(frozen=True)
class IngestProgress:
    """One file or page is done."""

    done: int
    total: int  # rises while sitemaps are read
    path: str
    outcome: Outcome
    chunks: int  # written so far by this ingest


class IngestReport(BaseModel):
    """What became of the places of an ingest."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0  # with `prune`: documents whose file is gone, pages that are gone or not listed any more
    failed: list[FailedPath] = []
    chunks: int = 0  # written by this ingest


class Tally:
    """The report as it grows, and the progress that somebody watches."""

    def __init__(self, progress: Callable[[IngestProgress], None] | None) -> None:
        self.report = IngestReport()
        self._progress = progress
        self._done = self._total = 0

    def expect(self, more: int) -> None:
        """So many more files or pages will be done."""
        self._total += more

    def wrote(self, path: str, written: Written, chunks: int) -> None:
        """One of them is in, or was already."""
        match written:
            case "added":
                self.report.added += 1
            case "updated":
                self.report.updated += 1
            case "unchanged":
                self.report.unchanged += 1
        self.report.chunks += chunks
        self._tell(path, written)

    def again(self, more: int) -> None:
        """So many that were unchanged are looked at once more."""
        self.report.unchanged -= more
        self._done -= more

    def failed(self, path: str, reason: Exception) -> None:
        """One of them is not."""
        self.report.failed.append(FailedPath(path=path, reason=str(reason)))
        self._tell(path, "failed")

    def _tell(self, path: str, outcome: Outcome) -> None:
        self._done += 1
        if self._progress:
            self._progress(IngestProgress(self._done, self._total, path, outcome, self.report.chunks))
