"""The scripted Anthropic host refuses what api.anthropic.com refuses, with the same body."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.raw_requests import exchange
from tests.scripted_anthropic.server import ScriptedAnthropic
from tests.scripted_openai.replies import Text

OLD, NEW = "2023-06-01", "2026-10-21"
USER = {"role": "user", "content": "何時ですか"}
TOOL: dict[str, Any] = {"name": "search", "input_schema": {"type": "object", "properties": {}}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "十点"}
ASKING = {"role": "assistant", "content": [CALL]}
ANSWERED = {"role": "user", "content": [RESULT]}
BUDGET = {"type": "enabled", "budget_tokens": 1024}


@pytest.fixture
async def host() -> AsyncIterator[ScriptedAnthropic]:
    """A host with a window of 1000 tokens."""
    async with ScriptedAnthropic(lambda _: Text("{}", broken=True), context_window=1000) as running:
        yield running


def ask(**changes: Any) -> dict[str, Any]:
    """A valid body, changed."""
    return {"model": "claude-sonnet-4-6", "max_tokens": 2000, "messages": [USER], **changes}


def form(**schema: Any) -> dict[str, Any]:
    """A body that wants its text to follow a schema."""
    return ask(output_config={"format": {"type": "json_schema", "schema": schema}})


def closed(**properties: Any) -> dict[str, Any]:
    """An object as structured outputs want it."""
    return {"type": "object", "properties": properties, "additionalProperties": False}


async def send(
    host: ScriptedAnthropic, body: Any, version: str | None = OLD, **more: str
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an answer."""
    headers = {"x-api-key": host.api_key, "content-type": "application/json", **more}
    if version is not None:
        headers["anthropic-version"] = version
    return await exchange(f"{host.base_url}/v1/messages", body, headers)


