"""Articles in PostgreSQL. What belongs together is written in one transaction, or not at all."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from knowledge.article import AT_WORK, Action, Article, On, Status, may_follow
from knowledge.changes import (
    AlreadyHeard,
    Change,
    IllegalMove,
    Moved,
    NewArticle,
    NewDecision,
    NewVersion,
    Outgoing,
)
from knowledge.counters import article_moves, duplicates_dropped
from knowledge.database import Connection, Pool, storable
from knowledge.journal import Journal, forget
from knowledge.leg_jobs import defer_leg
from knowledge.rows import article_of, decision_of, error_json

NO_USAGE: Mapping[str, Any] = {"requests": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": None}


class Articles:
    """All reading and writing of articles."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(
        self,
        new: NewArticle,
        *,
        first_messages: Callable[[Article], Sequence[Outgoing]],
        claims: Sequence[str] = (),
    ) -> Article:
        """Start an article in `researching`, with its first leg and messages; raises `AlreadyHeard`."""
        async with self._pool.acquire() as connection, connection.transaction():
            await _claim(connection, claims)
            article_id: int = await connection.fetchval(
                """
                insert into articles
                    (topic, language, mode, status, moves, team_id, channel_id, requested_by, usage)
                values ($1, $2, $3, 'researching', 1, $4, $5, $6, $7)
                returning id
                """,
                new.topic,
                new.language,
                new.mode,
                new.team_id,
                new.channel_id,
                new.requested_by,
                dict(NO_USAGE),
            )
            await _record_move(connection, article_id, None, Status.RESEARCHING, "requested")
            await defer_leg(connection, article_id, moves=1)
            article = await _read(connection, article_id)
            await _put_out(connection, article_id, first_messages(article))
            return article

    async def get(self, article_id: int) -> Article | None:
        async with self._pool.acquire() as connection:
            try:
                return await _read(connection, article_id)
            except LookupError:
                return None

    async def in_thread(self, channel_id: str, thread_ts: str) -> Article | None:
        async with self._pool.acquire() as connection:
            article_id = await connection.fetchval(
                "select id from articles where channel_id = $1 and thread_ts = $2", channel_id, thread_ts
            )
            return None if article_id is None else await _read(connection, article_id)

    async def newest(
        self,
        *,
        limit: int | None = None,
        team_id: str | None = None,
        user_id: str | None = None,
        in_work: bool = False,
    ) -> list[Article]:
        """Newest first, without their decisions; `in_work` leaves out what is published or cancelled.

        With `user_id`, those that are open to this person.
        """
        rows = await self._pool.fetch(
            """
            select * from articles
            where ($2::text is null or team_id = $2)
              and (not $3 or status not in ('published', 'cancelled'))
              and ($4::text is null or channel_id not like 'D%' or requested_by = $4)
            order by id desc limit $1
            """,
            *(limit, team_id, in_work, user_id),
        )
        return [article_of(row, ()) for row in rows]

    async def on_topic(self, topic: str, *, team_id: str, user_id: str) -> Article | None:
        """The newest article on the same words (case and white space apart) that was not cancelled, of those
        that are open to this person.
        """
        article_id = await self._pool.fetchval(
            r"""
            select id from articles
            where team_id = $2 and status <> 'cancelled' and (channel_id not like 'D%' or requested_by = $3)
              and lower(regexp_replace(topic, '\s+', ' ', 'g')) = lower(regexp_replace($1, '\s+', ' ', 'g'))
            order by id desc limit 1
            """,
            *(topic, team_id, user_id),
        )
        return None if article_id is None else await self.get(article_id)

    async def save(self, before: Article, change: Change) -> Article:
        """Write `change` if the article is still as `before` says; returns it as it is now.

        A new status is a move: it raises the fence, is recorded in the history, defers the leg it needs and
        cancels the one that was at work. Raises `Moved`, `AlreadyHeard` or `IllegalMove`; then nothing is
        written.
        """
        after = change.after
        # Kept requests can start the same leg again: the status stays, but it is a move all the same.
        moves = after.status is not before.status or change.take
        if moves and not may_follow(before, after.status):
            raise IllegalMove(f"{before.status} -> {after.status} (article {before.id})")
        async with self._pool.acquire() as connection, connection.transaction():
            await _claim(connection, change.claims)
            old_job = await _compare_and_set(connection, before, after, moves=moves, heard=change.decision)
            if change.outcome is not None:
                await connection.execute(
                    "update decisions set state = 'done', outcome = $2"
                    " where article_id = $1 and state = 'taken'",
                    before.id,
                    storable(change.outcome),
                )
            if change.settle:
                await connection.execute(
                    "update decisions set state = 'done', outcome = ''"
                    " where article_id = $1 and state = 'waiting'",
                    before.id,
                )
            if change.take:
                await connection.execute(
                    "update decisions set state = 'taken' where article_id = $1 and state = 'waiting'",
                    before.id,
                )
            if change.decision is not None:
                await _record_decision(connection, before.id, change.decision)
            if change.review is not None:
                version, by, review = change.review
                await connection.execute(
                    "insert into article_reviews (article_id, version, by, review) values ($1, $2, $3, $4)",
                    before.id,
                    version,
                    by,
                    review,
                )
            if change.version is not None:
                await _record_version(connection, before.id, change.version)
            if moves:
                await _record_move(connection, before.id, before.status, after.status, change.why)
                # With an error the leg is only interrupted: Retry goes on with what it has.
                interrupted = before.error is not None or after.error is not None
                if not interrupted or after.status in (Status.CANCELLED, Status.PUBLISHED):
                    await forget(connection, before.id)
                if after.status is Status.CANCELLED and old_job is not None:
                    await connection.execute("select procrastinate_cancel_job_v1($1, true, false)", old_job)
                if after.status in AT_WORK:
                    await defer_leg(connection, before.id, moves=before.moves + 1)
                if before.status is Status.FAILED:
                    # Retry is for what Slack refused, too.
                    await connection.execute(
                        "update outbox set error = null, attempts = 0, not_before = now(), "
                        "revision = greatest(revision, sent_revision + 1) "
                        "where article_id = $1 and error is not null",
                        before.id,
                    )
            if change.forget is not None:
                await forget(connection, before.id, change.forget)
            await _put_out(connection, before.id, change.messages)
            return await _read(connection, before.id)

    async def spent(self, article: Article, usage: Mapping[str, Any]) -> None:
        """Keep the account of a leg that wrote nothing: the article was cancelled, or moved, meanwhile."""
        await self._pool.execute(
            "update articles set usage = $2 where id = $1 and (usage->>'requests')::integer < $3",
            article.id,
            dict(usage),
            usage["requests"],
        )

    async def journal(self, article: Article) -> Journal:
        """What the leg that `article` is in has finished before, if it was interrupted."""
        return await Journal.of(self._pool, article)

    async def tell(self, article: Article, message: Outgoing, *, claims: Sequence[str] = ()) -> None:
        """Put a message out that changes nothing of the article; raises `AlreadyHeard`."""
        async with self._pool.acquire() as connection, connection.transaction():
            await _claim(connection, claims)
            await _put_out(connection, article.id, [message])

    async def tell_progress(self, article: Article, message: Outgoing) -> bool:
        """Edit a message unless the article has moved on since `article` was read; says whether it did."""
        async with self._pool.acquire() as connection, connection.transaction():
            still = await connection.fetchval(
                "select id from articles where id = $1 and moves = $2 for share", article.id, article.moves
            )
            if still is None:
                return False
            await _put_out(connection, article.id, [message])
            return True

    async def posting_in(self, channel_id: str, *, articles_only: bool = False) -> bool:
        """Whether an article or, else, a question to people is on its way to this channel: in Slack, perhaps,
        but its ts is not known here yet."""
        posting: bool = await self._pool.fetchval(
            """
            select exists (
                select from outbox o join articles a on a.id = o.article_id
                where a.channel_id = $1 and o.ts is null and o.sent_revision = 0 and o.error is null
                  and (a.thread_ts is null or o.on_what is not null and not $2)
            )
            """,
            channel_id,
            articles_only,
        )
        return posting

    async def asked_above(self, article_id: int, ts: str) -> tuple[On, int] | None:
        """What was last posted for decision before `ts`: ('outline' or 'draft', version)."""
        row = await self._pool.fetchrow(
            """
            select on_what, version from outbox
            where article_id = $1 and on_what is not null and ts::numeric < $2::numeric
            order by ts::numeric desc limit 1
            """,
            article_id,
            ts,
        )
        return None if row is None else (row["on_what"], row["version"])

    async def message(self, key: str) -> tuple[dict[str, Any], str | None] | None:
        """An outbox message by its key, with its link in Slack if it has been posted."""
        row = await self._pool.fetchrow("select message, permalink from outbox where key = $1", key)
        return None if row is None else (row["message"], row["permalink"])

    async def history(self, article_id: int) -> list[dict[str, Any]]:
        """Moves, oldest first: {at, from, to, why}."""
        rows = await self._pool.fetch(
            'select at, from_status as "from", to_status as "to", why'
            " from article_moves where article_id = $1 order by id",
            article_id,
        )
        return [dict(row) for row in rows]

    async def versions(self, article_id: int) -> list[dict[str, Any]]:
        """Drafts that were shown, oldest first: {number, sha256, created_at, words, markdown, draft}."""
        rows = await self._pool.fetch(
            "select number, sha256, created_at, words, markdown, draft"
            " from article_versions where article_id = $1 order by number",
            article_id,
        )
        return [dict(row) for row in rows]

    async def reviews(self, article_id: int) -> list[dict[str, Any]]:
        """Reviews, oldest first: the fields of a ReviewResult with `version` and `by`."""
        rows = await self._pool.fetch(
            "select review, version, by from article_reviews where article_id = $1 order by id", article_id
        )
        return [{**row["review"], "version": row["version"], "by": row["by"]} for row in rows]


