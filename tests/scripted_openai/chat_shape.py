"""Which fields a chat completion request has, and of what type: OpenAI's OpenAPI description as a table.

From `CreateChatCompletionRequest` and what it refers to (openai/openai-openapi, August 2026) and the `openai`
package's types. Null is allowed where the description says so, and nowhere else.
"""

from typing import Any

from tests.scripted_openai.errors import Refusal, not_scripted
from tests.scripted_openai.shapes import (
    Check,
    anything,
    array,
    boolean,
    by,
    decimal,
    fields,
    integer,
    json_object,
    mapping,
    missing,
    nullable,
    one_of,
    string,
    string_or,
)

NAME = "^[a-zA-Z0-9_-]+$"
LONGEST_NAME = 64
# Quoted until April 2025 (getsentry/sentry-mcp#106); no later word that it has gone.
LONGEST_DESCRIPTION = 1024
LONGEST_CALL_ID = 40
MOST_TOOLS = 128

name = string(LONGEST_NAME, NAME)
cache_breakpoint = fields({"mode": one_of("explicit")}, {"ttl": one_of("30m", "12h")})
CACHED: dict[str, Check] = {"prompt_cache_breakpoint": cache_breakpoint}

text_part = fields({"type": anything, "text": string()}, CACHED)
refusal_part = fields({"type": anything, "refusal": string()})
image_url = fields({"url": string()}, {"detail": one_of("auto", "low", "high", "original")})
image_part = fields({"type": anything, "image_url": image_url}, CACHED)
audio_data = fields({"data": string(), "format": one_of("wav", "mp3")})
audio_part = fields({"type": anything, "input_audio": audio_data}, CACHED)
file_part = fields(
    {
        "type": anything,
        "file": fields({}, {"file_data": string(), "file_id": string(), "filename": string()}),
    },
    CACHED,
)


def content(**variants: Check) -> Check:
    """A string, or parts of these types."""
    return string_or(array(by("type", variants)), list, "one of a string or array of objects")


only_text = content(text=text_part)
from_user = content(text=text_part, image_url=image_part, input_audio=audio_part, file=file_part)
from_assistant = content(text=text_part, refusal=refusal_part)


def present(inner: Check) -> Check:
    """Content that has to be there: for null the host has a sentence of its own."""

    def check(value: Any, path: str) -> None:
        if value is None:
            raise Refusal(
                "Invalid value for 'content': expected a string, got null.", path.replace("[", ".[")
            )
        inner(value, path)

    return check


def unserved(value: Any, path: str) -> None:
    """Documented by OpenAI, not served here."""
    raise not_scripted(path)


function_call = fields({"name": name, "arguments": string()})
tool_call = by(
    "type",
    {
        "function": fields({"id": string(LONGEST_CALL_ID), "type": anything, "function": function_call}),
        "custom": unserved,
    },
)
said = fields({"role": anything, "content": present(only_text)}, {"name": name})
message = by(
    "role",
    {
        "system": said,
        "assistant": fields(
            {"role": anything},
            {
                "content": nullable(from_assistant),
                "refusal": nullable(string()),
                "name": name,
                "audio": nullable(unserved),
                "tool_calls": array(tool_call),
                "function_call": nullable(unserved),
                # Not in the description of requests, but part of each answer, and OpenAI's own examples send
                # the answer back as it is.
                "annotations": nullable(array(json_object, empty=True)),
            },
        ),
        "user": fields({"role": anything, "content": present(from_user)}, {"name": name}),
        "function": unserved,
        "tool": fields(
            {"role": anything, "content": present(only_text), "tool_call_id": string()},
            {"name": name},  # not described, but OpenAI's cookbook sends it
        ),
        "developer": said,
    },
)

