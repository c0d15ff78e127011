"""What the database has of a file or page already: the document that it is, or a copy of it."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import asyncpg

from knowledge.cutting import INDEX_VERSION
from knowledge.database import Connection, Pool
from knowledge.fetch import Validators

T = TypeVar("T")


@dataclass(frozen=True)
class Known:
    """What the database has of an origin, or of the same content under another one."""

    document_id: int
    title: str
    url: str | None
    sha256: str
    same_version: bool  # cut by this version of the code
    here: Literal[
        "itself", "copy", "moved"
    ]  # the document of this origin; of another; of another that is gone

    def is_up_to_date(self, sha256: str) -> bool:
        if self.here == "itself":
            return self.same_version and self.sha256 == sha256
        return self.here == "copy"


async def known(
    database: "Connection | Pool", wanted: Sequence[tuple[str, str]], article_id: int | None
) -> list[Known | None]:
    """What the database has of each (origin, sha256): the document of this origin, else a copy.

    Two copies would look like two sources that agree. An article has what the base has, so for an article a
    copy in the base counts too. A document that is gone from its origin is no copy: it was moved here.
    """
    rows = await database.fetch(
        """
        select id, origin, title, url, sha256, index_version, article_id from documents
        where (article_id is not distinct from $3 and (origin = any($1) or sha256 = any($2)))
           or (article_id is null and sha256 = any($2))
        order by article_id nulls last, id
        """,
        [origin for origin, _ in wanted],
        [sha256 for _, sha256 in wanted],
        article_id,
    )
    by_origin = {row["origin"]: row for row in rows if row["article_id"] == article_id}
    others = [row for row in rows if any(origin not in by_origin for origin, _ in wanted)]
    there = await asyncio.to_thread(lambda: [exists(row["origin"]) for row in others])
    copies = {
        row["sha256"]: row for row, is_there in reversed([*zip(others, there, strict=True)]) if is_there
    }
    moved = {row["sha256"]: row for row in reversed(others) if row["article_id"] == article_id}
    found: list[Known | None] = []
    for origin, sha256 in wanted:
        if origin in by_origin:
            found.append(_of_row(by_origin[origin], "itself"))
        elif sha256 in copies:
            found.append(_of_row(copies[sha256], "copy"))
        else:
            found.append(_of_row(moved[sha256], "moved") if sha256 in moved else None)
    return found


async def no_longer_here(database: "Connection | Pool", wanted: Sequence[tuple[T, str, str]]) -> list[T]:
    """Of (what, origin, sha256) of the base those whose content it does not have any more as it is now.

    What a file or page was a copy of may have changed or left since: then it is the only one that says so.
    """
    now = await known(database, [(origin, sha256) for _, origin, sha256 in wanted], None)
    return [
        what
        for (what, _, sha256), document in zip(wanted, now, strict=True)
        if document is None or not document.is_up_to_date(sha256)
    ]


def exists(origin: str) -> bool:
    """False for a file that is certainly gone; one that cannot be looked at, and a web page, are there."""
    if "://" in origin or not origin.startswith(os.sep):
        return True
    try:
        Path(origin).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _of_row(row: asyncpg.Record, here: Literal["itself", "copy", "moved"]) -> Known:
    return Known(
        document_id=row["id"],
        title=row["title"],
        url=row["url"],
        sha256=row["sha256"],
        same_version=row["index_version"] == INDEX_VERSION,
        here=here,
    )


async def validators_of(pool: Pool, url: str) -> Validators:
    """What the server called the page that the base has of an address; nothing if it has to be cut again."""
    row = await pool.fetchrow(
        """
        select etag, last_modified from documents
        where origin = $1 and article_id is null and index_version = $2
        """,
        url,
        INDEX_VERSION,
    )
    return Validators(row["etag"], row["last_modified"]) if row else Validators()