async def _claim(connection: Connection, keys: Sequence[str]) -> None:
    if not keys:
        return
    claimed = await connection.fetch(
        "insert into inbox (key) select unnest($1::text[]) on conflict do nothing returning key", list(keys)
    )
    if len(claimed) < len(keys):
        duplicates_dropped.add(1, {"at": "effect"})
        raise AlreadyHeard


async def _compare_and_set(
    connection: Connection, before: Article, after: Article, *, moves: bool, heard: NewDecision | None
) -> int | None:
    """The article's row, if nobody was faster; returns the job of the leg that was at work."""
    row = await connection.fetchrow(
        "select job_id from articles where id = $1 and moves = $2 and heard = $3 for update",
        before.id,
        before.moves,
        before.heard,
    )
    if row is None:
        raise Moved
    await connection.execute(
        """
        update articles set
            status = $2, moves = moves + $3, heard = heard + $4, outline_version = $5, version = $6,
            research = $7, analysis = $8, draft = $9, review = $10, review_count = $11,
            research_rounds = $12, approved_by = $13, stopped_by = $14, error = $15,
            -- A leg that was cut off has written its account since `before` was read: it never goes back.
            usage = case
                when (usage->>'requests')::integer > ($16::jsonb->>'requests')::integer then usage else $16
            end,
            job_id = case when $3 = 1 then null else job_id end, updated_at = now()
        where id = $1
        """,
        before.id,
        after.status,
        int(moves),
        int(heard is not None),
        after.outline_version,
        after.version,
        after.research,
        after.analysis,
        after.draft,
        after.review,
        after.review_count,
        after.research_rounds,
        after.approved_by,
        after.stopped_by,
        None if after.error is None else error_json(after.error),
        after.usage,
    )
    job_id: int | None = row["job_id"]
    return job_id


