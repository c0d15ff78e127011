"""Hosts that speak OpenAI's chat completions in ways of their own, as the `openai` package meets them."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.scripted_openai import family as families
from tests.scripted_openai.family import FAMILIES, Family
from tests.scripted_openai.record import ScriptFault
from tests.scripted_openai.replies import Call, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
TITLES = ["Harbour rules", "港口规则", "港の規則"]
JSON_TEXT = '{"title": "港の規則"}'
FORMAT = {"type": "json_schema", "json_schema": {"name": "article", "schema": SCHEMA}}
STRICT_FORMAT = {"type": "json_schema", "json_schema": {"name": "article", "schema": SCHEMA, "strict": True}}
JSON_MODE = {"type": "json_object"}
SEARCH = {"type": "function", "function": {"name": "search", "parameters": SCHEMA}}
STRICT_SEARCH = {"type": "function", "function": {"name": "search", "parameters": SCHEMA, "strict": True}}
NAMED = {"type": "function", "function": {"name": "search"}}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"title": "鍵"}'}}
    ],
}
FOUND = {"role": "tool", "tool_call_id": "c1", "content": "见附件"}
ASK = {"role": "user", "content": "Write JSON, 请。"}
TALK = [ASK, CALLING, FOUND]

Ask = Callable[..., Any]


def answer(request: ChatRequest) -> Reply:
    """Calls a tool where the model can and must, and answers in JSON otherwise."""
    if request.tool_choice.mode == "required" and request.tools_work:
        return ToolCalls([Call("search", {"title": "鍵"})])
    return Text(JSON_TEXT)


async def ask(host: ScriptedOpenAI, **asked: Any) -> Any:
    """One request by the package, with what the package's types do not know in `extra_body`."""
    async with AsyncOpenAI(base_url=host.base_url, api_key=host.api_key, max_retries=0) as client:
        model = asked.pop("model", host.models[0])
        return await client.chat.completions.create(
            model=model, messages=asked.pop("messages", [ASK]), **asked
        )


@pytest.fixture(params=FAMILIES, ids=lambda family: family.name)
async def any_host(request: pytest.FixtureRequest) -> AsyncIterator[ScriptedOpenAI]:
    """A host of each family, past the answers that it spoils."""
    family: Family = request.param
    async with ScriptedOpenAI(answer, family=family) as host:
        for _ in range(family.sloppiness.empty_choices + family.sloppiness.errors_as_200):
            await ask(host)
        yield host


@pytest.mark.parametrize("title", TITLES)
async def test_every_family_answers_a_plain_request(any_host: ScriptedOpenAI, title: str) -> None:
    any_host.answer = lambda request: Text(request.last_user)
    completion = await ask(any_host, messages=[{"role": "user", "content": title}])
    assert completion.choices[0].message.content == title
    assert any_host.refusals == []


async def test_every_family_with_tools_can_be_left_to_call_them(any_host: ScriptedOpenAI) -> None:
    any_host.answer = lambda request: ToolCalls([Call("search", {"title": "鍵"})])
    if any_host.family.tools:
        completion = await ask(any_host, tools=[SEARCH])
        assert completion.choices[0].message.tool_calls[0].function.name == "search"
    else:
        with pytest.raises(openai.BadRequestError, match="does not support tools"):
            await ask(any_host, tools=[SEARCH])


