"""A database of any earlier release, with all that was in it, becomes today's, and work goes on."""

import asyncio
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import procrastinate
import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from bot.blocks import draw
from bot.messages import MESSAGE
from knowledge import database
from knowledge.article import Action, Status
from knowledge.articles import Articles
from knowledge.changes import Change, NewDecision
from knowledge.database import MIGRATIONS, check, migrate, open_pool
from knowledge.leg_jobs import LEG_TASK
from knowledge.outbox import Outbox
from tests.bot_command import run

NAMES = sorted(path.stem for path in MIGRATIONS.glob("*.sql"))
SCRIPTS = Path(procrastinate.__file__).parent / "sql" / "migrations"
numbers = count(1)

# What a release of that time had written, by the migration that made room for it. A new one gets rows, too.
ROWS = {path.stem: path.read_text("utf-8") for path in (Path(__file__).parent / "releases").glob("*.sql")}


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """A database without any migration."""
    name = f"release_{next(numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield server.replace("/copydesk?", f"/{name}?")
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


async def as_of(dsn: str, last: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that knew the migrations up to `last` was in use: its tables have rows."""
    for name in NAMES[: NAMES.index(last) + 1]:
        shutil.copy(MIGRATIONS / f"{name}.sql", folder)
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", folder)
        await migrate(dsn)
    with psycopg.connect(dsn) as connection:
        for name in NAMES[: NAMES.index(last) + 1]:
            connection.execute(ROWS[name].encode())


def contents(dsn: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables that are not about the migrations themselves."""
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        tables = connection.execute(
            "select tablename from pg_tables"
            " where schemaname = 'public' and tablename <> 'copydesk_migrations'"
        ).fetchall()
        return {
            table["tablename"]: connection.execute(
                sql.SQL("select to_jsonb(t) as row from {} t order by 1").format(
                    sql.Identifier(table["tablename"])
                )
            ).fetchall()
            for table in tables
        }


def without_new(rows: list[dict[str, Any]], columns: set[str]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row["row"].items() if name in columns} for row in rows]


@pytest.mark.parametrize("last", NAMES)
async def test_what_an_earlier_release_wrote_is_all_there_after_the_update_and_work_goes_on(
    empty: str, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await as_of(empty, last, tmp_path, monkeypatch)
    before = contents(empty)
    assert await migrate(empty) == NAMES[NAMES.index(last) + 1 :]
    after = contents(empty)
    for table, rows in before.items():
        columns = set(rows[0]["row"]) if rows else set()
        assert without_new(after[table], columns) == without_new(rows, columns), table
    if last != NAMES[0]:  # the first had no articles
        await _goes_on(empty)


async def _goes_on(dsn: str) -> None:
    """People decide on what an earlier release has shown them; its jobs and messages are not forgotten."""
    pool = await open_pool(dsn)
    articles, outbox = Articles(pool), Outbox(pool)
    waiting = await articles.get(1)
    assert waiting is not None
    assert (waiting.status, waiting.moves, waiting.outline_version) == (Status.AWAITING_OUTLINE, 3, 1)
    assert [(one.text, one.outcome) for one in waiting.decisions] == [("name the unit: café", "✓")]
    assert await articles.asked_above(1, "1700000000.000004") == ("outline", 1)
    stored = await articles.message("article:1:outline:1")
    assert stored is not None
    assert draw(MESSAGE.validate_python(stored[0])).blocks

    decision = NewDecision("outline", Action.APPROVE, "", None, "U1", 1)
    writing = await articles.save(
        waiting, Change(replace(waiting, status=Status.WRITING), why="approve", decision=decision)
    )
    assert (writing.status, writing.moves) == (Status.WRITING, 4)
    assert [head.key for head in await outbox.heads() if head.article_id] == ["article:2:note:1"]
    legs = await pool.fetch(
        "select args from procrastinate_jobs where task_name = $1 and status = 'todo' order by id", LEG_TASK
    )
    assert [row["args"] for row in legs] == [
        {"article_id": 2, "moves": 2},
        {"article_id": 1, "moves": 4},
    ]
    await pool.close()


async def test_every_table_has_rows_in_this_test(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sorted(ROWS) == NAMES, "a new migration: write what a release of that time leaves in it"
    await as_of(empty, NAMES[-1], tmp_path, monkeypatch)
    assert [table for table, rows in contents(empty).items() if not rows] == []


async def test_processes_that_start_at_once_on_an_earlier_release_update_it_once(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await as_of(empty, NAMES[3], tmp_path, monkeypatch)
    settings = {"DATABASE_URL": empty, "COPYDESK_HOME": str(tmp_path), "COPYDESK_EMBEDDING_MODEL": "none"}
    starts = (run("migrate", settings=settings, seconds=120) for _ in range(3))
    for ran in await asyncio.gather(*starts):
        assert (ran.code, ran.out) == (0, "The database is up to date.\n"), ran.err
    assert (await check(empty)).pending == []
    with psycopg.connect(empty) as connection:
        applied = connection.execute(
            "select name from copydesk_migrations order by applied_at, name"
        ).fetchall()
    assert [name for (name,) in applied] == NAMES


# -- procrastinate -----------------------------------------------------------------------------------------


def shape(dsn: str) -> list[tuple[Any, ...]]:
    """Tables, columns, functions, triggers and indexes of procrastinate, as the database describes them."""
    queries = (
        "select 'column', table_name::text, column_name::text, data_type::text || ' ' || is_nullable"
        " from information_schema.columns where table_name like 'procrastinate%'",
        "select 'function', p.proname::text, pg_get_function_identity_arguments(p.oid), md5(p.prosrc)"
        " from pg_proc p where p.proname like 'procrastinate%'",
        "select 'trigger', tgname::text, pg_get_triggerdef(oid), '' from pg_trigger"
        " where not tgisinternal and tgname like 'procrastinate%'",
        "select 'index', indexname::text, indexdef, '' from pg_indexes where tablename like 'procrastinate%'",
    )
    with psycopg.connect(dsn) as connection:
        return sorted(row for query in queries for row in connection.execute(query.encode()).fetchall())


def execute(dsn: str, statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statements.encode())


def test_what_procrastinate_ships_for_an_update_ends_at_the_schema_that_we_took_over(
    empty: str, server: str
) -> None:
    """So its later scripts may be laid over our 0001: each upgrade's become a numbered migration of ours.

    That an upgrade is due is noticed in test_database.py, which compares 0001 with the installed package.
    """
    stepwise = f"release_{next(numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(stepwise)))
    try:
        on_steps = server.replace("/copydesk?", f"/{stepwise}?")
        for script in sorted(SCRIPTS.glob("*.sql")):
            execute(on_steps, script.read_text("utf-8"))
        execute(empty, (MIGRATIONS / "0001_procrastinate.sql").read_text("utf-8"))
        assert shape(on_steps) == shape(empty)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(stepwise)))


def test_our_own_trigger_is_not_in_the_way_of_procrastinates() -> None:
    """A script of theirs replaces what begins with their name: ours must not."""
    ours = "".join(
        path.read_text("utf-8") for path in MIGRATIONS.glob("*.sql") if path.stem != "0001_procrastinate"
    )
    made = re.findall(r"create (?:or replace )?(?:function|trigger|table|type|index) (\w+)", ours)
    assert made
    assert [name for name in made if name.startswith("procrastinate")] == []
