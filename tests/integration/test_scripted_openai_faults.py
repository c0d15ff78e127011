"""The scripted OpenAI host holds its script to what a real model could say, and is loud when it could not."""

from collections.abc import Awaitable, Callable
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.integration.raw_requests import send
from tests.scripted_openai.record import ScriptFault
from tests.scripted_openai.replies import Call, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "marks": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 5}, "maxItems": 2},
        "note": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/note"}]},
    },
    "required": ["title", "marks", "note"],
    "additionalProperties": False,
    "$defs": {"note": {"type": "string", "enum": ["short", "短い", "简短"]}},
}
STRICT = {"type": "function", "function": {"name": "write", "strict": True, "parameters": SCHEMA}}
FREE = {
    "type": "function",
    "function": {"name": "search", "parameters": {"type": "object", "properties": {}}},
}
TOOLS = {"tools": [STRICT, FREE]}
FORMAT = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "mark", "strict": True, "schema": SCHEMA},
    }
}
LOOSE = {"response_format": {"type": "json_schema", "json_schema": {"name": "mark", "schema": SCHEMA}}}
JSON = {"response_format": {"type": "json_object"}}
NAMED = {**TOOLS, "tool_choice": {"type": "function", "function": {"name": "search"}}}
ALLOWED = {
    **TOOLS,
    "tool_choice": {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "search"}}]},
    },
}
GOOD = '{"title": "密码", "marks": [1, 5], "note": "短い"}'


async def ask(host: ScriptedOpenAI, **changes: Any) -> tuple[int, dict[str, Any]]:
    """Status and JSON of one chat request."""
    messages = [{"role": "user", "content": "Answer in JSON."}]
    return await send(
        host, "/v1/chat/completions", {"model": "gpt-4.1-mini", "messages": messages, **changes}
    )


async def ask_once(host: ScriptedOpenAI, **changes: Any) -> None:
    """One request, which finds the script at fault; and the end of the host, which says so again."""
    async with host:
        status, answer = await ask(host, **changes)
        assert (status, answer["error"]["code"]) == (500, "script_fault")
        assert answer["error"]["message"] == str(host.faults[0])


IMPOSSIBLE: list[tuple[dict[str, Any], Reply, str]] = [
    ({}, ToolCalls([Call("search", {})]), "'search', which is not on offer (on offer: nothing)"),
    (TOOLS, ToolCalls([Call("fetch", {})]), "'fetch', which is not on offer (on offer: write, search)"),
    (TOOLS, ToolCalls([]), "an empty list of tool calls"),
    ({**TOOLS, "tool_choice": "none"}, ToolCalls([Call("search", {})]), "tool_choice does not allow"),
    ({**TOOLS, "tool_choice": "required"}, Text("No."), "the request demands a call of write or search"),
    (NAMED, Text("No."), "the request demands a call of search"),
    (NAMED, ToolCalls([Call("write", GOOD)]), "'write', which tool_choice does not allow"),
    (ALLOWED, ToolCalls([Call("write", GOOD)]), "'write', which tool_choice does not allow"),
    (
        {**TOOLS, "parallel_tool_calls": False},
        ToolCalls([Call("search", {}), Call("search", {})]),
        "2 calls, but parallel_tool_calls is false",
    ),
    (TOOLS, ToolCalls([Call("write", {"title": "鍵"})]), "$: 'marks' is missing"),
    (TOOLS, ToolCalls([Call("write", '{"title"')]), "strict function write that are not JSON"),
    (FORMAT, Text("Sorry."), "a text that is not JSON"),
    (FORMAT, Text('{"title": 1, "marks": [], "note": null}'), "$.title: 1 is not of type string"),
    (FORMAT, Text('{"title": "", "marks": [6], "note": null}'), "$.marks[0]: 6 is more than 5"),
    (FORMAT, Text('{"title": "", "marks": [true], "note": null}'), "$.marks[0]: true is not of type integer"),
    (FORMAT, Text('{"title": "", "marks": [1, 2, 3], "note": null}'), "$.marks: 3 items are more than 2"),
    (FORMAT, Text('{"title": "", "marks": [], "note": "長い"}'), '$.note: "長い" is not one of'),
    (FORMAT, Text('{"title": "", "marks": [], "note": null, "x": 1}'), "$: 'x' is not a property"),
    (FORMAT, Text('{"title": NaN, "marks": [], "note": null}'), "NaN is not JSON"),
    (JSON, Text("[]"), "JSON that is not an object"),
    ({"stop": ["。", "END"]}, Text("完了。"), "past the stop sequence '。'"),
    ({"max_completion_tokens": 5}, Text("很长的一段话" * 5), "tokens where 5 are allowed"),
]


