"""A whole `message` as the server-sent events that Anthropic makes of it when it streams.

From https://platform.claude.com/docs/en/build-with-claude/streaming: usage grows, and the reason to stop
comes at the end.
"""

import json
from collections.abc import Iterator
from typing import Any

PIECE = 12  # characters of a delta


def stream(message: dict[str, Any]) -> Iterator[bytes]:
    """The events, in order."""
    usage = message.get("usage") or {}
    start = {**message, "content": [], "stop_reason": None}
    if usage:
        start["usage"] = {**usage, "output_tokens": 1}
    yield event("message_start", {"message": start})
    for index, block in enumerate(message["content"]):
        yield event("content_block_start", {"index": index, "content_block": beginning(block)})
        for delta in deltas(block):
            yield event("content_block_delta", {"index": index, "delta": delta})
        yield event("content_block_stop", {"index": index})
    end = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    counted = {"usage": {"output_tokens": usage["output_tokens"]}} if usage else {}
    yield event("message_delta", {"delta": end, **counted})
    yield event("message_stop", {})


def event(name: str, data: dict[str, Any]) -> bytes:
    """One server-sent event."""
    body = json.dumps({"type": name, **data}, ensure_ascii=False)
    return f"event: {name}\ndata: {body}\n\n".encode()


def beginning(block: dict[str, Any]) -> dict[str, Any]:
    """A block before anything is in it."""
    empty = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empty.get(key, value) for key, value in block.items()}


def deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What is in a block, piece by piece."""
    match block["type"]:
        case "text":
            for piece in pieces(block["text"]):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            for piece in pieces(json.dumps(block["input"], ensure_ascii=False)):
                yield {"type": "input_json_delta", "partial_json": piece}


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of a few characters."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]
