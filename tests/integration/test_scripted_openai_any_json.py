"""Whatever JSON the scripted OpenAI host is sent, it answers or refuses it, and never breaks."""

import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.integration.changed_json import Steps, changed, changes
from tests.scripted_openai.chat_rules import check_rules
from tests.scripted_openai.chat_shape import check_shape
from tests.scripted_openai.completion import completion, stream
from tests.scripted_openai.embeddings import check_embedding_shape, embedding_answer, parse_embedding
from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.family import FAMILIES, Family
from tests.scripted_openai.family_rules import check_family, standard
from tests.scripted_openai.parse import parse_chat
from tests.scripted_openai.plausible import no_model_says
from tests.scripted_openai.replies import Call, Text, ToolCalls

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}, "maxItems": 3},
        "day": {"anyOf": [{"type": "string", "format": "date", "enum": ["2026-11-30"]}, {"type": "null"}]},
        "count": {"type": ["number", "null"], "minimum": 1, "multipleOf": 2},
    },
    "required": ["parts", "day", "count"],
    "additionalProperties": False,
    "$defs": {"part": {"type": "string", "pattern": "鍵", "minLength": 1}},
}
CHAT: dict[str, Any] = {
    "model": "gpt-4.1-mini",
    "messages": [
        {"role": "system", "content": "JSON, 请"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "鍵"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "密码"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "look", "strict": True, "parameters": SCHEMA}},
        {"type": "function", "function": {"name": "find", "description": "?", "parameters": SCHEMA}},
    ],
    "tool_choice": {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "look"}}]},
    },
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "n", "strict": True, "schema": SCHEMA},
    },
    "stream": True,
    "stream_options": {"include_usage": True},
    "stop": ["。"],
    "temperature": 1,
    "max_tokens": 100,
    "metadata": {"a": "b"},
    "logit_bias": {"1": 5},
}
EMBEDDING: dict[str, Any] = {
    "model": "m",
    "input": ["鍵", "密码"],
    "dimensions": 8,
    "encoding_format": "float",
}


@given(changes, st.sampled_from(FAMILIES))
def test_any_chat_request_is_answered_or_refused(steps: Steps, family: Family) -> None:
    body = changed(CHAT, steps)
    with contextlib.suppress(Refusal):
        asked = standard(body, family)
        check_shape(asked)
        check_rules(asked, 100_000, family)
        check_family(body, family)
        request = parse_chat(body, 1, {}, family)
        assert len(request.tool_results) == sum(message.role == "tool" for message in request.messages)
        for reply in (
            Text('{"parts": ["鍵"], "day": null, "count": 2}'),
            ToolCalls([Call("look", {"parts": ["x"], "day": "2026-11-30", "count": None})]),
        ):
            no_model_says(request, reply)
            assert completion(request, reply)["choices"]
            assert list(stream(request, reply))[-1] == b"data: [DONE]\n\n"


@given(changes)
def test_any_embedding_request_is_answered_or_refused(steps: Steps) -> None:
    body = changed(EMBEDDING, steps)
    with contextlib.suppress(Refusal):
        check_embedding_shape(body)
        request = parse_embedding(body, 1536, 1, {})
        assert len(embedding_answer(request)["data"]) == len(request.inputs) > 0
