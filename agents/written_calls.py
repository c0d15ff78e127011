"""Tool calls that a model wrote into its text, since its host did not know how to read them.

Served without the right parser, models say their calls in the way they learnt: Qwen and Hermes between
`<tool_call>` tags, Llama as a bare object or as Python, Mistral behind `[TOOL_CALLS]`, DeepSeek, Kimi and
gpt-oss between tokens of their own. To the program that looks like a report of somebody who never searched.
"""

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestContext

from agents.lenient_json import read

_MOST = 4  # calls in one reply
_LONGEST = 3_000  # characters of one written as Python
_BETWEEN = 80  # characters from the name of a tool to its arguments: tokens, a fence
_REPORT = re.compile(r"^\W{0,9}(?:findings\b|\[[SP]\d+\])", re.IGNORECASE | re.MULTILINE)

Tools = Mapping[str, Collection[str]]
"""By the names of the tools, those of their arguments."""


def is_report(text: str) -> bool:
    """Whether a text has the lines of a report: it may quote what looks like a call, from a document too."""
    return _REPORT.search(text) is not None


def written_calls(text: str, tools: Tools) -> list[ToolCallPart]:
    """The calls in a text, in order, at most 4; arguments as they were written. Linear in the text."""
    if not any(name in text for name in tools):
        return []
    names = "|".join(map(re.escape, tools))
    found = [*_as_objects(text, names, tools), *_as_tags(text, names), *_as_python(text, names)]
    return [ToolCallPart(name, arguments) for _, name, arguments in sorted(found, key=lambda one: one[0])][
        :_MOST
    ]


def _as_objects(text: str, names: str, tools: Tools) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """`{"name": …, "arguments": {…}}`, in a list or alone, or the arguments alone behind the tool's name."""
    before = re.compile(rf"\b({names})\b(?:(?!{names})[^{{}}()]){{0,{_BETWEEN}}}$")
    for piece in read(text).pieces:
        for value in piece.value if isinstance(piece.value, list) else [piece.value]:
            if not isinstance(value, dict):
                continue
            if (call := _named(value, tools)) is not None:
                yield piece.start, *call
                continue
            named = before.search(text, max(0, piece.start - 2 * _BETWEEN), piece.start)
            if named and value.keys() & {*tools[named[1]]}:
                yield piece.start, named[1], value


def _named(value: dict[str, Any], tools: Tools) -> tuple[str, dict[str, Any]] | None:
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = next((said for key in ("name", "function", "tool") if isinstance(said := value.get(key), str)), "")
    name = name.removeprefix("functions.")
    arguments: Any = next(
        (value[key] for key in ("arguments", "parameters", "args", "input") if key in value), {}
    )
    if isinstance(arguments, str):
        pieces = read(arguments).pieces
        arguments = pieces[0].value if len(pieces) == 1 else None
    return (name, arguments) if name in tools and isinstance(arguments, dict) and arguments else None


def _as_tags(text: str, names: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """`<function=knowledge_search><parameter=queries>["…"]</parameter></function>`."""
    for found in islice(re.finditer(rf"<function=({names})>", text), 2 * _MOST):
        arguments = {}
        inside = text[found.end() : found.end() + _LONGEST].partition("</function>")[0]
        for parameter in inside.split("<parameter=")[1:]:
            name, _, rest = parameter.partition(">")
            value, closed, _ = rest.partition("</parameter>")
            if closed:
                arguments[name] = value.strip()
        if arguments:
            yield found.start(), found[1], arguments


def _as_python(text: str, names: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """`knowledge_search(queries=["…"], k=5)`."""
    for begun in islice(re.finditer(rf"\b({names})\(", text), 2 * _MOST):
        line = text[begun.end() : begun.end() + _LONGEST].partition("\n")[0]
        ends = [end.end() for end in re.finditer(r"\)", line)]
        for end in ends[-_MOST:]:  # the others stand inside of texts
            if arguments := _keywords(f"f({line[:end]}"):
                yield begun.start(), begun[1], arguments
                break


def _keywords(call: str) -> dict[str, Any]:
    """The arguments of a call in Python; {} if it is none."""
    try:
        parsed = ast.parse(call, mode="eval").body
        if not isinstance(parsed, ast.Call):
            return {}
        arguments = {str(one.arg): ast.literal_eval(one.value) for one in parsed.keywords}
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()  # else no wire could carry them
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        return {}
    return arguments


class WrittenCalls(AbstractCapability[Any]):
    """Has the calls that a model wrote into its text carried out; what else it wrote was made up.

    `seen`: whether there was a call in this run, written or not.
    """

    def __init__(self) -> None:
        self.seen = False

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        response = await handler(request_context)
        if any(isinstance(part, ToolCallPart) for part in response.parts):
            self.seen = True
            return response
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        tools = {
            tool.name: tool.parameters_json_schema.get("properties", {})
            for tool in request_context.model_request_parameters.function_tools
        }
        # Before the first call a report is made up; later it may quote one, and is what was asked for.
        if self.seen and is_report(text):
            return response
        if not (calls := written_calls(text, tools)):
            return response
        self.seen = True
        kept = [part for part in response.parts if not isinstance(part, TextPart)]
        return replace(response, parts=[*kept, *calls])
