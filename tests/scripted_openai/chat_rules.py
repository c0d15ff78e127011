"""What a chat request has to be beyond its fields: what goes together, and the order of messages."""

import json
import re
from typing import Any

from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.family import FULL, Family
from tests.scripted_openai.strict_schema import SchemaProblem, check_parameters, check_root, check_strict
from tests.scripted_openai.tokens import function_tokens, message_tokens

# Models that reason and take no sampling settings: o1, o3-mini, gpt-5, gpt-5-mini, with or without a date.
REASONING = re.compile(r"o\d.*|gpt-5(-mini|-nano)?(-\d{4}-.*)?")
# Models that do not reason at all.
PLAIN = re.compile(r"gpt-(3\.5|4).*")
# What sampling settings must be for a model that reasons.
DEFAULTS = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}


# Whose json_object wants the word "json" in the messages. The others have no such rule.
WANT_THE_WORD = ("openai", "deepseek", "dashscope", "groq")


def check_rules(body: dict[str, Any], context_window: int, family: Family = FULL) -> None:
    """Refuses what is wrong in a body whose fields are each right. `context_window` is in tokens."""
    check_model_settings(body)
    check_tools(body, family)
    check_stream(body)
    check_response_format(body, family)
    check_order(body["messages"])
    check_length(body, context_window)


def check_model_settings(body: dict[str, Any]) -> None:
    """Settings that exclude each other, or that this model does not take."""
    limits = [name for name in ("max_tokens", "max_completion_tokens") if body.get(name) is not None]
    if len(limits) == 2:
        raise Refusal(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
            "invalid_parameter_combination",
        )
    if REASONING.fullmatch(body["model"]):
        check_reasoning_model(body)
    elif PLAIN.fullmatch(body["model"]):
        if body.get("reasoning_effort") is not None:
            raise Refusal("Unrecognized request argument supplied: reasoning_effort")
        if body.get("verbosity") not in (None, "medium"):  # unquoted
            raise Refusal(
                f"Unsupported value: 'verbosity' does not support '{body['verbosity']}' with this model. "
                "Supported values are: 'medium'.",
                "verbosity",
                "unsupported_value",
            )


def check_reasoning_model(body: dict[str, Any]) -> None:
    """What o1, o3, gpt-5 and their kin refuse."""
    if body.get("max_tokens") is not None:
        raise Refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )
    if body.get("stop") is not None:
        raise Refusal(
            "Unsupported parameter: 'stop' is not supported with this model.", "stop", "unsupported_parameter"
        )
    for setting, default in DEFAULTS.items():
        if body.get(setting) not in (None, default):
            raise Refusal(
                f"Unsupported value: '{setting}' does not support {body[setting]} with this model. Only the "
                f"default ({default}) value is supported.",
                setting,
                "unsupported_value",
            )


def check_tools(body: dict[str, Any], family: Family = FULL) -> None:
    """Functions with usable schemas, and a choice among them only if there are any."""
    if "tools" not in body:
        for setting in ("tool_choice", "parallel_tool_calls"):
            if setting in body:
                raise Refusal(
                    f"Invalid value for '{setting}': '{setting}' is only allowed when 'tools' are specified.",
                    setting,
                )
        return
    for index, tool in enumerate(body["tools"]):
        check_function(tool["function"], index, family)
    names = {tool["function"]["name"] for tool in body["tools"]}
    for name in chosen(body.get("tool_choice")):
        if name not in names:  # unquoted; the sentence is the one for `function_call`
            raise Refusal(
                f"Invalid value for 'tool_choice': no function named {name} was specified in the 'tools' "
                "parameter.",
                "tool_choice",
            )


def check_function(function: dict[str, Any], index: int, family: Family) -> None:
    """The parameters of one function."""
    if "parameters" not in function:
        return
    try:
        if family.schemas != "openai":
            check_root(function["parameters"])
        elif function.get("strict"):
            check_strict(function["parameters"])
        else:
            check_parameters(function["parameters"])
    except SchemaProblem as problem:
        raise Refusal(
            f"Invalid schema for function '{function['name']}': {problem}",
            f"tools[{index}].function.parameters",
            "invalid_function_parameters",
        ) from None


