"""Whether a real model could have answered so: what a script may say is held to what the request demands."""

import json
from typing import Any, NoReturn

from tests.scripted_openai.json_schema import problem_with
from tests.scripted_openai.replies import Call, ModelReply, Refusal, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.tokens import call_tokens, count_tokens


def no_model_says(request: ChatRequest, reply: ModelReply) -> str | None:
    """Why no real model could have given this reply; None if one could, or if it is said to be broken."""
    taken = completion_tokens(reply)
    problem = unsendable(request, reply) if isinstance(reply, ToolCalls) else None
    if problem is not None or reply.broken:
        return problem
    match reply:
        case Text():
            problem = wrong_text(request, reply)
        case ToolCalls():
            problem = wrong_calls(request, reply)
        case _:
            problem = None
    return problem or too_long(request, reply, taken)


def unsendable(request: ChatRequest, reply: ToolCalls) -> str | None:
    """Arguments that are no object, on a wire that sends an object and not a string."""
    if request.wire not in ("messages", "generate"):
        return None
    for call in reply.calls:
        try:
            value = read_json(arguments_of(call))
        except ValueError:
            value = None
        if not isinstance(value, dict):
            return f"arguments of {call.name} that are no JSON object, which this wire cannot carry"
    return None


def wrong_text(request: ChatRequest, reply: Text) -> str | None:
    """A text where a call is demanded, or one that is not in the demanded format."""
    choice = request.tool_choice
    if choice.mode == "required" and request.tools_work:  # else the host drops the demand
        return f"a text, but the request demands a call of {' or '.join(choice.allowed)}"
    if reply.finish_reason != "stop":  # cut off: it may end anywhere
        return None
    for stop in request.stops:
        if stop in reply.content:
            return f"a text that runs past the stop sequence {stop!r}"
    return wrong_format(request, reply)


def wrong_format(request: ChatRequest, reply: Text) -> str | None:
    """A text that is not in the demanded format."""
    wanted = request.response_format
    if wanted.type == "text" or (wanted.type == "json_schema" and not wanted.held):
        return None
    try:
        value = read_json(reply.content)
    except ValueError as error:
        return f"a text that is not JSON, as {wanted.type} demands: {error}"
    if wanted.type == "json_object" and not isinstance(value, dict):
        return "JSON that is not an object, as json_object demands"
    if wanted.schema is not None and (problem := problem_with(value, wanted.schema)):
        return f"JSON that does not follow the schema {wanted.name}: {problem}"
    return None


def wrong_calls(request: ChatRequest, reply: ToolCalls) -> str | None:
    """Calls that are not on offer, not allowed, too many, or not valid where the function is strict."""
    if not reply.calls:
        return "an empty list of tool calls"
    if request.tools and not request.tools_work:
        return (
            f"calls, but this host keeps the model to {request.response_format.type}: it cannot call the "
            "tools beside it (request.tools_work says so)"
        )
    if len(reply.calls) > 1 and not request.parallel:
        return f"{len(reply.calls)} calls, but parallel_tool_calls is false"
    for call in reply.calls:
        if problem := wrong_call(request, call):
            return problem
    return None


def wrong_call(request: ChatRequest, call: Call) -> str | None:
    """What is wrong with one call."""
    tool = request.tool(call.name)
    if tool is None:
        on_offer = ", ".join(request.tool_names) or "nothing"
        return f"a call of {call.name!r}, which is not on offer (on offer: {on_offer})"
    if call.name not in request.tool_choice.allowed:
        return f"a call of {call.name!r}, which tool_choice does not allow"
    if not tool.held:
        return None
    try:
        value = read_json(call.arguments) if isinstance(call.arguments, str) else call.arguments
    except ValueError as error:
        return f"arguments of the strict function {call.name} that are not JSON: {error}"
    if problem := problem_with(value, tool.parameters):
        return f"arguments of the strict function {call.name} that do not follow its schema: {problem}"
    return None


def too_long(request: ChatRequest, reply: ModelReply, taken: int) -> str | None:
    """An answer that max_tokens would have cut off."""
    cut_off = isinstance(reply, Text) and reply.finish_reason == "length"
    if request.max_tokens is None or taken <= request.max_tokens or cut_off:
        return None
    return f"about {taken} tokens where {request.max_tokens} are allowed: finish_reason='length', or say less"


def completion_tokens(reply: ModelReply) -> int:
    """Tokens of a reply, as the host counts them."""
    match reply:
        case Text(content=content):
            return count_tokens(content)
        case ToolCalls(calls=calls, text=text):
            return count_tokens(text or "") + sum(
                call_tokens(call.name, arguments_of(call)) for call in calls
            )
        case Refusal(text=text):
            return count_tokens(text)
        case _:
            return 0


def arguments_of(call: Call) -> str:
    """The arguments as sent: JSON without blanks. Raises TypeError or ValueError if they cannot be."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(dict(call.arguments), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_json(text: str) -> Any:
    """JSON as the standard has it. Raises ValueError, also for NaN and Infinity, which Python would take."""
    return json.loads(text, parse_constant=refuse_constant)


def refuse_constant(name: str) -> NoReturn:
    """NaN and its like are not JSON."""
    raise ValueError(f"{name} is not JSON")