@pytest.mark.parametrize(("changes", "reply", "problem"), IMPOSSIBLE)
async def test_what_no_model_could_say_is_a_fault_of_the_script(
    changes: dict[str, Any], reply: Reply, problem: str
) -> None:
    host = ScriptedOpenAI(lambda _: reply)
    with pytest.raises(ScriptFault) as caught:
        await ask_once(host, **changes)
    assert problem in str(caught.value)
    assert host.requests[0].failed == 500
    assert len(host.faults) == 1


POSSIBLE: list[tuple[dict[str, Any], Reply]] = [
    (TOOLS, ToolCalls([Call("write", GOOD), Call("search", "not { json")])),
    (TOOLS, Text("No call is needed.")),
    (ALLOWED, ToolCalls([Call("search", {"any": ["thing", 1]})])),
    (FORMAT, Text(GOOD)),
    (FORMAT, Text('{"title": "cut', finish_reason="length")),
    (LOOSE, Text("No JSON at all")),
    (JSON, Text('{"鍵": 1}')),
    ({"max_tokens": 5}, Text("很长的一段话" * 5, finish_reason="length")),
    # Bad on purpose:
    (FORMAT, Text("Sorry.", broken=True)),
    (NAMED, Text("抱歉", broken=True)),
    (TOOLS, ToolCalls([Call("fetch", {}), Call("write", {})], broken=True)),
]


@pytest.mark.parametrize(("changes", "reply"), POSSIBLE)
async def test_what_a_model_could_say_is_sent(changes: dict[str, Any], reply: Reply) -> None:
    async with ScriptedOpenAI(lambda _: reply) as host:
        status, answer = await ask(host, **changes)
    message = answer["choices"][0]["message"]
    assert status == 200
    if isinstance(reply, ToolCalls):
        assert [call["function"]["name"] for call in message["tool_calls"]] == [
            call.name for call in reply.calls
        ]
    else:
        assert isinstance(reply, Text)
        assert message["content"] == reply.content


async def raises(request: ChatRequest) -> Reply:
    """A script with a bug."""
    raise KeyError(f"見つからない: {request.last_user}")


BUGS: list[tuple[Callable[[ChatRequest], Any], str]] = [
    (raises, "KeyError('見つからない: Answer in JSON.')"),
    (lambda _: None, "the script answered None, which is no Reply"),
    (lambda _: ToolCalls([Call("search", {"when": object()})], broken=True), "not JSON serializable"),
]


@pytest.mark.parametrize(("script", "problem"), BUGS)
async def test_a_script_with_a_bug_is_loud(
    script: Callable[[ChatRequest], Reply | Awaitable[Reply]], problem: str
) -> None:
    with pytest.raises(ScriptFault) as caught:
        await ask_once(ScriptedOpenAI(script))
    assert problem in str(caught.value)


async def test_a_fault_does_not_hide_the_error_of_the_test() -> None:
    async def run() -> None:
        async with ScriptedOpenAI(lambda _: ToolCalls([])) as host:
            await ask(host)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        await run()
    assert "The script was wrong before: Request #1" in caught.value.__notes__[0]


async def test_the_package_does_not_try_again_after_a_fault() -> None:
    host = ScriptedOpenAI(lambda _: ToolCalls([]))

    async def run() -> None:
        async with host, AsyncOpenAI(base_url=host.base_url, api_key=host.api_key, max_retries=5) as client:
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(
                    model="gpt-4.1-mini", messages=[{"role": "user", "content": "Go"}]
                )

    with pytest.raises(ScriptFault):
        await run()
    assert len(host.requests) == 1


async def test_a_bug_of_the_host_itself_is_no_answer_of_openai() -> None:
    host = ScriptedOpenAI(lambda _: Text("ok"), embedding_models={"flat": 0})  # no vector has 0 dimensions

    async def run() -> None:
        async with host:
            status, answer = await send(host, "/v1/embeddings", {"model": "flat", "input": "鍵"})
            assert (status, answer["error"]["code"]) == (500, "script_fault")

    with pytest.raises(ScriptFault, match="the host itself raised"):
        await run()
