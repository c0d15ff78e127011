"""What is set up, what is missing, and how to mend it."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from agents.abilities import describe
from agents.errors import AgentError
from agents.models import abilities_for
from agents.prices import parse_prices, unpriced
from agents.trial import trials
from bot.app import (
    Knowledge,
    StartError,
    digest_of,
    missing_for_slack,
    models_of,
    open_knowledge,
    web_search_of,
)
from bot.digest_command import why_no_digest
from bot.manifest import bot_scopes
from bot.schedule import Schedule
from bot.settings import Settings
from bot.slack import NotNow, Refused, SlackChannel, slack_client
from bot.slack_http import PATH
from bot.trial_words import Mark, better_ways, outcome_of
from knowledge.backlog import model_changed
from knowledge.database import DatabaseError, check
from knowledge.embedded import EmbeddedError
from knowledge.embeddings import (
    EmbeddingState,
    embedding_name,
    embedding_size,
    embedding_state,
)
from knowledge.hosted_model import EmbeddingError
from knowledge.model_record import ModelRecord

# Of so many answers at least, more than this share had to be had another way: a model that is not suited.
_ENOUGH = 20
_TROUBLE = 0.2


@dataclass(frozen=True, slots=True)
class Finding:
    """✓ in order · ! works, but somebody should know · ✗ does not work."""

    mark: Mark
    text: str


async def examine(settings: Settings, *, try_models: bool = False) -> AsyncGenerator[Finding, None]:
    """One finding after the other; what depends on something broken is left out.

    `try_models` asks the models for small answers, which costs money; else no host of a model is asked.
    """
    async for finding in _database(settings):
        yield finding
    async for finding in _slack(settings):
        yield finding
    if settings.digest_channel is None:
        yield Finding("!", "no COPYDESK_DIGEST_CHANNEL: no digest is posted")
    for finding in _models(settings):
        yield finding
    if (web := on_web(settings)) is not None:
        yield web
    if try_models:
        async for finding in tried_models(settings):
            yield finding


def on_web(settings: Settings) -> Finding | None:
    """Who else than the models' hosts gets to know what is written about; None = nobody."""
    try:
        web = web_search_of(settings)
    except StartError as error:
        return Finding("✗", str(error))
    if web is None:
        return None
    return Finding(
        "!",
        f"web search by {web.name}: what research looks for leaves this machine, to {web.host} and the sites "
        "whose pages it reads (COPYDESK_WEB_SEARCH)",
    )


def _models(settings: Settings) -> Iterator[Finding]:
    """Whether each task has a model that can be used, and how it is asked; hosts are not asked."""
    try:
        models = models_of(settings)
    except AgentError as error:
        yield Finding("✗", str(error))
        return
    if settings.model == "offline":
        yield Finding("!", "no COPYDESK_MODEL: articles quote your documents and add no prose of their own")
    if not abilities_for(models.research).tools:
        yield Finding(
            "!",
            f"{models.research.model_name} calls no tools, so it is asked to search in words, which is less "
            "sure: COPYDESK_RESEARCH_MODEL can name another",
        )
    for model in models.each():
        if model.provider is not None:  # not the offline one
            abilities = abilities_for(model)
            yield Finding("✓", " ".join([describe(model, abilities) + ".", *abilities.why]))
    if settings.budget_usd is not None and (names := unpriced(models.each(), parse_prices(settings.prices))):
        yield Finding(
            "!", f"COPYDESK_BUDGET_USD does not bind {', '.join(names)}: set COPYDESK_PRICES for its price"
        )


async def tried_models(settings: Settings) -> AsyncIterator[Finding]:
    """What the models answer now, and whether they could be asked in a better way."""
    try:
        models = models_of(settings)
    except AgentError:
        return  # that has been said
    done = []
    auto = settings.structured_output == "auto"
    async for trial in trials(models, prices=parse_prices(settings.prices), auto=auto):
        done.append(trial)
        yield Finding(*outcome_of(trial, fallback=trial.model is models.fallback, auto=auto))
    if not done:
        yield Finding("✓", "there is no model to try: the offline one asks no host")
    for said in better_ways(done):
        yield Finding("!", said)


async def _conduct(record: ModelRecord) -> AsyncIterator[Finding]:
    """How the models of past articles kept to the shape of answers."""
    for model in await record.of_models():
        if not model.answers:
            continue
        said = (
            f"{model.model}: {model.answers} structured answers, {model.repaired} put right, "
            f"{model.asked_again} asked for again, {model.rescued} given by another, {model.failed} unusable"
        )
        trouble = model.asked_again + model.rescued + model.failed
        if model.answers >= _ENOUGH and trouble > model.answers * _TROUBLE:
            yield Finding("!", f"{said}: it is not suited, set another model")
        else:
            yield Finding("✓", said)


