"""What people shared in articles' threads: for these to read, and for the base if somebody wants it there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from knowledge.database import Pool
from knowledge.index import delete_document, lock_for_writing, take_over


@dataclass(frozen=True, slots=True)
class Unread:
    """A document that was shared and that no round of research has looked at yet."""

    document_id: int
    title: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A document that somebody took out."""

    title: str
    by: str | None  # a person's Slack id; None = the command line
    at: datetime
    article_id: int | None  # whose it was alone; None = of the base


class SharedSources:
    """Which documents were shared in which article's thread."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def share(self, article_id: int, document_id: int, *, changed: bool) -> None:
        """Make a document one of the article's; one that was read and has `changed` is read again."""
        await self._pool.execute(
            """
            insert into shared_sources (article_id, document_id) values ($1, $2)
            on conflict (article_id, document_id) do update set read = shared_sources.read and not $3
            """,
            article_id,
            document_id,
            changed,
        )

    async def of_article(self, article_id: int) -> list[int]:
        """Ids of the documents that were shared in its thread, newest first."""
        rows = await self._pool.fetch(
            "select document_id from shared_sources where article_id = $1 order by shared_at desc", article_id
        )
        return [row["document_id"] for row in rows]

    async def unread(self, article_id: int) -> list[Unread]:
        """What no research has looked at, oldest first."""
        rows = await self._pool.fetch(
            """
            select d.id as document_id, d.title
            from shared_sources s join documents d on d.id = s.document_id
            where s.article_id = $1 and not s.read order by s.shared_at, d.id
            """,
            article_id,
        )
        return [Unread(**row) for row in rows]

    async def have_been_read(self, article_id: int, read: Sequence[Unread]) -> None:
        """A round of research that was asked to look at them has ended."""
        await self._pool.execute(
            "update shared_sources set read = true where article_id = $1 and document_id = any($2::int[])",
            article_id,
            [one.document_id for one in read],
        )

    async def to_base(self, document_id: int) -> int | None:
        """Make an article's own document one of the base; its id there, None if it is gone.

        Where the base has it already, from this origin or as a copy, that one takes its place: two copies
        would look like two sources that agree.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await lock_for_writing(connection)
            own = await connection.fetchrow(
                "select origin, sha256, article_id from documents where id = $1", document_id
            )
            if own is None or own["article_id"] is None:
                return None if own is None else document_id
            there = await connection.fetchrow(
                """
                select id, sha256 = $2 as same from documents
                where article_id is null and (origin = $1 or sha256 = $2)
                order by origin = $1 desc limit 1
                """,
                own["origin"],
                own["sha256"],
            )
            if there is None:
                await connection.execute("update documents set article_id = null where id = $1", document_id)
                return document_id
            same = int(there["id"])
            if not there["same"]:  # the base has read this file before it was changed
                await take_over(connection, document_id, same)
            await connection.execute(
                """
                insert into shared_sources (article_id, document_id, shared_at, read)
                select article_id, $2, shared_at, read from shared_sources where document_id = $1
                on conflict (article_id, document_id)
                    do update set read = shared_sources.read and excluded.read
                """,
                document_id,
                same,
            )
            await delete_document(connection, document_id)
            return same

    async def notes(self, document_id: int) -> list[tuple[int, dict[str, Any]]]:
        """What the threads were told of a document: ids of articles, and the messages in the outbox."""
        rows = await self._pool.fetch(
            "select article_id, message from outbox where key ~ $1 order by article_id",
            f"^article:[0-9]+:source:{document_id}$",
        )
        return [(row["article_id"], row["message"]) for row in rows]

    async def removed(self, document_id: int) -> Removed | None:
        """Who took a document out, None if nobody has."""
        row = await self._pool.fetchrow(
            """
            select title, removed_by as by, removed_at as at, article_id from removals
            where document_id = $1 order by id desc limit 1
            """,
            document_id,
        )
        return None if row is None else Removed(**row)
