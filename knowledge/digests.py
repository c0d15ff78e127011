"""The digest's side of the database: which slots were posted, and what happened between two of them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any

from knowledge.article import On
from knowledge.database import Connection, Pool
from knowledge.language import Language

# pg_advisory_xact_lock key: one digest at a time is put together.
_DIGEST_LOCK = 0x0C09_D16E
_LOCK_WAIT = "10s"

# A second `--post` this soon is a second click, also where the minute has just turned.
_CLICK = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Setup:
    """A digest as the settings have it: one of each name."""

    name: str
    channel_id: str
    cron: str
    timezone: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A time at which a digest is due: `local` as the clock of its zone shows it, without a zone."""

    local: datetime
    moment: datetime


@dataclass(frozen=True, slots=True)
class PublishedArticle:
    """An article with the version that was published last; `draft` is the JSON of `agents.contracts`."""

    article_id: int
    topic: str
    language: Language
    version: int
    draft: dict[str, Any]
    words: int
    reviews: int
    research_rounds: int
    requested_by: str
    approved_by: str | None
    usage: dict[str, Any]
    permalink: str | None  # of the thread
    file: str | None  # of the text in Slack
    published_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingArticle:
    """An article that stands at a gate now; `permalink` leads to what is to be decided on."""

    article_id: int
    topic: str
    language: Language
    on: On
    version: int
    since: datetime
    requested_by: str
    permalink: str | None


@dataclass(frozen=True, slots=True)
class Record:
    """What a digest tells: `start` is in its period, `end` is not; `at` is when this was read."""

    start: datetime
    end: datetime
    at: datetime
    published: tuple[PublishedArticle, ...]
    waiting: tuple[WaitingArticle, ...]
    failed: int
    cancelled: int


# Where the first digest begins, by where it ends: nothing was posted before it.
First = Callable[[datetime], datetime]
Compose = Callable[[Record], dict[str, Any]]