def chosen(choice: Any) -> list[str]:
    """The functions that tool_choice names."""
    if not isinstance(choice, dict):
        return []
    if choice["type"] == "function":
        return [choice["function"]["name"]]
    return [tool["function"]["name"] for tool in choice["allowed_tools"]["tools"]]


def check_stream(body: dict[str, Any]) -> None:
    """Options of a stream without a stream."""
    if body.get("stream_options") is not None and not body.get("stream"):
        raise Refusal(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options"
        )


def check_response_format(body: dict[str, Any], family: Family = FULL) -> None:
    """JSON mode that the messages do not mention, and schemas that cannot be followed.

    The code of a refused schema is null here; `invalid_json_schema` is what the Responses API says.
    """
    wanted = body.get("response_format", {"type": "text"})
    if wanted["type"] == "json_object":
        if family.manner in WANT_THE_WORD and "json" not in json.dumps(body["messages"]).lower():
            if family.manner == "deepseek":  # browserbase/stagehand#1204
                raise Refusal(
                    "Prompt must contain the word 'json' in some form to use 'response_format' of type "
                    "'json_object'.",
                    code="invalid_request_error",
                )
            raise Refusal(
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type "
                "'json_object'.",
                "messages",
            )
    elif wanted["type"] == "json_schema":
        named = wanted["json_schema"]
        try:
            if named.get("strict") and family.schemas == "openai":
                check_strict(named["schema"])
            else:
                check_root(named["schema"])
        except SchemaProblem as problem:
            raise Refusal(
                f"Invalid schema for response_format '{named['name']}': {problem}", "response_format"
            ) from None


def check_order(messages: list[dict[str, Any]]) -> None:
    """Each tool call is answered right after it, by its id, and nothing else is answered."""
    asked: set[str] = set()  # the calls of the assistant message before
    unanswered: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            check_answer(message, index, asked, unanswered)
            continue
        if unanswered:
            raise left_unanswered(unanswered, f"messages.[{index}].role")
        calls = message.get("tool_calls", ())
        unanswered = [call["id"] for call in calls]
        asked = set(unanswered)
        said = message.get("content") is not None or message.get("refusal") is not None
        if message["role"] == "assistant" and not calls and not said:
            raise Refusal(
                "Invalid value for 'content': expected a string, got null.", f"messages.[{index}].content"
            )
    if unanswered:
        raise left_unanswered(unanswered, "messages")


def check_answer(message: dict[str, Any], index: int, asked: set[str], unanswered: list[str]) -> None:
    """A tool message answers a call of the assistant message before it, once."""
    if not asked:
        raise Refusal(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            f"messages.[{index}].role",
        )
    if message["tool_call_id"] not in unanswered:  # unquoted for a second answer to the same call
        raise Refusal(
            f"Invalid parameter: 'tool_call_id' of '{message['tool_call_id']}' not found in 'tool_calls' of "
            "previous message.",
            f"messages.[{index}].tool_call_id",
        )
    unanswered.remove(message["tool_call_id"])


def left_unanswered(calls: list[str], param: str) -> Refusal:
    """Tool calls that nothing answers."""
    return Refusal(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
        f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(calls)}",
        param,
    )


def check_length(body: dict[str, Any], context_window: int) -> None:
    """More than the model can read."""
    in_messages, in_functions = message_tokens(body["messages"]), function_tokens(body)
    total = in_messages + in_functions
    if total > context_window:
        parts = f" ({in_messages} in the messages, {in_functions} in the functions)" if in_functions else ""
        shorten = "messages or functions" if in_functions else "messages"
        raise Refusal(
            f"This model's maximum context length is {context_window} tokens. However, your messages "
            f"resulted in {total} tokens{parts}. Please reduce the length of the {shorten}.",
            "messages",
            "context_length_exceeded",
        )
