"""The scripted Google host refuses what generativelanguage.googleapis.com refuses, with the same body."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.raw_requests import exchange
from tests.scripted_google.server import ScriptedGoogle
from tests.scripted_openai.replies import Text

NEW, OLD = "gemini-3.5-flash", "gemini-2.5-flash"
USER = {"role": "user", "parts": [{"text": "何時ですか"}]}
CALL_PARTS = [{"functionCall": {"name": "search", "args": {}}}]
CALL = {"role": "model", "parts": CALL_PARTS}
RESULT = {"role": "user", "parts": [{"functionResponse": {"name": "search", "response": {"result": "十点"}}}]}
TEXT = {"type": "string"}


@pytest.fixture
async def host() -> AsyncIterator[ScriptedGoogle]:
    """A host with a window of 1000 tokens."""
    async with ScriptedGoogle(lambda _: Text("{}", broken=True), context_window=1000) as running:
        yield running


def ask(*contents: Any, **changes: Any) -> dict[str, Any]:
    """A valid body, changed."""
    return {"contents": list(contents) or [USER], **changes}


def offer(*functions: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A body with these functions."""
    return ask(tools=[{"functionDeclarations": list(functions)}], **changes)


def calling(mode: str, *allowed: str) -> dict[str, Any]:
    """A choice among functions."""
    return {"functionCallingConfig": {"mode": mode, "allowedFunctionNames": list(allowed)}}


def parameters(**schema: Any) -> dict[str, Any]:
    """A function with parameters of the OpenAPI kind."""
    return {"name": "search", "parameters": schema}


