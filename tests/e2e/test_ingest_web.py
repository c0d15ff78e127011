"""`python -m bot ingest` with addresses, as its users run it."""

import json
from pathlib import Path

from knowledge.database import Pool
from tests.bot_command import run
from tests.web_site import HOST, redirect, web_site


async def ingest(dsn: str, *arguments: str, **settings: str) -> tuple[int, str, str]:
    """Exit code, output and what stands on stderr."""
    given = {"DATABASE_URL": dsn, "COPYDESK_EMBEDDING_MODEL": "none", **settings}
    ran = await run("ingest", *arguments, settings=given, seconds=90)
    return ran.code, ran.out, ran.err


async def test_files_and_pages_go_into_one_base(pool: Pool, dsn: str, tmp_path: Path) -> None:
    note, listed = tmp_path / "note.md", tmp_path / "pages.txt"
    note.write_text("# Salt\n\nA salt is unique.\n")
    async with web_site() as site:
        site.answers |= {
            "/zh": "<h1>盐</h1><p>每个密码都有唯一的盐。</p>",
            "/ja": "<h1>ソルト</h1><p>ソルトはパスワードごとに異なる。</p>",
            "/go": redirect("http://169.254.169.254/latest/"),
        }
        listed.write_text(f"{site.url('/ja')}\n{site.url('/go')}\n")
        given = (str(note), site.url("/zh"), "--urls", str(listed), "--json")
        code, out, err = await ingest(dsn, *given, COPYDESK_FETCH_PRIVATE=f"wiki.example, {HOST}")
    report = json.loads(out)
    assert (code, err, report["added"]) == (0, "", 3)
    [failed] = report["failed"]
    assert failed["path"] == site.url("/go")
    assert "169.254.169.254 is inside a private network" in failed["reason"]
    titles = [row["title"] for row in await pool.fetch("select title from documents order by title")]
    assert titles == ["Salt", "ソルト", "盐"]


async def test_without_leave_a_page_of_this_machine_is_not_read(dsn: str) -> None:
    async with web_site() as site:
        code, out, err = await ingest(dsn, site.url("/"))
        assert site.asked == []
    assert (code, err) == (1, "")
    assert f"Not added: {site.url('/')} (127.0.0.1 is inside a private network" in out
    assert "COPYDESK_FETCH_PRIVATE" in out


async def test_wrong_usage_and_a_wrong_setting_are_one_sentence(dsn: str) -> None:
    code, out, err = await ingest(dsn)
    assert (code, out) == (2, "")
    assert "name a PATH or URL, or --urls FILE" in err
    code, out, err = await ingest(dsn, "https://a.example/", COPYDESK_FETCH_PRIVATE="https://wiki.example/x")
    assert (code, out) == (1, "")
    assert err.startswith("COPYDESK_FETCH_PRIVATE=https://wiki.example/x: ")
    assert "Traceback" not in err
