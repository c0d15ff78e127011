"""The database: its pool of connections, its migrations, and what is wrong when it cannot be used."""

import contextlib
import hashlib
import json
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from pgvector.asyncpg import register_vector

if TYPE_CHECKING:  # generic in its stubs alone
    AsyncpgPool = asyncpg.Pool[asyncpg.Record]
else:
    AsyncpgPool = asyncpg.Pool

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"

MIGRATIONS = Path(__file__).parent / "migrations"
MINIMUM_POSTGRES = 15
MINIMUM_PGVECTOR = (0, 8)
CONNECT_SECONDS = 10.0
# A connection that is dead without saying so is given up after this long, and so is a server that hangs.
STATEMENT_SECONDS = 60.0
RELEASE_SECONDS = (
    1.0  # for a statement to end that nobody waits for any more; then its connection is given up
)
MIGRATE_LOCK = 0x636F7079  # "copy": the advisory lock that lets one process at a time migrate
MIGRATE_LOCK_WAIT = "10min"


# What a statement raises whose connection was cut, or whose server is stopping, starting or gone.
AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # asyncpg's own words when it happens at the wrong moment
    ConnectionRefusedError,
    ConnectionResetError,
)


def hangs(fault: BaseException) -> bool:
    """Whether this is a statement or a connection that the database has not answered within its time.

    asyncpg has no error of its own for it; a TimeoutError of something else did not pass through it.
    """
    return isinstance(fault, TimeoutError) and any(
        frame.f_globals.get("__name__", "").startswith("asyncpg.")
        for frame, _ in traceback.walk_tb(fault.__traceback__)
    )


class DatabaseError(Exception):
    """The database cannot be used; the message says why and how to mend it, and holds no password."""


@dataclass(frozen=True)
class DatabaseState:
    """What `check` found: versions as their makers write them, and the migrations that still have to run."""

    postgres: str
    pgvector: str
    pending: list[str]


class _BoundedPool(AsyncpgPool):
    """Whoever was cut off while a statement hung does not wait for the server to let go of it."""

    async def release(
        self,
        connection: "PoolConnectionProxy[asyncpg.Record]",
        *,
        timeout: float | None = RELEASE_SECONDS,  # noqa: ASYNC109 - asyncpg's own
    ) -> None:
        await super().release(connection, timeout=timeout)


async def open_pool(dsn: str, *, min_size: int = 1, max_size: int = 10) -> Pool:
    """Open a pool on a migrated database.

    On its connections json and jsonb are Python values; vector, halfvec and sparsevec are pgvector's types.
    A statement that gets no answer raises TimeoutError after `STATEMENT_SECONDS`. Raises DatabaseError.
    """
    with _explained(dsn):
        return await _BoundedPool(
            dsn,
            min_size=min_size,
            max_size=max_size,
            max_queries=50_000,  # these four as asyncpg.create_pool has them
            max_inactive_connection_lifetime=300.0,
            connection_class=asyncpg.Connection,
            record_class=asyncpg.Record,
            loop=None,
            init=_set_codecs,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS,
            server_settings={
                "application_name": "copydesk",
                # With a filter HNSW gave 1 row of 10 without it; a start-up value outlives a pool's reset.
                "hnsw.iterative_scan": "relaxed_order",
                "hnsw.ef_search": "400",  # of the nearest 10 it finds 97 %, with the usual 40 only 90 %
            },
        )


async def migrate(dsn: str) -> list[str]:
    """Apply the numbered files that this database has not seen, in order, and return their names.

    Each runs in its own transaction, so it must not hold what refuses one (`create index concurrently`).
    Any number of processes may call this at once: one works, the others wait and find nothing to do.
    Raises DatabaseError, also when an applied file was changed or the database is newer than this code.
    """
    with _explained(dsn):
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
        try:
            _refuse_old_postgres(connection.get_server_version().major)
            await connection.execute(f"set lock_timeout = '{MIGRATE_LOCK_WAIT}'")
            await connection.execute("select pg_advisory_lock($1)", MIGRATE_LOCK)
            await connection.execute("create extension if not exists vector")
            _refuse_old_pgvector(await _installed_pgvector(connection))
            await connection.execute(
                "create table if not exists copydesk_migrations "
                "(name text primary key, sha256 text not null, applied_at timestamptz not null default now())"
            )
            pending = _pending(await connection.fetch("select name, sha256 from copydesk_migrations"))
            for name, text in pending.items():
                await _apply(connection, name, text)
            return list(pending)
        finally:
            await connection.close()  # the lock goes with it


