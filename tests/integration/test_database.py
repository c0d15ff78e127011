"""The pool, its codecs, the migrations, and the sentences for a database that cannot be used."""

import asyncio
import importlib.metadata
import json
import re
import socket
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import procrastinate
import psycopg
import pytest
from pgvector import HalfVector, SparseVector, Vector
from psycopg import sql

from knowledge import database
from knowledge.database import MIGRATIONS, DatabaseError, Pool, check, in_use, migrate, open_pool

THREE_LANGUAGES = ["hash every password", "每个密码都要加盐", "パスワードをハッシュ化する"]
numbers = count(1)


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """A database without any migration."""
    name = f"empty_{next(numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield server.replace("/copydesk?", f"/{name}?")
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
def role(server: str) -> Iterator[str]:
    """A user who may log in and nothing else."""
    name = f"role_{next(numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
        yield name
        connection.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


@pytest.fixture
def role_with_password(server: str, role: str) -> Iterator[str]:
    """The same, let in with a password only, where this server trusts everyone else."""
    with psycopg.connect(server, autocommit=True) as connection:
        (path,) = connection.execute("show hba_file").fetchone() or ("",)
        rules = Path(path).read_text("utf-8")
        Path(path).write_text(f"local all {role} scram-sha-256\n{rules}", "utf-8")
        connection.execute("select pg_reload_conf()")
        give_up = time.monotonic() + 10
        while trusts(server.replace("://copydesk@/", f"://{role}@/")):  # it reloads when it gets to it
            assert time.monotonic() < give_up
            time.sleep(0.02)
        yield role
        Path(path).write_text(rules, "utf-8")
        connection.execute("select pg_reload_conf()")


def trusts(dsn: str) -> bool:
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture
def migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of migrations that a test may change."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_first.sql").write_text("create table first (text text default '每个 すべて');\n", "utf-8")
    monkeypatch.setattr(database, "MIGRATIONS", folder)
    return folder


def execute(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


async def refusal(dsn: str) -> str:
    """What all three entries say about a database that can't be used, which must be the same."""
    sentences = set()
    for entry in (open_pool, migrate, check):
        with pytest.raises(DatabaseError) as caught:
            await entry(dsn)
        sentences.add(str(caught.value))
    (sentence,) = sentences
    return sentence


# -- migrations --------------------------------------------------------------------------------------------


async def test_migrations_are_applied_once_and_in_order(empty: str) -> None:
    names = sorted(path.stem for path in MIGRATIONS.glob("*.sql"))
    assert (await check(empty)).pending == names
    assert await migrate(empty) == names
    assert await migrate(empty) == []
    assert (await check(empty)).pending == []


async def test_concurrent_starts_migrate_once(empty: str) -> None:
    applied = await asyncio.gather(*(migrate(empty) for _ in range(5)))
    assert sorted(name for names in applied for name in names) == sorted(
        path.stem for path in MIGRATIONS.glob("*.sql")
    )


async def test_a_failed_migration_leaves_nothing_and_goes_on_once_mended(
    empty: str, migrations: Path
) -> None:
    second = migrations / "0002_second.sql"
    second.write_text("create table second (id int); select nonsense;")
    with pytest.raises(DatabaseError, match=r"0002_second failed and was rolled back \(.*nonsense.*\)"):
        await migrate(empty)
    second.write_text(
        "create table second (id int); insert into copydesk_migrations values ('0002_second', '');"
    )
    with pytest.raises(DatabaseError, match="0002_second failed"):  # what was done cannot be recorded
        await migrate(empty)
    assert (await check(empty)).pending == ["0002_second"]
    second.write_text("create table second (id int);")
    assert await migrate(empty) == ["0002_second"]


async def test_a_changed_migration_is_refused(empty: str, migrations: Path) -> None:
    first = migrations / "0001_first.sql"
    await migrate(empty)
    first.write_bytes(first.read_bytes().replace(b"\n", b"\r\n"))  # as git does on Windows
    assert await migrate(empty) == []
    first.write_text("create table first (text text default '全部 すべて');\n", "utf-8")
    for entry in (migrate, check):
        with pytest.raises(DatabaseError, match=r"0001_first was changed .* a new migration"):
            await entry(empty)


async def test_a_database_newer_than_the_code_is_refused(empty: str, migrations: Path) -> None:
    (migrations / "0002_later.sql").write_text("create table later (id int);")
    await migrate(empty)
    (migrations / "0002_later.sql").unlink()
    for entry in (migrate, check):
        with pytest.raises(DatabaseError, match=r"newer than this Copydesk.* 0002_later: run the newer"):
            await entry(empty)


async def test_a_migration_that_never_ends_is_named(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MIGRATE_LOCK_WAIT", "50ms")
    with psycopg.connect(empty) as other:
        other.execute("select pg_advisory_lock(%s)", (database.MIGRATE_LOCK,))
        with pytest.raises(DatabaseError, match="Another process has been migrating"):
            await migrate(empty)


def test_migration_files_are_numbered_without_doubles() -> None:
    names = [path.name for path in MIGRATIONS.iterdir()]
    assert [name for name in names if not re.fullmatch(r"\d{4}_[a-z0-9_]+\.sql", name)] == []
    assert len({name[:4] for name in names}) == len(names)


def test_the_schema_of_procrastinate_is_the_installed_one() -> None:
    """When this fails after an upgrade, write a migration with the SQL that procrastinate ships for it."""
    head, _, schema = (MIGRATIONS / "0001_procrastinate.sql").read_text("utf-8").partition("\n")
    assert f"procrastinate {importlib.metadata.version('procrastinate')}," in head
    assert schema == (Path(procrastinate.__file__).parent / "sql" / "schema.sql").read_text("utf-8")


# -- the pool ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {
            "en": "café “quoted”",
            "zh": "每个密码都要加盐",
            "ja": "パスワード",
            "emoji": "🔐",
            "n": [1, 2.5, None, True],
        },
        THREE_LANGUAGES,
        "a backslash and u0000: \\u0000, \\\\u0000",
        {},
        None,
    ],
)
async def test_json_comes_back_as_it_went(pool: Pool, value: Any) -> None:
    await pool.execute("create table kept (id serial, one json, two jsonb)")
    await pool.execute("insert into kept (one, two) values ($1, $2)", value, value)
    await pool.copy_records_to_table("kept", records=[(value, value)], columns=["one", "two"])
    rows = await pool.fetch("select one, two from kept")
    assert [tuple(row) for row in rows] == [(value, value)] * 2