async def send(
    host: ScriptedGoogle, body: Any, model: str = OLD, path: str = "", **headers: str
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an answer."""
    url = f"{host.base_url}{path or f'/v1beta/models/{model}:generateContent'}"
    sent = {"x-goog-api-key": host.api_key, "content-type": "application/json", **headers}
    return await exchange(url, body, sent)


JSON = {"responseMimeType": "application/json"}
PARAMETERS = "tools[0].function_declarations[0].parameters"
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "* GenerateContentRequest.contents: contents is not specified"),
    (ask({"role": "user", "parts": []}), "contents[0].parts: contents.parts must not be empty."),
    (
        ask({"role": "user", "parts": [{}]}),
        "contents[0].parts[0].data: required oneof field 'data' must have",
    ),
    (ask({"role": "system", "parts": [{"text": "?"}]}), "Please use a valid role: user, model."),
    (ask(messages=[]), 'Invalid JSON payload received. Unknown name "messages": Cannot find field.'),
    (
        ask({"role": "user", "parts": [{"text": "?", "type": "text"}]}),
        "Invalid JSON payload received. Unknown name \"type\" at 'contents[0].parts[0]': Cannot find field.",
    ),
    (
        ask({"role": "user", "parts": [{"text": 7}]}),
        "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 7",
    ),
    (ask({"role": 7, "parts": []}), "Invalid value at 'contents[0].role' (TYPE_STRING), 7"),
    (ask(generationConfig={"maxTokens": 9}), "Unknown name \"maxTokens\" at 'generation_config'"),
    (ask(generationConfig={"temperature": 3}), "generation_config.temperature: temperature must be in the"),
    (ask(generationConfig={"topP": 2}), "generation_config.top_p: "),
    (ask(generationConfig={"maxOutputTokens": 0}), "max_output_tokens must be positive."),
    (ask(generationConfig={"stopSequences": list("abcdef")}), "at most 5 stop sequences"),
    (ask(generationConfig={"responseMimeType": "text/html"}), "response_mime_type: allowed mimetypes are"),
    (
        ask(generationConfig={"responseSchema": TEXT}),
        "only allowed with response_mime_type `application/json`.",
    ),
    (
        ask(generationConfig={**JSON, "responseSchema": TEXT, "responseJsonSchema": TEXT}),
        "only one of response_",
    ),
    (
        ask(generationConfig={"thinkingConfig": {"thinkingLevel": "low"}}),
        "Thinking level is not supported for",
    ),
    (
        ask(generationConfig={"thinkingConfig": {"thinkingLevel": "low", "thinkingBudget": 9}}),
        "You can only set only one of thinking budget and thinking level.",
    ),
    (
        offer({"name": "検索"}),
        "function_declarations[0].name: Invalid function name. Must start with a letter",
    ),
    (offer({"name": "search"}, {"name": "search"}), "Duplicate function declaration found: search"),
    (
        offer(parameters(type="object", properties={})),
        f"{PARAMETERS}.properties: should be non-empty for OBJECT",
    ),
    (
        offer(parameters(type="OBJECT", properties={"a": {"type": "ARRAY"}})),
        f"{PARAMETERS}.properties[a].items: missing field.",
    ),
    (
        offer(parameters(type="OBJECT", properties={"a": TEXT}, required=["b"])),
        f"{PARAMETERS}.required[0]: property is not defined",
    ),
    (
        offer(parameters(type="object", properties={"a": TEXT, "b": {"const": "鍵"}})),
        f"Unknown name \"const\" at '{PARAMETERS}.properties[1].value': Cannot find field.",
    ),
    (
        offer(parameters(type="object", properties={"a": TEXT}, additionalProperties=False)),
        f"Unknown name \"additionalProperties\" at '{PARAMETERS}': Cannot find field.",
    ),
    (
        offer(parameters(type="object", properties={"a": {"type": ["string", "null"]}})),
        f"Unknown name \"type\" at '{PARAMETERS}.properties[0].value': Proto field is not repeating, cannot",
    ),
    (
        offer({"name": "search", "parametersJsonSchema": {}, "parameters": TEXT}),
        "only one of parameters and parameters_json_schema can be set",
    ),
    (
        offer({"name": "search"}, toolConfig=calling("ANY", "fetch")),
        "Allowed function name fetch is not one of",
    ),
    (
        offer({"name": "search"}, toolConfig=calling("AUTO", "search")),
        "can only be set with the function calling",
    ),
    (offer({"name": "search", "parametersJsonSchema": {"type": "鍵"}}), "is not a valid JSON Schema: '鍵'"),
    (ask(toolConfig=calling("ANY")), "Function calling config is set without function_declarations."),
    (
        offer({"name": "search"}, generationConfig=JSON),
        "Function calling with a response mime type: 'application/json' is unsupported",
    ),
    (
        ask(CALL, RESULT),
        "function call turn comes immediately after a user turn or after a function response",
    ),
    (ask(USER, RESULT), "function response turn comes immediately after a function call turn."),
    (ask(USER, CALL), "the number of function response parts is equal to the number of function call parts"),
    (ask(USER, CALL, USER), "the number of function response parts is equal to the number of function call"),
    (
        ask(USER, {"role": "model", "parts": [*CALL_PARTS, *CALL_PARTS]}, RESULT),
        "the number of function response parts is equal to the number of function call parts",
    ),
    (ask({"role": "user", "parts": [{"text": "长" * 2000}]}), "The input token count (144"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
async def test_what_google_refuses_is_refused_in_its_words(
    host: ScriptedGoogle, body: dict[str, Any], message: str
) -> None:
    status, answer = await send(host, body)
    assert message in answer["error"]["message"]
    assert (status, answer["error"]["code"], answer["error"]["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert host.refusals[-1].message == answer["error"]["message"]


TAKEN: list[dict[str, Any]] = [
    ask(system_instruction={"parts": [{"text": "規則"}]}, generation_config={"max_output_tokens": 99}),
    ask(generationConfig={"seed": 7, "topK": 40, "stopSequences": ["。"], "responseMimeType": "text/plain"}),
    ask(USER, CALL, RESULT, {"role": "model", "parts": [{"text": "好"}]}, USER),
    offer(
        parameters(type="object", properties={"a": {"type": "string", "nullable": True, "minLength": "1"}})
    ),
    offer(
        {"name": "search", "parametersJsonSchema": {"type": "object", "$defs": {}}},
        toolConfig=calling("NONE"),
    ),
    ask(safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]),
    ask({"parts": [{"text": "?"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]}),
    ask(generationConfig={**JSON, "responseJsonSchema": {"$ref": "#/$defs/A", "$defs": {"A": TEXT}}}),
]


@pytest.mark.parametrize("body", TAKEN)
async def test_what_google_takes_is_taken(host: ScriptedGoogle, body: dict[str, Any]) -> None:
    status, answer = await send(host, body)
    assert (status, answer.get("error")) == (200, None)


async def test_all_unknown_fields_are_named_with_their_places(host: ScriptedGoogle) -> None:
    _, answer = await send(host, offer({"name": "search", "strict": True}, seed=7))
    [details] = answer["error"]["details"]
    assert details["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert [one.get("field") for one in details["fieldViolations"]] == [
        "tools[0].function_declarations[0]",
        None,
    ]
    assert answer["error"]["message"].count("Cannot find field.") == 2


async def test_keys_models_and_addresses_are_known(host: ScriptedGoogle) -> None:
    status, answer = await send(host, ask(), **{"x-goog-api-key": ""})
    assert (status, answer["error"]["status"]) == (403, "PERMISSION_DENIED")
    status, answer = await send(host, ask(), **{"x-goog-api-key": "AIza"})
    assert (status, answer["error"]["details"][0]["reason"]) == (400, "API_KEY_INVALID")
    by_query = f"/v1beta/models/{NEW}:generateContent?key={host.api_key}"
    assert (await send(host, ask(), path=by_query, **{"x-goog-api-key": ""}))[0] == 200
    status, answer = await send(host, ask(), "gemini-pro")
    assert (status, answer["error"]["status"]) == (404, "NOT_FOUND")
    assert answer["error"]["message"].startswith("models/gemini-pro is not found for API version v1beta")
    assert (await send(host, ask(), path="/v1/models"))[0] == 404
    assert (await send(host, ask(), path=f"/v1beta/models/{NEW}:streamGenerateContent"))[0] == 501
    assert (await send(host, ask(cachedContent="c")))[0] == 501
    assert (await send(host, ask(tools=[{"googleSearch": {}}])))[0] == 501
    for broken in (b"{", b"[]", '{"contents": "密'.encode("gbk")):
        status, answer = await send(host, broken)
        assert (status, answer["error"]["message"][:29]) == (400, "Invalid JSON payload received")
