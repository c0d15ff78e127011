"""A model of each library that speaks to hosts, and an answer as its host would give it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wire:
    """A model of a library, where that finds its host, and an answer of such a host with the text TEXT."""

    model: str
    provider: str
    path: str
    answer: dict[str, Any]


CHAT = Wire(
    "openai-chat:gpt-4.1-mini",
    "OPENAI",
    "/v1",
    {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-4.1-mini",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "TEXT"}}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    },
)
WIRES = {
    "chat": CHAT,
    "responses": Wire(
        "openai-responses:gpt-4.1-mini",
        "OPENAI",
        "/v1",
        {
            "id": "r",
            "object": "response",
            "created_at": 0,
            "model": "gpt-4.1-mini",
            "status": "completed",
            "error": None,
            "output": [
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "TEXT", "annotations": []}],
                }
            ],
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": 5,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 2,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 7,
            },
        },
    ),
    "anthropic": Wire(
        "anthropic:claude-sonnet-4-6",
        "ANTHROPIC",
        "",
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-6",
            "content": [{"type": "text", "text": "TEXT"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 2},
        },
    ),
    "google": Wire(
        "google:gemini-2.5-flash",
        "GOOGLE",
        "",
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": "TEXT"}]}, "finishReason": "STOP"}
            ],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7},
            "modelVersion": "gemini-2.5-flash",
        },
    ),
}
# Called tools are read by other code of the libraries than text.
CALLS = {
    "index": 0,
    "finish_reason": "tool_calls",
    "message": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "x", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
}
