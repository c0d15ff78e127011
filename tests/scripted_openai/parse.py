"""From the checked body of a chat completion request to the view that a script reads."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tests.scripted_openai.family import FULL, Family
from tests.scripted_openai.request import ChatRequest, Message, ResponseFormat, Tool, ToolCall, ToolChoice


def parse_chat(
    body: dict[str, Any], number: int, headers: Mapping[str, str], family: Family = FULL
) -> ChatRequest:
    """The view of a body that has been checked."""
    stop = body.get("stop") or ()
    choice = parse_tool_choice(body)
    response_format = parse_response_format(body.get("response_format") or {"type": "text"}, family)
    tools_work = bool(body.get("tools")) and family.tools_work(response_format.type, choice.mode)
    if tools_work and family.forced_call_drops_format and choice.mode == "required":
        response_format = ResponseFormat()
    return ChatRequest(
        wire="chat",
        number=number,
        model=body["model"],
        body=body,
        headers=headers,
        messages=tuple(parse_messages(body)),
        tools=tuple(parse_tools(body, family)),
        tool_choice=choice,
        response_format=response_format,
        stream=bool(body.get("stream")),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        stops=(stop,) if isinstance(stop, str) else tuple(stop),
        parallel=body.get("parallel_tool_calls") is not False,
        tools_work=tools_work,
        thinking=family.thinks_about(body),
    )


def parse_messages(body: dict[str, Any]) -> Iterator[Message]:
    """The messages, in order."""
    for message in body["messages"]:
        calls = tuple(
            ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        )
        yield Message(
            role=message["role"],
            text=text_of(message.get("content")),
            tool_calls=calls,
            tool_call_id=message.get("tool_call_id"),
            name=message.get("name"),
            refusal=message.get("refusal"),
        )


def text_of(content: str | list[dict[str, Any]] | None) -> str:
    """The text parts of a content, joined."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content if part["type"] == "text")


def parse_tools(body: dict[str, Any], family: Family) -> Iterator[Tool]:
    """The functions on offer."""
    for tool in body.get("tools", ()):
        function = tool["function"]
        yield Tool(
            name=function["name"],
            description=function.get("description", ""),
            parameters=function.get("parameters", {}),
            strict=bool(function.get("strict")),
            held=family.holds_arguments(strict=bool(function.get("strict"))),
        )


def parse_tool_choice(body: dict[str, Any]) -> ToolChoice:
    """What the model may call: `none` without tools, `auto` with tools, unless the request says otherwise."""
    names = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
    choice = body.get("tool_choice", "auto" if names else "none")
    if isinstance(choice, str):
        mode: Literal["none", "auto", "required"] = (
            "required" if choice == "required" else "auto" if choice == "auto" else "none"
        )
        return ToolChoice(mode, () if mode == "none" else names)
    if choice["type"] == "function":
        named = choice["function"]["name"]
        return ToolChoice("required", (named,), named)
    allowed = choice["allowed_tools"]
    some = tuple(tool["function"]["name"] for tool in allowed["tools"])
    return ToolChoice("required" if allowed["mode"] == "required" else "auto", some)


def parse_response_format(value: dict[str, Any], family: Family) -> ResponseFormat:
    """What the text has to be."""
    if value["type"] != "json_schema":
        return ResponseFormat("json_object" if value["type"] == "json_object" else "text")
    named = value["json_schema"]
    strict = bool(named.get("strict"))
    return ResponseFormat(
        "json_schema", named["name"], named["schema"], strict, held=family.holds_format(strict=strict)
    )
