"""Which fields a request of the Responses API has, and of what type: `CreateResponse` as a table.

From OpenAI's OpenAPI description and the types of the `openai` package. Where a sentence is not that of chat
completions, it is one that people quote of this API.
"""

from typing import Any

from tests.scripted_openai.chat_shape import (
    LONGEST_DESCRIPTION,
    MOST_TOOLS,
    cache_breakpoint,
    content,
    name,
    unserved,
)
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
    nullable,
    one_of,
    string,
)

LEAST_OUTPUT = 16  # tokens
LONGEST_CALL_ID = 64
# Fields of chat completions, and where they have gone (mkht/PSOpenAI#44).
MOVED = {
    "messages": "input",
    "response_format": "text.format",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
}

status = nullable(one_of("in_progress", "completed", "incomplete"))
phase = nullable(one_of("commentary", "final_answer"))
text_part = fields({"type": anything, "text": string()}, {"prompt_cache_breakpoint": cache_breakpoint})
image_part = fields(
    {"type": anything},
    {
        "image_url": nullable(string()),
        "file_id": nullable(string()),
        "detail": nullable(one_of("auto", "low", "high", "original")),
    },
)
file_part = fields(
    {"type": anything},
    {
        "file_data": nullable(string()),
        "file_id": nullable(string()),
        "file_url": nullable(string()),
        "filename": nullable(string()),
        "detail": nullable(string()),
    },
)
said_part = fields(
    {"type": anything, "text": string()},
    {"annotations": array(json_object, empty=True), "logprobs": nullable(array(json_object, empty=True))},
)
refusal_part = fields({"type": anything, "refusal": string()})
to_model = content(input_text=text_part, input_image=image_part, input_file=file_part)
from_model = content(output_text=said_part, refusal=refusal_part)


def identity(prefix: str) -> Check:
    """An id of an item, which says by its beginning what it is (continuedev/continue#11785)."""

    def check(value: Any, path: str) -> None:
        string(LONGEST_CALL_ID)(value, path)
        if not value.startswith(prefix):
            raise Refusal(
                f"Invalid '{path}': '{value}'. Expected an ID that begins with '{prefix}'.",
                path,
                "invalid_value",
            )

    return check


TYPED = {"type": anything, "status": status, "phase": phase}
message = by(
    "role",
    {
        "user": fields({"role": anything, "content": to_model}, TYPED),
        "system": fields({"role": anything, "content": to_model}, TYPED),
        "developer": fields({"role": anything, "content": to_model}, TYPED),
        "assistant": fields({"role": anything, "content": from_model}, {**TYPED, "id": identity("msg")}),
    },
)
call_id = string(LONGEST_CALL_ID)
CALLER = {"caller": nullable(json_object), "namespace": nullable(string())}
typed_item = by(
    "type",
    {
        "message": message,
        "function_call": fields(
            {"type": anything, "call_id": call_id, "name": name, "arguments": string()},
            {"id": identity("fc"), "status": status, **CALLER},
        ),
        "function_call_output": fields(
            {"type": anything, "call_id": call_id, "output": to_model},
            {"id": nullable(string()), "status": status, "name": nullable(string()), **CALLER},
        ),
        "reasoning": fields(
            {"type": anything, "id": identity("rs"), "summary": array(json_object, empty=True)},
            {
                "content": nullable(array(json_object, empty=True)),
                "encrypted_content": nullable(string()),
                "status": status,
            },
        ),
        "item_reference": unserved,
    },
)


def item(value: Any, path: str) -> None:
    """A message, which needs no type, or what has one."""
    (message if isinstance(value, dict) and "type" not in value else typed_item)(value, path)


def items(value: Any, path: str) -> None:
    """A text, or items."""
    if not isinstance(value, str):
        array(item, empty=True)(value, path)


