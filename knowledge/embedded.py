"""An embedded PostgreSQL with pgvector: started, shared and stopped here, its programs taken from a wheel.

Below `home`: `database/data` (the cluster), `database/log`, `database/run` (the socket), `database/turn` and
`database/attached` (file locks). docs/decisions/0003-embedded-postgresql.md has the reasons.
"""

import contextlib
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from knowledge.embedded_host import (
    MAJOR,
    SOCKET,
    HostError,
    Owner,
    find_process,
    find_programs,
    make_folder,
    make_socket_folder,
    server_owner,
    socket_folder,
)

if sys.platform != "win32":
    import fcntl

log = logging.getLogger(__name__)

DATABASE = USER = "copydesk"
LOOK_SECONDS = 2.0  # how often a process that uses the server looks whether it is there still
SILENCE_SECONDS = 15.0  # after kill -9 the old server's orphans hold its shared memory for 2-5 s (measured)
RECOVERY_SECONDS = 120.0  # a server that answers "starting up" is replaying its log: that may take longer
TURN_SECONDS = 150.0
LOG_BYTES = 5_000_000

SETTINGS = {
    "listen_addresses": "",  # no TCP: whoever may enter the folder of the socket may connect
    "port": "5432",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_min_error_statement": "panic",  # statements hold what people wrote: keep them out of the log
}
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


class EmbeddedError(Exception):
    """The embedded PostgreSQL cannot serve; the message says what failed, where the log is and what to do."""


