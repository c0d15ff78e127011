"""A chat or embedding request as a script sees it: parsed, typed, with when it came and what became of it."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Wire = Literal["chat", "responses", "messages", "generate"]


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
    strict: bool  # as the request has it
    held: bool = False  # the host holds the arguments of a call to the parameters


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
    strict: bool = False  # as the request has it
    held: bool = False  # the host holds the text to the schema


@dataclass(frozen=True, eq=False, kw_only=True)
class ChatRequest(Traced):
    """A valid request for an answer, whatever the wire: one script reads them all."""

    wire: Wire

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    tool_choice: ToolChoice
    response_format: ResponseFormat
    stream: bool
    include_usage: bool
    max_tokens: int | None  # whatever the field is called
    stops: tuple[str, ...] = ()
    parallel: bool = True  # more than one call at a time is allowed
    tools_work: bool = True  # False where the host takes the tools, but keeps the model from calling them
    thinking: bool = False  # the model thinks before it answers, and the host shows what it thought

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
