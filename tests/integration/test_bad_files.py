"""What people and attackers put into folders: each is listed with its reason, and the rest is ingested."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from knowledge import cutters
from knowledge.bm25 import EVERY_CHUNK
from knowledge.cutters import Cutter, cut_apart
from knowledge.cutting import NamedFile
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.files import LoadError
from knowledge.ingest_report import IngestProgress
from tests.bot_command import running
from tests.pdf_file import LOCKED, pdf
from tests.word_file import paragraph, word_file


async def test_a_folder_of_bad_files_is_ingested_but_for_these(pool: Pool, tmp_path: Path) -> None:
    folder = tmp_path / "资料"
    folder.mkdir()
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(200_000_000)
    bad = {
        "binary.md": (bytes(range(256)) * 100, "not text"),
        "bomb.docx": (word_file(paragraph("あ" * 50_000_000)), "zip bomb"),
        "empty.html": (b"<html></html>", "empty"),
        "locked.pdf": (LOCKED, "password"),
        "login.html": (b"<form><input type=password></form>", "login"),
        "scan.pdf": (pdf([], []), "OCR"),
        "空.md": (b"\n\n", "empty"),
    }
    good = {
        "broken.html": "<p>密码<b>加盐</i></div></td>之后存储".encode("gb18030"),
        "note.md": b"# Salt\n\nA salt is unique.",
        "手順.docx": word_file(paragraph("ソルトはパスワードごとに異なる。")),
        "paper.pdf": pdf(["A salt has sixteen bytes and is unique."]),
    }
    for name, content in [*good.items(), *((name, content) for name, (content, _) in bad.items())]:
        (folder / name).write_bytes(content)
    report = await Documents(pool).ingest([folder])
    reasons = {Path(failed.path).name: failed.reason for failed in report.failed}
    assert reasons.pop("huge.txt") == "too large (200 MB, limit 20 MB): split it"
    assert reasons.keys() == bad.keys()
    for name, (_, reason) in bad.items():
        assert reason in reasons[name]
    assert report.added == len(good)
    assert await pool.fetchval("select count(*) from chunks where text like '%密码加盐之后存储%'") == 1


async def test_very_many_small_files_show_progress_in_little_memory(pool: Pool, tmp_path: Path) -> None:
    texts = ("A salt number {} is unique.", "第 {} 个盐是唯一的。", "{} 番目のソルトは異なる。")
    for number in range(5000):
        below = tmp_path / str(number % 50)
        below.mkdir(exist_ok=True)
        (below / f"{number}.md").write_text(texts[number % 3].format(number))
    seen: list[IngestProgress] = []
    memory: list[int] = []

    def progress(each: IngestProgress) -> None:
        seen.append(each)
        memory.append(resident_kilobytes())

    report = await Documents(pool).ingest([tmp_path], progress=progress)
    assert (report.added, report.chunks, report.failed) == (5000, 5000, [])
    assert [each.done for each in seen] == list(range(1, 5001))
    assert {each.total for each in seen} == {5000}
    assert memory[-1] - memory[500] < 100_000
    assert (await Documents(pool).ingest([tmp_path])).unchanged == 5000


def resident_kilobytes() -> int:
    with Path("/proc/self/status").open() as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


async def test_a_file_on_which_a_parser_dies_ends_only_itself() -> None:
    """The process is killed from outside, as the system kills one that takes all memory."""
    cutter = Cutter()
    good = NamedFile("a.md", "# 盐\n\n每个密码都有唯一的盐。".encode())
    try:
        [result] = await cutter.cut_all([good])
        assert not isinstance(result, LoadError)
        process = cutter._process
        assert process is not None
        process.send_signal(signal.SIGKILL)
        await process.wait()
        first, second = await cutter.cut_all([good, NamedFile("b.md", b"\0\1")])
        assert not isinstance(first, LoadError)
        assert first.loaded.title == "盐"
        assert "not text" in str(second)
    finally:
        await cutter.stop()


async def test_a_pdf_is_read_in_a_process_of_its_own() -> None:
    assert (await cut_apart(NamedFile("a.pdf", pdf(["密码要加盐之后再计算哈希。"])))).loaded.kind == "pdf"
    with pytest.raises(LoadError, match="password"):
        await cut_apart(NamedFile("b.pdf", LOCKED))


@pytest.mark.parametrize("words", ["salt", "盐", "ソルト"])
async def test_a_page_that_was_made_to_take_hours_is_given_up(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutters, "_SECONDS", 3.0)
    page = f"<!doctype html><table><tr>{f'<td>{words}' * 300_000}".encode()
    with pytest.raises(LoadError, match="longer than 3 s"):
        await cut_apart(NamedFile("page.html", page))


async def test_a_kill_in_the_middle_leaves_no_half_document(pool: Pool, dsn: str, tmp_path: Path) -> None:
    """`ingest` dies by SIGKILL while it works, and nothing of it lives on; the next one finishes."""
    folder = tmp_path / "docs"
    folder.mkdir()
    section = "## 节 {0}.{1}\n\n" + "密码要加盐之后再计算。" * 40 + "\n\nPart {0}.{1} of it. ソルト。\n\n"
    for number in range(300):
        text = "".join(section.format(number, part) for part in range(12))
        (folder / f"{number}.md").write_text(f"# Document {number}\n\n{text}")
    async with ingesting(dsn, folder, tmp_path) as process:
        done = 0
        async with asyncio.timeout(60):
            while done == 0:
                done = await pool.fetchval("select count(*) from documents")
                await asyncio.sleep(0.02)
        cutting = children_of(process.pid)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    at_work = True  # for a moment the server has not seen that nobody is there any more
    async with asyncio.timeout(30):
        while at_work or any(map(lives, cutting)):
            at_work = await pool.fetchval(
                """
                select exists (
                    select from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
                )
                """
            )
            await asyncio.sleep(0.02)
    done = await pool.fetchval("select count(*) from documents")
    assert 0 < done < 300
    whole = await pool.fetchval("select count(*) from chunks c join chunk_words w on w.chunk_id = c.id")
    assert whole == done * await pool.fetchval("select max(position) + 1 from chunks")
    assert await pool.fetchval("select chunks from terms where term = $1", EVERY_CHUNK) == whole
    report = await Documents(pool).ingest([folder])
    assert (report.added, report.unchanged) == (300 - done, done)


def children_of(pid: int) -> list[str]:
    """The processes that it started; none where the system does not tell."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return children.read_text().split() if children.exists() else []


def lives(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


@asynccontextmanager
async def ingesting(dsn: str, folder: Path, home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """`python -m bot ingest FOLDER` on this database; gone at the end."""
    settings = {"DATABASE_URL": dsn, "COPYDESK_HOME": str(home), "COPYDESK_EMBEDDING_MODEL": "none"}
    async with running("ingest", str(folder), settings=settings) as process:
        yield process
