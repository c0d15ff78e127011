"""What a model can do, and so how a structured answer is asked of it: docs/decisions/0012."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel
from pydantic_ai import NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import KnownModelName, Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.output import OutputSpec
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from agents.hosts import host_of
from agents.known_models import BETTER_NAMES, HELD_TO_SCHEMA, KNOWN, OWN_HOSTS, UNKNOWN_SERVER

AnswerT = TypeVar("AnswerT", bound=BaseModel)

Output = Literal["native", "tool", "prompted"]
Setting = Literal["auto", "native", "tool", "prompted"]

_SETTING = "COPYDESK_STRUCTURED_OUTPUT"
_LISTED = frozenset(get_args(KnownModelName.__value__))


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """How a model is called for a structured answer, and what else it can do.

    `why` has a sentence for each thing that is not simply what PydanticAI's profile says.
    """

    output: Output
    strict: bool  # the schema is sent as one to be held to the letter
    tools: bool
    tools_with_format: bool  # in one request; ours never need it
    forced_tool_choice: bool  # of a model as it is called: thinking, if it does
    json_object: bool  # JSON mode, on top of a schema in the prompt
    thinking: bool  # it thinks unless it is told not to
    thinking_off: bool = False  # it is told not to, where a structured answer is asked for
    inline_defs: bool = False  # it does not follow references in a schema
    bounded: bool = False  # its host makes a grammar of a schema, which needs bounds
    require_parameters: bool = False  # OpenRouter: only hosts that take the whole request
    why: tuple[str, ...] = ()
    # Over the model's own profile, so that PydanticAI sends what stands above.
    profile: ModelProfile = field(default_factory=ModelProfile, repr=False, hash=False)


def has_custom_host(model: Model) -> bool:
    """Whether a model is asked at an address where not its provider itself answers.

    Ollama, vLLM, Azure and Heroku always have addresses of one's own: there the provider's name says what
    answers.
    """
    model = _innermost(model)
    own = OWN_HOSTS.get(model.system)
    return own is not None and re.fullmatch(own, host_of(model)) is None


def abilities_of(model: Model, *, setting: Setting = "auto", custom_host: bool) -> Abilities:
    """What a model can do: by the setting, else the table, else PydanticAI's profile of a listed name.

    A name is listed if PydanticAI offers it (`KnownModelName`) or its price list has it for that provider.
    One that is not, or at a custom host, is asked by the prompt alone: any model can answer that, and what
    would be refused or, worse, ignored in silence is not sent. Pure: no host is asked.
    """
    model = _innermost(model)
    if model.provider is None:  # made by this program: the offline one, and those of tests
        return Abilities(
            output="tool",
            strict=True,
            tools=True,
            tools_with_format=True,
            forced_tool_choice=True,
            json_object=False,
            thinking=False,
        )
    lines = [line for line in KNOWN if line.matches(f"{model.system}:{model.model_name}")]
    known_host = any(line.any_model for line in lines)
    custom = custom_host and not known_host
    stranger = custom or not (known_host or _is_listed(model))
    changes = [
        *([UNKNOWN_SERVER] if custom and _speaks_openai(model) else []),
        # Who sets it wants the schema held: a proxy of OpenAI holds none that does not say `strict`.
        *([HELD_TO_SCHEMA] if custom and setting == "native" else []),
        *(one.profile for one in lines),
    ]
    profile = merge_profile(model.profile, *changes)
    why = _why_unknown(model, custom=custom, stranger=stranger)

    output = _output(profile, prompted=stranger or any(line.prompted for line in lines))
    if output == "prompted" and not stranger and not any(line.prompted for line in lines):
        why.append("It takes no schema for its answer, and a tool call cannot be demanded of it.")
    if setting != "auto" and setting != output:
        why.append(f"{_SETTING} says {setting}; by itself it would be {output}.")
        output = setting
    why.extend(line.why for line in lines if not line.require_parameters or output != "prompted")
    if output == "tool" and not profile.get("supports_tools", True):
        why.append("It has no tools, as far as is known, and yet is to answer by one.")
    could_force = profile.get("supports_forced_tool_choice", True)
    thinking_off = output == "tool" and could_force and not _may_be_forced(profile) and _may_stop(profile)
    if thinking_off:
        why.append(
            "It is told not to think where it answers by a tool, since its call cannot be demanded then."
        )
    return Abilities(
        output=output,
        strict=_takes_strict(model, profile),
        tools=profile.get("supports_tools", True),
        tools_with_format=not stranger and _takes_tools_with_format(model, profile),
        forced_tool_choice=_may_be_forced(profile) or thinking_off,
        json_object=profile.get("supports_json_object_output", False),
        thinking=_thinks(profile),
        thinking_off=thinking_off,
        inline_defs=_inlines(profile),
        bounded=any(line.grammar for line in lines) or (custom and _speaks_openai(model)),
        require_parameters=output != "prompted" and any(line.require_parameters for line in lines),
        why=tuple(why),
        profile=_whole(profile, output, changes),
    )


def with_abilities(model: Model, abilities: Abilities) -> Model:
    """The same model, with a profile that makes PydanticAI send what these abilities say.

    For a model as `infer_model` made it, before anything wraps it; it shares the provider's connections.
    """
    if model.provider is None or abilities.profile.items() <= model.profile.items():
        return model
    # Every model of PydanticAI that has a provider takes these; their common base does not say so.
    remake: Callable[..., Model] = type(model)
    return remake(
        model.model_name, provider=model.provider, profile=abilities.profile, settings=model.settings
    )


def output_type_for(
    abilities: Abilities, answer: type[AnswerT], *, name: str, description: str | None = None
) -> OutputSpec[AnswerT]:
    """How PydanticAI is to ask for an answer. `name` is the tool's, or the schema's."""
    match abilities.output:
        case "native":
            # None, not False: Anthropic's native output is always strict, and PydanticAI refuses False there.
            strict = True if abilities.strict else None
            return NativeOutput(answer, name=name, description=description, strict=strict)
        case "tool":
            return ToolOutput(answer, name=name, description=description, strict=abilities.strict)
        case "prompted":
            return PromptedOutput(answer, name=name, description=description)


def settings_for(abilities: Abilities) -> ModelSettings:
    """Settings of the requests for a structured answer.

    Parallel tool calls are not among them: with one output tool the first call counts, and OpenAI's own
    reasoning models refuse the field.
    """
    settings = ModelSettings()
    if abilities.thinking_off:
        settings["thinking"] = False
    if abilities.require_parameters:
        settings["extra_body"] = {"provider": {"require_parameters": True}}
    return settings


def describe(model: Model, abilities: Abilities) -> str:
    """One line for doctor: `model openai-chat:gpt-4.1-mini: native output, tools without format`."""
    parts = [f"{abilities.output} output"]
    if abilities.output == "prompted" and abilities.json_object:
        parts.append("JSON mode")
    if abilities.output == "tool" and not abilities.strict:
        parts.append("not strict")
    if abilities.thinking_off:
        parts.append("thinking off for it")
    parts.append("tools without format" if abilities.tools else "no tools")
    return f"model {_name(model)}: {', '.join(parts)}"


def _innermost(model: Model) -> Model:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return model


def _name(model: Model) -> str:
    """As the settings name it: `openai-chat:` where PydanticAI's own ids have `openai:` for both APIs."""
    model = _innermost(model)
    if model.provider is None:
        return model.model_name
    kind = "openai-chat" if model.system == "openai" and isinstance(model, OpenAIChatModel) else model.system
    return f"{kind}:{model.model_name}"