async def test_chinese_and_japanese_are_stored_as_themselves(pool: Pool) -> None:
    text = await pool.fetchval("select ($1::json)::text", THREE_LANGUAGES)
    assert text == json.dumps(THREE_LANGUAGES, ensure_ascii=False)


async def test_characters_that_json_in_postgresql_lacks_do_not_cost_the_rest(pool: Pool) -> None:
    broken = {"a\x00": ["密\x00码", "half \ud83d of 🔐", "\\\x00", "パス\udd10"]}
    assert await pool.fetchval("select $1::jsonb", broken) == {
        "a\ufffd": ["密\ufffd码", "half \ufffd of 🔐", "\\\ufffd", "パス\ufffd"]
    }
    with pytest.raises(asyncpg.DataError):
        await pool.fetchval("select $1::jsonb", {"score": float("nan")})


async def test_vectors_of_all_kinds_come_back_beside_their_text(pool: Pool) -> None:
    await pool.execute(
        "create table passages (text text, dense vector(3), half halfvec(3), sparse sparsevec(9))"
    )
    dense, half, sparse = Vector([1, 2, 3]), HalfVector([0.5, 0, -1]), SparseVector({0: 1.5, 8: 2}, 9)
    records = [(text, dense, half, sparse) for text in THREE_LANGUAGES]
    await pool.execute("insert into passages values ($1, $2, $3, $4)", *records[0])
    await pool.copy_records_to_table("passages", records=records[1:])
    rows = await pool.fetch(
        "select text, dense, half, sparse from passages order by sparse <#> $1, text", sparse
    )
    assert sorted(row["text"] for row in rows) == sorted(THREE_LANGUAGES)
    assert [(row["dense"], row["half"], row["sparse"]) for row in rows] == [(dense, half, sparse)] * 3


async def test_the_setting_of_hnsw_outlives_the_return_of_a_connection(dsn: str) -> None:
    pool = await open_pool(dsn, max_size=1)
    for _ in range(2):
        async with pool.acquire() as connection:
            assert await connection.fetchval("show hnsw.iterative_scan") == "relaxed_order"
            await connection.execute("set hnsw.iterative_scan = off")
    await pool.close()


async def test_pgvector_may_live_in_another_schema(empty: str) -> None:
    execute(empty, "create schema extensions; create extension vector schema extensions")
    name = re.findall(r"/(empty_\d+)\?", empty)[0]
    execute(empty, f"alter database {name} set search_path = public, extensions")
    await migrate(empty)
    pool = await open_pool(empty)
    assert await pool.fetchval("select $1::halfvec", HalfVector([1, 2])) == HalfVector([1, 2])
    await pool.close()


async def test_a_pool_needs_a_migrated_database(empty: str) -> None:
    with pytest.raises(DatabaseError, match="not been set up yet: run `python -m bot migrate`"):
        await open_pool(empty)


# -- what can be wrong -------------------------------------------------------------------------------------