FORMAT = "output_config.format.schema"
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"model": "claude-sonnet-4-6", "messages": [USER]}, "max_tokens: Field required"),
    ({"model": "claude-sonnet-4-6", "max_tokens": 9}, "messages: Field required"),
    (ask(messages=[]), "messages: List should have at least 1 item"),
    (ask(max_tokens=0), "max_tokens: Input should be greater than or equal to 1"),
    (ask(max_tokens="many"), "max_tokens: Input should be a valid integer"),
    (ask(max_tokens=200_000), "max_tokens: 200000 > 128000, which is the maximum allowed number of output"),
    (ask(temperature=1.5), "temperature: Input should be less than or equal to 1"),
    (ask(temperature=0.5, top_p=0.5), "`temperature` and `top_p` cannot both be specified for this model."),
    (ask(model="claude-sonnet-5", temperature=1), "`temperature` is deprecated for this model."),
    (ask(parallel_tool_calls=False), "parallel_tool_calls: Extra inputs are not permitted"),
    (ask(messages=[{**USER, "name": "山"}]), "messages.0.name: Extra inputs are not permitted"),
    (ask(messages=[{"role": "tool", "content": "?"}]), "messages.0.role: Input should be 'user' or"),
    (ask(messages=[{"role": "user", "content": None}]), "messages.0.content: Input should be a valid list"),
    (
        ask(messages=[USER, {"role": "assistant", "content": [{**CALL, "text": "鍵"}]}]),
        "messages.1.content.0.tool_use.text: Extra inputs are not permitted",
    ),
    (ask(tools=[{"name": "検索", "input_schema": {"type": "object"}}]), "tools.0.custom.name: String should"),
    (ask(tools=[{"name": "search"}]), "tools.0.custom.input_schema: Field required"),
    (
        ask(
            tools=[
                {"name": "search", "input_schema": {"type": "object", "properties": {"a": {"type": "鍵"}}}}
            ]
        ),
        "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    ),
    (ask(tools=[TOOL, TOOL]), "tools: Tool names must be unique."),
    (ask(tool_choice={"type": "any"}), "tool_choice may only be specified while providing tools"),
    (ask(tools=[TOOL], tool_choice={"type": "tool", "name": "fetch"}), "Tool 'fetch' not found in provided"),
    (
        ask(model="claude-sonnet-5-5", tools=[TOOL], tool_choice={"type": "any"}),
        'tool_choice: type "tool" and "any" are not supported for this model.',
    ),
    (
        ask(tools=[TOOL], tool_choice={"type": "any"}, thinking=BUDGET),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (ask(thinking={**BUDGET, "budget_tokens": 9}), "thinking.enabled.budget_tokens: Input should be greater"),
    (ask(thinking=BUDGET, max_tokens=1024), "`max_tokens` must be greater than `thinking.budget_tokens`."),
    (ask(thinking=BUDGET, temperature=0.5), "`temperature` may only be set to 1 when thinking is enabled."),
    (
        ask(model="claude-sonnet-5", thinking=BUDGET),
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"',
    ),
    (
        ask(model="claude-opus-5-5", thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive"',
    ),
    (ask(model="claude-sonnet-5-5", thinking={"type": "disabled"}), 'send "thinking": {"type": "between_too'),
    (ask(messages=[{"role": "user", "content": ""}]), "messages.0: all messages must have non-empty content"),
    (
        ask(messages=[{"role": "user", "content": [{"type": "text", "text": ""}]}]),
        "messages: text content blocks must be non-empty",
    ),
    (
        ask(messages=[USER, {"role": "assistant", "content": "Es ist"}]),
        "This model does not support assistant message prefill.",
    ),
    (
        {**form(**closed()), "messages": [USER, {"role": "assistant", "content": "{"}]},
        "Your API request included an `assistant` message in the final position",
    ),
    (ask(messages=[USER, ASKING]), "messages.1: `tool_use` ids were found without `tool_result` blocks"),
    (
        ask(messages=[USER, ASKING, {"role": "user", "content": [{"type": "text", "text": "だ"}, RESULT]}]),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
    ),
    (
        ask(messages=[USER, ASKING, {"role": "user", "content": [RESULT, RESULT]}]),
        "messages.2.content.1: each tool_use must have a single result.",
    ),
    (
        ask(messages=[ANSWERED]),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks",
    ),
    (ask(messages=[{"role": "user", "content": "长" * 2000}]), "prompt is too long: "),
    (
        ask(output_format={"type": "json_schema", "schema": closed()}),
        "output_format: Extra inputs are not permitted",
    ),
    (form(type="object", properties={}), f"{FORMAT}: For 'object' type, 'additionalProperties' must be"),
    (form(**{**closed(), "additionalProperties": True}), "'additionalProperties: true' is not supported."),
    (
        form(**closed(a={"type": "array", "items": {"type": "string"}, "maxItems": 3})),
        f"{FORMAT}: For 'array' type, property 'maxItems' is not supported",
    ),
    (
        form(**closed(a={"type": "array", "items": {"type": "string"}, "minItems": 2})),
        f"{FORMAT}: For 'array' type, 'minItems' values other than 0 or 1 are not supported",
    ),
    (
        form(**closed(a={"type": "integer", "minimum": 1, "maximum": 5})),
        "properties maximum, minimum are not",
    ),
    (form(**closed(a={"type": "string", "maxLength": 9})), "property 'maxLength' is not supported"),
    (form(**closed(a={"oneOf": [{"type": "string"}]})), f"{FORMAT}: Schema type 'oneOf' is not supported"),
    (form(**closed(a={"$ref": "#"})), "Recursive schemas are not supported"),
    (ask(tools=[{**TOOL, "strict": True}]), "tools.0.custom.input_schema: For 'object' type, 'additional"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
async def test_what_anthropic_refuses_is_refused_in_its_words(
    host: ScriptedAnthropic, body: dict[str, Any], message: str
) -> None:
    status, answer = await send(host, body)
    assert status == 400
    assert message in answer["error"]["message"]
    assert (answer["type"], answer["error"]["type"]) == ("error", "invalid_request_error")
    assert answer["request_id"].startswith("req_")
    assert host.refusals[-1].message == answer["error"]["message"]


TAKEN: list[dict[str, Any]] = [
    ask(temperature=0, stop_sequences=["。"], metadata={"user_id": "u"}, service_tier="auto"),
    ask(model="claude-sonnet-4-5", messages=[USER, {"role": "assistant", "content": "Es ist"}]),
    ask(messages=[USER, USER, ASKING, ANSWERED], tools=[TOOL]),
    ask(messages=[USER, ASKING, ANSWERED]),
    ask(system=[{"type": "text", "text": "規則", "cache_control": {"type": "ephemeral"}}]),
    ask(model="claude-sonnet-5", tools=[TOOL], tool_choice={"type": "tool", "name": "search"}),
    ask(model="claude-sonnet-5-5", thinking={"type": "between_tools"}, output_config={"effort": "low"}),
    form(**closed(a={"type": "string", "format": "uri", "pattern": "鍵"}, b={"enum": ["密", None]})),
    form(**{**closed(a={"$ref": "#/$defs/A"}, b={"$ref": "#/$defs/A"}), "$defs": {"A": closed()}}),
    ask(tools=[{**TOOL, "strict": True, "input_schema": closed(q={"type": ["string", "null"]})}]),
]


@pytest.mark.parametrize("body", TAKEN)
async def test_what_anthropic_takes_is_taken(host: ScriptedAnthropic, body: dict[str, Any]) -> None:
    status, answer = await send(host, body)
    assert (status, answer.get("error")) == (200, None)


@pytest.mark.parametrize("setting", ["temperature", "top_p", "top_k"])
async def test_the_version_of_october_2026_has_no_sampling_settings(
    host: ScriptedAnthropic, setting: str
) -> None:
    status, answer = await send(host, ask(**{setting: 1}), NEW)
    assert (status, answer["error"]["message"]) == (400, f"{setting}: Extra inputs are not permitted")
    assert (await send(host, ask(**{setting: 1}), OLD))[0] == 200


async def test_the_beta_of_structured_outputs_has_a_field_of_its_own(host: ScriptedAnthropic) -> None:
    body = ask(output_format={"type": "json_schema", "schema": closed(a={"type": "string"})})
    beta = {"anthropic-beta": "structured-outputs-2025-11-13"}
    assert (await send(host, body, **beta))[0] == 200
    assert host.requests[-1].response_format.schema == closed(a={"type": "string"})


async def test_keys_versions_models_and_addresses_are_known(host: ScriptedAnthropic) -> None:
    async def error_of(body: Any = b"", url: str = "/v1/messages", **headers: str) -> tuple[int, str, str]:
        status, answer = await exchange(host.base_url + url, body, headers)
        return status, answer["error"]["type"], answer["error"]["message"]

    key, version = {"x-api-key": host.api_key}, {"anthropic-version": NEW}
    bearer = {"authorization": "Bearer sk-ant-密".encode().decode("latin-1")}
    assert await error_of() == (401, "authentication_error", "x-api-key header is required")
    assert await error_of(**{"x-api-key": "sk"}) == (401, "authentication_error", "invalid x-api-key")
    assert (await error_of(**bearer))[2] == "Invalid bearer token"
    assert await error_of(**key) == (
        400,
        "invalid_request_error",
        "anthropic-version: header is required",
    )
    assert (await error_of(**key, **{"anthropic-version": "2020"}))[2].endswith("is not a valid version")
    assert (await error_of(b"{", **key, **version))[2].startswith("The request body is not valid JSON")
    assert (await error_of([1], **key, **version))[2].endswith("expected an object")
    assert await error_of(ask(model="克劳德"), **key, **version) == (404, "not_found_error", "model: 克劳德")
    assert (await error_of(url="/v1/complete", **key))[:2] == (404, "not_found_error")
    status, _, message = await error_of(ask(container="c"), **key, **version)
    assert (status, "does not serve 'container'" in message) == (501, True)
