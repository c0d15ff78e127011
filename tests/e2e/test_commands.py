"""`python -m bot …` as its users run it: a process, its output, its exit code."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.local_slack.server import LocalSlack
from bot.manifest import bot_scopes
from knowledge.database import Pool
from tests.bot_command import PIPE, ROOT, Ran, run, start
from tests.e2e.desk import TOPICS

PATIENCE = 90.0


@dataclass(frozen=True)
class Bot:
    """Starts `python -m bot` with nothing but these settings."""

    settings: Mapping[str, str]

    async def start(self, *arguments: str, **settings: str) -> asyncio.subprocess.Process:
        return await self.write_to(PIPE, *arguments, **settings)

    async def write_to(self, stdout: int, *arguments: str, **settings: str) -> asyncio.subprocess.Process:
        return await start(*arguments, settings={**self.settings, **settings}, stdout=stdout, stderr=PIPE)

    async def run(self, *arguments: str, **settings: str) -> Ran:
        return await run(*arguments, settings={**self.settings, **settings}, seconds=PATIENCE)


@pytest.fixture
def bot(dsn: str, home: Path) -> Bot:
    return Bot(
        {
            "DATABASE_URL": dsn,
            "COPYDESK_HOME": str(home),
            "COPYDESK_EMBEDDING_MODEL": "none",
            "LOG_LEVEL": "WARNING",
        },
    )


def test_help_and_wrong_usage_do_not_wait_for_the_libraries_of_the_commands() -> None:
    program = (
        "import sys\n"
        "from bot.__main__ import main\n"
        "try: main([%r])\n"
        "finally: print(*({'pydantic_ai', 'slack_bolt', 'numpy'} & set(sys.modules)), 'none')"
    )
    for arguments in ("--help", "no-such-command"):
        asked = [sys.executable, "-c", program % arguments]
        ran = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=ROOT)
        assert ran.stdout.splitlines()[-1] == "none"
        assert "usage: python -m bot" in ran.stdout + ran.stderr


def one_sentence(ran: Ran, *words: str) -> None:
    """Failed, with one line that holds these words, and no traceback."""
    assert ran.code == 1, ran
    assert ran.out == ""
    [line] = ran.err.strip().splitlines()
    for word in words:
        assert word in line


async def test_ingest_search_and_articles_speak_json(bot: Bot, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "en.md").write_text("# Argon2id\n\nArgon2id needs memory, so a GPU gains little by it.\n")
    (notes / "zh.md").write_text("# 密码\n\nArgon2id 需要大量内存，因此 GPU 占不到便宜。\n")
    (notes / "ja.md").write_text("# パスワード\n\nArgon2id は大量のメモリを使うため、GPU の利点が小さい。\n")
    first = await bot.run("ingest", str(notes), "--json")
    assert json.loads(first.out) == {
        "added": 3, "updated": 0, "unchanged": 0, "removed": 0, "failed": [], "chunks": 3
    }  # fmt: skip
    again = await bot.run("ingest", str(notes))
    assert again.code == 0
    assert "3 unchanged" in again.out
    found = await bot.run("search", "Argon2id 需要大量内存", "--json", "--k", "2")
    [best, *_] = json.loads(found.out)
    assert set(best) >= {
        *("rank", "score", "text", "title", "url", "path", "heading", "document_id", "chunk_id", "lang")
    }
    assert (best["rank"], best["lang"], best["title"]) == (1, "zh", "密码")
    assert json.loads((await bot.run("articles", "--json")).out) == []
    nothing = await bot.run("search", "sourdough starter")
    assert (nothing.code, nothing.out) == (0, "Nothing in the knowledge base is about that.\n")


async def test_what_cannot_be_ingested_is_listed_and_the_rest_is_in(bot: Bot, tmp_path: Path) -> None:
    good = tmp_path / "good.txt"
    good.write_text("Argon2id won the Password Hashing Competition in 2015.")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing that a reader could use")
    (tmp_path / "binary.md").write_bytes(bytes(range(256)) * 8)
    paths = [str(tmp_path / name) for name in ("good.txt", "broken.pdf", "binary.md", "nowhere")]
    ran = await bot.run("ingest", *paths)
    assert ran.code == 0
    assert "1 added" in ran.out
    for path in paths[1:]:
        [line] = [line for line in ran.out.splitlines() if path in line]
        assert re.search(r"\(.{10,}\)$", line)
    assert "Traceback" not in ran.err


async def test_when_nothing_of_it_can_be_ingested_the_command_fails(bot: Bot, tmp_path: Path) -> None:
    ran = await bot.run("ingest", str(tmp_path / "nowhere"))
    assert ran.code == 1
    assert "nowhere" in ran.out


async def test_an_unknown_article_is_named(bot: Bot) -> None:
    one_sentence(await bot.run("article", "7"), "7", "articles")


async def test_wrong_usage_is_code_2(bot: Bot) -> None:
    for arguments in ((), ("fly",), ("search", "x", "--k", "0"), ("article", "seven")):
        assert (await bot.run(*arguments)).code == 2
    huge = await bot.run("article", "9" * 20)
    assert (huge.code, "a number, as `articles` lists them" in huge.err) == (2, True)
    for nothing in ("", " ", "　"):
        ran = await bot.run("ingest", "docs", nothing)
        assert (ran.code, "a PATH is empty" in ran.err) == (2, True)


async def test_an_ingest_that_is_interrupted_says_what_is_left_of_it(
    bot: Bot, pool: Pool, tmp_path: Path
) -> None:
    for number in range(3_000):
        text = f"# Note {number}\n\nA salt. 密码要加盐 {number}。ソルトを加える。\n" * 20
        (tmp_path / f"{number}.md").write_text(text)
    process = await bot.start("ingest", str(tmp_path))
    async with asyncio.timeout(PATIENCE):
        done = 0
        while done == 0:
            done = await pool.fetchval("select count(*) from documents")
            await asyncio.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == "Stopped: what was added stays, and the same command goes on.\n"
    assert 0 < await pool.fetchval("select count(*) from documents") < 3_000


async def test_a_wrong_setting_is_one_sentence(bot: Bot) -> None:
    one_sentence(await bot.run("articles", COPYDESK_MODE="fast"), "COPYDESK_MODE=fast", "supervised")


async def test_a_database_that_is_down_is_one_sentence_without_its_password(bot: Bot) -> None:
    ran = await bot.run("articles", DATABASE_URL="postgresql://ana:secret@127.0.0.1:1/copydesk")
    one_sentence(ran, "127.0.0.1", "1")
    assert "secret" not in ran.err


async def test_a_database_that_fails_on_the_way_is_one_sentence(bot: Bot, pool: Pool) -> None:
    await pool.execute("alter table outbox rename to away")
    for command in (("digest",), ("digest", "--json")):
        one_sentence(await bot.run(*command), "The database at", "outbox")


@pytest.mark.parametrize("command", ["articles", "search 密码", "doctor"])
async def test_a_reader_that_has_seen_enough_gets_no_traceback(bot: Bot, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = await bot.write_to(writing, *command.split())
    finally:
        os.close(writing)
    async with asyncio.timeout(PATIENCE):
        _, err = await process.communicate()
    assert (process.returncode, err) == (1, b"")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ("SLACK_BOT_TOKEN", "manifest.yml")),
        ({"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}, ("SLACK_BOT_TOKEN", "invalid_auth")),
        ({"SLACK_BOT_TOKEN": "right", "SLACK_APP_TOKEN": "xapp-1"}, ("SLACK_APP_TOKEN", "invalid_auth")),
    ],
)
async def test_a_wrong_token_stops_the_start_with_where_to_find_the_right_one(
    bot: Bot, settings: dict[str, str], words: tuple[str, ...]
) -> None:
    async with LocalSlack() as slack:
        given = {name: slack.bot_token if token == "right" else token for name, token in settings.items()}
        one_sentence(await bot.run("serve", SLACK_API_URL=slack.base_url, **given), *words)


@pytest.mark.parametrize("lacking", ["", "groups:read"])
async def test_the_doctor_says_which_scopes_are_missing(bot: Bot, lacking: str) -> None:
    granted = [scope for scope in bot_scopes() if scope != lacking]
    async with LocalSlack(scopes=granted) as slack:
        ran = await bot.run(
            "doctor",
            SLACK_API_URL=slack.base_url,
            SLACK_BOT_TOKEN=slack.bot_token,
            SLACK_APP_TOKEN=slack.app_token,
        )
    told = (
        f"✗ Slack: @copydesk in Local Slack, but without {lacking}: add" if lacking else "✓ Slack: @copydesk"
    )
    [line] = [line for line in ran.out.splitlines() if " Slack: " in line]
    assert line.startswith(told)


async def test_a_slack_that_cannot_be_reached_is_one_sentence(bot: Bot) -> None:
    ran = await bot.run(
        "serve", SLACK_API_URL="http://127.0.0.1:1/api", SLACK_BOT_TOKEN="xoxb-1", SLACK_APP_TOKEN="xapp-1"
    )
    one_sentence(ran, "http://127.0.0.1:1/api/")


async def test_serve_and_worker_share_the_work_and_stop_when_told(
    bot: Bot, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    await bot.run("ingest", str(pytestconfig.rootpath / "knowledge" / "sample"))
    async with LocalSlack() as slack, asyncio.timeout(PATIENCE):
        ana = slack.add_person("Ana")
        channel = slack.add_channel("articles", [ana, slack.bot])
        tokens = {
            "SLACK_API_URL": slack.base_url,
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
        }
        serving = await bot.start("serve", "--no-worker", **tokens)
        working = await bot.start("worker")
        for process in (serving, working):
            assert process.stdout is not None
            assert b"ready" in await process.stdout.readline()
        await ana.command(channel, "/article", TOPICS["en"])
        await slack.wait_for(
            lambda: any("Outline 1" in message.text for message in slack.workspace.all_messages(channel.id)),
            PATIENCE,
        )
        for process in (serving, working):
            process.send_signal(signal.SIGTERM)
            _, err = await process.communicate()
            assert process.returncode == 0, err.decode()


def article_of(ran: Ran, home: Path) -> str:
    """The file that the demo names in its last line."""
    file = Path(ran.out.strip().splitlines()[-1].split(": ", 1)[1])
    assert file.is_relative_to(home)
    return file.read_text()


async def test_the_demo_takes_a_topic_to_an_article(bot: Bot, home: Path) -> None:
    ran = await bot.run("demo", "--yes", DATABASE_URL="postgresql://nobody@127.0.0.1:1/ignored")
    assert ran.code == 0, ran
    for part in ("/article Why should", "Outline 1", "revise: ", "Outline 2", "Draft 1", "Review:"):
        assert part in ran.out
    assert article_of(ran, home).startswith("---\ntitle:")
    [folder] = (home / "demo").iterdir()
    assert sorted(path.suffix for path in folder.iterdir()) == [".log", ".md"]
    assert "Traceback" not in (folder / "demo.log").read_text()  # also where vectors were under way


async def test_the_demo_works_on_another_field(bot: Bot, tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "baking"
    folder.mkdir()
    (folder / "starter.md").write_text(
        "# Keeping a sourdough starter\n\n## Feeding\n\nA sourdough starter at room temperature is fed "
        "once a day. Bakers feed it equal weights of flour and water.\n\n## Cold\n\nA sourdough starter in "
        "the refrigerator is fed once a week. The cold slows yeast and bacteria down.\n\n## Signs\n\n"
        "A healthy sourdough starter doubles within six hours of feeding.\n"
    )
    (folder / "loaf.md").write_text(
        "# The daily loaf\n\n## Starter\n\nA loaf needs an active sourdough starter, fed the evening before. "
        "A sluggish sourdough starter makes a dense loaf.\n\n## Timing\n\nThe dough rises for four hours.\n"
    )
    topic = "How is a sourdough starter kept alive?"
    ran = await bot.run("demo", topic, "--yes", "--knowledge", str(folder))
    assert ran.code == 0, ran
    assert "is fed once a week" in article_of(ran, home)


async def test_a_demo_without_a_topic_says_so(bot: Bot) -> None:
    ran = await bot.run("demo", "", "--yes")
    assert (ran.code, ran.out.count("\n")) == (1, 1)
    assert "A topic is missing" in ran.out


async def test_a_demo_with_nothing_to_read_says_so(bot: Bot, tmp_path: Path, home: Path) -> None:
    ran = await bot.run("demo", "x", "--yes", "--knowledge", str(tmp_path / "nowhere"))
    assert ran.code == 1
    assert "nowhere" in ran.out
    assert "Traceback" not in ran.err
    [folder] = (home / "demo").iterdir()
    assert [path.name for path in folder.iterdir()] == ["demo.log"]
