"""What models can do, by name and address: the setting, the table of exceptions, PydanticAI's profile."""

import inspect
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.output import OutputObjectDefinition, OutputSpec
from pydantic_ai.providers import Provider, infer_provider
from pydantic_ai.settings import ModelSettings

import agents.wire
from agents.abilities import (
    Abilities,
    Output,
    Setting,
    abilities_of,
    describe,
    has_custom_host,
    output_type_for,
    settings_for,
    with_abilities,
)
from agents.errors import AgentError
from agents.known_models import BETTER_NAMES, KNOWN, Known
from agents.models import models_from
from agents.offline.model import OfflineModel
from agents.patience import Patience, PatientModel
from agents.schemas import MOST_REPETITIONS, GeminiSchema, GrammarSchema
from agents.wire import ReviewAnswer, Wire

WIRE: list[type[Wire]] = [
    one
    for one in vars(agents.wire).values()
    if inspect.isclass(one) and issubclass(one, Wire) and one is not Wire and one.__name__.endswith("Answer")
]
AT_HOME = "http://127.0.0.1:1/v1"
KEYS = ("OPENAI", "ANTHROPIC", "GOOGLE", "DEEPSEEK", "OPENROUTER", "AZURE_OPENAI", "MOONSHOTAI", "ALIBABA")


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(f"{name}_API_KEY", "k")
    monkeypatch.setenv("OLLAMA_BASE_URL", AT_HOME)
    monkeypatch.setenv("VLLM_BASE_URL", AT_HOME)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com")
    monkeypatch.setenv("OPENAI_API_VERSION", "2026-01-01")


@cache
def provider(kind: str, *addresses: str | None) -> Provider[Any]:
    """Made once for each address: an HTTP client takes a tenth of a second to make."""
    return infer_provider(kind)


def model_of(name: str) -> Model:
    addresses = [os.environ.get(f"{kind}_BASE_URL") for kind in ("OPENAI", "ANTHROPIC")]
    return infer_model(name, lambda kind: provider(kind, *addresses))


def resolved(name: str, setting: Setting = "auto") -> Abilities:
    model = model_of(name)
    return abilities_of(model, setting=setting, custom_host=has_custom_host(model))


def described(name: str, setting: Setting = "auto") -> str:
    model = model_of(name)
    return describe(model, abilities_of(model, setting=setting, custom_host=has_custom_host(model)))


# At the providers' own hosts, and at hosts that are one's own by nature.
BY_NAME = {
    "openai-chat:gpt-4.1-mini": "native output, tools without format",
    "openai:gpt-5": "native output, tools without format",
    "openai:o3": "native output, tools without format",
    "openai-chat:o4-mini": "native output, tools without format",
    "openai-chat:gpt-4o-mini": "native output, tools without format",
    "openai:ft:gpt-4.1-mini:team::id": "native output, tools without format",
    "openai-chat:gpt-4o-2024-05-13": "tool output, tools without format",
    "openai-chat:gpt-4-turbo": "tool output, tools without format",
    "openai-chat:gpt-3.5-turbo": "tool output, tools without format",
    "openai-chat:chatgpt-4o-latest": "prompted output, tools without format",
    "openai-chat:o1-mini": "prompted output, no tools",
    "openai-chat:foo-bar": "prompted output, JSON mode, tools without format",
    "openai:模型": "prompted output, JSON mode, tools without format",
    "anthropic:claude-sonnet-4-5": "native output, tools without format",
    "anthropic:claude-3-5-haiku-latest": "tool output, not strict, tools without format",
    "anthropic:claude-unheard-of": "prompted output, tools without format",
    "google:gemini-2.5-flash": "native output, tools without format",
    "google:gemini-3-flash-preview": "native output, tools without format",
    "deepseek:deepseek-chat": "tool output, tools without format",
    "deepseek:deepseek-reasoner": "prompted output, JSON mode, tools without format",
    "deepseek:deepseek-flash": "prompted output, JSON mode, tools without format",
    "moonshotai:kimi-k2.5": "prompted output, JSON mode, tools without format",
    "alibaba:qwen-unheard-of": "prompted output, tools without format",
    "azure:gpt-4.1-mini": "native output, tools without format",
    "openrouter:openai/gpt-4.1-mini": "native output, tools without format",
    "openrouter:meta-llama/llama-3.3-70b-instruct": "tool output, tools without format",
    "openrouter:who/what": "prompted output, tools without format",
    "ollama:llama3.2": "native output, tools without format",
    "ollama:qwen3": "native output, tools without format",
    "ollama:gemma3:4b": "native output, no tools",
    "ollama:gpt-oss:20b-cloud": "prompted output, JSON mode, tools without format",
    "vllm:Qwen/Qwen3-8B": "native output, tools without format",
    "vllm:whatever-they-serve": "native output, tools without format",
    "vllm:openai/gpt-oss-20b": "prompted output, tools without format",
}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_name_says_how_its_model_is_asked(name: str) -> None:
    assert described(name) == f"model {name}: {BY_NAME[name]}"


