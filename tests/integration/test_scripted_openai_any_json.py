"""Whatever JSON the scripted OpenAI host is sent, it answers or refuses it, and never breaks."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.scripted_openai.chat_rules import check_rules
from tests.scripted_openai.chat_shape import check_shape
from tests.scripted_openai.completion import completion, stream
from tests.scripted_openai.embeddings import check_embedding_shape, embedding_answer, parse_embedding
from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.plausible import no_model_says
from tests.scripted_openai.replies import Call, Text, ToolCalls
from tests.scripted_openai.request import parse_chat

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

words = st.sampled_from(
    ["", "function", "object", "array", "string", "#", "#/$defs/part", "(", "鍵", "密码", "json"]
)
keys = st.sampled_from(
    [*SCHEMA, "items", "anyOf", "oneOf", "enum", "const", "format", "minItems", "role", "content", "x"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-2, 3) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=4,
)
# A place by its number, what happens there, and the value that it takes.
changes = st.lists(
    st.tuples(st.integers(0), st.sampled_from(["set", "add", "remove"]), keys, values), min_size=1, max_size=3
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys, from the outside in."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from places(inner)


def changed(body: dict[str, Any], steps: list[tuple[int, str, str, Any]]) -> dict[str, Any]:
    """A copy with something set, added or removed."""
    body = copy.deepcopy(body)
    for number, step, new_key, value in steps:
        found = list(places(body))
        if not found:
            break
        container, key = found[number % len(found)]
        if step == "remove":
            del container[key]
        elif step == "add" and isinstance(container, dict):
            container[new_key] = value
        else:
            container[key] = value
    return body


@given(changes)
def test_any_chat_request_is_answered_or_refused(steps: list[tuple[int, str, str, Any]]) -> None:
    body = changed(CHAT, steps)
    with contextlib.suppress(Refusal):
        check_shape(body)
        check_rules(body, 100_000)
        request = parse_chat(body, 1, {})
        assert len(request.tool_results) == sum(message.role == "tool" for message in request.messages)
        for reply in (
            Text('{"parts": ["鍵"], "day": null, "count": 2}'),
            ToolCalls([Call("look", {"parts": ["x"], "day": "2026-11-30", "count": None})]),
        ):
            no_model_says(request, reply)
            assert completion(request, reply)["choices"]
            assert list(stream(request, reply))[-1] == b"data: [DONE]\n\n"


@given(changes)
def test_any_embedding_request_is_answered_or_refused(steps: list[tuple[int, str, str, Any]]) -> None:
    body = changed(EMBEDDING, steps)
    with contextlib.suppress(Refusal):
        check_embedding_shape(body)
        request = parse_embedding(body, 1536, 1, {})
        assert len(embedding_answer(request)["data"]) == len(request.inputs) > 0
