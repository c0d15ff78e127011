"""The stage of the end-to-end tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pydantic_ai.models
import pytest

from bot.app import open_knowledge
from bot.demo import DemoSettings
from bot.local_slack.server import LocalSlack
from bot.manifest import bot_events, bot_scopes
from tests.e2e.desk import Desk
from tests.editorial_office import Office
from tests.scripted_openai.server import ScriptedOpenAI


@pytest.fixture
async def desk(dsn: str, tmp_path: Path, pytestconfig: pytest.Config) -> AsyncIterator[Desk]:
    """The sample knowledge, searched by words (vectors have a test of their own); the bot is not started."""
    async with LocalSlack(scopes=bot_scopes(), events=bot_events()) as slack:
        ana, bo = slack.add_person("Ana"), slack.add_person("Bo")
        settings = DemoSettings(
            home=tmp_path,
            database_url=dsn,
            embedding_model="none",
            slack_bot_token=slack.bot_token,
            slack_app_token=slack.app_token,
            slack_api_url=slack.base_url,
        )
        async with open_knowledge(settings) as knowledge:
            await knowledge.documents.ingest([pytestconfig.rootpath / "knowledge" / "sample"])
            desk = Desk(
                slack, ana, bo, slack.add_channel("articles", [ana, bo, slack.bot]), knowledge, settings
            )
            async with desk.stack:
                yield desk
            # While no bot was connected Slack keeps what happened for later; the rest were late answers.
            assert [failure for failure in slack.ack_failures if failure.reason != "no_connection"] == []
            assert slack.complaints == []


@pytest.fixture
async def host(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedOpenAI]:
    """A model host that the environment names; its script is `host.answer`."""
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)  # to this machine alone
    async with ScriptedOpenAI(Office(), models=("gpt-4.1-mini",)) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", running.api_key)
        yield running
        assert running.refusals == []
