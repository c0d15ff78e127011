"""`doctor --try-models` at hosts of several kinds: what each model can do, at a bounded number of calls."""

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import pytest
from openai import AsyncOpenAI
from pydantic_ai.models import override_allow_model_requests
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.deepseek import DeepSeekProvider

from agents.abilities import Output, Setting, abilities_of
from agents.models import Models, models_from
from agents.trial import MOST_CALLS, USUAL_CALLS, Trial, trials
from agents.trial_runs import Purse, able
from bot.doctor import Finding, examine, tried_models
from bot.settings import Settings
from knowledge.language import Language
from tests.editorial_office import Office, stage_of
from tests.host_kinds import KINDS, WAYS, Host, Kind, of_anthropic, of_family, of_google
from tests.scripted_openai.family import (
    FULL,
    GRAMMAR,
    JSON_OBJECT_ONLY,
    NO_FORCED_TOOL_WHILE_THINKING,
    NO_STRICT,
    NO_TOOLS,
    Family,
)
from tests.scripted_openai.replies import Call, Failure, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

HELD = {"lantern": "velvet", "harbour": "seven"}


@dataclass
class Applicant:
    """A sensible model. Told to say apple it says apple, unless its host holds it to something else.

    `ignores`: the host takes formats and demands of a call, and does nothing about them.
    """

    ignores: bool = False
    office: Office = field(default_factory=Office)
    told_apple: int = field(default=0, init=False)

    def __call__(self, request: ChatRequest) -> Reply:
        if "apple" not in request.last_user:
            return self._findings(request) if stage_of(request) == "return_findings" else self.office(request)
        self.told_apple += 1
        if not self.ignores and request.tool_choice.mode == "required":
            return ToolCalls([Call(request.tool_names[0], HELD)])
        if not self.ignores and request.response_format.held:
            return Text(json.dumps(HELD))
        return Text("apple", broken=True)

    def _findings(self, request: ChatRequest) -> Reply:
        """Of a report that quotes and says nothing else."""
        answer = {
            "findings": [
                {"claim": quote, "source_id": source, "confidence": "high", "quote": quote}
                for source, quote in re.findall(r'^\[(S\d+)\] \(\w+\) "(.*)"$', request.last_user, re.M)
            ],
            "gaps": [],
            "summary": "…",
        }
        return said(request, answer)


def said(request: ChatRequest, answer: Mapping[str, Any]) -> Reply:
    if request.tools:
        return ToolCalls([Call(request.tool_names[0], answer)])
    return Text(json.dumps(answer, ensure_ascii=False))


@asynccontextmanager
async def host_of(kind: Kind, answer: Callable[[ChatRequest], Reply]) -> AsyncIterator[Host]:
    async with kind.host(answer) as host:
        with (
            override_allow_model_requests(True),
            patch.dict(os.environ, {kind.address: host.base_url, kind.key: host.api_key}),
        ):
            yield host


async def tried(kind: Kind) -> Trial:
    models = models_from(kind.model, structured_output=kind.structured_output)
    [trial] = [one async for one in trials(models, prices={}, auto=kind.structured_output == "auto")]
    return trial


def settings_of(kind: Kind, **others: str) -> Settings:
    given = {"model": kind.model, "structured_output": kind.structured_output, **others}
    return Settings.model_validate(given)


async def findings(kind: Kind, **others: str) -> list[Finding]:
    return [finding async for finding in tried_models(settings_of(kind, **others))]


# By name of kind, where `auto` asks by the prompt and another way holds. OpenAI's own host enforces a schema
# only where it is told to be strict, which a server that nobody knows is not.
BETTER: dict[str, Output] = {
    "full, openai-chat, auto": "native",
    "full, openai, auto": "native",
    "sloppy, openai-chat, auto": "native",
    "json object only, openai-chat, auto": "tool",
    "tools with format refused, openai-chat, auto": "native",
    "tools dead with format, openai-chat, auto": "native",
    "tools with format refused by Google, openai-chat, auto": "native",
    "no strict, openai-chat, auto": "tool",  # native there is refused, since it says `strict`
    "grammar, openai-chat, auto": "native",
    "no tools, openai-chat, auto": "native",
    "claude-sonnet-5-5": "native",
    "claude-sonnet-4-6": "native",
}
SOME_KINDS = [kind for kind in KINDS if kind.structured_output in ("auto", "native")]


