"""Documents in a real database: what an ingest adds, keeps, changes and removes."""

import asyncio
from pathlib import Path

import pytest

from knowledge.bm25 import EVERY_CHUNK, query_terms
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.files import FailedPath
from knowledge.ingest_report import IngestProgress, IngestReport

ENGLISH = "# Salts\n\nA salt is unique for each password.\n\n## Length\n\nA salt has 16 bytes.\n"
CHINESE = "# 盐\n\n每个密码都有唯一的盐。\n\n## 长度\n\n盐的长度为十六字节。\n"
JAPANESE = "# ソルト\n\nソルトはパスワードごとに異なる。\n\n## 長さ\n\nソルトの長さは十六バイトである。\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a document in each language."""
    below = tmp_path / "docs"
    below.mkdir()
    for name, text in (("en.md", ENGLISH), ("zh.md", CHINESE), ("ja.md", JAPANESE)):
        (below / name).write_text(text)
    return below


async def state(pool: Pool) -> dict[str, list[tuple[object, ...]]]:
    """All that must be the same after an ingest that changes nothing."""
    return {
        table: [tuple(row.values()) for row in await pool.fetch(f"select * from {table} order by 1, 2")]
        for table in ("documents", "chunks", "terms")
    }


async def assert_counts_are_exact(pool: Pool) -> None:
    """The number of chunks of each term is what counting them anew gives."""
    counted: dict[int, int] = {EVERY_CHUNK: await pool.fetchval("select count(*) from chunks")}
    for row in await pool.fetch("select words from chunk_words"):
        for term in row["words"].indices():
            counted[term] = counted.get(term, 0) + 1
    stored = {row["term"]: row["chunks"] for row in await pool.fetch("select term, chunks from terms")}
    assert stored == counted


async def test_a_folder_is_ingested_with_its_languages_and_offsets(pool: Pool, folder: Path) -> None:
    seen: list[IngestProgress] = []
    report = await Documents(pool).ingest([folder], progress=seen.append)
    assert report == IngestReport(added=3, chunks=3)
    assert [(p.done, p.total, p.outcome) for p in seen] == [(1, 3, "added"), (2, 3, "added"), (3, 3, "added")]
    rows = await pool.fetch(
        """
        select d.title, d.lang, d.path, c.lang as chunk_lang, c.heading, c.text,
               substr(d.text, c.start_offset + 1, c.end_offset - c.start_offset) as slice
        from documents d join chunks c on c.document_id = d.id order by d.title
        """
    )
    assert [(row["title"], row["lang"], row["chunk_lang"], row["heading"]) for row in rows] == [
        ("Salts", "en", "en", "Salts"),
        ("ソルト", "ja", "ja", "ソルト"),
        ("盐", "zh", "zh", "盐"),
    ]
    assert all(row["text"] == row["slice"] for row in rows)
    assert rows[0]["path"] == str(folder / "en.md")
    await assert_counts_are_exact(pool)


async def test_unchanged_files_are_left_alone(pool: Pool, folder: Path) -> None:
    documents = Documents(pool)
    await documents.ingest([folder])
    before = await state(pool)
    assert await documents.ingest([folder]) == IngestReport(unchanged=3)
    assert await state(pool) == before


