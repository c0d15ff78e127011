"""From a checked generateContent request to the view that a script reads, the same as on OpenAI's wire."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.scripted_google.rules import JSON, calls_in, functions_of
from tests.scripted_google.shape import Content, FunctionDeclaration, GenerateRequest, Schema
from tests.scripted_openai.request import ChatRequest, Message, ResponseFormat, Tool, ToolCall, ToolChoice

FORMAT_NAME = "responseSchema"  # on this wire a schema has no name
LIMITS = ("min_items", "max_items", "min_length", "max_length", "pattern", "minimum", "maximum", "format")


def parse_generate(
    asked: GenerateRequest, model: str, body: dict[str, Any], number: int, headers: Mapping[str, str]
) -> ChatRequest:
    """The view of a request that has been checked."""
    settings = asked.generation_config
    held = asked.tool_config.function_calling_config.mode in ("ANY", "VALIDATED")
    return ChatRequest(
        wire="generate",
        number=number,
        model=model,
        body=body,
        headers=headers,
        messages=tuple(parse_messages(asked)),
        tools=tuple(
            Tool(one.name, one.description, parameters_of(one), strict=False, held=held)
            for one in functions_of(asked)
        ),
        tool_choice=parse_choice(asked),
        response_format=parse_format(asked),
        stream=False,
        include_usage=True,
        max_tokens=settings.max_output_tokens,
        stops=tuple(settings.stop_sequences),
        tools_work=bool(functions_of(asked)),
        thinking=settings.thinking_config.include_thoughts,
    )


def parse_messages(asked: GenerateRequest) -> Iterator[Message]:
    """The system instruction first, then the turns; each result of a function is a message of its own."""
    if asked.system_instruction is not None:
        yield Message("system", text_of(asked.system_instruction))
    calls: list[ToolCall] = []
    for index, content in enumerate(asked.contents):
        if content.role == "model" or calls_in(content):
            calls = list(calls_of(content, index))
            yield Message("assistant", text_of(content), tool_calls=tuple(calls))
            continue
        for part in content.parts:
            if part.function_response is not None:
                call = answered(calls, part.function_response.id, part.function_response.name)
                yield Message("tool", result_of(part.function_response.response), tool_call_id=call.id)
        if text_of(content):
            yield Message("user", text_of(content))


def text_of(content: Content) -> str:
    """All texts of a turn but its thoughts."""
    return "".join(part.text for part in content.parts if part.text and not part.thought)


def calls_of(content: Content, index: int) -> Iterator[ToolCall]:
    """The calls of a turn; older models give them no id, so that they get one here."""
    for number, part in enumerate(content.parts):
        if part.function_call is not None:
            call = part.function_call
            arguments = json.dumps(call.args or {}, ensure_ascii=False)
            yield ToolCall(call.id or f"call {index}.{number}", call.name, arguments)


def answered(calls: list[ToolCall], identity: str | None, name: str) -> ToolCall:
    """The call that a result belongs to, by its id, its name, or the order. It is taken out."""
    by_id = [call for call in calls if call.id == identity]
    by_name = [call for call in calls if call.name == name]
    found = (by_id or by_name or calls)[0]
    calls.remove(found)
    return found


def result_of(response: dict[str, Any] | None) -> str:
    """A result as text: the one string in it, or all of it as JSON."""
    values = list((response or {}).values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(response or {}, ensure_ascii=False)


def parameters_of(function: FunctionDeclaration) -> dict[str, Any]:
    """The parameters as JSON Schema."""
    if function.parameters is not None:
        return as_json_schema(function.parameters)
    return function.parameters_json_schema if isinstance(function.parameters_json_schema, dict) else {}


def as_json_schema(schema: Schema) -> dict[str, Any]:
    """A schema of the OpenAPI subset as JSON Schema: small letters, and null in place of nullable."""
    made: dict[str, Any] = {}
    if schema.type is not None:
        kind = schema.type.lower()
        made["type"] = [kind, "null"] if schema.nullable else kind
    for name in LIMITS:
        if getattr(schema, name) is not None:
            head, *rest = name.split("_")
            made[head + "".join(one.title() for one in rest)] = getattr(schema, name)
    for name in ("title", "description", "enum", "required"):
        if getattr(schema, name) is not None:
            made[name] = getattr(schema, name)
    if schema.properties is not None:
        made["properties"] = {name: as_json_schema(one) for name, one in schema.properties.items()}
    if schema.items is not None:
        made["items"] = as_json_schema(schema.items)
    if schema.any_of is not None:
        made["anyOf"] = [as_json_schema(one) for one in schema.any_of]
    return made


def parse_choice(asked: GenerateRequest) -> ToolChoice:
    """What the model may call."""
    config = asked.tool_config.function_calling_config
    names = tuple(one.name for one in functions_of(asked))
    allowed = tuple(config.allowed_function_names) or names
    if not names or config.mode == "NONE":
        return ToolChoice("none", ())
    if config.mode != "ANY":
        return ToolChoice("auto", allowed)
    return ToolChoice("required", allowed, allowed[0] if len(config.allowed_function_names) == 1 else None)


def parse_format(asked: GenerateRequest) -> ResponseFormat:
    """What the text has to be: it is held to a schema, if there is one."""
    settings = asked.generation_config
    if settings.response_mime_type != JSON:
        return ResponseFormat()
    if settings.response_schema is not None:
        schema = as_json_schema(settings.response_schema)
    elif isinstance(settings.response_json_schema, dict):
        schema = settings.response_json_schema
    else:
        return ResponseFormat("json_object")
    return ResponseFormat("json_schema", FORMAT_NAME, schema, strict=True, held=True)
