"""What is to be sent to Slack, and what has been: one row per logical message."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import asyncpg

from knowledge.database import Pool

# pg_try_advisory_lock key of the one sender of a database ("copydesk outbox" in no particular code).
_SENDER_LOCK = 0x0C09_DE5C


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a message: posted, refused for good (`error`), or neither yet."""

    posted: bool
    permalink: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Unsent:
    """A message whose newest text is not in Slack yet. `ts` is set where it is an edit.

    It belongs to an article, or to a channel alone (`article_id` is None).
    """

    id: int
    key: str
    article_id: int | None
    channel_id: str
    thread_ts: str | None
    message: dict[str, Any]
    revision: int
    ts: str | None
    attempts: int
    asks: bool
    wait_seconds: float


class Outbox:
    """The sender's side; the workflow's side is `Articles`, which writes messages with their moves."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @asynccontextmanager
    async def as_only_sender(self, wake: Callable[[], None]) -> AsyncIterator[Callable[[], bool]]:
        """Asks whether this process is the sender; meanwhile `wake` is called when there is work for it.

        The lock belongs to one connection that is held for as long: it ends with the process, and it is lost
        with the connection.
        """
        async with self._pool.acquire() as connection:
            held: bool = await connection.fetchval("select pg_try_advisory_lock($1)", _SENDER_LOCK)
            if not held:
                yield lambda: False
                return
            lost = False

            def notified(*_: object) -> None:
                wake()

            def terminated(*_: object) -> None:
                nonlocal lost
                lost = True
                wake()

            await connection.add_listener("outbox", notified)
            connection.add_termination_listener(terminated)
            try:
                yield lambda: not lost
            finally:
                # A connection that is gone has given up its lock, and has nothing to take back.
                with contextlib.suppress(asyncpg.InterfaceError, asyncpg.PostgresError, OSError):
                    connection.remove_termination_listener(terminated)
                    await connection.remove_listener("outbox", notified)
                    await connection.execute("select pg_advisory_unlock($1)", _SENDER_LOCK)

    async def heads(self) -> list[Unsent]:
        """The next message of every article: new ones in order, then edits, so that none holds up a result.

        A message that waits after a failed try (`wait_seconds`) holds back the later ones of its article,
        never other articles. What belongs to no article is in order for its channel, apart from articles.
        """
        rows = await self._pool.fetch(
            """
            select * from (
                select distinct on (o.article_id, o.channel_id)
                    o.id, o.key, o.article_id, coalesce(o.channel_id, a.channel_id) as channel_id,
                    a.thread_ts, o.message, o.revision, o.ts, o.attempts, o.on_what is not null as asks,
                    greatest(0, extract(epoch from o.not_before - now()))::float8 as wait_seconds
                from outbox o left join articles a on a.id = o.article_id
                where o.sent_revision < o.revision and o.error is null
                order by o.article_id, o.channel_id, (o.ts is not null), o.id
            ) heads order by id
            """
        )
        return [Unsent(**{name: row[name] for name in Unsent.__dataclass_fields__}) for row in rows]

    async def permalink(self, key: str) -> str | None:
        """Where a message was posted, None while it was not."""
        link: str | None = await self._pool.fetchval("select permalink from outbox where key = $1", key)
        return link

    async def fate(self, key: str) -> Fate:
        """What became of a message; `LookupError` for a key that was never put out."""
        row = await self._pool.fetchrow("select ts, permalink, error from outbox where key = $1", key)
        if row is None:
            raise LookupError(key)
        return Fate(row["ts"] is not None, row["permalink"], row["error"])

    async def sent(self, unsent: Unsent, *, ts: str | None, permalink: str | None) -> None:
        """The revision is in Slack. The status message gives its article the thread."""
        async with self._pool.acquire() as connection, connection.transaction():
            # The article's row first, as a move locks them: the other way round the two end in a deadlock,
            # and a message that was sent would be sent again.
            if unsent.message["kind"] == "status" and unsent.ts is None:
                await connection.execute(
                    "update articles set thread_ts = $2 where id = $1 and thread_ts is null",
                    unsent.article_id,
                    ts,
                )
            await connection.execute(
                """
                update outbox set sent_revision = $2, ts = coalesce(ts, $3),
                    permalink = coalesce(permalink, $4), attempts = 0
                where id = $1
                """,
                unsent.id,
                unsent.revision,
                ts,
                permalink,
            )

    async def link(self, unsent: Unsent, permalink: str | None) -> None:
        """Where it was posted; the status message's link is its article's."""
        async with self._pool.acquire() as connection, connection.transaction():
            if unsent.message["kind"] == "status":  # the article's row first, see `sent`
                await connection.execute(
                    "update articles set permalink = $2 where id = $1", unsent.article_id, permalink
                )
            await connection.execute("update outbox set permalink = $2 where id = $1", unsent.id, permalink)

    async def postpone(self, unsent: Unsent, delay: timedelta) -> None:
        """Slack could not take it now; try again after `delay`."""
        await self._pool.execute(
            "update outbox set attempts = attempts + 1, not_before = now() + $2 where id = $1",
            unsent.id,
            delay,
        )

    async def give_up(self, unsent: Unsent, error: str) -> None:
        """Slack will never take it: keep the reason, and let the later ones of the article pass."""
        await self._pool.execute("update outbox set error = $2 where id = $1", unsent.id, error)
