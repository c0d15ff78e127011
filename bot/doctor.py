"""What is set up, what is missing, and how to mend it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from bot.app import open_knowledge
from bot.manifest import bot_scopes
from bot.settings import Settings
from bot.slack import NotNow, Refused, SlackChannel, slack_client
from knowledge.database import DatabaseError, check
from knowledge.embedded import EmbeddedError


@dataclass(frozen=True, slots=True)
class Finding:
    """✓ in order · ! works, but somebody should know · ✗ does not work."""

    mark: Literal["✓", "!", "✗"]
    text: str


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """One finding after the other; what depends on something broken is left out."""
    async for finding in _database(settings):
        yield finding
    async for finding in _slack(settings):
        yield finding
    if settings.model == "offline":
        yield Finding("!", "no COPYDESK_MODEL: articles quote your documents and add no prose of their own")
    else:
        yield Finding("✓", f"model {settings.model}")


async def _database(settings: Settings) -> AsyncIterator[Finding]:
    try:
        async with open_knowledge(settings) as knowledge:
            state = await check(knowledge.dsn)
            where = "DATABASE_URL" if settings.database_url else f"embedded, {settings.home}"
            yield Finding("✓", f"PostgreSQL {state.postgres}, pgvector {state.pgvector} ({where})")
            count = await knowledge.documents.count()
            said = f"{count.documents} documents, {count.chunks} passages, {count.vectors} with vectors"
            if count.chunks == 0:
                yield Finding("✗", "the knowledge base is empty: `python -m bot ingest PATH…` fills it")
            elif knowledge.embedder is not None and count.vectors < count.chunks:
                yield Finding("!", f"knowledge: {said}; the rest follows while the bot runs")
            else:
                yield Finding("✓", f"knowledge: {said}")
    except (DatabaseError, EmbeddedError) as error:
        yield Finding("✗", str(error))


async def _slack(settings: Settings) -> AsyncIterator[Finding]:
    missing = [
        name
        for name, token in (
            ("SLACK_BOT_TOKEN", settings.slack_bot_token),
            ("SLACK_APP_TOKEN", settings.slack_app_token),
        )
        if not token
    ]
    if missing:
        yield Finding(
            "✗",
            f"{' and '.join(missing)} not set: create the app from manifest.yml, put its tokens into .env",
        )
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
    try:
        await slack.try_app_token(settings.slack_app_token or "")
    except Refused as error:
        yield Finding("✗", f"Slack refused SLACK_APP_TOKEN ({error.code}): copy it again (Basic Information)")
    except NotNow as error:
        yield Finding("✗", f"Slack cannot be reached at {settings.slack_api_url} ({error})")
    else:
        yield Finding("✓", "Socket Mode: the app token is taken")
