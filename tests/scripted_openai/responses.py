"""The Responses API: a request as a script sees it, and the reply as OpenAI sends it: a `response`."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from tests.scripted_openai.billing import tokens_of
from tests.scripted_openai.chat_rules import REASONING
from tests.scripted_openai.completion import MADE_UP_THOUGHT, made_up
from tests.scripted_openai.plausible import arguments_of, completion_tokens
from tests.scripted_openai.replies import Call, Counted, ModelReply, Refusal, Text, ToolCalls, Usage
from tests.scripted_openai.request import ChatRequest, Message, ResponseFormat, Tool, ToolCall, ToolChoice

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}

Item = Mapping[str, Any]


def items_of(body: dict[str, Any]) -> list[Item]:
    """The input as items: a text is one message of the user."""
    asked = body.get("input", [])
    return [{"role": "user", "content": asked}] if isinstance(asked, str) else list(asked)


def parse_response(
    body: dict[str, Any], items: Sequence[Item], number: int, headers: Mapping[str, str]
) -> ChatRequest:
    """The view of a body that has been checked. `items` include those of the responses before."""
    return ChatRequest(
        wire="responses",
        number=number,
        model=body["model"],
        body=body,
        headers=headers,
        messages=tuple(parse_items(body.get("instructions"), items)),
        tools=tuple(parse_tools(body)),
        tool_choice=parse_choice(body),
        response_format=parse_format((body.get("text") or {}).get("format") or {"type": "text"}),
        stream=False,
        include_usage=True,
        max_tokens=body.get("max_output_tokens"),
        parallel=body.get("parallel_tool_calls") is not False,
        tools_work=bool(body.get("tools")),
        thinking=REASONING.fullmatch(body["model"]) is not None,
    )


def parse_items(instructions: str | None, items: Sequence[Item]) -> Iterator[Message]:
    """Instructions first, then the items; a call is a message of the assistant, reasoning is left out."""
    if instructions:
        yield Message("system", instructions)
    for item in items:
        match item.get("type", "message"):
            case "message":
                yield Message(item["role"], text_of(item["content"]))
            case "function_call":
                call = ToolCall(item["call_id"], item["name"], item["arguments"])
                yield Message("assistant", "", tool_calls=(call,))
            case "function_call_output":
                yield Message("tool", text_of(item["output"]), tool_call_id=item["call_id"])


def text_of(content: str | Sequence[Item]) -> str:
    """The text parts of a content, joined."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def parse_tools(body: dict[str, Any]) -> Iterator[Tool]:
    """The functions on offer. Without `strict` the host tries to be; nothing here counts on it."""
    for tool in body.get("tools", ()):
        strict = bool(tool.get("strict"))
        yield Tool(
            tool["name"], tool.get("description") or "", tool.get("parameters") or {}, strict, held=strict
        )


def parse_choice(body: dict[str, Any]) -> ToolChoice:
    """What the model may call."""
    names = tuple(tool["name"] for tool in body.get("tools", ()))
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, str):
        mode: Literal["none", "auto", "required"] = "none"
        if names and choice != "none":
            mode = "required" if choice == "required" else "auto"
        return ToolChoice(mode, () if mode == "none" else names)
    if choice["type"] == "function":
        return ToolChoice("required", (choice["name"],), choice["name"])
    some = tuple(tool["name"] for tool in choice["tools"])
    return ToolChoice("required" if choice["mode"] == "required" else "auto", some)


def parse_format(value: Item) -> ResponseFormat:
    """What the text has to be."""
    if value["type"] != "json_schema":
        return ResponseFormat("json_object" if value["type"] == "json_object" else "text")
    strict = bool(value.get("strict"))
    return ResponseFormat("json_schema", value["name"], value["schema"], strict, held=strict)


def response(request: ChatRequest, reply: ModelReply) -> dict[str, Any]:
    """The whole answer, with the settings of the request as the real host repeats them."""
    body = request.body
    cut_off = INCOMPLETE.get(reply.finish_reason) if isinstance(reply, Text) else None
    answer: dict[str, Any] = {
        "id": f"resp_{made_up(f'answer {request.number}', 48)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "incomplete" if cut_off else "completed",
        "background": False,
        "error": None,
        "incomplete_details": {"reason": cut_off} if cut_off else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": request.model,
        "output": [
            *reasoning(request, reply),
            *output(request, reply, "incomplete" if cut_off else "completed"),
        ],
        "parallel_tool_calls": request.parallel,
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "service_tier": "default",
        "store": body.get("store") is not False,
        "temperature": 1.0 if body.get("temperature") is None else body["temperature"],
        "text": {"format": {"type": "text"}, **(body.get("text") or {})},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": [{"strict": True, "description": None, **tool} for tool in body.get("tools", ())],
        "top_p": 1.0 if body.get("top_p") is None else body["top_p"],
        "truncation": body.get("truncation") or "disabled",
    }
    usage = usage_of(request, reply)
    if usage is not None:
        answer["usage"] = usage
    return answer


def reasoning(request: ChatRequest, reply: ModelReply) -> list[dict[str, Any]]:
    """The reasoning item of a model that reasons: a summary if one is wanted."""
    if not request.thinking:
        return []
    thought = MADE_UP_THOUGHT if reply.reasoning is None else reply.reasoning
    wanted = (request.body.get("reasoning") or {}).get("summary") is not None
    item: dict[str, Any] = {
        "id": f"rs_{made_up(f'reasoning {request.number}', 48)}",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": thought}] if wanted else [],
    }
    if "reasoning.encrypted_content" in (request.body.get("include") or ()):
        item["encrypted_content"] = made_up(f"encrypted {request.number}", 64)
    return [item]


def output(request: ChatRequest, reply: ModelReply, state: str) -> list[dict[str, Any]]:
    """A message, or calls with or without one."""
    match reply:
        case Text(content=text):
            return [message(request, said(text), state)]
        case ToolCalls(calls=calls, text=text):
            before = [message(request, said(text), state)] if text else []
            return before + [call_item(request, call, index) for index, call in enumerate(calls)]
        case Refusal(text=text):
            return [message(request, {"type": "refusal", "refusal": text}, state)]
        case _:
            raise TypeError(f"No model says {reply!r}")


def said(text: str) -> dict[str, Any]:
    """A text of the model."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def message(request: ChatRequest, part: dict[str, Any], state: str) -> dict[str, Any]:
    """A message item."""
    return {
        "id": f"msg_{made_up(f'message {request.number}', 48)}",
        "type": "message",
        "status": state,
        "role": "assistant",
        "content": [part],
    }


def call_item(request: ChatRequest, call: Call, index: int) -> dict[str, Any]:
    """A call."""
    return {
        "id": f"fc_{made_up(f'item {request.number} {index}', 48)}",
        "type": "function_call",
        "status": "completed",
        "call_id": call.id or f"call_{made_up(f'call {request.number} {index}', 24)}",
        "name": call.name,
        "arguments": arguments_of(call),
    }


def usage_of(request: ChatRequest, reply: ModelReply) -> dict[str, Any] | None:
    """Counted by the host, or as the reply says; None if it is left out."""
    usage = reply.usage
    if usage is None:
        return None
    if isinstance(usage, Counted):
        usage = Usage(tokens_of(request), completion_tokens(reply))
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
