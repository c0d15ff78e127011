"""The scripted OpenAI host refuses what api.openai.com refuses, with the same body."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.raw_requests import send
from tests.scripted_openai.replies import Text
from tests.scripted_openai.server import ScriptedOpenAI

CHAT = "/v1/chat/completions"
TOOL = {
    "type": "function",
    "function": {"name": "search", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
USER = {"role": "user", "content": "Hello"}
ASKING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "Found"}


@pytest.fixture
async def host() -> AsyncIterator[ScriptedOpenAI]:
    """A host that knows a plain and a reasoning model, with a window of 1000 tokens."""
    async with ScriptedOpenAI(
        lambda _: Text("ok"), models=("gpt-4.1-mini", "o4-mini"), context_window=1000
    ) as running:
        yield running


def chat(**changes: Any) -> dict[str, Any]:
    """A valid body, changed."""
    return {"model": "gpt-4.1-mini", "messages": [USER], **changes}


def tool(**changes: Any) -> list[dict[str, Any]]:
    """One tool, its function changed."""
    return [{"type": "function", "function": {"name": "search", **changes}}]


# What is sent, and param, code and a part of the message of the 400 that comes back.
REFUSED: list[tuple[dict[str, Any], str | None, str | None, str]] = [
    (
        {"model": "gpt-4.1-mini"},
        "messages",
        "missing_required_parameter",
        "Missing required parameter: 'messages'",
    ),
    ({"messages": [USER]}, None, None, "you must provide a model parameter"),
    (chat(messages=[]), "messages", "empty_array", "Expected an array with minimum length 1"),
    (
        chat(messages="Hi"),
        "messages",
        "invalid_type",
        "expected an array of objects, but got a string instead",
    ),
    (chat(messages=["Hi"]), "messages[0]", "invalid_type", "expected an object, but got a string instead"),
    (chat(thinking=True), None, None, "Unrecognized request argument supplied: thinking"),
    (chat(a=1, b=2), None, None, "Unrecognized request arguments supplied: a, b"),
    (
        chat(messages=[{"role": "bot", "content": "Hi"}]),
        "messages[0].role",
        "invalid_value",
        "'system', 'assistant', 'user', 'function', 'tool', and 'developer'",
    ),
    (
        chat(messages=[{"content": "Hi"}]),
        "messages[0].role",
        "missing_required_parameter",
        "'messages[0].role'",
    ),
    (chat(messages=[{"role": "user"}]), "messages[0].content", "missing_required_parameter", "content"),
    (chat(messages=[{**USER, "lang": "zh"}]), "messages[0].lang", "unknown_parameter", "Unknown parameter"),
    (chat(messages=[{**USER, "content": None}]), "messages.[0].content", None, "expected a string, got null"),
    (
        chat(messages=[{**USER, "content": {"text": "密码"}}]),
        "messages[0].content",
        "invalid_type",
        "expected one of a string or array of objects, but got an object instead",
    ),
    (
        chat(messages=[{**USER, "content": [{"type": "input_text", "text": "鍵"}]}]),
        "messages[0].content[0].type",
        "invalid_value",
        "Supported values are: 'text', 'image_url', 'input_audio', and 'file'",
    ),
    (
        chat(messages=[{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]),
        "messages[0].content[0].type",
        "invalid_value",
        "Supported values are: 'text'",
    ),
    (
        chat(messages=[{**USER, "name": "山田"}]),
        "messages[0].name",
        "invalid_value",
        "does not match pattern",
    ),
    (chat(messages=[{"role": "assistant"}]), "messages.[0].content", None, "expected a string, got null"),
    (
        chat(temperature=3),
        "temperature",
        "decimal_above_max_value",
        "Expected a value <= 2, but got 3 instead",
    ),
    (chat(temperature="hot"), "temperature", "invalid_type", "expected a decimal, but got a string instead"),
    (chat(temperature=True), "temperature", "invalid_type", "expected a decimal, but got a boolean instead"),
    (chat(top_p=-0.5), "top_p", "decimal_below_min_value", "Expected a value >= 0, but got -0.5 instead"),
    (chat(n=0), "n", "integer_below_min_value", "Expected a value >= 1, but got 0 instead"),
    (chat(n=1.5), "n", "invalid_type", "expected an integer, but got a decimal instead"),
    (chat(max_tokens=0), "max_tokens", "integer_below_min_value", "Expected a value >= 1"),
    (
        chat(max_tokens=5, max_completion_tokens=5),
        "max_tokens",
        "invalid_parameter_combination",
        "at the same time is not supported",
    ),
    (chat(stop=["1", "2", "3", "4", "5"]), "stop", "array_above_max_length", "maximum length 4"),
    (chat(stream="yes"), "stream", "invalid_type", "expected a boolean"),
    (
        chat(stream_options={"include_usage": True}),
        "stream_options",
        None,
        "only allowed when 'stream' is enabled",
    ),
    (chat(reasoning_effort="low"), None, None, "Unrecognized request argument supplied: reasoning_effort"),
    (
        chat(model="o4-mini", max_tokens=9),
        "max_tokens",
        "unsupported_parameter",
        "Use 'max_completion_tokens'",
    ),
    (chat(model="o4-mini", temperature=0), "temperature", "unsupported_value", "Only the default (1) value"),
    (chat(tools=None), "tools", "invalid_type", "expected an array of objects, but got null instead"),
    (chat(tools=[]), "tools", "empty_array", "empty array"),
    (
        chat(tools=[TOOL] * 129),
        "tools",
        "array_above_max_length",
        "maximum length 128, but got an array with length 129",
    ),
    (chat(tools=tool(name="検索")), "tools[0].function.name", "invalid_value", "'^[a-zA-Z0-9_-]+$'"),
    (chat(tools=tool(name="a\n")), "tools[0].function.name", "invalid_value", "does not match pattern"),
    (
        chat(tools=tool(name="x" * 65)),
        "tools[0].function.name",
        "string_above_max_length",
        "maximum length 64",
    ),
    (
        chat(tools=tool(description="长" * 1025)),
        "tools[0].function.description",
        "string_above_max_length",
        "1024",
    ),
    (chat(tools=tool(parameter={})), "tools[0].function.parameter", "unknown_parameter", "Unknown parameter"),
    (chat(tool_choice="auto"), "tool_choice", None, "only allowed when 'tools' are specified"),
    (chat(parallel_tool_calls=False), "parallel_tool_calls", None, "only allowed when 'tools' are specified"),
    (
        chat(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "fetch"}}),
        "tool_choice",
        None,
        "no function named fetch was specified in the 'tools' parameter",
    ),
    (
        chat(tools=[TOOL], tool_choice="search"),
        "tool_choice",
        "invalid_value",
        "'none', 'auto', and 'required'",
    ),
    (
        chat(response_format={"type": "json_object"}),
        "messages",
        None,
        "must contain the word 'json' in some form",
    ),
    (chat(response_format={"type": "json"}), "response_format.type", "invalid_value", "'json_schema'"),
    (
        chat(response_format={"type": "json_schema", "json_schema": {"schema": {}}}),
        "response_format.json_schema.name",
        "missing_required_parameter",
        "Missing",
    ),
    (
        chat(response_format={"type": "json_schema", "json_schema": {"name": "article"}}),
        "response_format.json_schema.schema",
        "missing_required_parameter",
        "Missing",
    ),
    (chat(messages=[USER, RESULT]), "messages.[1].role", None, "must be a response to a preceeding message"),
    (chat(messages=[ASKING]), "messages", None, "did not have response messages: call_1"),
    (
        chat(messages=[ASKING, USER, RESULT]),
        "messages.[1].role",
        None,
        "did not have response messages: call_1",
    ),
    (
        chat(messages=[ASKING, {**RESULT, "tool_call_id": "call_2"}]),
        "messages.[1].tool_call_id",
        None,
        "'tool_call_id' of 'call_2' not found in 'tool_calls' of previous message",
    ),
    (chat(messages=[ASKING, RESULT, RESULT]), "messages.[2].tool_call_id", None, "not found in 'tool_calls'"),
    (chat(messages=[{**ASKING, "tool_calls": []}]), "messages[0].tool_calls", "empty_array", "empty array"),
    (
        chat(messages=[{**ASKING, "tool_calls": [{**CALL, "id": "c" * 41}]}]),
        "messages[0].tool_calls[0].id",
        "string_above_max_length",
        "maximum length 40",
    ),
    (
        chat(messages=[{**USER, "content": "長い文" * 500}]),
        "messages",
        "context_length_exceeded",
        "1000 tokens",
    ),
]


@pytest.mark.parametrize(("body", "param", "code", "message"), REFUSED)
async def test_a_chat_request_is_refused_in_openais_words(
    host: ScriptedOpenAI, body: dict[str, Any], param: str | None, code: str | None, message: str
) -> None:
    status, answer = await send(host, CHAT, body)
    assert list(answer) == ["error"]
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert message in answer["error"]["message"]
    assert (answer["error"]["param"], answer["error"]["code"]) == (param, code)
    assert host.requests == []
    [refused] = host.refusals
    assert (refused.status, refused.param, refused.code, refused.body) == (400, param, code, body)


TAKEN: list[dict[str, Any]] = [
    chat(temperature=0, top_p=None, n=2, seed=7, user="u", stop="。", metadata={"k": "値"}, store=False),
    chat(
        messages=[USER, ASKING, RESULT, USER], tools=[TOOL], tool_choice="required", parallel_tool_calls=False
    ),
    chat(
        messages=[{"role": "system", "content": "Antworte in JSON."}], response_format={"type": "json_object"}
    ),
    chat(model="o4-mini", reasoning_effort="low", max_completion_tokens=100, temperature=1),
    chat(
        messages=[
            {**USER, "content": [{"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}}]}
        ]
    ),
    chat(tools=tool(strict=None, description="查找")),
    chat(reasoning_effort=None, verbosity="medium", service_tier="flex", modalities=["text"], logprobs=False),
]


@pytest.mark.parametrize("body", TAKEN)
async def test_what_openai_takes_is_taken(body: dict[str, Any]) -> None:
    async with ScriptedOpenAI(lambda _: Text("{}", broken=True), models=("gpt-4.1-mini", "o4-mini")) as host:
        status, answer = await send(host, CHAT, body)
    assert (status, answer.get("error")) == (200, None)
    assert len(answer["choices"]) == body.get("n", 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [("functions", []), ("audio", {}), ("logprobs", True), ("prediction", {}), ("modalities", ["audio"])],
)
async def test_what_is_not_scripted_is_said_to_be_so(host: ScriptedOpenAI, field: str, value: Any) -> None:
    status, answer = await send(host, CHAT, chat(**{field: value}))
    assert (status, answer["error"]["code"], answer["error"]["param"]) == (501, "not_scripted", field)