async def check(dsn: str) -> DatabaseState:
    """Look at the database without changing it. Raises DatabaseError when it cannot be used."""
    with _explained(dsn):
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
        try:
            _refuse_old_postgres(connection.get_server_version().major)
            pgvector = await _installed_pgvector(connection) or await connection.fetchval(
                "select default_version from pg_available_extensions where name = 'vector'"
            )
            _refuse_old_pgvector(pgvector)
            applied = []
            if await connection.fetchval("select to_regclass('copydesk_migrations') is not null"):
                applied = await connection.fetch("select name, sha256 from copydesk_migrations")
            return DatabaseState(
                postgres=await connection.fetchval("show server_version"),
                pgvector=pgvector,
                pending=list(_pending(applied)),
            )
        finally:
            await connection.close()


# -- migrations --------------------------------------------------------------------------------------------


def _pending(applied: list[asyncpg.Record]) -> dict[str, str]:
    """The files that are not applied yet, name to text, after checking those that are."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in sorted(MIGRATIONS.glob("[0-9]*.sql"))}
    for name, sha256 in applied:
        if name not in files:
            raise DatabaseError(
                f"The database is newer than this Copydesk, which does not know its migration {name}: "
                "run the newer Copydesk, or restore a backup made before the update."
            )
        if sha256 != _sha256(files[name]):
            raise DatabaseError(
                f"The migration {name} was changed after it had been applied: put the file back as it was, "
                "and write what should change into a new migration."
            )
    return {name: text for name, text in files.items() if name not in {row["name"] for row in applied}}


async def _apply(connection: Connection, name: str, text: str) -> None:
    try:
        async with connection.transaction():
            await connection.execute(text)
            await connection.execute(
                "insert into copydesk_migrations (name, sha256) values ($1, $2)", name, _sha256(text)
            )
    except asyncpg.PostgresError as error:
        raise DatabaseError(
            f"The migration {name} failed and was rolled back ({_first_line(error)}): "
            "the database is as it was before it; mend the cause and start again."
        ) from error


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def _installed_pgvector(connection: Connection) -> str | None:
    version: str | None = await connection.fetchval(
        "select extversion from pg_extension where extname = 'vector'"
    )
    return version


def _refuse_old_postgres(major: int) -> None:
    if major < MINIMUM_POSTGRES:
        raise DatabaseError(
            f"The database server is PostgreSQL {major} and Copydesk needs {MINIMUM_POSTGRES} or "
            "newer: update the server, or point DATABASE_URL at a newer one."
        )


def _refuse_old_pgvector(version: str | None) -> None:
    if version is None:
        raise DatabaseError(_NO_PGVECTOR)
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < MINIMUM_PGVECTOR:
        raise DatabaseError(
            f"The database has pgvector {version} and Copydesk needs 0.8 or newer: update the package on the "
            "server, then run `alter extension vector update` in this database."
        )


_NO_PGVECTOR = (
    "The database server has no pgvector: install it there (for example the package postgresql-17-pgvector "
    "or the image pgvector/pgvector:pg17), or unset DATABASE_URL to use the embedded PostgreSQL."
)


# -- codecs ------------------------------------------------------------------------------------------------


async def _set_codecs(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    # Binary, since a text codec breaks binary COPY into a table with such a column.
    await connection.set_type_codec(
        "json", schema="pg_catalog", format="binary", encoder=_to_json, decoder=json.loads
    )
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        format="binary",
        encoder=lambda value: b"\x01" + _to_json(value),  # the version of jsonb's wire format
        decoder=lambda value: json.loads(value[1:]),
    )
    schema = await connection.fetchval(
        "select nspname from pg_extension e join pg_namespace n on n.oid = extnamespace "
        "where extname = 'vector'"
    )
    if schema is None:
        raise DatabaseError("The database has not been set up yet: run `python -m bot migrate`.")
    await register_vector(connection, schema=schema)


def storable(text: str) -> str:
    """The text as a column of type text takes it, see `_to_json`; for what models have said."""
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", text)


def _to_json(value: Any) -> bytes:
    """JSON as PostgreSQL accepts it.

    It has no NUL and no halves of a surrogate pair, and broken-off answers of models have both: they become
    U+FFFD, since one such character must not cost a whole answer.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if "\\u0000" in text:
        text = re.sub(r"(?<!\\)((?:\\\\)*)\\u0000", "\\1\ufffd", text)
    return re.sub("[\ud800-\udfff]", "\ufffd", text).encode()