class Digests:
    """All reading and writing of digests; errors are the database's own."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def set_up(self, setup: Setup) -> datetime:
        """Since when the digest is set up like this: now, where anything of it is new."""
        since: datetime = await self._pool.fetchval(
            """
            with changed as (
                insert into digests as d (name, channel_id, cron, timezone) values ($1, $2, $3, $4)
                on conflict (name) do update
                    set channel_id = $2, cron = $3, timezone = $4, since = now()
                    where (d.channel_id, d.cron, d.timezone) is distinct from ($2, $3, $4)
                returning since
            )
            select since from changed union all select since from digests where name = $1 limit 1
            """,
            setup.name,
            setup.channel_id,
            setup.cron,
            setup.timezone,
        )
        return since

    async def preview(self, name: str, channel_id: str | None, *, first: First) -> Record:
        """What a digest posted now would tell."""
        async with self._pool.acquire() as connection, connection.transaction(isolation="repeatable_read"):
            now: datetime = await connection.fetchval("select now()")
            last = await _last_posted(connection, name, channel_id)
            start = await _first_start(connection, name, channel_id, first(now)) if last is None else last
            return await _read(connection, start, now)

    async def post(
        self, name: str, channel_id: str, slot: Slot, *, first: First, compose: Compose
    ) -> str | None:
        """Put the digest of a slot into the outbox, and return its key there.

        None, and nothing written, when that slot or a later moment was posted, whoever did it.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            now = await _alone(connection)
            last = await _last_posted(connection, name, channel_id)
            # By the database's clock, which moves are dated by: one that is behind ours may not lose any.
            end = min(slot.moment, now)
            if last is not None and end <= last:
                return None
            start = await _first_start(connection, name, channel_id, first(end)) if last is None else last
            return await _put_out(connection, name, channel_id, slot.local, start, end, compose)

    async def post_now(
        self, name: str, channel_id: str, zone: tzinfo, *, first: First, compose: Compose
    ) -> str | None:
        """The same for this very moment.

        None when the last one was posted less than a minute ago.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            now = await _alone(connection)
            last = await _last_posted(connection, name, channel_id)
            if last is not None and now - last < _CLICK:
                return None
            local = now.astimezone(zone).replace(tzinfo=None)
            start = await _first_start(connection, name, channel_id, first(now)) if last is None else last
            return await _put_out(connection, name, channel_id, local, start, now, compose)

    async def refused(self, name: str, channel_id: str) -> tuple[datetime, str] | None:
        """When the newest digest of a channel was due and why Slack refused it; None where it did not."""
        row = await self._pool.fetchrow(
            """
            select s.slot, o.error from digest_slots s left join outbox o on o.key = s.message_key
            where s.name = $1 and s.channel_id = $2 order by s.period_to desc limit 1
            """,
            name,
            channel_id,
        )
        return None if row is None or row["error"] is None else (row["slot"], row["error"])


def _key(name: str, channel_id: str, slot: datetime) -> str:
    return f"digest:{name}:{channel_id}:{slot.isoformat()}"


async def _alone(connection: Connection) -> datetime:
    """Wait for other digests and for moves that are being written; returns the database's time then.

    Moves are dated by the start of their transaction. One that began before a period's end and is committed
    after it was read would be told neither in this digest nor in the next.
    """
    await connection.execute(f"set local lock_timeout = '{_LOCK_WAIT}'")
    await connection.execute("select pg_advisory_xact_lock($1)", _DIGEST_LOCK)
    await connection.execute("lock table article_moves in share mode")
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now


async def _last_posted(connection: Connection, name: str, channel_id: str | None) -> datetime | None:
    """Where the period of the last digest ends that was not refused by Slack."""
    last: datetime | None = await connection.fetchval(
        """
        select max(s.period_to) from digest_slots s left join outbox o on o.key = s.message_key
        where s.name = $1 and s.channel_id = $2 and o.error is null
        """,
        name,
        channel_id,
    )
    return last


async def _first_start(
    connection: Connection, name: str, channel_id: str | None, earliest: datetime
) -> datetime:
    """`earliest`, or when the digest was set up if slots have been missed since."""
    since: datetime | None = await connection.fetchval(
        "select since from digests where name = $1 and channel_id = $2", name, channel_id
    )
    return earliest if since is None else min(since, earliest)


async def _put_out(
    connection: Connection,
    name: str,
    channel_id: str,
    slot: datetime,
    start: datetime,
    end: datetime,
    compose: Compose,
) -> str | None:
    """Claim the slot, and put its message out with it."""
    key = _key(name, channel_id, slot)
    claimed = await connection.fetchval(
        """
        insert into digest_slots (name, channel_id, slot, period_from, period_to, message_key)
        values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning true
        """,
        name,
        channel_id,
        slot,
        start,
        end,
        key,
    )
    if not claimed:
        return None
    await connection.execute(
        "insert into outbox (key, channel_id, message) values ($1, $2, $3)",
        key,
        channel_id,
        compose(await _read(connection, start, end)),
    )
    return key


async def _read(connection: Connection, start: datetime, end: datetime) -> Record:
    """What was published in the period and what waits now. Direct messages are nobody else's business."""
    published = await connection.fetch(
        """
        select * from (
            select distinct on (a.id)
                a.id as article_id, a.topic, a.language, coalesce(d.version, a.version) as version,
                coalesce(v.draft, a.draft, '{}') as draft, coalesce(v.words, 0) as words, a.research_rounds,
                (
                    select count(*) from article_reviews r
                    where r.article_id = a.id and r.created_at <= m.at
                ) as reviews,
                a.requested_by, coalesce(d.by, a.approved_by) as approved_by, a.usage, a.permalink,
                f.permalink as file, m.at as published_at
            from article_moves m
            join articles a on a.id = m.article_id
            left join lateral (
                select version, by from decisions
                where article_id = a.id and on_what = 'draft' and action = 'approve' and at <= m.at
                order by id desc limit 1
            ) d on true
            left join article_versions v on v.article_id = a.id and v.number = d.version
            left join outbox f on f.article_id = a.id and f.message->>'kind' = 'file'
                and (f.message->>'version')::integer = d.version
            where m.to_status = 'published' and m.at >= $1 and m.at < $2 and a.channel_id not like 'D%'
            order by a.id, m.id desc
        ) newest order by published_at, article_id
        """,
        start,
        end,
    )
    waiting = await connection.fetch(
        """
        select a.id as article_id, a.topic, a.language, w.on_what as "on", w.version,
            coalesce(
                (select max(at) from article_moves where article_id = a.id and to_status = a.status),
                a.updated_at
            ) as since,
            a.requested_by, coalesce(o.permalink, a.permalink) as permalink
        from articles a
        cross join lateral (
            select case a.status when 'awaiting_outline' then 'outline' else 'draft' end as on_what,
                case a.status when 'awaiting_outline' then a.outline_version else a.version end as version
        ) w
        left join outbox o on o.article_id = a.id and o.on_what = w.on_what and o.version = w.version
        where a.status in ('awaiting_outline', 'awaiting_approval') and a.channel_id not like 'D%'
        order by since, a.id
        """
    )
    ended = await connection.fetchrow(
        """
        select count(distinct a.id) filter (where m.to_status = 'cancelled') as cancelled,
            count(distinct a.id) filter (where m.to_status = 'failed' and a.status = 'failed') as failed
        from article_moves m join articles a on a.id = m.article_id
        where m.at >= $1 and m.at < $2 and a.channel_id not like 'D%'
        """,
        start,
        end,
    )
    assert ended is not None  # an aggregate has its one row
    return Record(
        start=start,
        end=end,
        at=await connection.fetchval("select clock_timestamp()"),
        published=tuple(PublishedArticle(**dict(row)) for row in published),
        waiting=tuple(WaitingArticle(**dict(row)) for row in waiting),
        failed=ended["failed"],
        cancelled=ended["cancelled"],
    )