async def test_check_tells_the_versions(dsn: str) -> None:
    state = await check(dsn)
    assert int(state.postgres.split(".")[0]) >= 15
    assert tuple(map(int, state.pgvector.split("."))) >= (0, 8)
    assert state.pending == []


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "localhost",
        "mysql://user:geheim@host/db",
        "postgresql+asyncpg://user:geheim@host/db",
        "host=localhost password=geheim",
        "postgresql://user:geheim/密码@host:5432/db",
        "postgresql://user:ge@heim@host/db",
        "postgresql://user:p#geheim@host/db",
        "postgresql://user:p?geheim@host/db",
        "postgresql://user:geheim@host:パス/db",
        "postgresql://user:geheim@[::1/db",
    ],
)
async def test_what_is_no_address_is_refused_without_repeating_it(dsn: str) -> None:
    sentence = await refusal(dsn)
    assert "looks like postgresql://user:password@host:5432/database" in sentence
    assert "geheim" not in sentence


async def test_a_server_that_is_not_there_is_named_by_host_and_port() -> None:
    with socket.socket() as reserved:  # bound and not listening: refused for sure
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        sentence = await refusal(f"postgresql://user:geheim@127.0.0.1:{port}/db")
    assert f"Cannot reach PostgreSQL at 127.0.0.1 port {port} (" in sentence
    assert "is DATABASE_URL right?" in sentence
    assert "geheim" not in sentence
    assert "Cannot reach PostgreSQL at /no/such/folder port 5432" in await refusal(
        "postgresql:///db?host=/no/such/folder"
    )


async def test_a_server_that_speaks_another_language_or_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "CONNECT_SECONDS", 0.3)

    async def answer_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer_http, "127.0.0.1", 0) as http:
        port = http.sockets[0].getsockname()[1]
        for entry in (open_pool, migrate, check):
            with pytest.raises(DatabaseError, match=rf"127\.0\.0\.1 port {port}"):
                await entry(f"postgresql://user@127.0.0.1:{port}/db")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert f"port {port} (no answer)" in await refusal(f"postgresql://user@127.0.0.1:{port}/db")


async def test_a_missing_database_is_named(server: str) -> None:
    sentence = await refusal(server.replace("/copydesk?", f"/{quote('記事')}?"))
    assert "The database 記事 does not exist at /" in sentence
    assert "`createdb 記事`" in sentence


async def test_a_refused_password_is_not_repeated(server: str, role_with_password: str) -> None:
    role = role_with_password
    sentence = await refusal(server.replace("://copydesk@/", f"://{role}:{quote('geheim密码')}@/"))
    assert f"refused the user {role} or the password: correct DATABASE_URL" in sentence
    assert "geheim" not in sentence


async def test_a_user_without_rights_is_told_what_to_grant(empty: str, role: str) -> None:
    dsn = empty.replace("://copydesk@/", f"://{role}@/")
    with pytest.raises(
        DatabaseError, match=rf"user {role} may not set up the database empty_\d+ .*`create extension"
    ):
        await migrate(dsn)
    execute(empty, "create extension vector")
    with pytest.raises(DatabaseError, match=rf"`grant create on schema public to {role}`"):
        await migrate(dsn)
    execute(empty, f"grant create on schema public to {role}")
    assert await migrate(dsn)
    execute(empty, f"reassign owned by {role} to copydesk; drop owned by {role}")


async def test_a_server_without_a_free_connection_is_named(dsn: str, role: str) -> None:
    execute(dsn, f"alter role {role} connection limit 0")
    assert "has no connection left" in await refusal(dsn.replace("://copydesk@/", f"://{role}@/"))


async def test_a_server_without_pgvector_is_named(empty: str) -> None:
    name = re.findall(r"/(empty_\d+)\?", empty)[0]
    execute(empty, f"alter database {name} set extension_control_path = '/nowhere'")
    for entry in (migrate, check):
        with pytest.raises(DatabaseError, match="has no pgvector: install it there"):
            await entry(empty)


async def test_an_old_pgvector_is_named(dsn: str) -> None:
    execute(dsn, "update pg_extension set extversion = '0.7.4' where extname = 'vector'")
    for entry in (migrate, check):
        with pytest.raises(DatabaseError, match=r"pgvector 0\.7\.4 .* `alter extension vector update`"):
            await entry(dsn)


def test_an_old_postgresql_is_named() -> None:
    database._refuse_old_postgres(15)
    with pytest.raises(DatabaseError, match="is PostgreSQL 14 and Copydesk needs 15 or newer"):
        database._refuse_old_postgres(14)


async def test_what_fails_in_a_database_that_was_opened_is_one_sentence(dsn: str, pool: Pool) -> None:
    async with pool.acquire() as other, other.transaction():
        await other.execute("lock table articles")
        with pytest.raises(DatabaseError, match="Another process is at work on the same"), in_use(dsn):
            await pool.execute("set lock_timeout = '1ms'; select from articles")
    with pytest.raises(DatabaseError, match=r"^The database at .* failed \(.*\): try again\.$"), in_use(dsn):
        await pool.execute("select pg_terminate_backend(pg_backend_pid())")
    closed = await open_pool(dsn)
    await closed.close()
    with pytest.raises(DatabaseError, match="failed"), in_use(dsn):
        await closed.execute("select 1")
    with pytest.raises(BrokenPipeError), in_use(dsn):  # of a command's output
        raise BrokenPipeError
