"""What is sent for a structured answer, per way of asking, and that hosts of each family take it."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models import Model, override_allow_model_requests
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.deepseek import DeepSeekProvider
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.vllm import VLLMProvider
from pydantic_ai.settings import ModelSettings

from agents.abilities import Abilities, Setting, abilities_of, output_type_for, settings_for, with_abilities
from agents.schemas import MOST_REPETITIONS
from agents.wire import (
    AnalysisAnswer,
    FindingsAnswer,
    FrontAnswer,
    PlanAnswer,
    ReviewAnswer,
    SectionAnswer,
)
from tests.scripted_anthropic.server import ScriptedAnthropic
from tests.scripted_openai import family
from tests.scripted_openai.family import Family
from tests.scripted_openai.replies import Call, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI
from tests.unit.answers import USUAL

ANSWERS: dict[str, type[BaseModel]] = {
    "return_findings": FindingsAnswer,
    "return_analysis": AnalysisAnswer,
    "return_front": FrontAnswer,
    "return_section": SectionAnswer,
    "return_plan": PlanAnswer,
    "return_review": ReviewAnswer,
}
TEXTS = {"en": "Why is MD5 weak?", "zh": "为什么 MD5 不安全？", "ja": "MD5 はなぜ危険か。"}


@pytest.fixture(autouse=True)
def _requests_to_this_machine() -> Iterator[None]:
    with override_allow_model_requests(True):
        yield


def openai_at(host: ScriptedOpenAI) -> Model:
    provider = OpenAIProvider(base_url=host.base_url, api_key=host.api_key)
    return OpenAIChatModel(host.models[0], provider=provider)


def deepseek_at(host: ScriptedOpenAI) -> Model:
    client = AsyncOpenAI(base_url=host.base_url, api_key=host.api_key)
    return OpenAIChatModel(host.models[0], provider=DeepSeekProvider(openai_client=client))


def client_of(model: Model) -> AsyncOpenAI:
    """To be closed: a provider closes only the clients that it made."""
    assert model.provider is not None
    client = model.provider.client
    assert isinstance(client, AsyncOpenAI)
    return client


def ollama_at(host: ScriptedOpenAI) -> Model:
    return OllamaModel(host.models[0], provider=OllamaProvider(host.base_url, host.api_key))


def vllm_at(host: ScriptedOpenAI) -> Model:
    provider = VLLMProvider(base_url=host.base_url, api_key=host.api_key)
    return OpenAIChatModel(host.models[0], provider=provider)


@dataclass(frozen=True)
class Case:
    """A family, the model by which it is reached, and the wire that comes of it."""

    family: Family
    model: Callable[[ScriptedOpenAI], Model]
    setting: Setting
    custom: bool
    format: str  # of the request: text, json_object, json_schema
    choice: str | None  # None: no tools in the request

    def __str__(self) -> str:
        where = "custom" if self.custom else "known"
        return f"{self.family.name}-{self.model.__name__}-{where}-{self.setting}"


CASES = [
    Case(family.FULL, openai_at, "auto", False, "json_schema", None),
    Case(family.FULL, openai_at, "tool", False, "text", "required"),
    Case(family.FULL, openai_at, "prompted", False, "json_object", None),
    Case(family.FULL, openai_at, "auto", True, "text", None),
    Case(family.FULL, openai_at, "native", True, "json_schema", None),
    Case(family.FULL, openai_at, "tool", True, "text", "required"),
    Case(family.JSON_OBJECT_ONLY, deepseek_at, "auto", False, "text", "required"),
    Case(family.JSON_OBJECT_ONLY, deepseek_at, "prompted", False, "json_object", None),
    Case(family.JSON_OBJECT_ONLY, openai_at, "auto", True, "text", None),
    Case(family.NO_FORCED_TOOL_WHILE_THINKING, deepseek_at, "auto", False, "json_object", None),
    Case(family.NO_FORCED_TOOL_WHILE_THINKING, deepseek_at, "tool", False, "text", "required"),
    Case(family.NO_FORCED_TOOL_WHILE_THINKING, openai_at, "auto", True, "text", None),
    Case(family.NO_FORCED_TOOL_NOR_JSON_WHILE_THINKING, openai_at, "auto", True, "text", None),
    Case(family.TOOLS_DEAD_WITH_FORMAT, vllm_at, "auto", False, "json_schema", None),
    Case(family.TOOLS_DEAD_WITH_FORMAT, vllm_at, "tool", False, "text", "required"),
    Case(family.TOOLS_WITH_FORMAT_REFUSED, openai_at, "auto", True, "text", None),
    Case(family.TOOLS_WITH_FORMAT_REFUSED, openai_at, "native", True, "json_schema", None),
    Case(family.TOOLS_WITH_FORMAT_REFUSED_BY_GOOGLE, openai_at, "auto", True, "text", None),
    Case(family.NO_STRICT, openai_at, "auto", True, "text", None),
    Case(family.NO_STRICT, openai_at, "tool", True, "text", "required"),
    Case(family.NO_TOOLS, ollama_at, "auto", False, "json_schema", None),
    Case(family.NO_TOOLS, openai_at, "auto", True, "text", None),
    Case(family.GRAMMAR, openai_at, "auto", True, "text", None),
    Case(family.GRAMMAR, openai_at, "native", True, "json_schema", None),
    Case(family.GRAMMAR, openai_at, "tool", True, "text", "required"),
]


def answer(request: ChatRequest) -> Reply:
    """The usual answer to whichever task it is, by a call if one is on offer."""
    name = request.tools[0].name if request.tools else task_of(request)
    usual = dict(USUAL[name])
    return ToolCalls([Call(name, usual)]) if request.tools else Text(json.dumps(usual, ensure_ascii=False))


def task_of(request: ChatRequest) -> str:
    """By the schema that the model is given, in the format or in the prompt."""
    shown = (
        request.text if request.response_format.schema is None else json.dumps(request.response_format.schema)
    )
    return next(name for name, usual in USUAL.items() if all(f'"{field}"' in shown for field in usual))


@asynccontextmanager
async def asked(
    case: Case, tasks: Mapping[str, type[BaseModel]] = ANSWERS
) -> AsyncIterator[tuple[ScriptedOpenAI, Abilities]]:
    """The host, after each task was put to it once, in each language in turn."""
    async with ScriptedOpenAI(answer, family=case.family) as host:
        plain = case.model(host)
        abilities = abilities_of(plain, setting=case.setting, custom_host=case.custom)
        async with with_abilities(plain, abilities) as model, client_of(model):
            for number, (name, kind) in enumerate(tasks.items()):
                agent = Agent(
                    model, output_type=output_type_for(abilities, kind, name=name), instructions="Answer."
                )
                result = await agent.run(
                    list(TEXTS.values())[number % 3], model_settings=settings_for(abilities)
                )
                assert result.output == kind.model_validate(USUAL[name])
        yield host, abilities


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_each_answer_is_asked_for_in_a_way_that_the_host_takes(case: Case) -> None:
    async with asked(case) as (host, _):
        assert host.refusals == []
        assert [request.response_format.type for request in host.requests] == [case.format] * len(ANSWERS)
        assert {request.tool_choice.mode if request.tools else None for request in host.requests} == {
            case.choice
        }
        assert [request.last_user for request in host.requests] == [*TEXTS.values()] * 2


REVIEW = {"return_review": ReviewAnswer}


def strings(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "string":
            yield schema
        for inside in schema.values():
            yield from strings(inside)
    elif isinstance(schema, list):
        for inside in schema:
            yield from strings(inside)


async def test_native_output_is_strict_and_named_and_says_nothing_in_the_prompt() -> None:
    async with asked(CASES[0], REVIEW) as (host, _):
        (request,) = host.requests
        assert (request.response_format.name, request.response_format.strict) == ("return_review", True)
        assert request.response_format.schema is not None
        assert request.response_format.schema["additionalProperties"] is False
        assert "properties" not in request.text
        assert "parallel_tool_calls" not in request.body


async def test_tool_output_is_one_strict_tool_whose_call_is_demanded() -> None:
    async with asked(CASES[1], REVIEW) as (host, _):
        (request,) = host.requests
        assert [(tool.name, tool.strict) for tool in request.tools] == [("return_review", True)]
        assert request.body["tool_choice"] == "required"
        assert "parallel_tool_calls" not in request.body


async def test_prompted_output_has_the_whole_schema_and_the_word_json_in_the_prompt() -> None:
    async with asked(CASES[2], REVIEW) as (host, _):
        (request,) = host.requests
        assert "JSON" in request.system
        assert '"suggested_fix"' in request.system
        assert request.body["response_format"] == {"type": "json_object"}


async def test_an_unknown_server_gets_nothing_that_it_may_not_know() -> None:
    async with asked(Case(family.FULL, openai_at, "auto", True, "text", None)) as (host, _):
        for request in host.requests:
            assert set(request.body) == {"model", "messages"} | ({"stream"} & set(request.body))
            assert [message.role for message in request.messages] == ["system", "user"]


async def test_an_unknown_server_gets_tools_without_strict() -> None:
    async with ScriptedOpenAI(lambda request: Text("好。"), family=family.NO_STRICT) as host:
        plain = openai_at(host)
        abilities = abilities_of(plain, custom_host=True)
        async with with_abilities(plain, abilities) as model:
            agent = Agent(model)

            @agent.tool_plain
            def search(query: str) -> str:
                """Searches."""
                return query

            await agent.run("検索して", model_settings=settings_for(abilities))
        assert host.refusals == []
        (request,) = host.requests
        assert request.body["tool_choice"] == "auto"
        assert all("strict" not in tool["function"] for tool in request.body["tools"])


@pytest.mark.parametrize(
    "case",
    [
        Case(family.GRAMMAR, openai_at, "native", True, "json_schema", None),
        Case(family.TOOLS_DEAD_WITH_FORMAT, vllm_at, "auto", False, "json_schema", None),
        Case(family.NO_TOOLS, ollama_at, "auto", False, "json_schema", None),
    ],
    ids=str,
)
async def test_a_grammar_gets_bounds_that_it_can_hold(case: Case) -> None:
    async with asked(case) as (host, abilities):
        assert abilities.bounded
        for request in host.requests:
            assert "$defs" not in json.dumps(request.response_format.schema)
            for string in strings(request.response_format.schema):
                bound = string.get("maxLength", 0 if "enum" in string else None)
                assert bound is None or bound <= MOST_REPETITIONS
                assert bound is not None or "At most" in string["description"]


@pytest.mark.parametrize(
    ("case", "shown"),
    [
        (Case(family.NO_TOOLS, ollama_at, "auto", False, "json_schema", None), True),
        (Case(family.TOOLS_DEAD_WITH_FORMAT, vllm_at, "auto", False, "json_schema", None), True),
        (CASES[0], False),
    ],
    ids=str,
)
async def test_a_host_that_only_masks_tokens_gets_the_schema_in_the_prompt_too(
    case: Case, shown: bool
) -> None:
    async with asked(case, REVIEW) as (host, _):
        (request,) = host.requests
        assert ('"suggested_fix"' in request.system) is shown


async def test_deepseek_thinks_where_the_prompt_asks_and_not_where_a_call_is_demanded() -> None:
    asks: list[tuple[Setting, object]] = [("auto", None), ("tool", {"type": "disabled"})]
    for setting, told in asks:
        case = Case(family.NO_FORCED_TOOL_WHILE_THINKING, deepseek_at, setting, False, "", None)
        async with asked(case, REVIEW) as (host, _):
            (request,) = host.requests
            assert request.body.get("thinking") == told
            assert request.thinking is (told is None)
            assert "reasoning_effort" not in request.body


async def test_a_call_that_cannot_be_demanded_is_offered() -> None:
    """PydanticAI sends `auto` where its profile has forcing refused, and takes the call that comes."""
    case = Case(family.FULL, ollama_at, "tool", False, "text", "auto")
    async with asked(case) as (host, abilities):
        assert not abilities.forced_tool_choice
        assert {request.tool_choice.mode for request in host.requests} == {"auto"}


@pytest.mark.parametrize("setting", ["auto", "tool", "prompted"])
async def test_anthropic_takes_each_answer_in_each_way(setting: Setting) -> None:
    async with (
        ScriptedAnthropic(answer) as host,
        AsyncAnthropic(base_url=host.base_url, api_key=host.api_key) as client,
    ):
        plain = AnthropicModel("claude-sonnet-4-6", provider=AnthropicProvider(anthropic_client=client))
        abilities = abilities_of(plain, setting=setting, custom_host=False)
        for name, kind in ANSWERS.items():
            agent = Agent(
                with_abilities(plain, abilities), output_type=output_type_for(abilities, kind, name=name)
            )
            # Without a limit PydanticAI asks for all that the model can write, and by a stream.
            settings = ModelSettings(max_tokens=4_096) | settings_for(abilities)
            result = await agent.run(TEXTS["ja"], model_settings=settings)
            assert result.output == kind.model_validate(USUAL[name])
        assert host.refusals == []
        assert {request.response_format.type for request in host.requests} == {
            "json_schema" if setting == "auto" else "text"
        }
        assert {request.tool_choice.mode for request in host.requests if request.tools} == (
            {"required"} if setting == "tool" else set()
        )