async def test_an_edit_keeps_the_chunks_that_it_does_not_touch(pool: Pool, tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    sections = [f"## {heading}\n\n{sentence * 12}" for heading, sentence in SECTIONS]
    file.write_text("# Guide\n\n" + "\n\n".join(sections))
    await Documents(pool).ingest([file])
    old = {row["heading"]: row["id"] for row in await pool.fetch("select id, heading from chunks")}
    file.write_text(
        "# Guide\n\n" + "\n\n".join([sections[0], "## 新しい\n\n" + "新しい段落である。" * 40, sections[2]])
    )
    assert await Documents(pool).ingest([file]) == IngestReport(updated=1, chunks=1)
    new = {
        row["heading"]: row["id"]
        for row in await pool.fetch("select id, heading from chunks order by position")
    }
    assert [*new] == ["Guide > Salts", "Guide > 新しい", "Guide > ソルト"]
    assert new["Guide > Salts"] == old["Guide > Salts"]
    assert new["Guide > ソルト"] == old["Guide > ソルト"]
    assert "Guide > 盐" in old
    await assert_counts_are_exact(pool)


SECTIONS = [
    ("Salts", "A salt is unique for each password and it has sixteen bytes. "),
    ("盐", "每个密码都有唯一的盐，盐的长度为十六字节，由系统的随机数生成器产生。"),
    ("ソルト", "ソルトはパスワードごとに異なり、その長さは十六バイトである。"),
]


async def test_a_copy_is_no_second_source(pool: Pool, folder: Path) -> None:
    await Documents(pool).ingest([folder])
    (folder / "copy.md").write_text(JAPANESE)
    assert await Documents(pool).ingest([folder]) == IngestReport(unchanged=4)
    assert (await Documents(pool).count()).documents == 3


async def test_a_moved_file_stays_the_same_document(pool: Pool, folder: Path) -> None:
    await Documents(pool).ingest([folder])
    before = await pool.fetch("select id, document_id, text from chunks order by id")
    (folder / "zh.md").rename(folder / "盐.md")
    assert await Documents(pool).ingest([folder]) == IngestReport(unchanged=2, updated=1)
    assert await pool.fetch("select id, document_id, text from chunks order by id") == before
    assert await pool.fetchval("select path from documents where title = '盐'") == str(folder / "盐.md")


async def test_what_is_gone_from_a_folder_is_forgotten_when_asked(pool: Pool, folder: Path) -> None:
    documents = Documents(pool)
    await documents.ingest([folder])
    (folder / "en.md").unlink()
    assert await documents.ingest([folder / "zh.md"]) == IngestReport(
        unchanged=1
    )  # it says nothing of others
    assert await documents.ingest([folder]) == IngestReport(unchanged=2)  # nor does it without being asked
    assert await documents.ingest([folder], prune=True) == IngestReport(unchanged=2, removed=1)
    await assert_counts_are_exact(pool)
    assert not await pool.fetch(
        "select from terms where term = any($1::int[])", [*query_terms("salt unique")]
    )


async def test_an_empty_folder_is_no_wish_to_forget(pool: Pool, folder: Path) -> None:
    await Documents(pool).ingest([folder])
    for name in ("en.md", "zh.md", "ja.md"):
        (folder / name).unlink()
    report = await Documents(pool).ingest([folder], prune=True)
    assert (report.removed, len(report.failed)) == (0, 1)
    assert (await Documents(pool).count()).documents == 3


async def test_what_cannot_be_read_is_named_and_does_not_stop_the_rest(pool: Pool, folder: Path) -> None:
    (folder / "x.bin").write_bytes(bytes(range(256)))
    (folder / "写真.pdf").write_bytes(b"%PDF-1.7 broken")
    report = await Documents(pool).ingest([folder, folder / "missing.md"])
    assert (report.added, report.chunks) == (3, 3)
    assert report.failed == [
        FailedPath(path=str(folder / "missing.md"), reason="no such file or folder: check the spelling"),
        FailedPath(path=str(folder / "x.bin"), reason="not text: its bytes are binary data"),
        FailedPath(path=str(folder / "写真.pdf"), reason="a damaged PDF: open it and save it again"),
    ]


async def test_a_file_that_became_unreadable_keeps_its_last_text(pool: Pool, folder: Path) -> None:
    await Documents(pool).ingest([folder])
    (folder / "en.md").write_bytes(b"\x00\x01" * 100)
    report = await Documents(pool).ingest([folder])
    assert (report.unchanged, len(report.failed), report.removed) == (2, 1, 0)
    assert await pool.fetchval("select text from documents where title = 'Salts'") == ENGLISH


async def test_two_ingests_at_once_add_each_document_once(pool: Pool, folder: Path) -> None:
    reports = await asyncio.gather(*(Documents(pool).ingest([folder]) for _ in range(4)))
    assert sum(report.added for report in reports) == 3
    assert sum(report.unchanged for report in reports) == 9
    count = await Documents(pool).count()
    assert (count.documents, count.chunks) == (3, 3)
    await assert_counts_are_exact(pool)


async def test_two_ingests_of_different_edits_leave_one_whole_document(pool: Pool, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("# T\n\n" + "最初の文である。" * 100)
    await Documents(pool).ingest([file])
    file.write_text("# T\n\n" + "A second text stands here. " * 100)
    await asyncio.gather(*(Documents(pool).ingest([file]) for _ in range(3)))
    texts = [row["text"] for row in await pool.fetch("select text from chunks order by position")]
    assert texts
    assert all("second" in text and "最初" not in text for text in texts)
    await assert_counts_are_exact(pool)


async def test_an_ingest_that_dies_leaves_no_half_document(pool: Pool, tmp_path: Path) -> None:
    """The connection is cut while the document is being written, as when the process is killed."""
    file = tmp_path / "long.md"
    file.write_text(
        "\n\n".join(
            f"## 节 {n}\n\n第 {n} 节说明密码的存储。" + "密码要加盐之后再计算。" * 60 for n in range(300)
        )
    )
    async with pool.acquire() as blocker, blocker.transaction():
        # The terms of the document can be counted only after all its chunks are in: hold it up there.
        await blocker.execute("lock table terms in exclusive mode")
        ingest = asyncio.create_task(Documents(pool).ingest([file]))
        victim = None
        async with asyncio.timeout(30):
            while victim is None:
                victim = await blocker.fetchval(
                    "select pid from pg_locks where not granted and relation = 'terms'::regclass limit 1"
                )
                await asyncio.sleep(0.01)
        await blocker.execute("select pg_terminate_backend($1)", victim)
    with pytest.raises(Exception, match=r"terminating|closed"):
        await ingest
    count = await Documents(pool).count()
    assert (count.documents, count.chunks, count.newest) == (0, 0, None)
    assert (await Documents(pool).ingest([file])).added == 1
    await assert_counts_are_exact(pool)


async def test_a_newer_way_of_cutting_cuts_unchanged_documents_again(pool: Pool, folder: Path) -> None:
    await Documents(pool).ingest([folder])
    await pool.execute("update documents set index_version = 0 where title = '盐'")
    assert await Documents(pool).ingest([folder]) == IngestReport(unchanged=2, updated=1, chunks=1)
    await assert_counts_are_exact(pool)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, JAPANESE])
async def test_offsets_follow_what_is_put_in_above(pool: Pool, tmp_path: Path, text: str) -> None:
    below = "\n\n".join(f"## {number}\n\n{text.replace('#', '')}" * 12 for number in range(3))
    (tmp_path / "a.md").write_text(f"# A\n\n{below}")
    await Documents(pool).ingest([tmp_path])
    kept = {row["id"] for row in await pool.fetch("select id from chunks")}
    (tmp_path / "a.md").write_text(f"# A\n\n## New\n\n{'Put in above. ' * 80}\n\n{below}")
    await Documents(pool).ingest([tmp_path])
    rows = await pool.fetch(
        """
        select c.id, c.text, substr(d.text, c.start_offset + 1, c.end_offset - c.start_offset) as slice
        from documents d join chunks c on c.document_id = d.id
        """
    )
    assert kept & {row["id"] for row in rows}
    assert all(row["text"] == row["slice"] for row in rows)
