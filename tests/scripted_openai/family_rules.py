"""What a family of hosts refuses beyond OpenAI, in its own words and its own shape of an error."""

from collections.abc import Iterator
from typing import Any

from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.family import Family
from tests.scripted_openai.grammar import check_arguments, check_format

FORBIDDEN = "https://errors.pydantic.dev/2.11/v/extra_forbidden"


def standard(body: dict[str, Any], family: Family) -> dict[str, Any]:
    """The body without what this family knows and OpenAI does not: extra fields, and thoughts."""
    kept = {name: value for name, value in body.items() if name not in family.extra_fields}
    messages = body.get("messages")
    if family.thinks != "never" and isinstance(messages, list):
        kept["messages"] = [without_thoughts(message) for message in messages]
    return kept


def without_thoughts(message: Any) -> Any:
    """An assistant message without its reasoning_content, if that is a string or null."""
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return message
    if not isinstance(message.get("reasoning_content"), str | None):
        return message
    return {name: value for name, value in message.items() if name != "reasoning_content"}


def check_family(body: dict[str, Any], family: Family) -> None:
    """Refuses what is right for OpenAI and wrong here. The shape of the body has been checked."""
    if not family.strict:
        check_no_strict(body)
    if body.get("tools") and not family.tools:
        raise no_tools(body["model"])
    wanted = body.get("response_format", {"type": "text"})
    if wanted["type"] == "json_schema" and not family.json_schema:
        raise said("This response_format type is unavailable now", code="invalid_request_error")
    if body.get("tools") and wanted["type"] != "text" and family.tools_with_format == "refused":
        raise not_together(family)
    if family.thinks_about(body):
        check_thinking(body, family)
    if family.schemas == "grammar":
        check_grammars(body)


def said(message: str, *, kind: str = "invalid_request_error", code: str | None = None) -> Refusal:
    """A refusal in OpenAI's shape."""
    return Refusal(message, code=code, kind=kind)


def no_tools(model: str) -> Refusal:
    """Ollama: the template of the model has no tools."""
    return said(f"registry.ollama.ai/library/{model} does not support tools")


def not_together(family: Family) -> Refusal:
    """Tools and a format for the text."""
    if family.manner == "google":
        message = "Function calling with a response mime type: 'application/json' is unsupported"
        return Refusal(
            message, raw=[{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]
        )
    message = "json mode cannot be combined with tool/function calling"
    return Refusal(message, raw={"error": {"message": message, "type": "invalid_request_error"}})


def check_no_strict(body: dict[str, Any]) -> None:
    """Pydantic's report of fields that a model forbids."""
    found = list(strict_fields(body))
    if not found:
        return
    plural = "s" if len(found) > 1 else ""
    lines = [f"{len(found)} validation error{plural} for ChatCompletionRequest"]
    for place, value in found:
        lines.append(place)
        lines.append(
            f"  Extra inputs are not permitted [type=extra_forbidden, input_value={value!r}, "
            f"input_type={type(value).__name__}]"
        )
        lines.append(f"    For further information visit {FORBIDDEN}")
    message = "\n".join(lines)
    raw = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
    raise Refusal(message, raw=raw)


def strict_fields(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each `strict` in a request, with its place."""
    for index, tool in enumerate(body.get("tools", ())):
        if "strict" in tool["function"]:
            yield f"tools.{index}.function.strict", tool["function"]["strict"]
    named = body.get("response_format", {}).get("json_schema", {})
    if "strict" in named:
        yield "response_format.json_schema.strict", named["strict"]


def check_thinking(body: dict[str, Any], family: Family) -> None:
    """What a model that thinks does not take."""
    choice = body.get("tool_choice", "auto")
    if choice not in ("auto", "none"):
        if family.manner == "dashscope":
            raise dashscope(
                "The tool_choice parameter does not support being set to required or object in thinking mode"
            )
        raise said("Thinking mode does not support this tool_choice", code="invalid_request_error")
    wanted = body.get("response_format", {"type": "text"})
    if wanted["type"] != "text" and not family.json_mode_while_thinking:
        raise dashscope("Json mode response is not supported when enable_thinking is true")
    if family.thoughts_passed_back:
        for message in body["messages"]:
            if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
                raise said(
                    "The `reasoning_content` in the thinking mode must be passed back to the API.",
                    code="invalid_request_error",
                )


def dashscope(problem: str) -> Refusal:
    """DashScope's prefix and code."""
    message = f"<400> InternalError.Algo.InvalidParameter: {problem}"
    return said(message, code="invalid_parameter_error")


def check_grammars(body: dict[str, Any]) -> None:
    """Every schema has to become a grammar: that of the text, and those of the tools."""
    wanted = body.get("response_format", {"type": "text"})
    if wanted["type"] == "json_schema":
        check_format(wanted["json_schema"]["schema"])
    elif body.get("tools") and body.get("tool_choice") != "none":
        for tool in body["tools"]:
            check_arguments(tool["function"].get("parameters", {}))
