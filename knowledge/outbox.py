"""What is to be sent to Slack, and what has been: one row per logical message."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from knowledge.database import Pool

# pg_try_advisory_lock key of the one sender of a database ("copydesk outbox" in no particular code).
_SENDER_LOCK = 0x0C09_DE5C

# A try whose outcome is not known is left alone for so long: its request may still be on its way into Slack,
# or not yet to be seen there.
SETTLED_AFTER = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a message: posted, refused for good (`error`), or neither yet."""

    posted: bool
    permalink: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Unsent:
    """A message whose newest text is not in Slack yet. `ts` is set where it is an edit.

    It belongs to an article, or to a channel alone (`article_id` is None); a person's id as the channel is
    the direct one. `begun_at` is when a try began that may have posted `begun_revision`, None when there is
    no such try; `file_id` is Slack's name for an upload that may be shared already.
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
    begun_at: datetime | None
    begun_revision: int | None
    file_id: str | None


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
        never other articles. What belongs to no article is in order for its channel, apart from articles. Of
        the edits that of the status message comes last: the others take buttons away.
        """
        rows = await self._pool.fetch(
            """
            select * from (
                select distinct on (o.article_id, o.channel_id)
                    o.id, o.key, o.article_id, coalesce(o.channel_id, a.channel_id) as channel_id,
                    a.thread_ts, o.message, o.revision, o.ts, o.attempts, o.on_what is not null as asks,
                    o.begun_at, o.begun_revision, o.file_id,
                    greatest(
                        0, extract(epoch from greatest(o.not_before, o.begun_at + $1) - now())
                    )::float8 as wait_seconds
                from outbox o left join articles a on a.id = o.article_id
                where o.sent_revision < o.revision and o.error is null
                order by o.article_id, o.channel_id, (o.ts is not null),
                    (o.ts is not null and o.message->>'kind' = 'status'), o.id
            ) heads order by id
            """,
            SETTLED_AFTER,
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

    async def begin(self, unsent: Unsent) -> Unsent | None:
        """The message as it is now, about to be sent; None when it is not to be sent any more.

        A new message is marked as begun until `sent`, `postpone` or `give_up` say what became of it: whoever
        finds it so, after a crash, looks for it in Slack first. An edit can be made twice. Of two senders
        that have seen the same only one may begin.
        """
        row = await self._pool.fetchrow(
            """
            update outbox set begun_at = case when ts is null then now() end,
                begun_revision = case when ts is null then revision end
            where id = $1 and begun_at is not distinct from $2 and ts is not distinct from $3
                and sent_revision < revision and error is null
            returning message, revision, begun_at, begun_revision
            """,
            unsent.id,
            unsent.begun_at,
            unsent.ts,
        )
        return None if row is None else replace(unsent, **dict(row))

    async def uploaded(self, unsent: Unsent, file_id: str) -> None:
        """The bytes of a file are in Slack under this id; from now on they may be shared."""
        await self._pool.execute("update outbox set file_id = $2 where id = $1", unsent.id, file_id)

    async def newest_before(self, unsent: Unsent) -> str | None:
        """The newest ts of what its article put out before it: in the thread it stands below that."""
        ts: str | None = await self._pool.fetchval(
            """
            select ts from outbox where article_id = $1 and id < $2 and ts is not null
            order by ts::numeric desc limit 1
            """,
            unsent.article_id,
            unsent.id,
        )
        return ts

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
                    permalink = coalesce(permalink, $4), attempts = 0, begun_at = null, begun_revision = null
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

    async def postpone(self, unsent: Unsent, delay: timedelta, *, unknown: bool = False) -> None:
        """Slack could not take it now; try again after `delay`. `unknown`: or perhaps it has taken it."""
        await self._pool.execute(
            """
            update outbox set attempts = attempts + 1, not_before = now() + $2,
                begun_at = case when $3 then begun_at end,
                begun_revision = case when $3 then begun_revision end
            where id = $1
            """,
            unsent.id,
            delay,
            unknown,
        )

    async def give_up(self, unsent: Unsent, error: str, *, unknown: bool = False) -> None:
        """Slack will never take it: keep the reason, and let the later ones of the article pass.

        `unknown`: an earlier try may have posted it, and Slack refuses to say. A newer text of what is there
        may be taken all the same.
        """
        await self._pool.execute(
            """
            update outbox set error = case when ts is null or revision = $4 then $2 end,
                begun_at = case when $3 then begun_at end,
                begun_revision = case when $3 then begun_revision end
            where id = $1
            """,
            unsent.id,
            error,
            unknown,
            unsent.revision,
        )
