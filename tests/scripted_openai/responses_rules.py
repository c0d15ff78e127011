"""What a request of the Responses API has to be beyond its fields, and what belongs together in its input."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.scripted_openai.chat_rules import PLAIN, REASONING
from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.strict_schema import SchemaProblem, check_parameters, check_root, check_strict

Item = Mapping[str, Any]


def check_response_rules(body: dict[str, Any], items: Sequence[Item], reasons: Mapping[str, str]) -> None:
    """Refuses what is wrong in a body whose fields are each right.

    `items` are those of the responses before, and of this input. `reasons` are the calls and messages that
    this host has made after a reasoning item: their ids to its id.
    """
    check_settings(body)
    check_tools(body)
    check_format(body)
    check_calls(items)
    check_reasoning(items, reasons)


def check_settings(body: dict[str, Any]) -> None:
    """What a model that reasons does not take, and one that does not reason."""
    if REASONING.fullmatch(body["model"]):
        for setting in ("temperature", "top_p"):
            if body.get(setting) is not None:
                raise unsupported(setting)
    elif PLAIN.fullmatch(body["model"]):
        for setting in ("effort", "summary"):
            if (body.get("reasoning") or {}).get(setting) is not None:
                raise unsupported(f"reasoning.{setting}")


def unsupported(setting: str) -> Refusal:
    """A setting that this model does not have."""
    return Refusal(
        f"Unsupported parameter: '{setting}' is not supported with this model.",
        setting,
        "unsupported_parameter",
    )


def check_tools(body: dict[str, Any]) -> None:
    """Functions with usable schemas, and a choice among them."""
    tools = body.get("tools", ())
    for index, tool in enumerate(tools):
        parameters = tool.get("parameters")
        if parameters is None:
            continue
        try:
            (check_strict if tool.get("strict") else check_parameters)(parameters)
        except SchemaProblem as problem:
            raise Refusal(
                f"Invalid schema for function '{tool['name']}': {problem}",
                f"tools[{index}].parameters",
                "invalid_function_parameters",
            ) from None
    choice = body.get("tool_choice")
    if choice == "required" and not tools:
        raise Refusal("Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice")
    names = {tool["name"] for tool in tools}
    for name in named(choice):
        if name not in names:
            raise Refusal(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")


def named(choice: Any) -> list[str]:
    """The functions that tool_choice names."""
    if not isinstance(choice, dict):
        return []
    return [choice["name"]] if choice["type"] == "function" else [tool["name"] for tool in choice["tools"]]


def check_format(body: dict[str, Any]) -> None:
    """JSON mode that the input does not mention, and schemas that cannot be followed."""
    wanted = (body.get("text") or {}).get("format") or {"type": "text"}
    if wanted["type"] == "json_object":
        asked = json.dumps([body.get("input"), body.get("instructions")]).lower()
        if "json" not in asked:
            raise Refusal(
                "Response input messages must contain the word 'json' in some form to use 'text.format' of "
                "type 'json_object'.",
                "input",
            )
    elif wanted["type"] == "json_schema":
        try:
            (check_strict if wanted.get("strict") else check_root)(wanted["schema"])
        except SchemaProblem as problem:
            raise Refusal(
                f"Invalid schema for response_format '{wanted['name']}': {problem}",
                "text.format.schema",
                "invalid_json_schema",
            ) from None


def check_calls(items: Sequence[Item]) -> None:
    """Each call has its output after it, and each output its call before it.

    The sentences: symgraph/GhidrAssist#78, microsoft/vscode#320060.
    """
    open_calls: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            open_calls.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in open_calls:
                raise Refusal(
                    f"No tool call found for function call output with call_id {item['call_id']}.", "input"
                )
            open_calls.remove(item["call_id"])
    if open_calls:
        raise Refusal(f"No tool output found for function call {open_calls[0]}.", "input")


def check_reasoning(items: Sequence[Item], reasons: Mapping[str, str]) -> None:
    """Reasoning stays with what it led to (vercel/ai#7099, TanStack/ai#1212)."""
    present = {item["id"] for item in items if item.get("type") == "reasoning"}
    for index, item in enumerate(items):
        identity = item.get("id")
        if item.get("type") == "reasoning":
            after = items[index + 1] if index + 1 < len(items) else {}
            led_to = after.get("type") in ("function_call", "reasoning") or after.get("role") == "assistant"
            if not led_to:
                raise Refusal(
                    f"Item '{identity}' of type 'reasoning' was provided without its required following "
                    "item.",
                    "input",
                )
        elif identity is not None and reasons.get(identity, identity) not in {*present, identity}:
            raise Refusal(
                f"Item '{identity}' of type '{item.get('type', 'message')}' was provided without its "
                "required "
                f"'reasoning' item: '{reasons[identity]}'.",
                "input",
            )
