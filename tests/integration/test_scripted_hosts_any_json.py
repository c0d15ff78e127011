"""Whatever JSON the hosts of other wires are sent, they answer or refuse it, and never break."""

import contextlib
from typing import Any

from hypothesis import given

from tests.integration.changed_json import Steps, changed, changes
from tests.scripted_anthropic import rules as anthropic_rules
from tests.scripted_anthropic.message import message
from tests.scripted_anthropic.parse import parse_message_request
from tests.scripted_anthropic.shape import read_request as read_message_request
from tests.scripted_anthropic.stream import stream
from tests.scripted_google import rules as google_rules
from tests.scripted_google.parse import parse_generate
from tests.scripted_google.response import response as google_response
from tests.scripted_google.shape import read_request as read_generate_request
from tests.scripted_openai.billing import tokens_of
from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.plausible import no_model_says
from tests.scripted_openai.replies import Call, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.responses import items_of, parse_response, response
from tests.scripted_openai.responses_rules import check_response_rules
from tests.scripted_openai.responses_shape import check_response_shape

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}},
        "day": {"anyOf": [{"type": "string", "format": "date", "enum": ["2026-11-30"]}, {"type": "null"}]},
    },
    "required": ["parts", "day"],
    "additionalProperties": False,
    "$defs": {"part": {"type": "string", "pattern": "鍵"}},
}
OPEN_API: dict[str, Any] = {
    "type": "OBJECT",
    "properties": {
        "parts": {"type": "array", "items": {"type": "string", "minLength": "1"}},
        "day": {"type": "string"},
    },
    "required": ["parts"],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5-mini",
    "instructions": "JSON, 请",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "鍵"}, {"type": "input_image"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "密码"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "好"}]},
    ],
    "tools": [{"type": "function", "name": "look", "strict": True, "parameters": SCHEMA}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}},
    "reasoning": {"effort": "low", "summary": "auto"},
    "max_output_tokens": 100,
    "metadata": {"a": "b"},
}
MESSAGES: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 3000,
    "system": [{"type": "text", "text": "規則"}],
    "messages": [
        {"role": "user", "content": "鍵"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {"q": 1}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "密码"}]},
    ],
    "tools": [{"name": "look", "strict": True, "input_schema": SCHEMA}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    "thinking": {"type": "adaptive"},
    "stop_sequences": ["。"],
}
GENERATE: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "規則"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "鍵"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "eA=="}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"result": "密码"}}}]},
    ],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "look", "parameters": OPEN_API},
                {"name": "find", "parametersJsonSchema": SCHEMA},
            ]
        }
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED", "allowedFunctionNames": ["look"]}},
    "generationConfig": {
        "responseMimeType": "application/json",
        "responseSchema": OPEN_API,
        "maxOutputTokens": 100,
        "stopSequences": ["。"],
        "thinkingConfig": {"includeThoughts": True},
    },
}
SAID = Text('{"parts": ["鍵"], "day": null}')
CALLED = ToolCalls([Call("look", {"parts": ["x"], "day": "2026-11-30"})])


def held_to_account(request: ChatRequest) -> None:
    """What every host does with a request that it has taken."""
    assert len(request.tool_results) == sum(one.role == "tool" for one in request.messages)
    assert tokens_of(request) > 0
    no_model_says(request, SAID)
    no_model_says(request, CALLED)


@given(changes)
def test_any_request_of_the_responses_api_is_answered_or_refused(steps: Steps) -> None:
    body = changed(RESPONSES, steps)
    with contextlib.suppress(Refusal):
        check_response_shape(body)
        items = items_of(body)
        check_response_rules(body, items, {"fc_1": "rs_1"})
        request = parse_response(body, items, 1, {})
        held_to_account(request)
        assert response(request, SAID)["output"]
        assert response(request, CALLED)["output"]


@given(changes)
def test_any_message_request_is_answered_or_refused(steps: Steps) -> None:
    body = changed(MESSAGES, steps)
    with contextlib.suppress(Refusal):
        asked = read_message_request(body)
        anthropic_rules.check_rules(asked, body, {"anthropic-version": "2026-10-21"})
        request = parse_message_request(asked, body, 1, {})
        held_to_account(request)
        for reply in (SAID, CALLED):
            whole = message(request, reply)
            assert whole["content"]
            assert b"message_stop" in list(stream(whole))[-1]


@given(changes)
def test_any_generate_request_is_answered_or_refused(steps: Steps) -> None:
    body = changed(GENERATE, steps)
    with contextlib.suppress(Refusal):
        asked = read_generate_request(body)
        google_rules.check_rules(asked, "gemini-3.5-flash")
        request = parse_generate(asked, "gemini-3.5-flash", body, 1, {})
        held_to_account(request)
        assert google_response(request, SAID)["candidates"]
        assert google_response(request, CALLED)["candidates"]