function = fields(
    {"name": name},
    {"description": string(LONGEST_DESCRIPTION), "parameters": json_object, "strict": nullable(boolean)},
)
tool = by("type", {"function": fields({"type": anything, "function": function}), "custom": unserved})
named_tool = fields({"type": anything, "function": fields({"name": string()})})
allowed_tools = fields(
    {
        "mode": one_of("auto", "required"),
        "tools": array(by("type", {"function": named_tool, "custom": unserved})),
    }
)
tool_choice_object = by(
    "type",
    {
        "function": named_tool,
        "allowed_tools": fields({"type": anything, "allowed_tools": allowed_tools}),
        "custom": unserved,
    },
)


def tool_choice(value: Any, path: str) -> None:
    """`none`, `auto`, `required`, one function, or some of the tools."""
    if isinstance(value, dict):
        tool_choice_object(value, path)
    else:
        one_of("none", "auto", "required")(value, path)


# `schema` is optional in the description; without one there is nothing to adhere to.
json_schema = fields(
    {"name": name, "schema": json_object}, {"description": string(), "strict": nullable(boolean)}
)
response_format = by(
    "type",
    {
        "json_object": fields({"type": anything}),
        "json_schema": fields({"type": anything, "json_schema": json_schema}),
        "text": fields({"type": anything}),
    },
)


def modalities(value: Any, path: str) -> None:
    """Text, which is the default, and nothing else."""
    array(one_of("text", "audio"), of="strings")(value, path)
    if "audio" in value:
        raise not_scripted(path)


def no_logprobs(value: Any, path: str) -> None:
    """False is the default; log probabilities are not scripted."""
    boolean(value, path)
    if value:
        raise not_scripted(path)


FIELDS: dict[str, Check] = {
    "messages": array(message),
    "model": string(),
    "audio": nullable(unserved),
    "frequency_penalty": nullable(decimal(-2, 2)),
    "function_call": unserved,
    "functions": unserved,
    "logit_bias": nullable(mapping(integer(-100, 100))),
    "logprobs": nullable(no_logprobs),
    "max_completion_tokens": nullable(integer(1)),
    "max_tokens": nullable(integer(1)),
    "metadata": nullable(mapping(string(512), most=16)),
    "modalities": nullable(modalities),
    "moderation": nullable(unserved),
    "n": nullable(integer(1, 128)),
    "parallel_tool_calls": boolean,
    "prediction": nullable(unserved),
    "presence_penalty": nullable(decimal(-2, 2)),
    "prompt_cache_key": nullable(string()),
    "prompt_cache_options": fields({}, {"mode": one_of("implicit", "explicit"), "ttl": one_of("30m")}),
    "prompt_cache_retention": nullable(one_of("in_memory", "24h")),
    "reasoning_effort": nullable(one_of("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    "response_format": response_format,
    "safety_identifier": nullable(string(128)),
    "seed": nullable(integer(-(2**63), 2**63 - 1)),
    "service_tier": nullable(one_of("auto", "default", "flex", "scale", "priority", "fast")),
    "stop": nullable(
        string_or(array(string(), most=4, of="strings"), list, "one of a string or array of strings")
    ),
    "store": nullable(boolean),
    "stream": nullable(boolean),
    "stream_options": nullable(fields({}, {"include_obfuscation": boolean, "include_usage": boolean})),
    "temperature": nullable(decimal(0, 2)),
    "tool_choice": tool_choice,
    "tools": array(tool, most=MOST_TOOLS),
    "top_logprobs": nullable(unserved),
    "top_p": nullable(decimal(0, 1)),
    "user": string(),
    "verbosity": nullable(one_of("low", "medium", "high")),
    "web_search_options": unserved,
}


def check_shape(body: dict[str, Any]) -> None:
    """Refuses fields that do not exist, are missing, or are of the wrong type or size."""
    if "model" not in body:
        raise Refusal("you must provide a model parameter")
    if "messages" not in body:
        raise missing("messages")
    if unknown := [field for field in body if field not in FIELDS]:
        plural = "s" if len(unknown) > 1 else ""
        raise Refusal(f"Unrecognized request argument{plural} supplied: {', '.join(unknown)}")
    for field, value in body.items():
        FIELDS[field](value, field)