def _is_listed(model: Model) -> bool:
    # ft:gpt-4.1-mini:team::id can what gpt-4.1-mini can.
    name = re.sub(r"^ft:([^:]+):.*", r"\1", model.model_name)
    if f"{model.system}:{name}" in _LISTED:
        return True
    priced = ModelResponse(
        parts=[],
        usage=RequestUsage(input_tokens=1, output_tokens=1),
        model_name=name,
        provider_name=model.system,
        provider_url=model.base_url,
    )
    try:
        priced.cost()
    except LookupError:
        return False
    return True


def _why_unknown(model: Model, *, custom: bool, stranger: bool) -> list[str]:
    if not custom:
        said = f"No list that came with this version has {_name(model)}, so only the prompt asks for JSON"
        return [f"{said}; {_SETTING} can say more."] if stranger else []
    host = host_of(model)
    if (better := BETTER_NAMES.get(host)) is not None and better != model.system:
        return [f"{host} has a name of its own: {better}:{model.model_name} can more here."]
    return [
        f"Nobody knows what answers at {host}, so only the prompt asks for JSON; {_SETTING} can say more."
    ]


def _output(profile: ModelProfile, *, prompted: bool) -> Output:
    """Native if there is such a thing; a tool only where its call can be demanded; else the prompt."""
    if prompted:
        return "prompted"
    if profile.get("supports_json_schema_output", False):
        return "native"
    return "tool" if profile.get("supports_tools", True) and _may_be_forced(profile) else "prompted"


def _thinks(profile: ModelProfile) -> bool:
    return profile.get("thinking_enabled_by_default", False) or profile.get("thinking_always_enabled", False)


def _may_stop(profile: ModelProfile) -> bool:
    return _thinks(profile) and not profile.get("thinking_always_enabled", False)


def _may_be_forced(profile: ModelProfile) -> bool:
    """Whether PydanticAI demands a tool call of a model that is told nothing about thinking."""
    while_thinking = profile.get("supports_forced_tool_choice_with_thinking", True) and not profile.get(
        "forced_tool_choice_disables_thinking", False
    )
    return profile.get("supports_forced_tool_choice", True) and (while_thinking or not _thinks(profile))


def _speaks_openai(model: Model) -> bool:
    return isinstance(model, OpenAIChatModel | OpenAIResponsesModel)


def _takes_strict(model: Model, profile: ModelProfile) -> bool:
    openai: dict[str, Any] = {**profile}  # its keys are those of PydanticAI's profiles for all libraries
    if _speaks_openai(model):
        return bool(openai.get("openai_supports_strict_tool_definition", True))
    if model.system == "anthropic":  # strict tools came with native output
        return profile.get("supports_json_schema_output", False)
    return True


def _takes_tools_with_format(model: Model, profile: ModelProfile) -> bool:
    if not profile.get("supports_tools", True) or not profile.get("supports_json_schema_output", False):
        return False
    google: dict[str, Any] = {**profile}
    return model.system in ("openai", "azure", "anthropic") or bool(
        google.get("google_supports_tool_combination", False)
    )


def _inlines(profile: ModelProfile) -> bool:
    transformer = profile.get("json_schema_transformer")
    if transformer is None:
        return False
    refers = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "null"}}}
    return "$defs" not in transformer(refers).walk()


def _whole(profile: ModelProfile, output: Output, changes: list[OpenAIModelProfile]) -> ModelProfile:
    """The changes, and what PydanticAI checks before it sends: what a setting asks for is sent."""
    return merge_profile(
        *changes,
        ModelProfile(
            supports_json_schema_output=profile.get("supports_json_schema_output", False)
            or output == "native",
            supports_tools=profile.get("supports_tools", True) or output == "tool",
        ),
    )
