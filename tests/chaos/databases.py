"""Databases for many runs: one with the sample knowledge in it, and copies of that."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from itertools import count

import asyncpg

from bot.app import open_knowledge
from bot.demo import SAMPLE, DemoSettings
from knowledge.database import migrate

TEMPLATE = "chaos_template"
LOOK_SECONDS = 0.01

# Tells from outside what is committed, and holds the move that a run names until its process is dead.
WATCHED = """
create table chaos_hold (moves integer not null);

create function chaos_kept() returns trigger language plpgsql as $$
begin
    perform pg_notify('chaos', json_build_object(
        'kind', 'kept', 'step', new.step, 'n', new.n,
        'id', substring(new.body from '"provider_response_id": ?"([^"]*)"'))::text);
    return null;
end $$;
create trigger chaos_kept after insert or update on journal for each row execute function chaos_kept();

create function chaos_sent() returns trigger language plpgsql as $$
begin
    perform pg_notify('chaos', json_build_object('kind', 'sent', 'key', new.key)::text);
    return null;
end $$;
create trigger chaos_sent after update of sent_revision on outbox
    for each row when (new.sent_revision > old.sent_revision) execute function chaos_sent();

create function chaos_moved() returns trigger language plpgsql as $$
declare
    number integer := (select count(*) from article_moves where article_id = new.article_id);
begin
    if exists (select from chaos_hold where moves = number) then
        perform pg_advisory_xact_lock(20261130);
    end if;
    perform pg_notify('chaos', json_build_object(
        'kind', 'moved', 'n', number, 'from', new.from_status, 'to', new.to_status)::text);
    return null;
end $$;
create trigger chaos_moved after insert on article_moves for each row execute function chaos_moved();

create table chaos_legs (
    id         bigint generated always as identity primary key,
    job_id     bigint      not null,
    article_id integer     not null,
    moves      integer     not null,
    event      text        not null,
    worker_id  bigint,
    at         timestamptz not null default clock_timestamp()
);

create function chaos_leg() returns trigger language plpgsql as $$
begin
    insert into chaos_legs (job_id, article_id, moves, event, worker_id) values (
        old.id, (old.args->>'article_id')::integer, (old.args->>'moves')::integer,
        case when tg_op = 'DELETE' then 'succeeded' else new.status::text end,
        case when tg_op = 'DELETE' then old.worker_id else new.worker_id end);
    return null;
end $$;
create trigger chaos_leg after update of status on procrastinate_jobs
    for each row when (old.task_name = 'copydesk.leg' and old.status <> new.status)
    execute function chaos_leg();
create trigger chaos_leg_ended after delete on procrastinate_jobs
    for each row when (old.task_name = 'copydesk.leg' and old.status = 'doing') execute function chaos_leg();
"""
HELD = 20261130


class Databases:
    """On one server; `dsn` is that of its superuser, on its database `copydesk`."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._numbers = count(1)

    async def prepare(self, settings: DemoSettings) -> None:
        """Make the one that is copied: migrated, with the sample knowledge, and watched."""
        await self._execute(f"drop database if exists {TEMPLATE} with (force)")
        await self._execute(f"create database {TEMPLATE}")
        dsn = self._on(TEMPLATE)
        await migrate(dsn)
        async with open_knowledge(settings.model_copy(update={"database_url": dsn})) as knowledge:
            await knowledge.documents.ingest([SAMPLE])
            await knowledge.pool.execute(WATCHED)

    @contextlib.asynccontextmanager
    async def copy(self) -> AsyncIterator[str]:
        """A DSN, good until the end of the `async with`."""
        name = f"chaos_{next(self._numbers)}"
        await self._execute(f"create database {name} template {TEMPLATE}")
        try:
            yield self._on(name)
        finally:
            await self._execute(f"drop database {name} with (force)")

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self._dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    def _on(self, name: str) -> str:
        return self._dsn.replace("/copydesk?", f"/{name}?")


async def until(connection: asyncpg.Connection, question: str, *params: object) -> None:
    """Wait until the database answers `question` with true. For what notifies nobody."""
    while True:
        if await connection.fetchval(question, *params):
            return
        await asyncio.sleep(LOOK_SECONDS)
