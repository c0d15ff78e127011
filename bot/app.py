"""Where the parts meet: the only place that builds them."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from aiohttp import web
from pydantic_ai import Embedder
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from agents.account import Budget
from agents.models import Models, models_from
from agents.prices import parse_prices, unpriced
from agents.web_search import WebSearch
from bot.arrivals import Arrivals
from bot.background import Background
from bot.connection import PING_SECONDS, Connection, stay_connected
from bot.decisions import Limits
from bot.digest import Digest
from bot.health import Check, DatabaseCheck, Health, Heartbeat, State, listening
from bot.jobs import DEAD_AFTER_SECONDS, GRACE_SECONDS, build_jobs, run_worker
from bot.learning import Learning
from bot.legs import Legs
from bot.listeners import actions, commands, events, shortcuts, views
from bot.schedule import Schedule
from bot.sender import SLACKS_PACE, Pace, Sender
from bot.settings import Settings
from bot.slack import NotNow, Refused, SlackChannel, slack_client
from bot.slack_files import SlackFiles
from bot.slack_http import PATH, SlackRequests
from bot.sources import Sources
from bot.telemetry import watched
from bot.workflow import Workflow
from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.backlog import Backlog
from knowledge.database import Pool, in_use, migrate, open_pool
from knowledge.digests import Digests
from knowledge.documents import Documents
from knowledge.embedded import EmbeddedPostgres
from knowledge.embedding_models import open_embedder
from knowledge.embeddings import embedding_state
from knowledge.fetch import FetchLimits
from knowledge.hosted_model import EmbeddingError
from knowledge.inbox import Inbox
from knowledge.leg_jobs import free_ended_legs
from knowledge.model_record import ModelRecord
from knowledge.outbox import Outbox
from knowledge.pages import Pages
from knowledge.search import Search
from knowledge.shared_sources import SharedSources
from knowledge.similar import SimilarArticles

log = logging.getLogger(__name__)

T = TypeVar("T")

# After a fault a part of the bot is started again this much later.
RESTART_SECONDS = 2.0

# From SIGTERM to the end, whatever hangs (a database that does not answer, say): less than the 30 s after
# which supervisors kill, and more than what is under way gets to end in order.
STOP_SECONDS = GRACE_SECONDS + 5.0

# On the way out: for what listeners have begun.
DRAIN_SECONDS = 10.0


class StartError(Exception):
    """The bot cannot start; the sentence says what to set or mend."""


@dataclass(frozen=True)
class Knowledge:
    """The database and what is in it."""

    dsn: str
    pool: Pool
    articles: Articles
    documents: Documents
    search: Search
    embedder: Embedder | None

    async def without_vector(self) -> int:
        """How many passages have no vector yet and shall get one."""
        if self.embedder is None:
            return 0
        count, state = await self.documents.count(), await embedding_state(self.pool, self.embedder)
        return max(0, count.chunks - state.vectors - state.refused)


@asynccontextmanager
async def open_knowledge(settings: Settings) -> AsyncIterator[Knowledge]:
    """The migrated database: that of `DATABASE_URL`, else the embedded one below `COPYDESK_HOME`.

    Raises `StartError` for an embedding model that cannot be used, `DatabaseError` also for what fails later.
    """
    async with AsyncExitStack() as stack:
        try:
            embedder = await stack.enter_async_context(
                open_embedder(
                    settings.embedding_model,
                    base_url=settings.embedding_base_url,
                    api_key=settings.embedding_api_key,
                )
            )
        except EmbeddingError as error:
            raise StartError(str(error)) from error
        if settings.database_url is None:
            server = EmbeddedPostgres(settings.home)
            dsn = await asyncio.to_thread(server.start)
            stack.push_async_callback(asyncio.to_thread, server.stop)
        else:
            dsn = settings.database_url
        await migrate(dsn)
        pool = await open_pool(dsn)
        stack.push_async_callback(pool.close)
        stack.enter_context(in_use(dsn))
        yield Knowledge(
            dsn=dsn,
            pool=pool,
            articles=Articles(pool),
            documents=Documents(pool, limits=FetchLimits(private_hosts=settings.private_hosts)),
            search=Search(pool, embedder),
            embedder=embedder,
        )


def check_set(settings: Settings) -> None:
    """Whether the settings that `serve` needs are there; raises `StartError`."""
    if (missing := missing_for_slack(settings)) is not None:
        raise StartError(missing)
    models_of(settings)
    web_search_of(settings)


def missing_for_slack(settings: Settings) -> str | None:
    """What has to be set before Slack can be spoken with, in one sentence; None = nothing."""
    if settings.slack_bot_token is None:
        return "SLACK_BOT_TOKEN is not set: create the app from manifest.yml and put its tokens into .env."
    if settings.over_http and settings.slack_signing_secret is None:
        return (
            "Neither SLACK_APP_TOKEN is set, for Socket Mode (Basic Information, App-Level Tokens), "
            "nor SLACK_SIGNING_SECRET, for requests over HTTP (Basic Information, App Credentials): "
            "put one of them into .env."
        )
    return None


def models_of(settings: Settings) -> Models:
    """A model for each task; raises AgentError (`unknown_model`) where one cannot be used."""
    return models_from(
        settings.model,
        research=settings.research_model,
        writer=settings.writer_model,
        reviewer=settings.reviewer_model,
        formatter=settings.formatter_model,
        fallback=settings.fallback_model,
        structured_output=settings.structured_output,
    )


def web_search_of(settings: Settings) -> WebSearch | None:
    """Who is asked where on the web to look; None = nobody. Raises `StartError` where a key is missing."""
    # Each is imported where it is wanted: Tavily's client takes most of a second.
    if settings.web_search is None:
        return None
    if settings.web_search != "tavily":
        from agents.web_searxng import SearXNG

        return SearXNG(settings.web_search)
    if settings.tavily_api_key is None:
        raise StartError("COPYDESK_WEB_SEARCH=tavily needs TAVILY_API_KEY, from https://app.tavily.com.")
    from agents.web_tavily import Tavily

    return Tavily(settings.tavily_api_key)


async def serve(
    settings: Settings,
    knowledge: Knowledge,
    *,
    worker: bool,
    ready: Callable[[], None],
    pace: Pace = SLACKS_PACE,
) -> None:
    """Slack's listeners, the sender and, if `worker`, a worker; until cancelled.

    Slack is heard over Socket Mode or, without an app token, over HTTP. `ready` is called once it can be
    heard. Raises `StartError` or `PortError`.
    """
    check_set(settings)
    client = slack_client(settings.slack_bot_token, base_url=settings.slack_api_url)
    slack = SlackChannel(client)
    await _check_tokens(slack, settings)

    workflow = workflow_of(settings, knowledge, slack)
    background = Background()
    shared = SharedSources(knowledge.pool)
    sources = Sources(knowledge.documents, shared, knowledge.articles, slack, approvers=settings.who_approves)
    learning = Learning(knowledge.documents, shared, knowledge.articles, slack, SlackFiles(client))
    arrivals = Arrivals(Inbox(knowledge.pool), workflow, learning, sources, slack, background)
    identity = slack.identity()

    async def authorize() -> AuthorizeResult:
        return identity

    app = AsyncApp(
        client=slack_client(None, base_url=settings.slack_api_url),
        authorize=authorize,
        signing_secret=settings.slack_signing_secret,
    )
    mode, language = Mode(settings.mode), settings.language_of_all
    commands.register(app, arrivals, knowledge.articles, sources, background, mode=mode, language=language)
    actions.register(app, arrivals, background, open_view=slack.open_view)
    shortcuts.register(app, arrivals, background, language=language)
    views.register(app, arrivals)
    events.register(app, arrivals, background, whisper=slack.whisper)
    events.register_catch_all(app)
    socket: Connection | None = None
    if not settings.over_http:
        socket = AsyncSocketModeHandler(app, settings.slack_app_token, ping_interval=PING_SECONDS).client

    async def heard() -> State:
        if socket is None:
            return State(True, f"is heard at {PATH}")
        connected = await socket.is_connected()
        return State(connected, f"Socket Mode is {'' if connected else 'not '}connected")

    sender = Sender(Outbox(knowledge.pool), slack, refused=workflow.slack_refused, pace=pace)

    heartbeat = Heartbeat(DEAD_AFTER_SECONDS)
    checks: dict[str, Check] = {"database": DatabaseCheck(knowledge.pool), "slack": heard}
    if worker:
        checks["worker"] = heartbeat.check
    routes = Health(checks).routes
    if socket is None:
        routes.append(web.post(PATH, SlackRequests(app).handle))

    # The port before all else: one that is taken ends the start, before anything has begun.
    async with listening(settings.serves_on, routes) as close_port, asyncio.TaskGroup() as group:
        group.create_task(_keep_up(sender.run, "the sender"))
        group.create_task(_keep_up(arrivals.run, "the inbox"))
        working = group.create_task(work(settings, knowledge, heartbeat)) if worker else None
        if settings.digest_channel is not None:
            group.create_task(_keep_up(digest_of(settings, knowledge).run, "the digest"))
        try:
            if socket is not None:
                await socket.connect()
                group.create_task(stay_connected(socket))
            ready()
            await asyncio.Event().wait()
        finally:
            if working is not None:
                working.cancel()  # its legs end while listeners do: both together may take STOP_SECONDS
            if socket is not None:
                await socket.close()
            await close_port()
            await background.drain(DRAIN_SECONDS)


async def work_alone(settings: Settings, knowledge: Knowledge, *, ready: Callable[[], None]) -> None:
    """A process that is a worker and nothing else; until cancelled. Raises `PortError`."""
    heartbeat = Heartbeat(DEAD_AFTER_SECONDS)
    health = Health({"database": DatabaseCheck(knowledge.pool), "worker": heartbeat.check})
    async with listening(settings.port, health.routes):
        ready()
        await work(settings, knowledge, heartbeat)


def digest_of(settings: Settings, knowledge: Knowledge) -> Digest:
    """The digest as the settings have it."""
    return Digest(
        Digests(knowledge.pool),
        Schedule.parse(settings.digest_cron, settings.digest_timezone),
        channel_id=settings.digest_channel,
        language=settings.language_of_all,
    )


def workflow_of(settings: Settings, knowledge: Knowledge, slack: SlackChannel) -> Workflow:
    """What happens to articles, under the rules of the settings."""
    return Workflow(
        knowledge.articles,
        knowledge.documents,
        SharedSources(knowledge.pool),
        slack,
        approvers=settings.who_approves,
        limits=Limits(settings.max_reviews, settings.max_research_rounds),
    )


async def work(settings: Settings, knowledge: Knowledge, heartbeat: Heartbeat) -> None:
    """A worker: legs of articles, and what search wants in the background; until cancelled."""
    embed = Backlog(knowledge.pool, knowledge.embedder).work_off_some

    async def free_ended() -> list[int]:
        return await free_ended_legs(knowledge.pool, seconds=DEAD_AFTER_SECONDS)

    prices, web = parse_prices(settings.prices), web_search_of(settings)
    async with models_of(settings).connected() as models:
        if settings.budget_usd is not None and (names := unpriced(models.each(), prices)):
            log.warning(
                "COPYDESK_BUDGET_USD does not bind %s, whose price is not known: set COPYDESK_PRICES",
                ", ".join(names),
            )
        legs = Legs(
            knowledge.articles,
            SimilarArticles(knowledge.pool),
            knowledge.search,
            models,
            Limits(settings.max_reviews, settings.max_research_rounds),
            shared=SharedSources(knowledge.pool),
            record=ModelRecord(knowledge.pool),
            budget=Budget(settings.budget_tokens, settings.budget_usd),
            prices=prices,
            web=None if web is None else (web, Pages(knowledge.pool, knowledge.documents)),
        )
        leg = watched(legs.work, knowledge.articles)
        stopping = asyncio.Event()
        jobs = build_jobs(knowledge.dsn, work=leg, embed=embed, free_ended=free_ended, stopping=stopping)
        heartbeat.watch(jobs)

        async def run() -> None:
            async with jobs.open_async():
                await run_worker(jobs, stopping)

        await _keep_up(run, "the worker")


async def until_stopped(work: Coroutine[Any, Any, T]) -> T | None:
    """Run `work` until it ends, or until SIGTERM or SIGINT asks it to; what is under way is finished.

    Returns what `work` returned, None when it was stopped. What does not end within `STOP_SECONDS` is left:
    the process exits with code 1.
    """
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    last_call: asyncio.TimerHandle | None = None

    def stop() -> None:
        nonlocal last_call
        last_call = last_call or loop.call_later(STOP_SECONDS, _leave)
        task.cancel()

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stop)
    try:
        return await task
    except asyncio.CancelledError:
        log.info("stopped")
        return None
    finally:
        if last_call is not None:
            last_call.cancel()
        for signal_number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(signal_number)


def _leave() -> None:
    """Jobs and messages that were under way are taken up by the next process, as after a crash."""
    log.critical("not stopped within %.0f s: something does not answer, the database perhaps", STOP_SECONDS)
    logging.shutdown()
    os._exit(1)


async def _keep_up(run: Callable[[], Awaitable[None]], what: str) -> None:
    """Run it again after a fault (the database was away, say): one part must not take the others down."""
    while True:
        try:
            await run()
        except Exception:
            log.exception("%s stopped, starting it again", what)
        await asyncio.sleep(RESTART_SECONDS)


async def _check_tokens(slack: SlackChannel, settings: Settings) -> None:
    """Tokens are tried before anything listens: Socket Mode itself would retry a wrong one for ever."""
    name, where = "SLACK_BOT_TOKEN", "OAuth & Permissions, xoxb-…"
    try:
        team = await slack.whoami()
        if settings.slack_app_token is not None:
            name, where = "SLACK_APP_TOKEN", "Basic Information, xapp-…"
            await slack.try_app_token(settings.slack_app_token)
    except Refused as error:
        raise StartError(
            f"Slack refused {name} ({error.code}): copy it again from the app's settings ({where})."
        ) from error
    except NotNow as error:
        raise StartError(f"Slack cannot be reached at {settings.slack_api_url} ({error}).") from error
    log.info("connected to %s", team)
