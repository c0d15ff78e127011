"""What every test stands on: no model calls, nothing of this machine's settings, and a real PostgreSQL."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import hypothesis
import psycopg
import pydantic_ai.models
import pytest
from psycopg import sql

from knowledge.database import Pool, migrate, open_pool
from knowledge.embedded import EmbeddedPostgres
from knowledge.embedded_host import find_process

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False

# No example is timed: machines are shared. On CI the examples are the same each run: what fails there can be
# had again, and new ones are found at the desk.
hypothesis.settings.register_profile("desk", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "desk")

# Removed on import, so that no module, session fixture or child process of a test sees them either.
PREFIXES_OF_THIS_MACHINE = (
    *(
        "COPYDESK_",
        "SLACK_",
        "OPENAI_",
        "ANTHROPIC_",
        "GOOGLE_",
        "GEMINI_",
        "DEEPSEEK_",
        "OLLAMA_",
        "VLLM_",
        "OTEL_",
        "TAVILY_",
        "PG",
    ),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
)
NAMES_OF_THIS_MACHINE = ("DATABASE_URL", "PORT", "LOG_LEVEL")
for name in list(os.environ):
    if name.upper().startswith(PREFIXES_OF_THIS_MACHINE) or name.upper() in NAMES_OF_THIS_MACHINE:
        del os.environ[name]

TEMPLATE = "copydesk_template"
numbers = count(1)


@pytest.fixture(autouse=True)
def _empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No `.env` of a developer reaches a test: each runs in a folder of its own.

    Find files of the repository from `__file__` or by `pytestconfig.rootpath`.
    """
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty COPYDESK_HOME, for tests that start an embedded server of their own."""
    with new_home() as folder:
        yield folder


@contextlib.contextmanager
def new_home() -> Iterator[Path]:
    """Not below tmp_path: as root pytest closes that one to the user that the server runs as."""
    folder = Path(tempfile.mkdtemp(prefix="copydesk-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        for pid_file in folder.rglob("postmaster.pid"):  # of a server that a failed or killed test left
            pid = pid_file.read_text().split()[0]
            if (process := find_process(pid)) and process.name == "postgres":
                os.kill(int(pid), signal.SIGQUIT)
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """One PostgreSQL for each process of the tests: a DSN of its superuser."""
    with new_home() as folder, EmbeddedPostgres(folder, durable=False) as postgres:
        dsn = postgres.start()
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(TEMPLATE)))
        asyncio.run(migrate(on_database(dsn, TEMPLATE)))
        yield dsn


@pytest.fixture
def dsn(server: str) -> Iterator[str]:
    """A migrated database of this test alone."""
    name = f"test_{next(numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(TEMPLATE))
        )
    yield on_database(server, name)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    """A pool on this test's database. A connection that a test never gives back fails it here."""
    opened = await open_pool(dsn)
    try:
        yield opened
    finally:
        await asyncio.wait_for(opened.close(), timeout=10)


def on_database(dsn: str, name: str) -> str:
    """The same server, another database."""
    return dsn.replace("/copydesk?", f"/{name}?")
