"""From a checked message request to the view that a script reads, the same as on OpenAI's wire."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.scripted_anthropic.models import ways_of
from tests.scripted_anthropic.shape import (
    ChooseAny,
    ChooseAuto,
    ChooseNone,
    ChooseTool,
    MessageParam,
    MessageRequest,
)
from tests.scripted_openai.request import ChatRequest, Message, ResponseFormat, Tool, ToolCall, ToolChoice

FORMAT_NAME = "output_config.format"  # on this wire a schema has no name


def parse_message_request(
    asked: MessageRequest, body: dict[str, Any], number: int, headers: Mapping[str, str]
) -> ChatRequest:
    """The view of a request that has been checked."""
    choice = asked.tool_choice
    forced = isinstance(choice, ChooseAny | ChooseAuto | ChooseTool)
    return ChatRequest(
        wire="messages",
        number=number,
        model=asked.model,
        body=body,
        headers=headers,
        messages=tuple(parse_messages(asked)),
        tools=tuple(parse_tools(asked, body)),
        tool_choice=parse_choice(asked),
        response_format=parse_format(body),
        stream=asked.stream,
        include_usage=True,
        max_tokens=asked.max_tokens,
        stops=tuple(asked.stop_sequences),
        parallel=not (forced and choice is not None and getattr(choice, "disable_parallel_tool_use", False)),
        tools_work=bool(asked.tools),
        thinking=thinks(asked),
    )


def thinks(asked: MessageRequest) -> bool:
    """Whether the model thinks before it answers; a forced call is made without a thought."""
    if isinstance(asked.tool_choice, ChooseAny | ChooseTool):
        return False
    if asked.thinking is None:
        return ways_of(asked.model).thinks_by_default
    return asked.thinking.type in ("enabled", "adaptive")


def parse_messages(asked: MessageRequest) -> Iterator[Message]:
    """The system prompt first, then the turns; each result of a tool is a message of its own."""
    system = asked.system if isinstance(asked.system, str) else "\n\n".join(b.text for b in asked.system)
    if system:
        yield Message("system", system)
    for message in asked.messages:
        if message.role == "assistant":
            yield parse_assistant(message)
        else:
            yield from parse_user(message)


def parse_assistant(message: MessageParam) -> Message:
    """What the model said and called."""
    blocks = message.blocks
    return Message(
        "assistant",
        "".join(block.text for block in blocks if block.type == "text"),
        tool_calls=tuple(
            ToolCall(block.id, block.name, json.dumps(block.input, ensure_ascii=False))
            for block in blocks
            if block.type == "tool_use"
        ),
    )


def parse_user(message: MessageParam) -> Iterator[Message]:
    """What tools brought, and what a person says."""
    texts = []
    for block in message.blocks:
        if block.type == "tool_result":
            content = block.content
            if not isinstance(content, str):
                content = "".join(part.text for part in content if part.type == "text")
            yield Message("tool", content, tool_call_id=block.tool_use_id)
        elif block.type == "text":
            texts.append(block.text)
    if texts:
        yield Message("user", "".join(texts))


def parse_tools(asked: MessageRequest, body: dict[str, Any]) -> Iterator[Tool]:
    """The tools on offer."""
    for tool, sent in zip(asked.tools, body.get("tools", ()), strict=True):
        yield Tool(tool.name, tool.description, sent["input_schema"], tool.strict, held=tool.strict)


def parse_choice(asked: MessageRequest) -> ToolChoice:
    """What the model may call."""
    names = tuple(tool.name for tool in asked.tools)
    match asked.tool_choice:
        case ChooseNone():
            return ToolChoice("none", ())
        case ChooseAny():
            return ToolChoice("required", names)
        case ChooseTool(name=name):
            return ToolChoice("required", (name,), name)
        case _:
            return ToolChoice("auto", names) if names else ToolChoice("none", ())


def parse_format(body: dict[str, Any]) -> ResponseFormat:
    """What the text has to be: it is always held to its schema."""
    wanted = (body.get("output_config") or {}).get("format") or body.get("output_format")
    if wanted is None:
        return ResponseFormat()
    return ResponseFormat("json_schema", FORMAT_NAME, wanted["schema"], strict=True, held=True)
