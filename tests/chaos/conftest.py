"""A server for whole articles by processes of their own."""

from pathlib import Path

import pytest

from bot.demo import DemoSettings
from tests.chaos.databases import Databases


@pytest.fixture
async def databases(server: str, tmp_path: Path) -> Databases:
    made = Databases(server)
    await made.prepare(DemoSettings(home=tmp_path, embedding_model="none"))
    return made