function = fields(
    {"type": anything, "name": name},
    {
        "description": nullable(string(LONGEST_DESCRIPTION)),
        "parameters": nullable(json_object),
        "strict": nullable(boolean),
        "allowed_callers": nullable(array(string(), of="strings")),
        "defer_loading": boolean,
        "output_schema": nullable(json_object),
    },
)
tool = by(
    "type",
    {
        "function": function,
        **dict.fromkeys(
            ("custom", "file_search", "web_search", "mcp", "code_interpreter", "image_generation"), unserved
        ),
    },
)
named = fields({"type": anything, "name": string()})
tool_choice_object = by(
    "type",
    {
        "function": named,
        "allowed_tools": fields(
            {
                "type": anything,
                "mode": one_of("auto", "required"),
                "tools": array(by("type", {"function": named})),
            }
        ),
        "custom": unserved,
    },
)


def tool_choice(value: Any, path: str) -> None:
    """`none`, `auto`, `required`, one function, or some of the tools."""
    if isinstance(value, dict):
        tool_choice_object(value, path)
    else:
        one_of("none", "auto", "required")(value, path)


text_format = by(
    "type",
    {
        "text": fields({"type": anything}),
        "json_object": fields({"type": anything}),
        "json_schema": fields(
            {"type": anything, "name": name, "schema": json_object},
            {"description": string(), "strict": nullable(boolean)},
        ),
    },
)


def only_false(value: Any, path: str) -> None:
    """What is served in one way only."""
    boolean(value, path)
    if value:
        raise not_scripted(path)


FIELDS: dict[str, Check] = {
    "model": string(),
    "input": items,
    "instructions": nullable(string()),
    "max_output_tokens": nullable(integer(LEAST_OUTPUT)),
    "max_tool_calls": nullable(integer(1)),
    "metadata": nullable(mapping(string(512), most=16)),
    "parallel_tool_calls": nullable(boolean),
    "previous_response_id": nullable(string()),
    "prompt_cache_key": nullable(string()),
    "prompt_cache_retention": nullable(one_of("in_memory", "24h")),
    "prompt_cache_options": json_object,
    "reasoning": nullable(
        fields(
            {},
            {
                "effort": nullable(one_of("none", "minimal", "low", "medium", "high", "xhigh", "max")),
                "summary": nullable(one_of("auto", "concise", "detailed")),
            },
        )
    ),
    "safety_identifier": nullable(string(128)),
    "service_tier": nullable(one_of("auto", "default", "flex", "scale", "priority", "fast")),
    "store": nullable(boolean),
    "stream": nullable(only_false),
    "temperature": nullable(decimal(0, 2)),
    "text": fields({}, {"format": text_format, "verbosity": nullable(one_of("low", "medium", "high"))}),
    "tool_choice": tool_choice,
    "tools": array(tool, most=MOST_TOOLS, empty=True),
    "top_p": nullable(decimal(0, 1)),
    "truncation": nullable(one_of("auto", "disabled")),
    "user": string(),
    "include": nullable(
        array(one_of("reasoning.encrypted_content", "message.output_text.logprobs"), of="strings", empty=True)
    ),
    "background": nullable(only_false),
    **dict.fromkeys(("conversation", "prompt", "context_management", "moderation"), nullable(unserved)),
    "top_logprobs": nullable(unserved),
}


def check_response_shape(body: dict[str, Any]) -> None:
    """Refuses fields that do not exist, are missing, or are of the wrong type or size."""
    for field in body:
        if field in MOVED:
            raise Refusal(
                f"Unsupported parameter: '{field}'. In the Responses API, this parameter has moved to "
                f"'{MOVED[field]}'. Try again with the new parameter. See the API documentation for more "
                "information: https://platform.openai.com/docs/api-reference/responses/create.",
                field,
                "unsupported_parameter",
            )
        if field not in FIELDS:
            raise Refusal(f"Unknown parameter: '{field}'.", field, "unknown_parameter")
    if "model" not in body:
        raise Refusal("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    if "input" not in body and body.get("previous_response_id") is None:
        raise Refusal(
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
            "input",
            "missing_required_parameter",
        )
    for field, value in body.items():
        FIELDS[field](value, field)
