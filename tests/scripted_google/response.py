"""A reply as Google sends it: a candidate of parts, and `usageMetadata`."""

import base64
import hashlib
from typing import Any

from tests.scripted_google.rules import is_older
from tests.scripted_openai.billing import tokens_of
from tests.scripted_openai.completion import MADE_UP_THOUGHT
from tests.scripted_openai.plausible import arguments_of, completion_tokens, read_json
from tests.scripted_openai.replies import Call, Counted, ModelReply, Refusal, Text, ToolCalls, Usage
from tests.scripted_openai.request import ChatRequest

FINISH_REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


def response(request: ChatRequest, reply: ModelReply) -> dict[str, Any]:
    """The whole answer. A refusal is a candidate without content."""
    candidate: dict[str, Any] = {
        "content": {"parts": [*thoughts(request, reply), *parts(request, reply)], "role": "model"},
        "finishReason": finish_reason(reply),
        "index": 0,
    }
    if isinstance(reply, Refusal):
        candidate["content"] = {}
        candidate["finishMessage"] = reply.text
    answer: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": request.model,
        "responseId": made_up(f"answer {request.number}", 22),
    }
    usage = usage_of(request, reply)
    if usage is not None:
        answer["usageMetadata"] = usage
    return answer


def made_up(seed: str, length: int) -> str:
    """Letters and digits that look random and are the same each time."""
    return hashlib.sha256(seed.encode()).hexdigest()[:length]


def thoughts(request: ChatRequest, reply: ModelReply) -> list[dict[str, Any]]:
    """A summary of what the model thought, if that was to be included."""
    if not request.thinking:
        return []
    return [{"text": MADE_UP_THOUGHT if reply.reasoning is None else reply.reasoning, "thought": True}]


def parts(request: ChatRequest, reply: ModelReply) -> list[dict[str, Any]]:
    """Texts and calls. From Gemini 3 on the first call is signed, and calls have ids."""
    match reply:
        case Text(content=content):
            return [{"text": content}]
        case ToolCalls(calls=calls, text=text):
            said: list[dict[str, Any]] = [{"text": text}] if text else []
            made = [call_part(request, call, index) for index, call in enumerate(calls)]
            if made and not is_older(request.model):
                seed = made_up(f"thought {request.number}", 48)
                made[0]["thoughtSignature"] = base64.b64encode(seed.encode()).decode()
            return said + made
        case Refusal():
            return []
        case _:
            raise TypeError(f"No model says {reply!r}")


def call_part(request: ChatRequest, call: Call, index: int) -> dict[str, Any]:
    """A call: its arguments are an object on this wire, not a string."""
    made: dict[str, Any] = {"name": call.name, "args": read_json(arguments_of(call))}
    identity = call.id
    if identity is None and not is_older(request.model):
        identity = made_up(f"call {request.number} {index}", 8)
    if identity is not None:
        made["id"] = identity
    return {"functionCall": made}


def finish_reason(reply: ModelReply) -> str:
    """Why the answer ends. After calls it is STOP as after a text."""
    match reply:
        case Text(finish_reason=reason):
            return FINISH_REASONS[reason]
        case ToolCalls():
            return "STOP"
        case _:
            return "SAFETY"


def usage_of(request: ChatRequest, reply: ModelReply) -> dict[str, Any] | None:
    """Counted by the host, or as the reply says; None if it is left out. Thoughts are counted apart."""
    usage = reply.usage
    if usage is None:
        return None
    if isinstance(usage, Counted):
        usage = Usage(tokens_of(request), completion_tokens(reply))
    counted: dict[str, Any] = {
        "promptTokenCount": usage.prompt_tokens,
        "candidatesTokenCount": usage.completion_tokens - usage.reasoning_tokens,
        "totalTokenCount": usage.prompt_tokens + usage.completion_tokens,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.prompt_tokens}],
    }
    if usage.reasoning_tokens:
        counted["thoughtsTokenCount"] = usage.reasoning_tokens
    if usage.cached_tokens:
        counted["cachedContentTokenCount"] = usage.cached_tokens
    return counted