@pytest.mark.parametrize("kind", SOME_KINDS, ids=lambda kind: kind.name)
async def test_a_sensible_model_passes_and_is_told_the_way_that_its_host_holds_to(kind: Kind) -> None:
    async with host_of(kind, Applicant()) as host:
        trial = await tried(kind)
        searched = "in words" if kind.name.startswith("no tools") else "ok"
        assert trial.outcomes.pop("research") == searched
        assert set(trial.outcomes.values()) == {"ok"}
        assert len(trial.outcomes) == 6
        assert (trial.failures, trial.stopped) == ({}, None)
        assert trial.better == BETTER.get(kind.name)
        # A host that spoils answers was sent more requests than it has let through to the model.
        assert trial.calls >= len(host.requests) + len(host.refusals)
        assert USUAL_CALLS <= trial.calls <= USUAL_CALLS + 6
        host.refusals.clear()  # of the ways that it has not


async def test_what_it_took_and_what_to_set_is_said() -> None:
    kind = of_family(GRAMMAR)
    async with host_of(kind, Applicant()):
        passed, advice = await findings(kind, prices=f"{GRAMMAR.models[0]}=1/2")
    assert passed.mark == "✓"
    assert re.fullmatch(
        r"tried qwen3-8b-q4_k_m.gguf: research ok, findings ok, outline ok, title page ok, section ok, "
        r"revision plan ok, review ok \(11 calls, 1\d,\d{3} tokens, \d+ s, \$0\.01\d\d\)",
        passed.text,
    )
    assert advice == Finding(
        "!",
        "qwen3-8b-q4_k_m.gguf holds to native output, which is surer than the prompt: "
        "set COPYDESK_STRUCTURED_OUTPUT=native",
    )


@pytest.mark.parametrize("family", [FULL, GRAMMAR, JSON_OBJECT_ONLY], ids=lambda family: family.name)
async def test_a_host_that_only_pretends_to_hold_models_to_a_schema_is_found_out(
    family: Family,
) -> None:
    kind = of_family(family)
    applicant = Applicant(ignores=True)
    async with host_of(kind, applicant) as host:
        assert [finding.mark for finding in await findings(kind)] == ["✓"]
        assert applicant.told_apple + len(host.refusals) == 2  # once for each way
        host.refusals.clear()


async def test_a_better_way_that_gives_wrong_answers_is_none() -> None:
    class WrongWhenHeld(Applicant):
        def __call__(self, request: ChatRequest) -> Reply:
            if request.response_format.schema and stage_of(request) == "return_review":
                return said(
                    request, {"issues": [], "decision": "revise", "score": None, "feedback": ""}
                )  # without an issue
            return super().__call__(request)

    kind = of_family(GRAMMAR)
    async with host_of(kind, WrongWhenHeld()):
        trial = await tried(kind)
    assert trial.better == "tool"


async def test_a_way_for_which_a_model_would_have_to_stop_thinking_is_not_better() -> None:
    """A listed model at its own host: there a call can only be demanded without thinking."""
    async with (
        ScriptedOpenAI(Applicant(), family=NO_FORCED_TOOL_WHILE_THINKING) as host,
        AsyncOpenAI(base_url=host.base_url, api_key=host.api_key) as client,
    ):
        with override_allow_model_requests(True):
            plain = OpenAIChatModel(host.models[0], provider=DeepSeekProvider(openai_client=client))
            model = able(plain, Purse(MOST_CALLS), abilities_of(plain, custom_host=False))
            [trial] = [one async for one in trials(Models(*[model] * 5), prices={}, auto=True)]
        assert set(trial.outcomes.values()) == {"ok"}
        assert trial.better is None
        assert {request.max_tokens for request in host.requests} == {8_000}
        assert all(request.thinking for request in host.requests)
        host.refusals.clear()  # of the way that it has not


