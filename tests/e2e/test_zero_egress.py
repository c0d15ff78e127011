"""No request leaves the machine for a topic or a document, and no name is looked up.

With the offline model or one on this machine. All of it runs as processes, in a namespace without a network
where the system has them, and under a guard that refuses Python's own sockets everywhere; see tests/egress.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import new_home
from tests.egress.watch import ROOT, Watched, watched

SAMPLE = ROOT / "knowledge" / "sample"
SECONDS = 480.0  # the demo takes half a minute on two idle cores
TOPICS = {
    "zh": "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    "ja": "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか",
}

# Each tries to leave in another way; the last two are C code, which Python does not hear of.
LEAVING = {
    "a connection": "import socket; socket.create_connection(('192.0.2.1', 443), 1)",
    "a connection over IPv6": "import socket; socket.create_connection(('2001:db8::1', 443), 1)",
    "a packet": "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
    "a name": "import socket; socket.getaddrinfo('example.com', 443)",
    "a name in a connection": "import socket; socket.socket().connect(('example.com', 443))",
    "the name of an address": "import socket; socket.getnameinfo(('192.0.2.1', 80), 0)",
    "a page": "import urllib.request as r; r.urlopen('http://192.0.2.1/', timeout=1)",
    "a page, asynchronously": (
        "import asyncio, aiohttp\n"
        "async def get():\n"
        "    async with aiohttp.ClientSession() as session: await session.get('http://example.com/')\n"
        "asyncio.run(get())"
    ),
    "a failure that nobody hears of": (
        "import contextlib, socket\n"
        "with contextlib.suppress(Exception): socket.create_connection(('192.0.2.1', 443), 1)"
    ),
    "a process of its own": (
        "import subprocess, sys\n"
        "child = 'import socket; socket.create_connection((\"192.0.2.1\", 443), 1)'\n"
        "subprocess.run([sys.executable, '-c', child])"
    ),
}
LEAVING_IN_C = {
    "a connection": (
        "import psycopg\npsycopg.connect('host=192.0.2.1 connect_timeout=2')",
        "packet tcp 192.0.2.1:5432",
    ),
    "a name": (
        "import subprocess\nsubprocess.run(['getent', 'hosts', 'example.com'])",
        "example.com",
    ),
}


@pytest.fixture
def home() -> Iterator[Path]:
    with new_home() as folder:
        yield folder


def run(command: list[str], *, home: Path, folder: Path, **environment: str) -> Watched:
    """The bot as its user starts it, with a data folder of its own."""
    return watched(
        command, folder=folder, environment={"COPYDESK_HOME": str(home), **environment}, seconds=SECONDS
    )


def test_the_whole_job_asks_nobody_outside(home: Path, tmp_path: Path) -> None:
    """Ingest, vectors, search, four agents, a thread and a file: the demo has it all."""
    done = run(["-m", "bot", "demo", TOPICS["zh"], "--yes"], home=home, folder=tmp_path)
    assert done.code == 0, done.errors
    assert "The article (published)" in done.output
    assert done.tried == []


def test_neither_does_it_with_a_model_on_this_machine(home: Path, tmp_path: Path) -> None:
    done = run(["-m", "tests.egress.demo_with_a_local_model", TOPICS["ja"]], home=home, folder=tmp_path)
    assert done.code == 0, done.errors
    assert "The article (published)" in done.output
    assert done.tried == []


def test_neither_do_the_commands_for_documents_and_search(dsn: str, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "page.html").write_text(
        "<html><head><link rel='stylesheet' href='https://example.com/a.css'></head><body><h1>Salts</h1>"
        "<img src='https://example.com/pixel.png'><p>A salt is a random value.</p></body></html>"
    )
    (folder / "盐.md").write_text(
        "# 盐\n\n![图](https://example.com/a.png) 盐是随机值。[来源](https://example.com)"
    )
    (folder / "塩.txt").write_text("塩は乱数である。https://example.com/ を参照。")
    ingest = run(
        ["-m", "bot", "ingest", str(folder), str(SAMPLE), "--json"],
        home=home,
        folder=tmp_path,
        DATABASE_URL=dsn,
    )
    assert json.loads(ingest.output)["failed"] == []
    search = run(
        ["-m", "bot", "search", "A salt for each password", "--json"],
        home=home,
        folder=tmp_path,
        DATABASE_URL=dsn,
    )
    assert json.loads(search.output)
    doctor = run(["-m", "bot", "doctor"], home=home, folder=tmp_path, DATABASE_URL=dsn)
    assert "SLACK_BOT_TOKEN is not set" in doctor.output + doctor.errors
    for done, code in ((ingest, 0), (search, 0), (doctor, 1)):
        assert done.code == code
        assert done.tried == []


def test_the_guard_holds_a_machine_to_it(tmp_path: Path) -> None:
    """What these tests stand on: one of the two ways is at work here, and says which."""
    done = watched(["-c", "print('盐')"], folder=tmp_path, seconds=30)
    assert (done.code, done.output, done.tried) == (0, "盐\n", [])
    how = "in a namespace, packets watched" if done.packets else "in a namespace" if done.alone else "guarded"
    sys.stderr.write(f"zero egress: {how}\n")


@pytest.mark.parametrize("way", LEAVING)
@pytest.mark.parametrize("namespace", [True, False], ids=["namespace", "guard alone"])
def test_the_guard_sees_who_leaves(way: str, namespace: bool, tmp_path: Path) -> None:
    done = watched(["-c", LEAVING[way]], folder=tmp_path, seconds=30, namespace=namespace)
    assert done.tried
    assert any("192.0.2.1" in one or "2001:db8::1" in one or "example.com" in one for one in done.tried)


@pytest.mark.parametrize("way", LEAVING_IN_C)
def test_where_there_is_a_namespace_c_code_is_seen_too(way: str, tmp_path: Path) -> None:
    program, seen = LEAVING_IN_C[way]
    environment = {"RES_OPTIONS": "timeout:1 attempts:1"}
    done = watched(["-c", program], folder=tmp_path, environment=environment, seconds=30)
    if not done.packets:
        pytest.skip("this system has no network namespace with a device: Python's sockets alone are watched")
    assert any(seen in one for one in done.tried)


def test_what_stays_on_the_machine_is_let_through(tmp_path: Path) -> None:
    program = """
import asyncio, socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
    socket.create_connection(("localhost", server.getsockname()[1])).close()
with socket.socket(socket.AF_UNIX) as server:
    server.bind("socket")
    server.listen()
    socket.socket(socket.AF_UNIX).connect("socket")
socket.getaddrinfo("192.0.2.1", 443)
socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
"""
    done = watched(["-c", program], folder=tmp_path, seconds=30)
    assert (done.code, done.errors, done.tried) == (0, "", [])


def test_a_program_that_hangs_is_ended_and_its_output_told(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match="盐"):
        watched(
            ["-u", "-c", "import time; print('盐'); time.sleep(60)"],
            folder=tmp_path,
            environment={"PYTHONIOENCODING": "utf-8"},
            seconds=3,
        )
