"""The kinds of hosts that models are asked at, and a desk whose models are all at one of them."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from pydantic_ai.models import override_allow_model_requests

from agents.abilities import Setting
from agents.account import Account
from agents.analyst import analyse
from agents.contracts import ReviewResult
from agents.desk import Desk
from agents.models import models_from
from agents.patience import Patience
from agents.researcher import research
from agents.reviewer import review
from agents.writer import revise_draft, write_draft
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.language import Language
from knowledge.search import Search
from tests.scripted_anthropic.server import ScriptedAnthropic
from tests.scripted_google.server import ScriptedGoogle
from tests.scripted_openai.family import FAMILIES, FULL, TOOLS_DEAD_WITH_FORMAT, Family
from tests.scripted_openai.replies import Reply
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

SAMPLE = Path(__file__).parents[1] / "knowledge" / "sample"
TOPICS: dict[Language, str] = {
    "en": "Why should Go backends move from MD5 to Argon2id?",
    "zh": "Go 后端为什么应该从 MD5 迁移到 Argon2id？",
    "ja": "Go のバックエンドはなぜ MD5 から Argon2id へ移行すべきか",
}
WAYS: tuple[Setting, ...] = ("auto", "native", "tool", "prompted")
SOON = Patience(first_wait=0.01)

Answer = Callable[[ChatRequest], Reply]
Host = ScriptedOpenAI | ScriptedAnthropic | ScriptedGoogle


@dataclass(frozen=True)
class Kind:
    """A kind of host, with how a setting names its model and where the libraries learn of it."""

    name: str
    host: Callable[[Answer], AbstractAsyncContextManager[Host]]
    model: str
    address: str
    key: str
    structured_output: Setting = "auto"


def of_family(family: Family, structured_output: Setting = "auto", prefix: str = "openai-chat") -> Kind:
    provider = prefix.partition("-")[0].upper()
    return Kind(
        f"{family.name}, {prefix}, {structured_output}",
        lambda answer: ScriptedOpenAI(answer, family=family),
        f"{prefix}:{family.models[0]}",
        f"{provider}_BASE_URL",
        f"{provider}_API_KEY",
        structured_output,
    )


def of_anthropic(model: str) -> Kind:
    host: Callable[[Answer], ScriptedAnthropic] = ScriptedAnthropic
    return Kind(model, host, f"anthropic:{model}", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")


def of_google(model: str) -> Kind:
    host: Callable[[Answer], ScriptedGoogle] = ScriptedGoogle
    return Kind(model, host, f"google:{model}", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_API_KEY")


KINDS = [
    *(of_family(family) for family in FAMILIES),
    *(of_family(FULL, way) for way in WAYS if way != "auto"),
    *(of_family(FULL, way, "openai") for way in WAYS if way != "prompted"),
    of_family(TOOLS_DEAD_WITH_FORMAT, prefix="vllm"),
    of_anthropic("claude-sonnet-5-5"),
    of_anthropic("claude-sonnet-4-6"),
    of_google("gemini-2.5-flash"),
    of_google("gemini-3.5-flash"),
]


@asynccontextmanager
async def desk_at(
    kind: Kind, answer: Answer, pool: Pool, *, fallback: str | None = None
) -> AsyncIterator[tuple[Host, Desk]]:
    """A desk with the sample documents; that the host has refused nothing is for the test to look at."""
    await Documents(pool).ingest([SAMPLE])
    async with kind.host(answer) as host:
        with (
            override_allow_model_requests(True),
            patch.dict(os.environ, {kind.address: host.base_url, kind.key: host.api_key}),
        ):
            models = models_from(
                kind.model, structured_output=kind.structured_output, fallback=fallback, patience=SOON
            )
            async with models.connected():
                yield host, Desk(models, Search(pool, None), Account.of({}), lambda progress: None)


async def an_article(topic: str, language: Language, desk: Desk) -> list[ReviewResult]:
    """From the topic to the second review."""
    found = await research(topic, language, questions=[], previous=None, desk=desk)
    plan = await analyse(topic, language, found, requests=[], previous=None, published=[], desk=desk)
    draft = await write_draft(topic, language, found, plan, requests=[], desk=desk)
    first = await review(topic, language, found, plan, draft, requests=[], last=None, desk=desk)
    draft = await revise_draft(topic, language, found, plan, draft, requests=[], review=first, desk=desk)
    second = await review(topic, language, found, plan, draft, requests=[], last=first, desk=desk)
    return [first, second]