async def test_a_setting_for_all_models_is_advised_only_where_it_fits_all() -> None:
    proxy, google = of_family(GRAMMAR), of_google("gemini-2.5-flash")
    other = of_family(NO_STRICT)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(host_of(google, Applicant()))
        await stack.enter_async_context(host_of(proxy, Applicant()))
        *_, fits_both = await findings(proxy, reviewer_model=google.model)
        assert fits_both.text.endswith("set COPYDESK_STRUCTURED_OUTPUT=native")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(host_of(google, Applicant()))
        await stack.enter_async_context(host_of(other, Applicant()))
        *_, fits_one = await findings(other, reviewer_model=google.model)
        assert fits_one.text.endswith("for all models, and not all are best asked so")
        assert fits_one.mark == "!"


async def test_a_model_without_tools_searches_in_words() -> None:
    kind = of_family(NO_TOOLS)
    async with host_of(kind, Applicant()) as host:
        finding, advice = await findings(kind)
        [refused] = host.refusals
        assert "does not support tools" in refused.message
        host.refusals.clear()
    assert finding.mark == "!"
    assert finding.text.startswith(
        "tried gemma3:4b: research ok, with tools said in words since it calls none, findings ok, outline ok,"
    )
    assert advice.text.endswith("set COPYDESK_STRUCTURED_OUTPUT=native")


async def test_a_model_that_does_not_search_is_named() -> None:
    """Neither by a call nor in words."""

    class Idle(Applicant):
        def __call__(self, request: ChatRequest) -> Reply:
            return Text("I know.") if stage_of(request) == "knowledge_search" else super().__call__(request)

    kind = of_family(FULL, "native")
    async with host_of(kind, Idle()):
        [finding] = await findings(kind)
    assert finding.text.startswith("tried gpt-4.1-mini: research failed, findings ok")
    assert finding.text.endswith(
        "For research it said “I know.”. Set another COPYDESK_RESEARCH_MODEL, "
        "or COPYDESK_STRUCTURED_OUTPUT=auto"
    )


CLEAR_SCREEN = "\x1b[2J"
NONSENSE: dict[Language, str] = {
    "en": "I would rather talk about the weather.",
    "zh": f"我更想{CLEAR_SCREEN}谈谈天气。",
    "ja": "それよりも天気の話をしましょう。",
}


# Languages in turn, so that each is seen without three times the time.
@pytest.mark.parametrize(("way", "language"), [*zip(WAYS, ["en", "zh", "ja", "zh"], strict=True)])
async def test_nonsense_ends_after_a_bounded_number_of_calls(language: Language, way: Setting) -> None:
    kind = of_family(FULL, way)
    async with host_of(kind, lambda _: Text(NONSENSE[language], broken=True)) as host:
        finding, *others = await findings(kind)
        assert len(host.requests) <= MOST_CALLS
        assert f"({len(host.requests)} calls, " in finding.text
    assert finding.mark == "✗"
    assert finding.text.count("failed") == 7
    assert f"“{NONSENSE[language].replace(CLEAR_SCREEN, ' [2J')}”" in finding.text
    assert CLEAR_SCREEN not in finding.text
    assert "Set another COPYDESK_MODEL" in finding.text
    assert others == []


WIRES = [
    of_family(FULL),
    of_family(FULL, "auto", "openai"),
    of_anthropic("claude-sonnet-4-6"),
    of_google("gemini-2.5-flash"),
]


@pytest.mark.parametrize("kind", WIRES, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    ("failure", "words"),
    [(Failure.wrong_key(), "(key refused). Set {key}"), (Failure.no_quota(), "no credit left")],
    ids=["key", "credit"],
)
async def test_a_refused_key_is_one_sentence_and_the_last_call_to_that_provider(
    kind: Kind, failure: Failure, words: str
) -> None:
    async with host_of(kind, lambda _: failure) as host:
        second = {"openai-chat:gpt-4.1-mini": "openai-chat:gpt-4.1", "openai:gpt-4.1-mini": "openai:gpt-4.1"}
        found = await findings(kind, reviewer_model=second.get(kind.model, kind.model))
        assert len(host.requests) == 1
    for finding in found:
        assert finding.mark == "✗"
        assert words.format(key=kind.key) in finding.text
        assert finding.text.endswith("then retry.")
        assert "calls" not in finding.text
    assert len(found) == (2 if kind.model in second else 1)


