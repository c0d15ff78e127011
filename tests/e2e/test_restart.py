"""A thread that waits for people outlives a restart and an update of the database, and so do its buttons."""

import shutil
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from bot.app import open_knowledge
from bot.blocks import ButtonValue, read_value
from bot.local_slack.workspace import Message
from knowledge import database
from knowledge.article import Status
from knowledge.database import MIGRATIONS, migrate
from tests.conftest import on_database
from tests.e2e.desk import PATIENCE, TOPICS, Desk

NAMES = sorted(path.stem for path in MIGRATIONS.glob("*.sql"))
RELEASES = [NAMES[1], NAMES[5], NAMES[-2]]  # the first that had articles, one between, the last but one

OUTLINE = {"en": "Approve outline 1", "zh": "通过大纲 1", "ja": "構成案 1 を承認"}
DRAFT = {"en": "Approve draft 1", "zh": "通过草稿 1", "ja": "原稿 1 を承認"}
APPROVE = {"en": "approve", "zh": "通过", "ja": "承認"}


@pytest.fixture
def earlier(server: str) -> Iterator[str]:
    """A database for an earlier release."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("create database earlier")
    yield on_database(server, "earlier")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("drop database earlier with (force)")


async def as_an_earlier_release_has_it(
    dsn: str, source: str, release: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of `source`, in the tables and columns that this release knew."""
    for name in NAMES[: NAMES.index(release) + 1]:
        shutil.copy(MIGRATIONS / f"{name}.sql", folder)
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", folder)
        await migrate(dsn)
    with psycopg.connect(source) as there, psycopg.connect(dsn) as here:
        here.execute("set session_replication_role = replica")  # the order of tables does not matter
        columns = here.execute(
            "select table_name, array_agg(column_name::text order by ordinal_position)"
            " from information_schema.columns join pg_tables on tablename = table_name"
            " where table_schema = 'public' and table_name <> 'copydesk_migrations' group by 1"
        ).fetchall()
        for table, names in columns:
            fields = sql.SQL(", ").join(map(sql.Identifier, names))
            named = sql.SQL("{} ({})").format(sql.Identifier(table), fields)
            with (
                there.cursor().copy(sql.SQL("copy {} to stdout").format(named)) as rows,
                here.cursor().copy(sql.SQL("copy {} from stdin").format(named)) as written,
            ):
                for row in rows:
                    written.write(row)
            if "id" in names:
                here.execute(
                    sql.SQL(
                        "select setval(pg_get_serial_sequence({}, 'id'), (select max(id) from {}))"
                    ).format(sql.Literal(table), sql.Identifier(table))
                )


async def waiting_outline(desk: Desk, language: str) -> tuple[Message, Message]:
    """A bot that asks for a decision, and is stopped; the thread, and what asks."""
    stop = await desk.start()
    parent = await desk.request(TOPICS[language])
    outline = await desk.asked(parent, OUTLINE[language])
    await desk.article(parent, Status.AWAITING_OUTLINE)
    await heard_all(desk)
    await stop()
    return parent, outline


async def heard_all(desk: Desk) -> None:
    """Before a bot is stopped: Slack counts what it did not acknowledge, events on its own messages too."""
    await desk.until("select count(*) from outbox where sent_revision < revision and error is null", 0)
    await desk.slack.wait_for(lambda: all(event.acked for event in desk.slack.events), PATIENCE)


@pytest.mark.parametrize(("release", "language"), [*zip(RELEASES, TOPICS, strict=True)])
async def test_a_button_made_before_a_restart_and_an_update_still_decides(
    desk: Desk,
    dsn: str,
    earlier: str,
    release: str,
    language: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parent, outline = await waiting_outline(desk, language)
    folder = tmp_path / "migrations"
    folder.mkdir()
    await as_an_earlier_release_has_it(earlier, dsn, release, folder, monkeypatch)

    updated = desk.settings.model_copy(update={"database_url": earlier})
    async with open_knowledge(updated) as knowledge, AsyncExitStack() as stack:
        later = replace(desk, knowledge=knowledge, settings=updated, stack=stack)
        stop = await later.start()
        before = len(later.bots(parent))
        assert before == 1  # what stood there is not said again
        await desk.ana.click(outline, "approve")
        draft = await later.asked(parent, DRAFT[language])
        await later.article(parent, Status.AWAITING_APPROVAL)
        await heard_all(later)
        await stop()

        # And once more, without an update.
        await later.start()
        await desk.bo.click(draft, "approve")
        await later.article(parent, Status.PUBLISHED)
        article = await later.article(parent)
        assert [(one.on, one.version, one.by) for one in article.decisions] == [
            ("outline", 1, desk.ana.id),
            ("draft", 1, desk.bo.id),
        ]
        files = [message for message in later.bots(parent) if message.files]
        assert len(files) == 1


@pytest.mark.parametrize(
    ("made", "read"),
    [
        ("12:outline:3:ja", ButtonValue(12, "outline", 3, "ja")),
        ("12:draft:1:zh", ButtonValue(12, "draft", 1, "zh")),
        ("7:-:0:en", ButtonValue(7, None, 0, "en")),
    ],
)
def test_what_buttons_of_the_first_release_hold_is_still_read(made: str, read: ButtonValue) -> None:
    """They stand in threads for weeks: another form may be added to this one, never put in its place."""
    assert read_value(made) == read


@pytest.mark.parametrize("language", TOPICS)
async def test_a_word_below_what_was_asked_before_a_restart_is_about_that(desk: Desk, language: str) -> None:
    parent, _ = await waiting_outline(desk, language)
    await desk.start()
    await desk.ana.say(desk.channel, APPROVE[language], thread_ts=parent.ts)
    await desk.asked(parent, DRAFT[language])
    article = await desk.article(parent, Status.AWAITING_APPROVAL)
    assert [(one.on, one.by) for one in article.decisions] == [("outline", desk.ana.id)]