Refused = tuple[Family, dict[str, Any], str]
THINKING = families.NO_FORCED_TOOL_WHILE_THINKING
QWEN = families.NO_FORCED_TOOL_NOR_JSON_WHILE_THINKING
GOOGLE = families.TOOLS_WITH_FORMAT_REFUSED_BY_GOOGLE
REFUSED: list[Refused] = [
    (families.JSON_OBJECT_ONLY, {"response_format": FORMAT}, "This response_format type is unavailable now"),
    (
        families.JSON_OBJECT_ONLY,
        {"response_format": JSON_MODE, "messages": [{"role": "user", "content": "写"}]},
        "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
    ),
    (
        families.TOOLS_WITH_FORMAT_REFUSED,
        {"response_format": FORMAT, "tools": [SEARCH]},
        "json mode cannot be combined with tool/function calling",
    ),
    (
        GOOGLE,
        {"response_format": JSON_MODE, "tools": [SEARCH]},
        "Function calling with a response mime type: 'application/json' is unsupported",
    ),
    (
        THINKING,
        {"tools": [SEARCH], "tool_choice": "required"},
        "Thinking mode does not support this tool_choice",
    ),
    (THINKING, {"tools": [SEARCH], "tool_choice": NAMED}, "Thinking mode does not support this tool_choice"),
    (
        THINKING,
        {"tools": [SEARCH], "messages": TALK},
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    (
        QWEN,
        {"tools": [SEARCH], "tool_choice": NAMED},
        "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to "
        "required or object in thinking mode",
    ),
    (
        QWEN,
        {"response_format": JSON_MODE},
        "Json mode response is not supported when enable_thinking is true",
    ),
    (
        families.NO_STRICT,
        {"tools": [STRICT_SEARCH]},
        "tools.0.function.strict\\n  Extra inputs are not permitted [type=extra_forbidden, input_value=True",
    ),
    (families.NO_STRICT, {"response_format": STRICT_FORMAT}, "1 validation error for ChatCompletionRequest"),
    (families.NO_TOOLS, {"tools": [SEARCH]}, "registry.ollama.ai/library/gemma3:4b does not support tools"),
    (families.FULL, {"extra_body": {"enable_thinking": True}}, "Unrecognized request argument supplied"),
]


@pytest.mark.parametrize(("family", "asked", "message"), REFUSED)
async def test_a_family_refuses_in_its_own_words(family: Family, asked: dict[str, Any], message: str) -> None:
    async with ScriptedOpenAI(answer, family=family) as host:
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(host, **asked)
    assert message.replace("\\n", "\n") in host.refusals[0].message
    body = caught.value.response.json()
    if family.manner == "google":
        assert body == [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]
    elif family is families.NO_STRICT:
        assert (body["object"], body["type"], body["code"]) == ("error", "BadRequestError", 400)
    else:
        assert body["error"]["type"] == "invalid_request_error"
    assert host.requests == []


Taken = tuple[Family, dict[str, Any]]
TAKEN: list[Taken] = [
    (families.JSON_OBJECT_ONLY, {"response_format": JSON_MODE}),
    (families.JSON_OBJECT_ONLY, {"tools": [STRICT_SEARCH], "tool_choice": NAMED}),
    (families.TOOLS_WITH_FORMAT_REFUSED, {"response_format": STRICT_FORMAT}),
    (GOOGLE, {"tools": [SEARCH], "tool_choice": "required"}),
    (THINKING, {"response_format": JSON_MODE, "tools": [SEARCH]}),
    (
        THINKING,
        {
            "tools": [SEARCH],
            "tool_choice": NAMED,
            "extra_body": {"thinking": {"type": "disabled"}},
            "messages": TALK,
        },
    ),
    (THINKING, {"tools": [SEARCH], "messages": [ASK, {**CALLING, "reasoning_content": "考える"}, FOUND]}),
    (QWEN, {"tools": [SEARCH], "messages": TALK}),
    (QWEN, {"response_format": FORMAT, "extra_body": {"enable_thinking": False}}),
    (families.NO_STRICT, {"response_format": FORMAT, "tools": [SEARCH]}),
    (families.NO_TOOLS, {"response_format": STRICT_FORMAT}),
    (families.TOOLS_DEAD_WITH_FORMAT, {"response_format": JSON_MODE, "messages": [ASK]}),
    (families.GRAMMAR, {"response_format": STRICT_FORMAT, "tools": [SEARCH], "tool_choice": "required"}),
]


@pytest.mark.parametrize(("family", "asked"), TAKEN)
async def test_a_family_takes_what_it_can_do(family: Family, asked: dict[str, Any]) -> None:
    async with ScriptedOpenAI(answer, family=family) as host:
        completion = await ask(host, **asked)
    assert len(completion.choices) == 1
    assert host.refusals == []


@pytest.mark.parametrize(
    ("family", "choice", "works"),
    [
        (families.FULL, "auto", True),
        (families.TOOLS_DEAD_WITH_FORMAT, "auto", False),
        (families.TOOLS_DEAD_WITH_FORMAT, "required", True),
        (families.GRAMMAR, "auto", False),
        (families.GRAMMAR, "required", False),
    ],
)
async def test_a_script_asks_whether_tools_work_beside_a_format(
    family: Family, choice: str, works: bool
) -> None:
    async with ScriptedOpenAI(answer, family=family) as host:
        completion = await ask(host, response_format=STRICT_FORMAT, tools=[SEARCH], tool_choice=choice)
    assert host.requests[0].tools_work is works
    called = completion.choices[0].message.tool_calls is not None
    assert called is (works and choice == "required")


async def test_a_script_that_calls_dead_tools_is_at_fault() -> None:
    async def run() -> None:
        async with ScriptedOpenAI(
            lambda _: ToolCalls([Call("search", {"title": "鍵"})]), family=families.TOOLS_DEAD_WITH_FORMAT
        ) as host:
            with pytest.raises(openai.InternalServerError):
                await ask(host, response_format=FORMAT, tools=[SEARCH])

    with pytest.raises(ScriptFault, match=r"keeps the model to json_schema.*request\.tools_work says so"):
        await run()


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_model_that_thinks_shows_what_it_thought(streamed: bool) -> None:
    async with ScriptedOpenAI(lambda _: Text("完", reasoning="よく考える"), family=THINKING) as host:
        completion = await ask(host, stream=streamed)
        if streamed:
            deltas = [chunk.choices[0].delta async for chunk in completion]
            assert "".join(getattr(delta, "reasoning_content", "") for delta in deltas) == "よく考える"
        else:
            assert completion.choices[0].message.reasoning_content == "よく考える"
        quiet = await ask(host, extra_body={"thinking": {"type": "disabled"}})
    assert not hasattr(quiet.choices[0].message, "reasoning_content")
    assert [request.thinking for request in host.requests] == [True, False]


async def test_a_sloppy_gateway_answers_empty_then_wrong_then_without_usage() -> None:
    async with ScriptedOpenAI(answer, family=families.SLOPPY) as host:
        empty, wrong, whole = [await ask(host) for _ in range(3)]
    assert empty.choices == []
    assert wrong.choices is None
    assert wrong.error == {"message": "Provider returned error", "code": 502}
    assert whole.choices[0].message.content == JSON_TEXT
    assert whole.usage is None
    assert whole.provider == "Scripted"
    assert [request.failed for request in host.requests] == [None, None, None]


def of(**properties: Any) -> dict[str, Any]:
    """An object with these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
CONVERTED: list[tuple[dict[str, Any], str | None]] = [
    (of(a={**TEXT, "maxLength": 1999}, b={"type": "array", "items": TEXT, "maxItems": 40}), None),
    ({**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": of(b={"anyOf": [{"$ref": "#/$defs/A"}, TEXT]})}}, None),
    (of(a={**TEXT, "format": "uri", "title": "链接"}, b={"type": ["string", "null"]}, c={}), None),
    (of(a={**TEXT, "pattern": "^鍵$"}, b={"enum": ["密", 1]}, c={"const": None}), None),
    (of(a={**TEXT, "pattern": "鍵"}), "conversion failed:\nPattern must start with '^' and end with '$'"),
    (of(a={"$ref": "#"}), "conversion failed:\nUnsupported ref: #"),
    (of(a={"$ref": "#/$defs/B"}), "conversion failed:\nError resolving ref #/$defs/B: $defs not in {"),
    (of(a={"description": "何でも"}), 'conversion failed:\nUnrecognized schema: {"description":"何でも"}'),
    (of(a=of(b={**TEXT, "maxLength": 2000})), "Failed to initialize samplers: failed to parse grammar"),
    (of(a={"type": "array", "items": TEXT, "maxItems": 5000}), "failed to parse grammar"),
]


@pytest.mark.parametrize("as_tool", [False, True])
@pytest.mark.parametrize(("schema", "problem"), CONVERTED)
async def test_a_schema_has_to_become_a_grammar(
    schema: dict[str, Any], problem: str | None, as_tool: bool
) -> None:
    asked: dict[str, Any]
    if as_tool:
        asked = {"tools": [{"type": "function", "function": {"name": "search", "parameters": schema}}]}
    else:
        asked = {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}
    async with ScriptedOpenAI(lambda _: Text("{}", broken=True), family=families.GRAMMAR) as host:
        if problem is None:
            await ask(host, **asked)
        else:
            with pytest.raises(openai.BadRequestError) as caught:
                await ask(host, **asked)
            error = caught.value.response.json()["error"]
            assert problem in error["message"]
            assert (error["code"], error["type"]) == (400, "invalid_request_error")
    assert len(host.requests) == (problem is None)
