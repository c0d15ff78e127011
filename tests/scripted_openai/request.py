"""A chat or embedding request as a script sees it: parsed, typed, with when it came and what became of it."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass
class Trace:
    """When a request came, when it ended and how. The one thing about a request that changes."""

    at: float = field(default_factory=time.monotonic)
    finished_at: float | None = None
    gone: bool = False
    status: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Traced:
    """What chat and embedding requests have in common."""

    number: int  # from 1, in order of arrival, counted for each of the two kinds
    model: str
    body: dict[str, Any]
    headers: Mapping[str, str]  # names in lower case
    trace: Trace = field(default_factory=Trace, repr=False)

    @property
    def at(self) -> float:
        """When it came, by time.monotonic()."""
        return self.trace.at

    @property
    def finished_at(self) -> float | None:
        """When the last byte of the answer went out, or the client went away; None while it is under way."""
        return self.trace.finished_at

    @property
    def gone(self) -> bool:
        """The client closed the connection before it had the answer."""
        return self.trace.gone

    @property
    def failed(self) -> int | None:
        """The HTTP status of an answer that is an error; 0 for a connection closed without one."""
        status = self.trace.status
        return status if status is not None and not 200 <= status < 300 else None


@dataclass(frozen=True)
class ToolCall:
    """A tool call in an assistant message. `arguments` is what was sent: JSON, if the model was right."""

    id: str
    name: str
    arguments: str

    @property
    def parsed(self) -> dict[str, Any]:
        """The arguments as an object. Raises ValueError if they are none."""
        value = json.loads(self.arguments)
        if not isinstance(value, dict):
            raise ValueError(f"The arguments of {self.name} are no JSON object: {self.arguments}")
        return value


@dataclass(frozen=True)
class Message:
    """One message. `text` is all its text parts, joined; pictures and files stay in the body."""

    role: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    refusal: str | None = None


@dataclass(frozen=True)
class ToolResult:
    """A tool message with the call it answers."""

    call: ToolCall
    text: str


@dataclass(frozen=True)
class Tool:
    """A function on offer."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool


@dataclass(frozen=True)
class ToolChoice:
    """What the model may do: `required` is also said of one named function. `allowed` are names of tools."""

    mode: Literal["none", "auto", "required"]
    allowed: tuple[str, ...]
    named: str | None = None


@dataclass(frozen=True)
class ResponseFormat:
    """What the text has to be. `json_schema` has a name and a schema."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    name: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class ChatRequest(Traced):
    """A valid chat completion request."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    tool_choice: ToolChoice
    response_format: ResponseFormat
    stream: bool
    include_usage: bool
    max_tokens: int | None  # from either field

    @property
    def system(self) -> str:
        """The text of all system and developer messages."""
        return "\n\n".join(
            message.text for message in self.messages if message.role in ("system", "developer")
        )

    @property
    def last_user(self) -> str:
        """The text of the last user message; empty if there is none."""
        return next((message.text for message in reversed(self.messages) if message.role == "user"), "")

    @property
    def users(self) -> tuple[str, ...]:
        """The texts of all user messages."""
        return tuple(message.text for message in self.messages if message.role == "user")

    @property
    def text(self) -> str:
        """All texts of the conversation, of any role."""
        return "\n\n".join(message.text for message in self.messages)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls made so far in this conversation."""
        return tuple(call for message in self.messages for call in message.tool_calls)

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The answers to them, in order."""
        calls = {call.id: call for call in self.calls}
        return tuple(
            ToolResult(calls[message.tool_call_id], message.text)
            for message in self.messages
            if message.role == "tool" and message.tool_call_id is not None
        )

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the functions on offer."""
        return tuple(tool.name for tool in self.tools)

    def tool(self, name: str) -> Tool | None:
        """The function of that name, if it is on offer."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def results_of(self, name: str) -> tuple[str, ...]:
        """What calls of this function brought, in order."""
        return tuple(result.text for result in self.tool_results if result.call.name == name)


@dataclass(frozen=True, eq=False, kw_only=True)
class EmbeddingRequest(Traced):
    """A valid embedding request. An input of token numbers is shown as those numbers, with blanks between."""

    inputs: tuple[str, ...]
    dimensions: int
    encoding_format: Literal["float", "base64"]


def parse_chat(body: dict[str, Any], number: int, headers: Mapping[str, str]) -> ChatRequest:
    """The view of a body that has been checked."""
    return ChatRequest(
        number=number,
        model=body["model"],
        body=body,
        headers=headers,
        messages=tuple(parse_messages(body)),
        tools=tuple(parse_tools(body)),
        tool_choice=parse_tool_choice(body),
        response_format=parse_response_format(body.get("response_format") or {"type": "text"}),
        stream=bool(body.get("stream")),
        include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
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


def parse_tools(body: dict[str, Any]) -> Iterator[Tool]:
    """The functions on offer."""
    for tool in body.get("tools", ()):
        function = tool["function"]
        yield Tool(
            name=function["name"],
            description=function.get("description", ""),
            parameters=function.get("parameters", {}),
            strict=bool(function.get("strict")),
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


def parse_response_format(value: dict[str, Any]) -> ResponseFormat:
    """What the text has to be."""
    if value["type"] != "json_schema":
        return ResponseFormat("json_object" if value["type"] == "json_object" else "text")
    named = value["json_schema"]
    return ResponseFormat("json_schema", named["name"], named["schema"], bool(named.get("strict")))