async def _database(settings: Settings) -> AsyncIterator[Finding]:
    try:
        async with open_knowledge(settings) as knowledge:
            state = await check(knowledge.dsn)
            where = "DATABASE_URL" if settings.database_url else f"embedded, {settings.home}"
            yield Finding("✓", f"PostgreSQL {state.postgres}, pgvector {state.pgvector} ({where})")
            count = await knowledge.documents.count()
            of_model = EmbeddingState(dimensions=None, vectors=0, refused=0)
            if knowledge.embedder is not None:
                of_model = await embedding_state(knowledge.pool, knowledge.embedder)
            said = f"{count.documents} documents, {count.chunks} passages, {of_model.vectors} with vectors"
            if of_model.refused:
                said += f", {of_model.refused} refused by the embedding model and found by words only"
            if count.chunks == 0:
                yield Finding("✗", "the knowledge base is empty: `python -m bot ingest PATH…` fills it")
            elif knowledge.embedder is not None and of_model.vectors + of_model.refused < count.chunks:
                yield Finding("!", f"knowledge: {said}; the rest follows while the bot runs")
            else:
                yield Finding("✓", f"knowledge: {said}")
            async for finding in _conduct(ModelRecord(knowledge.pool)):
                yield finding
            yield await _embedding_model(settings, knowledge)
            if settings.digest_channel and (refused := await digest_of(settings, knowledge).refused()):
                yield Finding(
                    "!",
                    f"the digest of {refused[0]:%Y-%m-%d %H:%M} was refused by Slack ({refused[1]}); "
                    "the next one tells of that time too, and `python -m bot digest --post` posts it now",
                )
    except (DatabaseError, EmbeddedError, StartError) as error:
        yield Finding("✗", str(error))


async def _embedding_model(settings: Settings, knowledge: Knowledge) -> Finding:
    """What it answers now."""
    embedder = knowledge.embedder
    if embedder is None:
        none = settings.embedding_model == "none"
        why = "COPYDESK_EMBEDDING_MODEL=none" if none else "no bundled embedding model for this system"
        return Finding("!", f"{why}: search goes by words, and finds nothing across languages")
    try:
        said = f"embedding model {embedding_name(embedder)}, {await embedding_size(embedder)} dimensions"
        if await model_changed(knowledge.pool, embedder):
            return Finding(
                "!", f"{said}; the vectors there are of another: the bot makes them anew when it runs"
            )
    except EmbeddingError as error:
        return Finding("✗", str(error))
    return Finding("✓", said)


async def _slack(settings: Settings) -> AsyncIterator[Finding]:
    if (missing := missing_for_slack(settings)) is not None:
        yield Finding("✗", missing)
        return
    slack = SlackChannel(slack_client(settings.slack_bot_token, base_url=settings.slack_api_url))
    try:
        team, granted = await slack.whoami(), await slack.granted_scopes()
    except Refused as error:
        yield Finding(
            "✗", f"Slack refused SLACK_BOT_TOKEN ({error.code}): copy it again (OAuth & Permissions)"
        )
        return
    except NotNow as error:
        yield Finding("✗", f"Slack cannot be reached at {settings.slack_api_url} ({error})")
        return
    lacking = sorted(set(bot_scopes()) - granted)
    if lacking:
        yield Finding("✗", f"Slack: {team}, but without {', '.join(lacking)}: add them and reinstall the app")
    else:
        yield Finding("✓", f"Slack: {team}, all scopes")
    async for finding in _hearing(settings, slack):
        yield finding
    if settings.digest_channel is not None:
        yield await _digest(settings, settings.digest_channel, slack)


async def _hearing(settings: Settings, slack: SlackChannel) -> AsyncIterator[Finding]:
    """How the bot will hear what people say, and what of that can be checked from here."""
    if settings.slack_app_token is None:
        yield Finding(
            "✓",
            f"Slack over HTTP: heard on port {settings.serves_on} at {PATH}; whether SLACK_SIGNING_SECRET is "
            "right shows when Slack calls",
        )
        return
    try:
        await slack.try_app_token(settings.slack_app_token)
    except Refused as error:
        yield Finding("✗", f"Slack refused SLACK_APP_TOKEN ({error.code}): copy it again (Basic Information)")
    except NotNow as error:
        yield Finding("✗", f"Slack cannot be reached at {settings.slack_api_url} ({error})")
    else:
        yield Finding("✓", "Socket Mode: the app token is taken")


async def _digest(settings: Settings, channel_id: str, slack: SlackChannel) -> Finding:
    """Whether the next digest has somewhere to go."""
    if (reason := await why_no_digest(slack, channel_id)) is not None:
        return Finding("✗", f"digest: {reason}")
    due = Schedule.parse(settings.digest_cron, settings.digest_timezone).next(datetime.now(UTC))
    return Finding(
        "✓", f"digest: next for {channel_id} at {due.local:%Y-%m-%d %H:%M} ({settings.digest_timezone})"
    )