async def test_a_host_that_refuses_on_the_way_keeps_what_went_before() -> None:
    class SpentSoon(Applicant):
        seen = 0

        def __call__(self, request: ChatRequest) -> Reply:
            self.seen += 1
            return Failure.no_quota() if self.seen > 4 else super().__call__(request)

    kind = of_family(FULL)
    async with host_of(kind, SpentSoon()) as host:
        [finding] = await findings(kind)
        # The title page and the section are asked for at once.
        assert len(host.requests) in (5, 6)
    assert finding.mark == "✗"
    assert "research ok, findings ok, outline ok, " in finding.text
    assert "no credit left" in finding.text


async def test_a_host_that_is_busy_for_long_is_not_waited_for() -> None:
    kind = of_family(FULL)
    async with host_of(kind, lambda _: Failure.rate_limited(retry_after=120)) as host:
        assert await findings(kind) == [
            Finding("✗", "tried gpt-4.1-mini: 127.0.0.1 answered 429 (busy). Retry in 2 min.")
        ]
        assert len(host.requests) == 1


async def test_what_code_the_model_again_and_the_formatter_did_is_said() -> None:
    class Clumsy(Applicant):
        again = 0

        def __call__(self, request: ChatRequest) -> Reply:
            reply = super().__call__(request)
            stage = stage_of(request)
            assert isinstance(reply, Text | ToolCalls)
            if stage == "return_front" and isinstance(reply, Text):
                return replace(reply, content=f"Here it is:\n```json\n{reply.content}\n```")
            if stage == "return_review" and not self.again:
                self.again += 1
                return Text("Looks good to me.")
            if stage == "return_plan" and "<answer>" not in request.last_user:
                return Text("Warn of too much oil in section 2.")
            if stage == "return_plan":
                return Text(json.dumps(PLAN, ensure_ascii=False))
            return reply

    kind = of_family(FULL, "prompted")
    async with host_of(kind, Clumsy()):
        [finding] = await findings(kind)
    assert finding.mark == "!"
    assert (
        "title page put right by code, section ok, revision plan shaped by the formatter, review asked again"
        in finding.text
    )


PLAN = {
    "sections": [{"number": 2, "heading": "油", "change": "警告", "source_ids": []}],
    "rewrite_title": False,
    "notes": [],
}


async def test_the_fallback_is_tried_for_everything() -> None:
    class NoHelp(Applicant):
        def __call__(self, request: ChatRequest) -> Reply:
            shaping = "<answer>" in request.last_user
            return Text("{}", broken=True) if shaping else super().__call__(request)

    google, kind = of_google("gemini-2.5-flash"), of_family(FULL, "native")
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(host_of(google, lambda _: Text("{}", broken=True)))
        await stack.enter_async_context(host_of(kind, NoHelp()))
        first, second = await findings(kind, fallback_model=google.model)
        asked = {name for request in host.requests for name in re.findall(r"return_[a-z]+", request.system)}
    assert len(asked) == 6
    assert first.mark == "✓"
    assert second.text.count("failed") == 7
    assert "Set another COPYDESK_FALLBACK_MODEL" in second.text


async def test_the_plain_doctor_asks_no_model(dsn: str) -> None:
    kind = of_family(FULL)
    async with host_of(kind, Applicant()) as host:
        settings = settings_of(kind, database_url=dsn, embedding_model="none")
        plain = [finding.text async for finding in examine(settings)]
        assert host.requests == []
        more = [finding.text async for finding in examine(settings, try_models=True)]
        assert len(host.requests) > USUAL_CALLS
    assert more[: len(plain)] == plain
    assert more[len(plain)].startswith("tried gpt-4.1-mini: research ok")
