"""What finished calls gave, kept until their leg ends: a leg that starts again does not make them again."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import asyncpg

from knowledge.article import Article
from knowledge.changes import Moved
from knowledge.database import Connection, Pool

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry:
    digest: str
    body: str


class Journal:
    """The finished calls of one leg of an article."""

    def __init__(self, pool: Pool, article: Article, entries: dict[tuple[str, int], _Entry]) -> None:
        self._pool = pool
        self._article = article
        self._entries = entries
        self._writing = asyncio.Lock()

    @classmethod
    async def of(cls, pool: Pool, article: Article) -> Self:
        """The journal of the leg that `article` is in."""
        rows = await pool.fetch("select step, n, digest, body from journal where article_id = $1", article.id)
        return cls(
            pool, article, {(row["step"], row["n"]): _Entry(row["digest"], row["body"]) for row in rows}
        )

    def find(self, step: str, n: int, digest: str) -> str | None:
        """What the `n`-th call of a step gave, as JSON, if it was asked the same; None = make the call."""
        entry = self._entries.get((step, n))
        if entry is None:
            return None
        if entry.digest != digest:
            log.info("article %s: call %s of %s is asked anew: something differs", self._article.id, n, step)
            return None
        return entry.body

    async def write(
        self, step: str, n: int, digest: str, body: str, *, usage: Mapping[str, Any] | None = None
    ) -> None:
        """Keep what a call gave, and the article's account with it: what is paid is counted with what came.

        Raises `Moved` when the article has moved on: then nobody needs it, and the leg may end at once. While
        the database is away nothing is kept: an answer that was paid for is used all the same.
        """
        try:
            # One after the other, so that an older account never takes the place of a newer one.
            async with self._writing:
                await self._write(step, n, digest, body, usage)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as fault:
            log.warning("article %s: call %s of %s is not kept: %s", self._article.id, n, step, fault)

    async def _write(
        self, step: str, n: int, digest: str, body: str, usage: Mapping[str, Any] | None
    ) -> None:
        async with self._pool.acquire() as connection, connection.transaction():
            still = await connection.fetchval(
                """
                update articles set usage = case
                    when (usage->>'requests')::integer > ($3::jsonb->>'requests')::integer then usage
                    else coalesce($3, usage) end
                where id = $1 and moves = $2 returning id
                """,
                self._article.id,
                self._article.moves,
                None if usage is None else dict(usage),
            )
            if still is None:
                raise Moved
            await connection.execute(
                """
                insert into journal (article_id, step, n, digest, body) values ($1, $2, $3, $4, $5)
                on conflict (article_id, step, n) do update
                    set digest = excluded.digest, body = excluded.body, created_at = now()
                """,
                self._article.id,
                step,
                n,
                digest,
                body,
            )

    async def forget(self, step: str) -> None:
        """What a step gave was no good, and must not be given again."""
        self._entries = {key: entry for key, entry in self._entries.items() if key[0] != step}
        async with self._pool.acquire() as connection:
            await forget(connection, self._article.id, step)


async def forget(connection: Connection, article_id: int, step: str = "") -> None:
    """Empty an article's journal, or what one step and those that stood in for it have in it."""
    await connection.execute(
        "delete from journal"
        " where article_id = $1 and ($2 = '' or step = $2 or starts_with(step, $2 || ':'))",
        article_id,
        step,
    )
