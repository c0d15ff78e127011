"""Sources as people know them: where a document came from, who added it, and for whom."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Written = Literal["added", "updated", "unchanged"]


@dataclass(frozen=True)
class Provenance:
    """Where a document came from, and for whom."""

    added_by: str | None = None  # a person's Slack id; None = the command line
    added_from: str | None = None  # where in Slack: a permalink
    article_id: int | None = None  # for this article alone; None = of the base, for every article
    collection: str = "base"


BY_COMMAND_LINE = Provenance()


@dataclass(frozen=True)
class Added:
    """What became of one page or file."""

    document_id: int
    written: Written
    title: str
    url: str | None  # where readers find it
    chunks: int  # written by this; 0 when it was known already


@dataclass(frozen=True)
class Source:
    """A document as people know it."""

    document_id: int
    title: str
    url: str | None  # where readers find it
    path: str | None  # as it was given to ingest
    origin: str  # its identity: an absolute path, a web address, or what who added it named it by
    kind: str
    lang: str
    collection: str
    added_by: str | None
    added_from: str | None
    added_at: datetime
    article_id: int | None
