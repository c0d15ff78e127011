"""One replica of the bot, without its sockets: the real listeners, workflow, sender and legs on one pool."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient

from agents.account import Budget
from agents.models import models_from
from agents.offline.model import OfflineModel
from bot.arrivals import Arrivals
from bot.background import Background
from bot.decisions import Limits
from bot.learning import Learning
from bot.legs import Legs
from bot.listeners import actions, events, views
from bot.sender import Pace, Sender
from bot.slack_files import SlackFiles
from bot.sources import Sources
from bot.workflow import Workflow
from knowledge.articles import Articles
from knowledge.database import Pool, open_pool
from knowledge.documents import Documents
from knowledge.inbox import Inbox
from knowledge.model_record import ModelRecord
from knowledge.outbox import Outbox
from knowledge.search import Search
from knowledge.shared_sources import SharedSources
from knowledge.similar import SimilarArticles
from tests.races.payloads import BOT, TEAM
from tests.races.thread import Slack, Thread

LIMITS = Limits(max_reviews=3, max_research_rounds=2)
UNHURRIED = Pace(1000, 1)

# No test here shares a file: nobody is asked for one.
NOWHERE = AsyncWebClient(base_url="http://127.0.0.1:1/")

# Whether the model is away, for the leg that asks: articles beside it have theirs.
MODEL_IS_AWAY = ContextVar("MODEL_IS_AWAY", default=False)


class Model(WrapperModel):
    """The model that needs no key, and may be away."""

    def __init__(self) -> None:
        super().__init__(OfflineModel())

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if MODEL_IS_AWAY.get():
            raise TimeoutError
        return await super().request(messages, model_settings, model_request_parameters)


@dataclass(frozen=True)
class Replica:
    """Takes what Slack sends, and can work on a leg."""

    app: AsyncApp
    articles: Articles
    background: Background
    legs: Legs

    async def take(self, payload: dict[str, Any]) -> None:
        """A payload of Slack, to its end; it must be acknowledged."""
        answer = await self.app.async_dispatch(AsyncBoltRequest(body=payload, mode="socket_mode"))
        assert answer.status == 200, payload
        await self.background.drain(30)


@asynccontextmanager
async def open_replica(dsn: str, threads: dict[str, Thread]) -> AsyncIterator[Replica]:
    """A replica whose sender runs; of several on one database one sends."""
    pool = await open_pool(dsn)
    replica, sender = _build(pool, Slack(threads))
    sending = asyncio.create_task(sender.run())
    try:
        yield replica
    finally:
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sending
        await asyncio.wait_for(pool.close(), timeout=10)


def _build(pool: Pool, slack: Slack) -> tuple[Replica, Sender]:
    articles, documents, background, model = Articles(pool), Documents(pool), Background(), Model()
    shared = SharedSources(pool)
    workflow = Workflow(articles, documents, shared, slack, approvers="anyone", limits=LIMITS)
    sources = Sources(documents, shared, articles, slack, approvers="anyone")
    learning = Learning(documents, shared, articles, slack, SlackFiles(NOWHERE))
    arrivals = Arrivals(Inbox(pool), workflow, learning, sources, slack, background)
    identity = AuthorizeResult(
        enterprise_id=None, team_id=TEAM, bot_user_id=BOT, bot_id="B1", bot_token="xoxb-1"
    )

    async def authorize() -> AuthorizeResult:
        return identity

    # The listener first, then the answer: so `take` knows that all that was started is there to wait for.
    app = AsyncApp(
        client=NOWHERE,
        authorize=authorize,
        process_before_response=True,
    )
    actions.register(app, arrivals, background, open_view=slack.open_view)
    views.register(app, arrivals)
    events.register(app, arrivals, background, whisper=slack.whisper)
    events.register_catch_all(app)
    models = models_from(None)
    models = replace(
        models, research=model, analysis=model, writer=model, reviewer=model, formatter=model, fallback=None
    )
    legs = Legs(
        articles,
        SimilarArticles(pool),
        Search(pool, None),
        models,
        LIMITS,
        shared=SharedSources(pool),
        record=ModelRecord(pool),
        budget=Budget(),
        prices={},
    )
    sender = Sender(Outbox(pool), slack, refused=workflow.slack_refused, pace=UNHURRIED, edit_pace=UNHURRIED)
    return Replica(app, articles, background, legs), sender