async def _record_move(
    connection: Connection, article_id: int, from_: Status | None, to: Status, why: str
) -> None:
    article_moves.add(1, {"from": from_.value if from_ else "new", "to": to.value})
    await connection.execute(
        "insert into article_moves (article_id, from_status, to_status, why) values ($1, $2, $3, $4)",
        article_id,
        from_,
        to,
        storable(why),
    )


async def _record_decision(connection: Connection, article_id: int, decision: NewDecision) -> None:
    # What changes the text is carried out by legs; approve, cancel and retry are done with the move itself.
    works = decision.action in (Action.REVISE, Action.RESEARCH)
    state = ("waiting" if decision.kept else "taken") if works else "done"
    await connection.execute(
        """
        insert into decisions (article_id, on_what, action, text, section, by, version, state)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        article_id,
        decision.on,
        decision.action,
        decision.text,
        decision.section,
        decision.by,
        decision.version,
        state,
    )


async def _record_version(connection: Connection, article_id: int, version: NewVersion) -> None:
    markdown = storable(version.markdown)
    await connection.execute(
        """
        insert into article_versions (article_id, number, draft, markdown, sha256, words)
        values ($1, $2, $3, $4, $5, $6)
        """,
        article_id,
        version.number,
        version.draft,
        markdown,
        hashlib.sha256(markdown.encode()).hexdigest(),
        version.words,
    )


async def _put_out(connection: Connection, article_id: int, messages: Sequence[Outgoing]) -> None:
    for outgoing in messages:
        await connection.execute(
            """
            insert into outbox (key, article_id, message, on_what, version, channel_id)
            values ($1, $2, $3, $4, $5, $6)
            on conflict (key) do update
                set message = excluded.message, revision = outbox.revision + 1, attempts = 0,
                    not_before = now(), error = null
                where outbox.message is distinct from excluded.message
            """,
            outgoing.key,
            None if outgoing.to is not None else article_id,
            outgoing.message,
            outgoing.on,
            outgoing.version,
            outgoing.to,
        )


async def _read(connection: Connection, article_id: int) -> Article:
    row = await connection.fetchrow("select * from articles where id = $1", article_id)
    if row is None:
        raise LookupError(article_id)
    decisions = await connection.fetch(
        "select * from decisions where article_id = $1 order by id", article_id
    )
    return article_of(row, tuple(decision_of(decision) for decision in decisions))
