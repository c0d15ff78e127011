"""PostgreSQL restarted, cut off, hanging and killed under a running bot: nothing is lost or doubled."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.app import open_knowledge
from bot.demo import DemoSettings
from bot.local_slack.people import Person
from bot.local_slack.server import LocalSlack
from bot.local_slack.workspace import Message
from bot.manifest import bot_events, bot_scopes
from knowledge import database, embedded
from knowledge.article import Status
from knowledge.database import DatabaseError, in_use, open_pool
from tests.bot_command import PIPE, ROOT, run, running
from tests.e2e.desk import PATIENCE, TOPICS, Desk
from tests.integration.troubled_server import Server, looking, stopped, until

OUTLINE = {"en": "Approve outline 1", "zh": "通过大纲 1", "ja": "構成案 1 を承認"}
DRAFT = {"en": "Approve draft 1", "zh": "通过草稿 1", "ja": "原稿 1 を承認"}
TOLD = {"en": "could not write that down", "zh": "没能记下来", "ja": "記録できなかった"}

UNSENT = "select count(*) from outbox where sent_revision = 0 and error is null"

# Each of our connections is known by what it asked last, or by who it is.
CONNECTIONS = {
    "the sender's, which holds its lock and listens": "query like 'LISTEN \"outbox\"'",
    "procrastinate's that listens": "query like 'LISTEN \"procrastinate%'",
    "all of procrastinate's pool": "application_name <> 'copydesk' and query not like 'LISTEN%'",
    "all of our pool": "application_name = 'copydesk'",
}


@pytest.fixture
async def server(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setattr(embedded, "LOOK_SECONDS", 3600.0)  # what is stopped here stays so, until `start`
    server = Server(home)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def desk(server: Server, home: Path) -> AsyncIterator[Desk]:
    async with LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack:
        ana, bo = slack.add_person("Ana"), slack.add_person("Bo")
        settings = DemoSettings(
            home=home,
            database_url=server.dsn,
            embedding_model="none",
            slack_bot_token=slack.bot_token,
            slack_app_token=slack.app_token,
            slack_api_url=slack.base_url,
        )
        async with open_knowledge(settings) as knowledge:
            await knowledge.documents.ingest([ROOT / "knowledge" / "sample"])
            channel = slack.add_channel("articles", [ana, bo, slack.bot])
            desk = Desk(slack, ana, bo, channel, knowledge, settings)
            async with desk.stack:
                yield desk


@asynccontextmanager
async def bot_beside(desk: Desk, server: Server) -> AsyncIterator[list[int]]:
    """A bot with connections of its own; those of the desk, by which the test looks on, are given."""
    ours = await server.backends("true")
    async with open_knowledge(desk.settings) as knowledge, AsyncExitStack() as stack:
        await replace(desk, knowledge=knowledge, stack=stack).start()
        yield ours


def keys_posted(desk: Desk) -> Counter[str]:
    """How often each logical message of the bot stands in the channel; files by their names."""
    found: Counter[str] = Counter()
    for message in desk.slack.workspace.all_messages(desk.channel.id):
        if message.user == desk.slack.bot.id:
            metadata: dict[str, Any] = message.metadata or {}
            key = metadata.get("event_payload", {}).get("key")
            found[key or f"file {message.files} {message.text}"] += 1
    return found


async def click_until_taken(desk: Desk, person: Person, gate: Message, parent: Message, at: Status) -> None:
    """As a person would: who is told that a click could not be written down clicks again."""

    async def taken() -> bool:
        return (await desk.article(parent)).status is not at

    async with asyncio.timeout(2 * PATIENCE):
        while not await taken():
            told = len(person.ephemerals)
            await person.click(gate, "approve")

            async def answered(told: int = told) -> bool:
                return len(person.ephemerals) > told or await taken()

            await until(answered, 5)


async def to_the_end(desk: Desk, parent: Message, language: str) -> None:
    """Both approvals; then each message stands there once."""
    outline = await desk.asked(parent, OUTLINE[language])
    await click_until_taken(desk, desk.ana, outline, parent, Status.AWAITING_OUTLINE)
    draft = await desk.asked(parent, DRAFT[language])
    await desk.article(parent, Status.AWAITING_APPROVAL)
    await click_until_taken(desk, desk.bo, draft, parent, Status.AWAITING_APPROVAL)
    await desk.article(parent, Status.PUBLISHED)

    async def all_sent() -> bool:
        return not await desk.knowledge.pool.fetchval(UNSENT)

    assert await until(all_sent)
    assert {key: number for key, number in keys_posted(desk).items() if number > 1} == {}


# -- away, and back ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", TOPICS)
async def test_a_restart_of_postgresql_is_survived_and_people_are_told_meanwhile(
    desk: Desk, server: Server, language: str
) -> None:
    await desk.start()
    parent = await desk.request(TOPICS[language])
    outline = await desk.asked(parent, OUTLINE[language])
    server.signal(signal.SIGINT)  # a fast shutdown: clients are cut off
    await server.gone()
    await desk.ana.click(outline, "approve")
    await desk.told(desk.ana, TOLD[language])
    await server.start()
    await to_the_end(desk, parent, language)


async def test_a_server_that_is_killed_while_agents_work_costs_nothing_but_time(
    desk: Desk, server: Server
) -> None:
    await desk.start()
    parent = await desk.request(TOPICS["ja"])
    server.signal(signal.SIGKILL)
    await server.start()
    await to_the_end(desk, parent, "ja")


@pytest.mark.parametrize("which", CONNECTIONS.values(), ids=CONNECTIONS.keys())
async def test_a_connection_that_is_cut_is_made_again(desk: Desk, server: Server, which: str) -> None:
    async with bot_beside(desk, server) as ours:
        parent = await desk.request(TOPICS["zh"])
        await desk.asked(parent, OUTLINE["zh"])
        assert await server.cut(which, but=ours) >= 1
        await to_the_end(desk, parent, "zh")


async def test_connections_that_are_cut_one_after_the_other_all_the_time_lose_and_double_nothing(
    desk: Desk, server: Server
) -> None:
    async with bot_beside(desk, server) as ours:

        async def trouble() -> None:
            for number in range(10):
                pids = [pid for pid in sorted(await server.backends("true")) if pid not in ours]
                if pids:
                    await server.cut(f"pid = {pids[number % len(pids)]}")
                await asyncio.sleep(0.4)

        parents = [await desk.request(topic) for topic in TOPICS.values()]
        await trouble()
        for parent, language in zip(parents, TOPICS, strict=True):
            await to_the_end(desk, parent, language)


async def test_a_leg_that_is_cut_off_while_it_writes_goes_on_and_fails_no_article(
    desk: Desk, server: Server
) -> None:
    await desk.start(worker=False)
    parent = await desk.request(TOPICS["zh"])
    article = await desk.article(parent, Status.RESEARCHING)
    async with looking(server.dsn) as connection, connection.transaction():
        await connection.execute("select from articles where id = $1 for update", article.id)
        await desk.start()

        async def cut_while_it_waits() -> bool:
            await server.cut("wait_event_type = 'Lock' and query like '%set usage%'")  # the journal's
            return await server.cut("wait_event_type = 'Lock' and query like '%for update%'") > 0

        assert await until(cut_while_it_waits)
    await to_the_end(desk, parent, "zh")
    history = await desk.knowledge.articles.history(article.id)
    assert "failed" not in [move["to"] for move in history]


# -- hanging -------------------------------------------------------------------------------------------------


async def test_a_database_that_hangs_is_told_to_people_and_all_goes_on_when_it_answers_again(
    desk: Desk, server: Server
) -> None:
    await desk.start()
    parent = await desk.request(TOPICS["en"])
    outline = await desk.asked(parent, OUTLINE["en"])
    async with server.frozen("true", whole=True) as frozen:
        assert frozen > 3
        await desk.ana.click(outline, "approve")
        await desk.told(desk.ana, TOLD["en"])
    await to_the_end(desk, parent, "en")


@pytest.mark.parametrize("which", ["query like 'LISTEN \"outbox\"'", "application_name = 'copydesk'"])
async def test_the_bot_goes_on_without_connections_that_never_answer(
    desk: Desk, server: Server, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STATEMENT_SECONDS", 2.0)
    async with bot_beside(desk, server) as ours:
        parent = await desk.request(TOPICS["en"])
        await desk.asked(parent, OUTLINE["en"])

        async def all_rest() -> bool:
            busy = await server.backends("state <> 'idle'")
            return not busy and not await desk.knowledge.pool.fetchval(UNSENT)

        # One that is stopped inside a statement may hold locks of the whole server, which nothing helps.
        assert await until(all_rest)
        async with server.frozen(f"{which} and state = 'idle'", but=ours) as frozen:
            assert frozen >= 1
            await to_the_end(desk, parent, "en")


async def test_a_statement_without_an_answer_ends_in_a_sentence(
    desk: Desk, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "STATEMENT_SECONDS", 0.5)
    pool = await open_pool(server.dsn)
    pid = await pool.fetchval("select pg_backend_pid()")
    no_answer = pytest.raises(DatabaseError, match=r"failed \(no answer\): try again")
    with stopped([pid]), no_answer, in_use(server.dsn):
        await pool.fetchval("select 1")
    assert await pool.fetchval("select 1") == 1
    await pool.close()


# -- processes -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def started(*arguments: str, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """`python -m bot …`, once it is ready; nothing of it is left behind."""
    given = {"COPYDESK_EMBEDDING_MODEL": "none", **settings}
    async with running(*arguments, settings=given, stdout=PIPE) as process:
        assert process.stdout is not None
        async with asyncio.timeout(3 * PATIENCE):
            assert b"ready" in await process.stdout.readline()
        yield process


async def test_an_embedded_server_that_is_killed_under_serve_is_started_again(home: Path) -> None:
    settings = {"COPYDESK_HOME": str(home), "COPYDESK_EMBEDDING_MODEL": "none"}
    ingest = await run("ingest", str(ROOT / "knowledge" / "sample"), settings=settings, seconds=4 * PATIENCE)
    assert ingest.code == 0
    async with LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack, asyncio.timeout(4 * PATIENCE):
        ana = slack.add_person("Ana")
        channel = slack.add_channel("articles", [ana, slack.bot])
        async with started(
            "serve",
            COPYDESK_HOME=str(home),
            SLACK_API_URL=slack.base_url,
            SLACK_BOT_TOKEN=slack.bot_token,
            SLACK_APP_TOKEN=slack.app_token,
        ) as serving:
            pid_file = home / "database/data/postmaster.pid"
            killed = int(pid_file.read_text().splitlines()[0])
            os.kill(killed, signal.SIGKILL)

            async def another() -> bool:
                try:
                    return int(pid_file.read_text().splitlines()[0]) != killed
                except (FileNotFoundError, IndexError):  # it is being written anew
                    return False

            assert await until(another)

            def outlined() -> bool:
                return any("Outline 1" in one.text for one in slack.workspace.all_messages(channel.id))

            while not slack.history(channel):  # who is told that it could not be written down types it again
                told = len(ana.ephemerals)
                await ana.command(channel, "/article", TOPICS["en"])

                async def answered(told: int = told) -> bool:
                    return len(ana.ephemerals) > told or bool(slack.history(channel))

                await until(answered, 10)
            await slack.wait_for(outlined, 2 * PATIENCE)
            serving.send_signal(signal.SIGTERM)
            assert await serving.wait() == 0
    assert not pid_file.exists()  # it was stopped, too


async def test_a_stop_does_not_wait_for_a_database_that_hangs(server: Server, home: Path) -> None:
    async with (
        LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack,
        started(
            "serve",
            DATABASE_URL=server.dsn,
            COPYDESK_HOME=str(home / "other"),
            SLACK_API_URL=slack.base_url,
            SLACK_BOT_TOKEN=slack.bot_token,
            SLACK_APP_TOKEN=slack.app_token,
        ) as serving,
        server.frozen("true", whole=True),
    ):
        serving.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):  # what a supervisor waits before it kills
            assert await serving.wait() == 1
