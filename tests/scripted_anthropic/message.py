"""A reply as Anthropic sends it: a `message` of content blocks."""

import hashlib
from typing import Any

from tests.scripted_anthropic.models import ways_of
from tests.scripted_anthropic.rules import signature_of
from tests.scripted_openai.billing import tokens_of
from tests.scripted_openai.completion import MADE_UP_THOUGHT
from tests.scripted_openai.plausible import arguments_of, completion_tokens, read_json
from tests.scripted_openai.replies import Call, Counted, ModelReply, Refusal, Text, ToolCalls, Usage
from tests.scripted_openai.request import ChatRequest

STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


def message(request: ChatRequest, reply: ModelReply) -> dict[str, Any]:
    """The whole answer."""
    answer: dict[str, Any] = {
        "id": f"msg_01{made_up(f'answer {request.number}')}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [*thoughts(request, reply), *blocks(request, reply)],
        "stop_reason": stop_reason(reply),
        "stop_sequence": None,
        "stop_details": None,
    }
    if isinstance(reply, Refusal):
        answer["stop_details"] = {"type": "refusal", "category": None, "explanation": reply.text}
    usage = usage_of(request, reply)
    if usage is not None:
        answer["usage"] = usage
    return answer


def made_up(seed: str) -> str:
    """Letters and digits that look random and are the same each time."""
    return hashlib.sha256(seed.encode()).hexdigest()[:22]


def thoughts(request: ChatRequest, reply: ModelReply) -> list[dict[str, Any]]:
    """What the model thought before, if it was to think."""
    if not request.thinking:
        return []
    display = (request.body.get("thinking") or {}).get("display")
    shown = display == "summarized" or (display is None and ways_of(request.model).shows_thoughts)
    thought = "" if not shown else MADE_UP_THOUGHT if reply.reasoning is None else reply.reasoning
    return [{"type": "thinking", "thinking": thought, "signature": signature_of(thought)}]


def blocks(request: ChatRequest, reply: ModelReply) -> list[dict[str, Any]]:
    """Texts and calls."""
    match reply:
        case Text(content=content) | Refusal(text=content):
            return [text_block(content)] if content else []
        case ToolCalls(calls=calls, text=text):
            said = [text_block(text)] if text else []
            return said + [call_block(request, call, index) for index, call in enumerate(calls)]
        case _:
            raise TypeError(f"No model says {reply!r}")


def text_block(text: str) -> dict[str, Any]:
    """A text."""
    return {"type": "text", "text": text, "citations": None}


def call_block(request: ChatRequest, call: Call, index: int) -> dict[str, Any]:
    """A call: its arguments are an object on this wire, not a string."""
    return {
        "type": "tool_use",
        "id": call.id or f"toolu_01{made_up(f'call {request.number} {index}')}",
        "name": call.name,
        "input": read_json(arguments_of(call)),
    }


def stop_reason(reply: ModelReply) -> str:
    """Why the answer ends."""
    match reply:
        case Text(finish_reason=reason):
            return STOP_REASONS[reason]
        case ToolCalls():
            return "tool_use"
        case _:
            return "refusal"


def usage_of(request: ChatRequest, reply: ModelReply) -> dict[str, Any] | None:
    """Counted by the host, or as the reply says; None if it is left out. Cached tokens are counted apart."""
    usage = reply.usage
    if usage is None:
        return None
    if isinstance(usage, Counted):
        usage = Usage(tokens_of(request), completion_tokens(reply))
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "service_tier": "standard",
    }