@pytest.mark.parametrize("name", BY_NAME)
def test_what_was_resolved_holds_for_the_model_that_sends_it(name: str) -> None:
    """Resolving once more, from the profile that was put on it, changes nothing."""
    model = model_of(name)
    custom = has_custom_host(model)
    abilities = abilities_of(model, custom_host=custom)
    able = with_abilities(model, abilities)
    assert abilities_of(able, custom_host=custom) == abilities
    assert with_abilities(able, abilities) is able
    assert (able.model_name, able.provider, able.settings) == (
        model.model_name,
        model.provider,
        model.settings,
    )


@pytest.mark.parametrize("extra", ["groq:llama-3.3-70b-versatile", "mistral:mistral-large-latest"])
def test_a_provider_whose_library_is_missing_has_no_abilities_but_a_sentence(extra: str) -> None:
    with pytest.raises(AgentError, match="pip install") as refused:
        models_from(extra)
    assert refused.value.code == "unknown_model"


@pytest.mark.parametrize(
    ("name", "setting", "address", "custom"),
    [
        ("openai-chat:gpt-4.1-mini", "OPENAI_BASE_URL", None, False),
        ("openai-chat:gpt-4.1-mini", "OPENAI_BASE_URL", "https://api.openai.com/v1", False),
        ("openai-chat:gpt-4.1-mini", "OPENAI_BASE_URL", "https://eu.api.openai.com/v1", False),
        ("openai-chat:gpt-4.1-mini", "OPENAI_BASE_URL", "https://api.openai.com.example.org/v1", True),
        ("openai-chat:gpt-4.1-mini", "OPENAI_BASE_URL", "https://evil-api.openai.com.cn/v1", True),
        ("openai-chat:gpt-4.1-mini", "OPENAI_BASE_URL", "http://例え.テスト/v1", True),
        ("openai:gpt-5", "OPENAI_BASE_URL", AT_HOME, True),
        ("openai-chat:gpt-4.1-mini", "OPENAI_BASE_URL", "not an address", True),
        ("litellm:gpt-4.1-mini", "OPENAI_BASE_URL", AT_HOME, True),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "https://gateway.example.org", True),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_BASE_URL", None, False),
        ("ollama:qwen3", "OLLAMA_BASE_URL", AT_HOME, False),
        ("vllm:qwen3", "VLLM_BASE_URL", AT_HOME, False),
        ("azure:gpt-4.1-mini", "AZURE_OPENAI_ENDPOINT", AT_HOME, False),
        ("deepseek:deepseek-chat", "OPENAI_BASE_URL", AT_HOME, False),
    ],
)
def test_an_address_is_custom_where_not_the_provider_itself_answers(
    name: str, setting: str, address: str | None, custom: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if address is not None:
        monkeypatch.setenv(setting, address)
    assert has_custom_host(infer_model(name)) is custom


@pytest.mark.parametrize("name", ["openai-chat:gpt-4.1-mini", "openai:gpt-5", "litellm:gpt-4.1-mini"])
def test_at_an_address_of_ones_own_only_what_any_server_takes_is_sent(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", AT_HOME)
    abilities = resolved(name)
    assert (abilities.output, abilities.strict, abilities.json_object) == ("prompted", False, False)
    assert not abilities.tools_with_format
    assert (abilities.tools, abilities.bounded, abilities.inline_defs) == (True, True, True)
    assert "127.0.0.1" in abilities.why[0]
    assert "COPYDESK_STRUCTURED_OUTPUT" in abilities.why[0]
    sent = with_abilities(model_of(name), abilities).profile
    assert sent["supports_json_object_output"] is False
    assert sent["json_schema_transformer"] is GrammarSchema


@pytest.mark.parametrize("name", ["ollama:qwen3", "vllm:Qwen/Qwen3-8B"])
def test_a_kind_of_server_that_is_known_is_no_stranger_at_any_address(name: str) -> None:
    model = model_of(name)
    assert abilities_of(model, custom_host=True) == abilities_of(model, custom_host=False)


def test_a_model_keeps_its_own_settings() -> None:
    mild = ModelSettings(temperature=0.2)
    model = OllamaModel("qwen3", provider=provider("ollama"), settings=mild)
    able = with_abilities(model, abilities_of(model, custom_host=False))
    assert able is not model
    assert able.settings == mild


def test_claude_behind_a_gateway_is_asked_by_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.example.org")
    assert described("anthropic:claude-sonnet-4-5").endswith("prompted output, tools without format")


@pytest.mark.parametrize("host", BETTER_NAMES)
def test_a_host_that_has_a_name_of_its_own_is_pointed_out(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://{host}/v1")
    assert resolved("openai-chat:some-model").why == (
        f"{host} has a name of its own: {BETTER_NAMES[host]}:some-model can more here.",
    )


@pytest.mark.parametrize(
    ("name", "by_itself"),
    [
        ("openai-chat:gpt-4.1-mini", "native"),
        ("openai-chat:foo-bar", "prompted"),
        ("deepseek:deepseek-chat", "tool"),
        ("ollama:gemma3", "native"),
        ("anthropic:claude-3-5-haiku-latest", "tool"),
    ],
)
@pytest.mark.parametrize("setting", ["native", "tool", "prompted"])
def test_the_setting_goes_before_all_and_says_so(name: str, by_itself: Output, setting: Output) -> None:
    abilities = resolved(name, setting)
    assert abilities.output == setting
    said = f"COPYDESK_STRUCTURED_OUTPUT says {setting}; by itself it would be {by_itself}."
    assert (said in abilities.why) is (setting != by_itself)
    # PydanticAI checks these before it sends anything.
    sent = with_abilities(model_of(name), abilities).profile
    assert sent["supports_json_schema_output"] or setting != "native"
    assert sent["supports_tools"] or setting != "tool"


def test_a_tool_demanded_of_a_model_without_tools_is_pointed_out() -> None:
    assert any("and yet" in sentence for sentence in resolved("ollama:gemma3", "tool").why)
    assert not any("and yet" in sentence for sentence in resolved("ollama:gemma3").why)


@pytest.mark.parametrize(
    ("name", "thinking", "forced", "off"),
    [
        ("deepseek:deepseek-chat", False, True, False),
        ("deepseek:deepseek-flash", True, True, True),  # told not to think, it can be forced
        ("deepseek:deepseek-v4-pro", True, True, True),
        ("deepseek:deepseek-reasoner", True, False, False),  # cannot stop thinking
        ("moonshotai:kimi-k2.5", True, False, False),  # cannot be forced at all
        ("openai:o3", True, True, False),
        ("anthropic:claude-sonnet-4-5", False, True, False),
        ("ollama:qwen3", False, False, False),
    ],
)
def test_thinking_is_switched_off_where_only_that_lets_a_tool_call_be_demanded(
    name: str, thinking: bool, forced: bool, off: bool
) -> None:
    abilities = resolved(name, "tool")
    assert (abilities.thinking, abilities.forced_tool_choice, abilities.thinking_off) == (
        thinking,
        forced,
        off,
    )
    assert settings_for(abilities) == ({"thinking": False} if off else {})
    assert settings_for(resolved(name)) == {}  # by itself it may think
    assert ("thinking off for it" in described(name, "tool")) is off


def test_openrouter_is_asked_for_hosts_that_take_all_of_the_request() -> None:
    required = {"extra_body": {"provider": {"require_parameters": True}}}
    assert settings_for(resolved("openrouter:openai/gpt-4.1-mini")) == required
    assert settings_for(resolved("openrouter:meta-llama/llama-3.3-70b-instruct")) == required
    assert settings_for(resolved("openrouter:who/what")) == {}  # the prompt needs no parameter


@pytest.mark.parametrize(
    ("name", "together"),
    [
        ("openai-chat:gpt-4.1-mini", True),
        ("anthropic:claude-sonnet-4-5", True),
        ("google:gemini-2.5-flash", False),
        ("google:gemini-3-flash-preview", True),
        ("deepseek:deepseek-chat", False),
        ("ollama:qwen3", False),
        ("vllm:qwen3", False),
        ("openai-chat:foo-bar", False),
    ],
)
def test_tools_together_with_a_format_are_known_of_few(name: str, together: bool) -> None:
    assert resolved(name).tools_with_format is together


@pytest.mark.parametrize("setting", ["auto", "native", "tool", "prompted"])
@pytest.mark.parametrize(
    "model", [OfflineModel(), TestModel(), FunctionModel(lambda messages, info: ModelResponse([]))]
)
def test_a_model_made_by_this_program_answers_by_its_tools_whatever_is_set(
    model: Model, setting: Setting
) -> None:
    for custom_host in (False, True):
        abilities = abilities_of(model, setting=setting, custom_host=custom_host)
        assert (abilities.output, abilities.strict, abilities.why) == ("tool", True, ())
        assert with_abilities(model, abilities) is model
        assert settings_for(abilities) == {}
    assert describe(model, abilities) == f"model {model.model_name}: tool output, tools without format"


def test_a_wrapped_model_has_the_abilities_of_what_it_wraps() -> None:
    model = model_of("deepseek:deepseek-reasoner")
    wrapped = PatientModel(PatientModel(model, Patience()), Patience())
    abilities = abilities_of(model, custom_host=False)
    assert abilities_of(wrapped, custom_host=False) == abilities
    assert describe(wrapped, abilities) == describe(model, abilities)
    assert has_custom_host(wrapped) is False


REACHED_BY = [*BY_NAME, "openai-chat:gpt-4"]


@pytest.mark.parametrize("line", KNOWN, ids=lambda line: line.models)
def test_each_line_of_the_table_changes_a_model_and_says_why(line: Known, monkeypatch: Any) -> None:
    reached = [name for name in REACHED_BY if line.matches(name.replace("openai-chat:", "openai:"))]
    assert reached
    with_line = [resolved(name) for name in reached]
    assert any(line.why in abilities.why for abilities in with_line)
    monkeypatch.setattr("agents.abilities.KNOWN", tuple(one for one in KNOWN if one is not line))
    without = [resolved(name) for name in reached]
    assert all(
        replace(one, why=()) != replace(other, why=())
        for one, other in zip(with_line, without, strict=True)
        if line.why in one.why
    )


def test_each_line_names_its_evidence_and_date() -> None:
    for line in KNOWN:
        assert all(link.startswith("https://") for link in line.evidence.split(", ")), line
        assert "2023" <= line.date <= "2027", line
        assert line.why.endswith("."), line


def test_an_exception_is_for_its_models_alone() -> None:
    old = next(line for line in KNOWN if "before json_schema" in line.why)
    for name in ("openai:gpt-4", "azure:GPT-4-Turbo", "openai:gpt-3.5-turbo-0125"):
        assert old.matches(name), name
    for name in (
        "openai:gpt-4o",
        "openai:gpt-4.1",
        "openai:gpt-5",
        "openrouter:openai/gpt-4",
        "openai:o4-mini",
    ):
        assert not old.matches(name), name


def asked(spec: OutputSpec[ReviewAnswer]) -> tuple[type, str | None, str | None, bool | None]:
    assert isinstance(spec, NativeOutput | ToolOutput | PromptedOutput)
    return type(spec), spec.name, spec.description, getattr(spec, "strict", None)


@pytest.mark.parametrize(
    ("name", "setting", "kind", "strict"),
    [
        ("openai-chat:gpt-4.1-mini", "auto", NativeOutput, True),
        ("openai-chat:gpt-4.1-mini", "tool", ToolOutput, True),
        ("openai-chat:gpt-4.1-mini", "prompted", PromptedOutput, None),
        ("ollama:qwen3", "auto", NativeOutput, None),
        ("ollama:qwen3", "tool", ToolOutput, False),
        ("anthropic:claude-3-5-haiku-latest", "native", NativeOutput, None),
    ],
)
def test_the_output_type_is_what_the_abilities_say(
    name: str, setting: Setting, kind: type, strict: bool | None
) -> None:
    spec = output_type_for(
        resolved(name, setting), ReviewAnswer, name="return_review", description="審査結果"
    )
    assert asked(spec) == (kind, "return_review", "審査結果", strict)


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema, itself first."""
    if isinstance(schema, dict):
        yield schema
        for inside in schema.values():
            yield from parts(inside)
    elif isinstance(schema, list):
        for inside in schema:
            yield from parts(inside)


def said(part: dict[str, Any]) -> str:
    """The description of a schema; a field may have that name, too."""
    description = part.get("description", "")
    return description if isinstance(description, str) else ""


def unfit_for_a_grammar(schema: dict[str, Any]) -> list[str]:
    """What a host that makes a grammar would refuse, or a small model would never end."""
    found = []
    for part in parts(schema):
        if "$ref" in part or "$defs" in part:
            found.append(f"a reference: {part}")
        kind = part.get("type")
        bounded = {"maxLength", "enum", "const"} & part.keys() or "At most" in said(part)
        if kind == "string" and not bounded:
            found.append(f"an unbounded string: {part}")
        if kind == "array" and "maxItems" not in part:
            found.append(f"an unbounded list: {part}")
        found.extend(
            f"{keyword} {part[keyword]}"
            for keyword in ("minLength", "maxLength", "minItems", "maxItems")
            if isinstance(part.get(keyword), int) and part[keyword] > MOST_REPETITIONS
        )
    return found


def test_the_wire_models_are_found() -> None:
    assert {
        "FindingsAnswer",
        "AnalysisAnswer",
        "FrontAnswer",
        "SectionAnswer",
        "PlanAnswer",
        "ReviewAnswer",
    } <= {one.__name__ for one in WIRE}


@pytest.mark.parametrize("answer", WIRE, ids=lambda answer: answer.__name__)
def test_each_wire_schema_makes_a_grammar(answer: type[BaseModel]) -> None:
    assert unfit_for_a_grammar(GrammarSchema(answer.model_json_schema()).walk()) == []


@pytest.mark.parametrize("answer", WIRE, ids=lambda answer: answer.__name__)
def test_gemini_gets_bounds_in_words_alone(answer: type[BaseModel]) -> None:
    before = [part for part in parts(answer.model_json_schema()) if {"maxLength", "maxItems"} & part.keys()]
    after = list(parts(GeminiSchema(answer.model_json_schema()).walk()))
    assert not [part for part in after if {"maxLength", "maxItems"} & part.keys()]
    assert len([part for part in after if "At most" in said(part)]) == len(before)


def test_what_does_not_fit_a_grammar_is_noticed() -> None:
    class Open(BaseModel):
        text: str
        tags: list[str]

    class Tree(BaseModel):
        below: list["Tree"]

    assert len(unfit_for_a_grammar(GrammarSchema(Open.model_json_schema()).walk())) == 3
    assert any(
        "reference" in one for one in unfit_for_a_grammar(GrammarSchema(Tree.model_json_schema()).walk())
    )
    assert unfit_for_a_grammar({"type": "string", "maxLength": MOST_REPETITIONS + 1}) == ["maxLength 2000"]


@pytest.mark.parametrize("form", [GrammarSchema, GeminiSchema])
def test_a_bound_that_is_not_sent_is_said_after_the_description(
    form: Callable[[dict[str, Any]], GrammarSchema | GeminiSchema],
) -> None:
    for said, description in (
        ("", "At most 12000 characters."),
        ("本文。", "本文。 At most 12000 characters."),
        ("本文です。", "本文です。 At most 12000 characters."),
        ("Markdown.", "Markdown. At most 12000 characters."),
    ):
        schema = {"type": "string", "maxLength": 12_000} | ({"description": said} if said else {})
        assert form(schema).walk() == {"type": "string", "description": description}


@pytest.mark.parametrize("answer", WIRE, ids=lambda answer: answer.__name__)
@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "google:gemini-2.5-flash", "openai:gpt-5"])
def test_pydantic_ai_sends_each_wire_schema_natively(name: str, answer: type[BaseModel]) -> None:
    """Anthropic bounds unions and optional fields of strict schemas; PydanticAI refuses what has too many."""
    abilities = resolved(name)
    model = with_abilities(model_of(name), abilities)
    schema = OutputObjectDefinition(answer.model_json_schema(), strict=True)
    parameters = ModelRequestParameters(output_mode="native", output_object=schema)
    _, prepared = model.prepare_request(None, parameters)
    assert prepared.output_object is not None
    assert prepared.output_object.json_schema["type"] == "object"