@contextlib.contextmanager
def in_use(dsn: str) -> Iterator[None]:
    """Turn what a database that was opened may raise later into a DatabaseError."""
    try:
        yield
    except asyncpg.LockNotAvailableError as error:
        raise DatabaseError("Another process is at work on the same in the database: try again.") from error
    except (
        asyncpg.PostgresError,
        *AWAY,  # no other ConnectionError: a broken pipe is that of a command's output
        TimeoutError,
    ) as error:
        server, reason = _address(dsn).server, str(error).partition("\n")[0] or "no answer"
        raise DatabaseError(f"The database at {server} failed ({reason}): try again.") from error


# -- what went wrong ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def _explained(dsn: str) -> Iterator[None]:
    """Turn what connecting and looking around may raise into a DatabaseError."""
    at = _address(dsn)
    try:
        yield
    except ValueError:
        raise DatabaseError(_NO_ADDRESS) from None  # asyncpg quotes what it could not read
    except (OSError, TimeoutError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or "no answer"
        raise DatabaseError(
            f"Cannot reach PostgreSQL at {at.server} ({reason}): is it running, and is DATABASE_URL right?"
        ) from error
    except (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError) as error:
        raise DatabaseError(
            f"PostgreSQL at {at.server} refused the user {at.user} or the password: correct DATABASE_URL."
        ) from error
    except asyncpg.InvalidCatalogNameError as error:
        raise DatabaseError(
            f"The database {at.database} does not exist at {at.server}: create it with "
            f"`createdb {at.database}`, or correct DATABASE_URL."
        ) from error
    except asyncpg.CannotConnectNowError as error:
        raise DatabaseError(f"PostgreSQL at {at.server} is starting or stopping: try again soon.") from error
    except asyncpg.TooManyConnectionsError as error:
        raise DatabaseError(
            f"PostgreSQL at {at.server} has no connection left: raise its max_connections or run less on it."
        ) from error
    except asyncpg.LockNotAvailableError as error:
        raise DatabaseError(
            f"Another process has been migrating the database for {MIGRATE_LOCK_WAIT}: "
            "end it, then try again."
        ) from error
    except (asyncpg.UndefinedFileError, asyncpg.FeatureNotSupportedError) as error:
        raise DatabaseError(_NO_PGVECTOR) from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise DatabaseError(
            f"The user {at.user} may not set up the database {at.database} ({_first_line(error)}): "
            "let a superuser run `create extension vector` and "
            f"`grant create on schema public to {at.user}` there."
        ) from error
    except asyncpg.PostgresError as error:
        raise DatabaseError(f"PostgreSQL at {at.server} refused ({_first_line(error)}).") from error


def _first_line(error: asyncpg.PostgresError) -> str:
    return str(error).partition("\n")[0]  # details and hints follow


class _Address(NamedTuple):
    """What a DSN says, without its password."""

    server: str
    user: str
    database: str


def _address(dsn: str) -> _Address:
    """Raises DatabaseError for what is no DSN, without quoting it: what is mistyped may be the password."""
    try:
        parts = urlsplit(dsn)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    except ValueError:
        raise DatabaseError(_NO_ADDRESS) from None
    login, _, host = parts.netloc.rpartition("@")
    if parts.scheme not in ("postgresql", "postgres") or "@" in login + parts.path + parts.fragment:
        raise DatabaseError(_NO_ADDRESS)
    host, _, port = host.partition(":") if host.count(":") == 1 else (host, "", "")
    user = unquote(login.partition(":")[0]) or query.get("user") or "(that runs Copydesk)"
    return _Address(
        server=f"{unquote(host) or query.get('host', 'localhost')} port {port or query.get('port', '5432')}",
        user=user,
        database=unquote(parts.path.removeprefix("/"))
        or query.get("dbname")
        or query.get("database")
        or user,
    )


_NO_ADDRESS = (
    "DATABASE_URL is no PostgreSQL address: it looks like postgresql://user:password@host:5432/database, "
    "with @ / # ? in the password written as %40 %2F %23 %3F."
)
