"""Watching the bot from outside, as processes: health on a port, lines of the log, traces and metrics."""

import asyncio
import contextlib
import json
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import aiohttp
import pytest

from bot.local_slack.http_delivery import HttpDelivery
from bot.local_slack.server import LocalSlack
from bot.manifest import bot_events, bot_scopes
from knowledge.articles import Articles
from knowledge.database import Pool
from tests.e2e.desk import TOPICS
from tests.e2e.test_commands import PATIENCE, Bot, bot, one_sentence
from tests.free_port import free_port
from tests.otlp_collector import Collector, attributes, collecting
from tests.scripted_openai.server import ScriptedOpenAI

__all__ = ["bot"]  # the fixture

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack:
        yield slack


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with collecting() as collector:
        yield collector


@pytest.fixture
def ports() -> Iterator[list[int]]:
    with ExitStack() as stack:
        yield [stack.enter_context(free_port()) for _ in range(2)]


Start = Callable[..., Awaitable["Process"]]


class Process:
    """A process of the bot, whose log is read all the time: a pipe that is full would stop it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        self._process = process
        self._log = asyncio.create_task(process.stderr.read())

    async def ready(self) -> None:
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await self._process.stdout.readline()
            assert b"ready" in line, await self._log

    async def stopped(self) -> list[str]:
        """After SIGTERM: what it has written to its log."""
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            log = (await self._log).decode()
            assert await self._process.wait() == 0, log
        return log.splitlines()

    async def gone(self) -> None:
        """Also after a test that failed."""
        if self._process.returncode is None:
            self._process.kill()
        await self._log
        await self._process.wait()


@pytest.fixture
async def start(bot: Bot) -> AsyncIterator[Start]:
    """Starts `python -m bot`, and ends what is left of it."""
    started: list[Process] = []

    async def start(*arguments: str, **settings: str) -> Process:
        started.append(Process(await bot.start(*arguments, **settings)))
        return started[-1]

    yield start
    for process in started:
        await process.gone()


async def state(port: int, path: str = "/readyz") -> tuple[int, dict[str, Any]]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as response:
        return response.status, await response.json()


async def until_ready(port: int) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while True:
            status, said = await state(port)
            if status == 200:
                return said
            await asyncio.sleep(0.1)


async def test_articles_leave_traces_metrics_and_lines_but_no_word_of_theirs(
    bot: Bot,
    start: Start,
    slack: LocalSlack,
    host: ScriptedOpenAI,
    collector: Collector,
    ports: list[int],
    pool: Pool,
    pytestconfig: pytest.Config,
) -> None:
    assert (await bot.run("ingest", str(pytestconfig.rootpath / "knowledge" / "sample"))).code == 0
    settings = {
        "LOG_LEVEL": "DEBUG",
        "LOG_FORMAT": "json",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "COPYDESK_MODEL": "openai-chat:gpt-4.1-mini",
        "OPENAI_BASE_URL": host.base_url,
        "OPENAI_API_KEY": host.api_key,
        "SLACK_API_URL": slack.base_url,
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
    }
    serving = await start("serve", "--no-worker", PORT=str(ports[0]), **settings)
    working = await start("worker", PORT=str(ports[1]), **settings)
    await asyncio.gather(serving.ready(), working.ready())
    assert set(await until_ready(ports[0])) == {"ok", "database", "slack"}
    assert set(await until_ready(ports[1])) == {"ok", "database", "worker"}

    ana = slack.add_person("Ana")
    channel = slack.add_channel("articles", [ana, slack.bot])
    for topic in TOPICS.values():
        await ana.command(channel, "/article", topic)
    # An article's message and, once its legs have ended, its outline.
    await slack.wait_for(lambda: len(slack.workspace.all_messages(channel.id)) == 2 * len(TOPICS), PATIENCE)
    articles = await Articles(pool).newest()
    assert len(articles) == len(TOPICS)
    logs = await asyncio.gather(serving.stopped(), working.stopped())

    # One trace for each leg, with its article; runs and model calls within.
    legs = [span for span in collector.spans if span.name.startswith("leg ")]
    moves = {("researching", "outlining"), ("outlining", "awaiting_outline")}
    assert sorted(
        (about["copydesk.article"], about["copydesk.leg"], about["copydesk.end"])
        for about in (attributes(span.attributes) for span in legs)
    ) == sorted((article.id, *move) for article in articles for move in moves)
    assert len({span.trace_id for span in legs}) == len(legs)
    for leg in legs:
        assert leg.parent_span_id == b""
        within = {span.name.split()[0] for span in collector.spans if span.trace_id == leg.trace_id}
        assert {"invoke_agent", "chat"} <= within
    assert collector.services == {"copydesk"}
    assert collector.counted("copydesk.leg.duration") == {move: len(articles) for move in moves}
    assert collector.counted("gen_ai.client.token.usage")

    # Lines of the worker, ours and those of libraries, name the article and the leg.
    records = [json.loads(line) for lines in logs for line in lines]
    of_legs = [record for record in records if "article" in record]
    assert {(record["article"], record["leg"]) for record in of_legs} == {
        (article.id, leg) for article in articles for leg, _ in moves
    }
    assert {record["logger"].split(".")[0] for record in of_legs} - {"bot", "agents", "knowledge"}
    assert {record["trace"] for record in of_legs} <= {leg.trace_id.hex() for leg in legs}

    # Not a word, and no secret.
    headings = [article.analysis["outline"][0]["heading"] for article in articles if article.analysis]
    assert len(headings) == len(articles)
    secrets = (host.api_key, slack.bot_token, slack.app_token)
    sent = b"".join(collector.bodies)
    for said in (*TOPICS.values(), *headings, *secrets):
        assert said.encode() not in sent
    logged = "\n".join(line for lines in logs for line in lines)
    for secret in secrets:
        assert secret not in logged
    at_info = "\n".join(record["message"] for record in records if record["level"] != "DEBUG")
    for said in (*TOPICS.values(), *headings):
        assert said not in at_info


async def test_a_collector_that_does_not_answer_holds_up_nothing(
    start: Start, slack: LocalSlack, ports: list[int]
) -> None:
    asked = asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()

    async with await asyncio.start_server(never_answer, "127.0.0.1", 0) as silent:
        serving = await start(
            "serve",
            "--no-worker",
            SLACK_API_URL=slack.base_url,
            SLACK_BOT_TOKEN=slack.bot_token,
            SLACK_SIGNING_SECRET=SECRET,
            PORT=str(ports[0]),
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}",
            OTEL_EXPORTER_OTLP_TIMEOUT="120",  # s
        )
        await serving.ready()
        # Something to be told of: a request that is refused.
        url = f"http://127.0.0.1:{ports[0]}/slack/events"
        async with aiohttp.ClientSession() as session, session.post(url) as response:
            assert response.status == 401
        await until_ready(ports[0])
        begun = time.monotonic()
        await serving.stopped()
        assert asked.is_set()
        assert time.monotonic() - begun < 60  # 5 s for the collector, and what a slow machine takes


async def test_without_an_app_token_the_process_takes_slack_over_http(
    start: Start, slack: LocalSlack, ports: list[int]
) -> None:
    serving = await start(
        "serve",
        SLACK_API_URL=slack.base_url,
        SLACK_BOT_TOKEN=slack.bot_token,
        SLACK_SIGNING_SECRET=SECRET,
        PORT=str(ports[0]),
        LOG_LEVEL="INFO",
    )
    await serving.ready()
    delivery = HttpDelivery(slack, f"http://127.0.0.1:{ports[0]}/slack/events", SECRET)
    assert await delivery.verify_url()
    ana = slack.add_person("Ana")
    channel = slack.add_channel("articles", [ana, slack.bot])
    answered = await ana.command(channel, "/article", "help")
    assert "/article" in answered.text
    delivery.secret = "0" * 32
    assert not (await ana.command(channel, "/article", "help")).acked
    said = await until_ready(ports[0])
    assert said["slack"] == {"ok": True, "why": "is heard at /slack/events"}
    assert set(said) == {"ok", "database", "slack", "worker"}
    await delivery.close()
    lines = await serving.stopped()
    assert any("SLACK_SIGNING_SECRET" in line for line in lines)
    assert SECRET not in "\n".join(lines)


async def test_without_either_way_to_hear_slack_both_are_named(bot: Bot) -> None:
    words = ("SLACK_APP_TOKEN", "Socket Mode", "SLACK_SIGNING_SECRET", "HTTP")
    one_sentence(await bot.run("serve", SLACK_BOT_TOKEN="xoxb-1"), *words)


async def test_a_worker_whose_port_is_taken_says_so(bot: Bot, ports: list[int]) -> None:
    taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", ports[0])
    async with taken:
        ran = await bot.run("worker", PORT=str(ports[0]))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"PORT={ports[0]} cannot be listened on (Address already in use)")
