"""A reply as OpenAI sends it: one `chat.completion`, or `chat.completion.chunk`s and the end of a stream."""

import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

from tests.scripted_openai.family import Family
from tests.scripted_openai.plausible import arguments_of, completion_tokens
from tests.scripted_openai.replies import Call, Counted, ModelReply, Refusal, Text, ToolCalls, Usage
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.tokens import prompt_tokens

FINGERPRINT = "fp_5c119b1e2d"
MADE_UP_THOUGHT = "First I read what is asked, 然后看清语言，それから答える。"
PIECE = 12  # characters of a chunk of a stream


def completion(request: ChatRequest, reply: ModelReply) -> dict[str, Any]:
    """The whole answer. With n > 1 all choices are alike."""
    choices = [
        {
            "index": index,
            "message": {
                "role": "assistant",
                **said(request, reply),
                **thoughts(request, reply),
                "annotations": [],
            },
            "logprobs": None,
            "finish_reason": finish_reason(request, reply),
        }
        for index in range(request.body.get("n") or 1)
    ]
    usage = usage_of(request, reply)
    return {
        **head(request, "chat.completion"),
        "choices": choices,
        **({} if usage is None else {"usage": usage}),
    }


def spoiled(request: ChatRequest, family: Family, before: int) -> dict[str, Any] | None:
    """An answer that a sloppy gateway spoils, `before` being the answers so far; None if it is left alone."""
    sloppy = family.sloppiness
    if before < sloppy.empty_choices:
        return {**head(request, "chat.completion"), "choices": []}
    if before < sloppy.empty_choices + sloppy.errors_as_200:
        return {"error": {"message": "Provider returned error", "code": 502}, "user_id": "user_scripted"}
    return None


def sloppily(answer: dict[str, Any], family: Family) -> dict[str, Any]:
    """A whole answer as a sloppy gateway passes it on."""
    if family.sloppiness.no_usage:
        answer.pop("usage", None)
    if family.sloppiness.extra_fields:
        answer["provider"] = "Scripted"
        for one in answer["choices"]:
            one["native_finish_reason"] = "STOP"
            one["message"]["reasoning"] = None
    return answer


def head(request: ChatRequest, kind: str) -> dict[str, Any]:
    """What an answer and each chunk of a stream begin with."""
    return {
        "id": f"chatcmpl-{made_up(f'answer {request.number}', 29)}",
        "object": kind,
        "created": int(time.time()),
        "model": request.model,
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    }


def made_up(seed: str, length: int) -> str:
    """Letters and digits that look random and are the same each time."""
    return hashlib.sha256(seed.encode()).hexdigest()[:length]


def said(request: ChatRequest, reply: ModelReply) -> dict[str, Any]:
    """Content, refusal and tool calls."""
    match reply:
        case Text(content=content):
            return {"content": content, "refusal": None}
        case ToolCalls(calls=calls, text=text):
            sent = [sent_call(request, call, index) for index, call in enumerate(calls)]
            return {"content": text, "tool_calls": sent, "refusal": None}
        case Refusal(text=text):
            return {"content": None, "refusal": text}
        case _:
            raise TypeError(f"No model says {reply!r}")


def thoughts(request: ChatRequest, reply: ModelReply) -> dict[str, str]:
    """What the model thought, where the host shows it."""
    if not request.thinking:
        return {}
    return {"reasoning_content": MADE_UP_THOUGHT if reply.reasoning is None else reply.reasoning}


def sent_call(request: ChatRequest, call: Call, index: int) -> dict[str, Any]:
    """One tool call."""
    name = call.id or f"call_{made_up(f'call {request.number} {index}', 24)}"
    return {"id": name, "type": "function", "function": {"name": call.name, "arguments": arguments_of(call)}}


def finish_reason(request: ChatRequest, reply: ModelReply) -> str:
    """Why the answer ends. After a call of the one named function it is `stop`: OpenAI documents that."""
    match reply:
        case Text(finish_reason=reason):
            return reason
        case ToolCalls():
            return "stop" if request.tool_choice.named is not None else "tool_calls"
        case _:
            return "stop"


def usage_of(request: ChatRequest, reply: ModelReply) -> dict[str, Any] | None:
    """Counted by the host, or as the reply says; None if it is left out."""
    usage = reply.usage
    if usage is None:
        return None
    if isinstance(usage, Counted):
        choices = request.body.get("n") or 1
        usage = Usage(prompt_tokens(request.body), completion_tokens(reply) * choices)
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def stream(request: ChatRequest, reply: ModelReply) -> Iterator[bytes]:
    """The answer as server-sent events. Usage comes last, and only if stream_options asks for it."""
    start = head(request, "chat.completion.chunk")
    if request.include_usage:
        start["usage"] = None
    for index in range(request.body.get("n") or 1):
        for delta in deltas(request, reply):
            yield event({**start, "choices": [choice(index, delta, None)]})
        yield event({**start, "choices": [choice(index, {}, finish_reason(request, reply))]})
    usage = usage_of(request, reply)
    if request.include_usage and usage is not None:
        yield event({**start, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def event(chunk: dict[str, Any]) -> bytes:
    """One server-sent event."""
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def choice(index: int, delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    """A choice of a chunk."""
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}


def deltas(request: ChatRequest, reply: ModelReply) -> Iterator[dict[str, Any]]:
    """The answer piece by piece: the role first; of a call its id and name first, then its arguments."""
    whole: dict[str, Any] = {**said(request, reply), **thoughts(request, reply)}
    yield {"role": "assistant", "content": "" if whole["content"] is not None else None, "refusal": None}
    for key in ("reasoning_content", "content", "refusal"):
        for piece in pieces(whole.get(key) or ""):
            yield {key: piece}
    for index, call in enumerate(whole.get("tool_calls", ())):
        named = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": named}]}
        for piece in pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of a few characters."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]