class EmbeddedPostgres:
    """PostgreSQL with pgvector from a wheel, its data below `home`.

    Any number of processes may hold one for the same home: the first starts the server, the last one out
    stops it. A server that dies while it is used is started again, by a thread of whoever sees it first.
    Every method blocks; async code calls it through `asyncio.to_thread`. `durable=False` gives up crash
    safety for speed: for tests.
    """

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self._folder = home.expanduser().resolve() / "database"
        self._data = self._folder / "data"
        self._pid_file = self._data / "postmaster.pid"
        self._log = self._folder / "log"
        self._settings = SETTINGS if durable else SETTINGS | NOT_DURABLE
        self._attached: int | None = None  # the descriptor whose shared lock says that we use the server
        self._leaving = threading.Event()
        self._watch: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> str:
        """Start the server or attach to the running one; return a DSN that asyncpg and psycopg understand.

        Calling it again is cheap, and revives a server that has died meanwhile. Raises EmbeddedError.
        """
        if sys.platform == "win32":
            raise EmbeddedError("The embedded PostgreSQL runs on Linux and macOS only: set DATABASE_URL.")
        with self._explained():
            owner = server_owner()
            make_folder(self._folder, owner)
            with self._turn():
                dsn = self._attach(owner)
        if self._watch is None:
            self._watch = threading.Thread(target=self._keep_serving, name="embedded-postgres", daemon=True)
            self._watch.start()
        return dsn

    def stop(self) -> None:
        """Leave; the last process out stops the server. Harmless when not started. Raises EmbeddedError."""
        if self._watch is not None:
            self._leaving.set()
            self._watch.join()
            self._leaving.clear()
            self._watch = None
        if self._attached is None:
            return
        if not self._folder.exists():  # a server whose data folder has vanished ends by itself
            self._detach()
            return
        with self._explained(), self._turn():
            self._leave(server_owner())

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the system, the programs and the first query may raise into an EmbeddedError."""
        try:
            yield
        except HostError as error:
            raise EmbeddedError(str(error)) from error
        except OSError as error:
            raise EmbeddedError(
                f"The embedded PostgreSQL cannot use {error.filename or self._folder} "
                f"({error.strerror or error}): make it a writable folder with room on its disk, "
                "or set COPYDESK_HOME to another folder."
            ) from error
        except psycopg.Error as error:
            raise EmbeddedError(
                f"The embedded PostgreSQL started but refused the first query ({_first_line(str(error))}): "
                f"see its log {self._log}."
            ) from error

    # -- who uses the server: two file locks ---------------------------------------------------------------

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """One process at a time starts, attaches or stops; a killed one loses its turn with its life."""
        descriptor = os.open(self._folder / "turn", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            give_up = time.monotonic() + TURN_SECONDS
            while not _lock_alone(descriptor):
                if time.monotonic() > give_up:
                    raise EmbeddedError(
                        "Another process has been starting or stopping the embedded PostgreSQL in "
                        f"{self._folder} for {TURN_SECONDS:.0f} seconds: end that process, then try again."
                    )
                time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)

    def _attach(self, owner: Owner) -> str:
        if self._attached is None:
            self._attached = os.open(self._folder / "attached", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._attached, fcntl.LOCK_SH)
        try:
            self._ensure_data(owner)
            self._ensure_serving(owner)
            self._ensure_database()
        except BaseException:
            with contextlib.suppress(EmbeddedError, HostError, OSError):  # the first error tells more
                self._leave(owner)
            raise
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self._socket_folder()))}&port=5432"

    def _leave(self, owner: Owner) -> None:
        try:
            if self._attached is not None and _lock_alone(self._attached):
                self._stop_server(owner)
        finally:
            self._detach()

    def _detach(self) -> None:
        if self._attached is not None:
            os.close(self._attached)
            self._attached = None

    def _used_by_others(self) -> bool:
        """Whether another living process is attached. In our turn only: our lock is let go for a moment."""
        if self._attached is None:
            return False
        alone = _lock_alone(self._attached)
        fcntl.flock(self._attached, fcntl.LOCK_SH)
        return not alone

    # -- the server ----------------------------------------------------------------------------------------

    def _keep_serving(self) -> None:
        """Until we leave: start the server again when it has died."""
        while not self._leaving.wait(LOOK_SECONDS):
            # Without its data it cannot be started again, and a new, empty one would be another database.
            if self._ping() is not Ping.NO_RESPONSE or not self._data.exists():
                continue
            try:
                with self._explained(), self._turn():
                    self._attach(server_owner())
            except EmbeddedError as error:
                log.error("%s", error)
            else:
                log.warning("the embedded PostgreSQL had died and has been started again")

    def _ensure_data(self, owner: Owner) -> None:
        version = self._data / "PG_VERSION"
        if not version.exists():
            self._initdb(owner)
        elif (found := version.read_text().strip()) != str(MAJOR):
            raise EmbeddedError(
                f"{self._data} was made by PostgreSQL {found or '(unknown)'} and this Copydesk brings "
                f"{MAJOR}: save the data with pg_dump from the Copydesk that made it, then move the folder "
                "away to begin with an empty database."
            )

    def _initdb(self, owner: Owner) -> None:
        """Make the cluster under another name and rename it: a killed initdb leaves nothing half done."""
        self._remove_leftovers()
        new = Path(tempfile.mkdtemp(prefix="initdb-", dir=self._folder))
        owner.give(new)
        # The built-in provider folds case by Unicode and sorts by code point on every system alike, so no
        # update of the system's libc spoils an index; the C locale takes neither 漢字 nor é for letters.
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        access = (f"--username={USER}", "--auth-local=trust", "--auth-host=reject")
        sync = ("--no-sync",) if self._settings.get("fsync") == "off" else ()
        done = self._run(owner, "initdb", "-D", new.name, *locale, *access, *sync)
        if done.returncode != 0:
            shutil.rmtree(new, ignore_errors=True)
            raise EmbeddedError(
                f"The embedded PostgreSQL could not make its data folder {self._data} "
                f"({_complaint(done.stdout)}): mend that, or set COPYDESK_HOME to another folder."
            )
        new.rename(self._data)
        _sync_folder(self._folder)
        self._remove_leftovers()  # of a killed initdb whose children were writing still when we began

    def _remove_leftovers(self) -> None:
        for leftover in self._folder.glob("initdb-*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _ensure_serving(self, owner: Owner) -> None:
        after_crash = self._pid_file.exists()
        begun = silent_since = time.monotonic()
        while (answer := self._ping()) is not Ping.OK:
            now = time.monotonic()
            if answer is Ping.REJECT:  # it lives: starting up, recovering, or shutting down
                silent_since, complaint = now, "it is still starting up"
            else:
                complaint = self._start_server(owner)
                if complaint and not after_crash and self._ping() is Ping.NO_RESPONSE:
                    raise self._does_not_start(complaint)
            if now > silent_since + SILENCE_SECONDS or now > begun + RECOVERY_SECONDS:
                raise self._does_not_start(complaint)
            time.sleep(0.2)

    def _start_server(self, owner: Owner) -> str:
        """Try to start; return what the server complained about."""
        self._forget_dead_server()
        if self._log.exists() and self._log.stat().st_size > LOG_BYTES:
            self._log.replace(self._log.with_name("log.1"))
        self._log.touch(mode=0o600)
        owner.give(self._log)
        said_before = self._log.stat().st_size
        settings = self._settings | {"unix_socket_directories": str(make_socket_folder(self._folder, owner))}
        options = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in settings.items())
        done = self._run(owner, "pg_ctl", "start", "-D", "data", "-l", "log", "-o", options, "-w", "-t", "60")
        if done.returncode == 0:
            return ""
        with self._log.open("rb") as log:
            log.seek(said_before)
            return _complaint(log.read().decode("utf-8", "replace") or done.stdout)

    def _does_not_start(self, complaint: str) -> EmbeddedError:
        return EmbeddedError(
            f"The embedded PostgreSQL does not start ({complaint or 'it went silent'}): "
            f"see its log {self._log}, mend that and try again, or set DATABASE_URL to another PostgreSQL."
        )

    def _stop_server(self, owner: Owner) -> None:
        for mode in ("fast", "immediate"):
            # Ask first: pg_ctl signals whatever process has the recorded number now.
            if self._ping() is Ping.NO_RESPONSE:
                break
            self._run(owner, "pg_ctl", "stop", "-D", "data", "-m", mode, "-w", "-t", "30")
        if self._ping() is not Ping.NO_RESPONSE:
            raise EmbeddedError(
                f"The embedded PostgreSQL in {self._folder} does not stop: see its log {self._log}."
            )
        if (sockets := socket_folder(self._folder)).parent != self._folder:
            with contextlib.suppress(OSError):
                sockets.rmdir()

    def _ensure_database(self) -> None:
        with psycopg.connect(self._conninfo(), autocommit=True) as connection:
            if not connection.execute("select from pg_database where datname = %s", (DATABASE,)).rowcount:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))

    def _ping(self) -> Ping:
        return Ping(PGconn.ping(self._conninfo().encode()))

    def _conninfo(self) -> str:
        folder = str(self._socket_folder())
        return make_conninfo(host=folder, port=5432, user=USER, dbname="postgres", connect_timeout=5)

    def _run(self, owner: Owner, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program in our folder; arguments name what lies there, so no path needs quoting."""
        return owner.run(find_programs(owner, self._folder) / program, *arguments, cwd=self._folder)

    def _socket_folder(self) -> Path:
        """Where the running server listens, and without one where the next shall."""
        with contextlib.suppress(FileNotFoundError):
            lines = self._pid_file.read_text("utf-8", "surrogateescape").splitlines()
            if len(lines) > 4 and lines[4]:  # process id, data, start time, port, folder of the socket
                return Path(lines[4])
        return socket_folder(self._folder)

    def _forget_dead_server(self) -> None:
        """Remove lock files that would stop PostgreSQL from ever starting again.

        The process they name is a zombie that nobody reaps (a container without an init), or another program
        that has got the same number (a restarted container hands out the same few). That no orphan of the
        dead server is at work any more, PostgreSQL sees from its shared memory.
        """
        for lock in (self._pid_file, socket_folder(self._folder) / f"{SOCKET}.lock"):
            with contextlib.suppress(FileNotFoundError):
                process = find_process(_first_line(lock.read_text(errors="replace")))
                if process is None:
                    continue
                # A number that comes from another container on this volume means nothing here, but then the
                # server's users hold the lock.
                if process.is_zombie or (process.name != "postgres" and not self._used_by_others()):
                    lock.unlink()


def _lock_alone(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def _complaint(output: str) -> str:
    """The line of a log or of a program's output that says what is wrong."""
    errors = re.findall(r"^.*(?:FATAL|PANIC|ERROR|error):\s*(.+)$", output, re.MULTILINE)
    lines = errors or [line.strip() for line in output.splitlines() if line.strip()] or ["no reason given"]
    complaint: str = lines[-1]
    return complaint.rstrip(".")
