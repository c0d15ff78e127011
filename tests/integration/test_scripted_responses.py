"""The Responses API at the scripted host, as the `openai` package meets it: answers, tools, reasoning."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel

from tests.integration.raw_requests import send
from tests.scripted_openai import family
from tests.scripted_openai.record import ScriptFault
from tests.scripted_openai.replies import Call, Failure, Refusal, Reply, Text, ToolCalls, Usage
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI
from tests.scripted_openai.tokens import count_tokens

MODEL, THINKER = "gpt-4.1-mini", "gpt-5-mini"
TEXTS = ["The harbour opens at six.", "港口六点开门，周末除外。", "港は六時に開きます。🚢"]
SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}
SEARCH: Any = {
    "type": "function",
    "name": "search",
    "description": "Look.",
    "strict": True,
    "parameters": SCHEMA,
}


def echo(request: ChatRequest) -> Reply:
    """Says what was said."""
    return Text(request.last_user)


@pytest.fixture
async def host() -> AsyncIterator[ScriptedOpenAI]:
    """A host whose script tests replace, of a plain and a reasoning model."""
    async with ScriptedOpenAI(echo, models=(MODEL, THINKER), context_window=1000) as running:
        yield running


@pytest.fixture
async def client(host: ScriptedOpenAI) -> AsyncIterator[AsyncOpenAI]:
    """A client that does not try again."""
    async with AsyncOpenAI(base_url=host.base_url, api_key=host.api_key, max_retries=0) as made:
        yield made


@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_arrives_whole_and_with_its_usage(
    host: ScriptedOpenAI, client: AsyncOpenAI, text: str
) -> None:
    answer = await client.responses.create(model=MODEL, input=text, instructions="简短", max_output_tokens=99)
    assert (answer.output_text, answer.status) == (text, "completed")
    assert answer.usage is not None
    assert answer.usage.output_tokens == count_tokens(text)
    assert answer.usage.input_tokens == count_tokens(text) + count_tokens("简短") + 9
    [request] = host.requests
    assert (request.wire, request.system, request.users) == ("responses", "简短", (text,))
    assert (request.max_tokens, request.thinking, request.tools_work) == (99, False, False)
    assert host.refusals == []


@pytest.mark.parametrize("model", [MODEL, THINKER])
@pytest.mark.parametrize("by_id", [False, True])
async def test_tools_are_called_and_their_outputs_come_back(
    host: ScriptedOpenAI, client: AsyncOpenAI, model: str, by_id: bool
) -> None:
    def answer(request: ChatRequest) -> Reply:
        if request.tool_results:
            return Text(" / ".join(request.results_of("search")))
        return ToolCalls([Call("search", {"query": text}) for text in TEXTS], text="I look.")

    host.answer = answer
    first = await client.responses.create(model=model, input="When?", tools=[SEARCH])
    kinds = [item.type for item in first.output]
    assert kinds == ["reasoning"] * (model == THINKER) + ["message"] + ["function_call"] * 3
    calls = [item for item in first.output if item.type == "function_call"]
    outputs: list[Any] = [
        {"type": "function_call_output", "call_id": call.call_id, "output": text.upper()}
        for call, text in zip(calls, TEXTS, strict=True)
    ]
    said: list[Any] = [item.model_dump(exclude_none=True) for item in first.output]
    if by_id:
        second = await client.responses.create(
            model=model, input=outputs, tools=[SEARCH], previous_response_id=first.id
        )
    else:
        talk: Any = [{"role": "user", "content": "When?"}, *said, *outputs]
        second = await client.responses.create(model=model, input=talk, tools=[SEARCH])
    assert second.output_text == " / ".join(TEXTS).upper()
    assert [call.parsed["query"] for call in host.requests[1].calls] == TEXTS
    assert host.requests[1].users == ("When?",)
    assert host.refusals == []


async def test_reasoning_and_what_it_led_to_stay_together(host: ScriptedOpenAI, client: AsyncOpenAI) -> None:
    host.answer = lambda _: ToolCalls([Call("search", {"query": "鍵"})], reasoning="まず探す")
    include: Any = ["reasoning.encrypted_content"]
    reasoning: Any = {"effort": "low", "summary": "auto"}
    first = await client.responses.create(
        model=THINKER, input="?", tools=[SEARCH], include=include, reasoning=reasoning, store=False
    )
    thought, call = (item.model_dump(exclude_none=True) for item in first.output)
    assert thought["summary"][0]["text"] == "まず探す"
    assert thought["encrypted_content"]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "见附件"}

    async def ask(*items: Any) -> Any:
        talk: Any = [{"role": "user", "content": "?"}, *items]
        return await client.responses.create(model=THINKER, input=talk, tools=[SEARCH])

    host.answer = echo
    await ask(thought, call, output)
    with pytest.raises(openai.BadRequestError, match="was provided without its required 'reasoning' item"):
        await ask(call, output)
    with pytest.raises(openai.BadRequestError, match="was provided without its required following item"):
        await ask(thought)
    with pytest.raises(openai.BadRequestError) as caught:
        await client.responses.create(model=THINKER, input="?", previous_response_id=first.id)
    assert caught.value.code == "previous_response_not_found"  # it was not stored


class Article(BaseModel):
    """An article."""

    title: str
    note: str | None


async def test_the_packages_own_schemas_are_taken_and_its_parser_reads_the_answer(
    host: ScriptedOpenAI, client: AsyncOpenAI
) -> None:
    article = Article(title="港の規則", note=None)
    host.answer = lambda _: Text(article.model_dump_json())
    parsed = await client.responses.parse(model=MODEL, input="写", text_format=Article, tools=[SEARCH])
    assert parsed.output_parsed == article
    wanted = host.requests[0].response_format
    assert (wanted.type, wanted.name, wanted.held) == ("json_schema", "Article", True)


async def test_refusals_cut_texts_and_stated_usage_arrive(host: ScriptedOpenAI, client: AsyncOpenAI) -> None:
    replies = iter(
        [Refusal("恕难从命"), Text("长", finish_reason="length"), Text("a", usage=Usage(9, 8, 7, 6))]
    )
    host.answer = lambda _: next(replies)
    declined, cut, stated = [await client.responses.create(model=MODEL, input="?") for _ in range(3)]
    assert declined.output[0].model_dump()["content"] == [{"refusal": "恕难从命", "type": "refusal"}]
    assert cut.status == "incomplete"
    assert cut.incomplete_details is not None
    assert cut.incomplete_details.reason == "max_output_tokens"
    assert stated.usage is not None
    assert stated.usage.input_tokens_details.cached_tokens == 7
    assert stated.usage.output_tokens_details.reasoning_tokens == 6


CALL = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "十点"}
USER = {"role": "user", "content": "何時"}
OPEN = {"type": "array"}


def ask(*items: Any, **changes: Any) -> dict[str, Any]:
    """A valid body, changed."""
    return {"model": MODEL, "input": list(items) or "何時", **changes}


def form(**wanted: Any) -> dict[str, Any]:
    """A body that wants its text so."""
    return ask(text={"format": wanted})


# What is sent, and param, code and a part of the message of the 400 that comes back.
REFUSED: list[tuple[dict[str, Any], str | None, str | None, str]] = [
    ({"input": "?"}, "model", "missing_required_parameter", "Missing required parameter: 'model'."),
    ({"model": MODEL}, "input", "missing_required_parameter", 'One of "input" or "previous_response_id"'),
    (ask(model="gpt-99"), "model", "model_not_found", "The requested model 'gpt-99' does not exist."),
    (ask(seed=7), "seed", "unknown_parameter", "Unknown parameter: 'seed'."),
    (ask(messages=[]), "messages", "unsupported_parameter", "this parameter has moved to 'input'"),
    (ask(max_tokens=9), "max_tokens", "unsupported_parameter", "has moved to 'max_output_tokens'"),
    (ask(max_output_tokens=9), "max_output_tokens", "integer_below_min_value", "a value >= 16, but got 9"),
    (ask(reasoning={"effort": "low"}), "reasoning.effort", "unsupported_parameter", "with this model."),
    (ask(model=THINKER, temperature=0), "temperature", "unsupported_parameter", "with this model."),
    (ask({"role": "tool", "content": "?"}), "input[0].role", "invalid_value", "Supported values are: 'user'"),
    (ask({"type": "text"}), "input[0].type", "invalid_value", "Supported values are: 'message'"),
    (
        ask({**CALL, "id": "msg_1"}, OUTPUT),
        "input[0].id",
        "invalid_value",
        "Expected an ID that begins with 'fc'",
    ),
    (ask(USER, CALL), "input", None, "No tool output found for function call c1."),
    (ask(USER, OUTPUT), "input", None, "No tool call found for function call output with call_id c1."),
    (ask(OUTPUT, CALL), "input", None, "No tool call found for function call output with call_id c1."),
    (
        ask(tools=[{"type": "function", "function": SEARCH}]),
        "tools[0].name",
        "missing_required_parameter",
        "Missing required parameter: 'tools[0].name'.",
    ),
    (
        ask(tools=[{**SEARCH, "parameters": OPEN}]),
        "tools[0].parameters",
        "invalid_function_parameters",
        "Invalid schema for function 'search': schema must be",
    ),
    (
        ask(tool_choice="required"),
        "tool_choice",
        None,
        "Tool choice 'required' must be specified with 'tools'",
    ),
    (
        ask(tools=[SEARCH], tool_choice={"type": "function", "name": "fetch"}),
        "tool_choice",
        None,
        "Tool choice 'fetch' not found in 'tools' parameter.",
    ),
    (
        form(type="json_object"),
        "input",
        None,
        "must contain the word 'json' in some form to use 'text.format'",
    ),
    (
        form(type="json_schema", schema=SCHEMA),
        "text.format.name",
        "missing_required_parameter",
        "text.format.name",
    ),
    (
        form(type="json_schema", name="a", schema=OPEN, strict=True),
        "text.format.schema",
        "invalid_json_schema",
        "Invalid schema for response_format 'a': ",
    ),
    (ask(previous_response_id="resp_x"), "previous_response_id", "previous_response_not_found", "not found."),
    (
        ask({"role": "user", "content": "长" * 2000}),
        "input",
        "context_length_exceeded",
        "exceeds the context",
    ),
]


@pytest.mark.parametrize(("body", "param", "code", "message"), REFUSED)
async def test_what_openai_refuses_is_refused_with_its_body(
    host: ScriptedOpenAI, body: dict[str, Any], param: str | None, code: str | None, message: str
) -> None:
    status, answer = await send(host, "/v1/responses", body)
    assert message in answer["error"]["message"]
    assert (status, answer["error"]["param"], answer["error"]["code"]) == (400, param, code)
    assert answer["error"]["type"] == "invalid_request_error"


async def test_failures_and_faults_are_as_on_the_chat_wire(client: AsyncOpenAI, host: ScriptedOpenAI) -> None:
    host.answer = lambda _: Failure.rate_limited(retry_after=0.4)
    with pytest.raises(openai.RateLimitError):
        await client.responses.create(model=MODEL, input="?")
    host.answer = lambda _: ToolCalls([Call("fetch", {})])
    with pytest.raises(openai.InternalServerError, match="'fetch', which is not on offer"):
        await client.responses.create(model=MODEL, input="?", tools=[SEARCH])
    assert isinstance(host.faults.pop(), ScriptFault)
    assert [request.failed for request in host.requests] == [429, 500]


async def test_hosts_of_other_families_do_not_have_it() -> None:
    async with ScriptedOpenAI(echo, family=family.GRAMMAR) as host:
        status, _ = await send(host, "/v1/responses", ask())
    assert status == 404
