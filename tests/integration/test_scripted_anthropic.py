"""The scripted Anthropic host as the `anthropic` package meets it: answers, tools, thoughts, trouble."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import anthropic
import pytest
from anthropic import AsyncAnthropic
from pydantic import BaseModel, Field

from tests.scripted_anthropic.server import ScriptedAnthropic
from tests.scripted_openai.record import ScriptFault
from tests.scripted_openai.replies import (
    Call,
    Drop,
    Failure,
    Hang,
    Raw,
    Refusal,
    Reply,
    Text,
    ToolCalls,
    Usage,
)
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.tokens import count_tokens

MODEL = "claude-sonnet-4-6"
TEXTS = ["The harbour opens at six.", "港口六点开门，周末除外。", "港は六時に開きます。🚢"]
SEARCH: Any = {
    "name": "search",
    "description": "Look something up.",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}


def echo(request: ChatRequest) -> Reply:
    """Says what was said."""
    return Text(request.last_user)


@pytest.fixture
async def host() -> AsyncIterator[ScriptedAnthropic]:
    """A host whose script tests replace."""
    async with ScriptedAnthropic(echo) as running:
        yield running


@pytest.fixture
async def client(host: ScriptedAnthropic) -> AsyncIterator[AsyncAnthropic]:
    """A client that does not try again."""
    async with AsyncAnthropic(base_url=host.base_url, api_key=host.api_key, max_retries=0) as made:
        yield made


def say(text: str) -> list[Any]:
    """A conversation of one user message."""
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_arrives_whole_and_with_its_usage(
    host: ScriptedAnthropic, client: AsyncAnthropic, text: str
) -> None:
    answer = await client.messages.create(model=MODEL, max_tokens=500, messages=say(text), system="简短")
    assert [block.text for block in answer.content if block.type == "text"] == [text]
    assert (answer.stop_reason, answer.model) == ("end_turn", MODEL)
    assert answer.usage.output_tokens == count_tokens(text)
    assert answer.usage.input_tokens == count_tokens(text) + count_tokens("简短") + 9
    [request] = host.requests
    assert (request.wire, request.system, request.users) == ("messages", "简短", (text,))
    assert (request.max_tokens, request.thinking, request.tools_work) == (500, False, False)
    assert host.refusals == []


async def test_tools_are_called_and_their_results_come_back(
    host: ScriptedAnthropic, client: AsyncAnthropic
) -> None:
    def answer(request: ChatRequest) -> Reply:
        if request.tool_results:
            return Text(" / ".join(request.results_of("search")))
        return ToolCalls([Call("search", {"query": text}) for text in TEXTS], text="I look.")

    host.answer = answer
    messages = say("When?")
    first = await client.messages.create(model=MODEL, max_tokens=500, messages=messages, tools=[SEARCH])
    assert first.stop_reason == "tool_use"
    assert [block.type for block in first.content] == ["text", "tool_use", "tool_use", "tool_use"]
    calls = [block for block in first.content if block.type == "tool_use"]
    assert [call.input for call in calls] == [{"query": text} for text in TEXTS]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": text.upper()}]}
        for call, text in zip(calls, TEXTS, strict=True)
    ]
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    second = await client.messages.create(model=MODEL, max_tokens=500, messages=messages, tools=[SEARCH])
    assert second.content[0].type == "text"
    assert second.content[0].text == " / ".join(TEXTS).upper()
    assert [call.parsed["query"] for call in host.requests[1].calls] == TEXTS
    assert host.refusals == []


@pytest.mark.parametrize(
    ("choice", "mode", "named"),
    [
        ({"type": "auto", "disable_parallel_tool_use": True}, "auto", None),
        ({"type": "any"}, "required", None),
        ({"type": "tool", "name": "search"}, "required", "search"),
        ({"type": "none"}, "none", None),
    ],
)
async def test_the_choice_of_tools_is_the_same_as_on_any_wire(
    host: ScriptedAnthropic, client: AsyncAnthropic, choice: Any, mode: str, named: str | None
) -> None:
    host.answer = lambda request: ToolCalls([Call("search", {})]) if mode == "required" else Text("好")
    await client.messages.create(
        model=MODEL, max_tokens=50, messages=say("?"), tools=[SEARCH], tool_choice=choice
    )
    seen = host.requests[0].tool_choice
    assert (seen.mode, seen.named) == (mode, named)
    assert host.requests[0].parallel is not choice.get("disable_parallel_tool_use", False)


class Article(BaseModel):
    """An article, with what Pydantic makes of literals, bounds and unions."""

    title: str = Field(min_length=1)
    language: Literal["en", "zh", "ja"]
    marks: list[int] = Field(max_length=3)
    note: str | None


ARTICLE = Article(title="港の規則", language="ja", marks=[1], note=None)


async def test_the_packages_own_schemas_are_taken_and_its_parser_reads_the_answer(
    host: ScriptedAnthropic, client: AsyncAnthropic
) -> None:
    host.answer = lambda _: Text(ARTICLE.model_dump_json())
    parsed = await client.messages.parse(
        model=MODEL, max_tokens=500, messages=say("写"), output_format=Article, tools=[SEARCH]
    )
    assert parsed.parsed_output == ARTICLE
    assert host.requests[0].response_format.held
    assert host.requests[0].tools_work


async def test_thoughts_are_shown_and_come_back_with_the_calls(
    host: ScriptedAnthropic, client: AsyncAnthropic
) -> None:
    thinking: Any = {"type": "enabled", "budget_tokens": 1024}
    host.answer = lambda _: ToolCalls([Call("search", {"query": "鍵"})], reasoning="まず探す")
    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 2000, "thinking": thinking, "tools": [SEARCH]}
    first = await client.messages.create(messages=say("?"), **asked)
    assert first.content[0].type == "thinking"
    assert first.content[0].thinking == "まず探す"
    assert first.content[1].type == "tool_use"
    result = {"type": "tool_result", "tool_use_id": first.content[1].id, "content": "见附件"}
    talk = [*say("?"), {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    host.answer = echo
    await client.messages.create(messages=talk, **asked)
    talk[1] = {"role": "assistant", "content": first.content[1:]}
    with pytest.raises(anthropic.BadRequestError, match="Expected `thinking` or `redacted_thinking`, but"):
        await client.messages.create(messages=talk, **asked)
    forged: Any = {"type": "thinking", "thinking": "嘘", "signature": first.content[0].signature}
    talk[1] = {"role": "assistant", "content": [forged, *first.content[1:]]}
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"):
        await client.messages.create(messages=talk, **asked)


@pytest.mark.parametrize("text", TEXTS)
async def test_a_stream_brings_the_same_blocks_in_pieces(
    host: ScriptedAnthropic, client: AsyncAnthropic, text: str
) -> None:
    host.answer = lambda _: ToolCalls([Call("search", {"query": text})], text=text, reasoning=text[::-1])
    thinking: Any = {"type": "adaptive"}
    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 900, "tools": [SEARCH], "thinking": thinking}
    whole = await client.messages.create(messages=say("?"), **asked)
    async with client.messages.stream(messages=say("?"), **asked) as stream:
        streamed = await stream.get_final_message()
    kinds = ["thinking", "text", "tool_use"]
    assert [block.type for block in streamed.content] == [block.type for block in whole.content] == kinds
    texts = [(block.text if block.type == "text" else "") for block in streamed.content]
    inputs = [(block.input if block.type == "tool_use" else None) for block in streamed.content]
    assert (texts, inputs) == (["", text, ""], [None, None, {"query": text}])
    assert (streamed.stop_reason, streamed.usage.output_tokens) == ("tool_use", whole.usage.output_tokens)
    assert [request.stream for request in host.requests] == [False, True]


async def test_refusals_cut_texts_and_stated_usage_arrive(
    host: ScriptedAnthropic, client: AsyncAnthropic
) -> None:
    replies = iter(
        [Refusal("恕难从命"), Text("长", finish_reason="length"), Text("a", usage=Usage(100, 9, 40))]
    )
    host.answer = lambda _: next(replies)
    answers = [await client.messages.create(model=MODEL, max_tokens=50, messages=say("?")) for _ in range(3)]
    assert [answer.stop_reason for answer in answers] == ["refusal", "max_tokens", "end_turn"]
    usage = answers[2].usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (60, 40, 9)


FAILURES: list[tuple[Failure, type[anthropic.APIStatusError], int, str]] = [
    (Failure.rate_limited(retry_after=1.4), anthropic.RateLimitError, 429, "rate_limit_error"),
    (Failure.no_quota(), anthropic.BadRequestError, 400, "invalid_request_error"),
    (Failure.server_error(), anthropic.InternalServerError, 500, "api_error"),
    (Failure.overloaded(), anthropic.InternalServerError, 529, "overloaded_error"),
    (Failure.wrong_key(), anthropic.AuthenticationError, 401, "authentication_error"),
    (Failure(403, message="不可"), anthropic.PermissionDeniedError, 403, "permission_error"),
]


@pytest.mark.parametrize(("failure", "kind", "status", "name"), FAILURES)
async def test_failures_are_said_in_anthropics_words(
    host: ScriptedAnthropic,
    client: AsyncAnthropic,
    failure: Failure,
    kind: type[anthropic.APIStatusError],
    status: int,
    name: str,
) -> None:
    host.answer = lambda _: failure
    with pytest.raises(kind) as caught:
        await client.messages.create(model=MODEL, max_tokens=50, messages=say("?"))
    assert caught.value.status_code == status == host.requests[0].failed
    body: Any = caught.value.body
    assert (body["type"], body["error"]["type"]) == ("error", name)
    assert body["request_id"] == caught.value.response.headers["request-id"]
    assert "openai" not in body["error"]["message"].lower()
    if failure.kind == "rate_limited":
        assert caught.value.response.headers["retry-after"] == "2"


async def test_pages_and_dropped_connections_are_errors_too(
    host: ScriptedAnthropic, client: AsyncAnthropic
) -> None:
    replies = iter([Failure.html(502), Drop(), Raw(200, b'{"content": [')])
    host.answer = lambda _: next(replies)
    for kind in (anthropic.InternalServerError, anthropic.APIConnectionError, ValueError):
        with pytest.raises(kind):
            await client.messages.create(model=MODEL, max_tokens=50, messages=say("?"))
    assert [request.failed for request in host.requests] == [502, 0, None]


async def test_a_client_that_goes_away_is_noticed(host: ScriptedAnthropic, client: AsyncAnthropic) -> None:
    host.answer = lambda _: Hang()
    ask = asyncio.create_task(client.messages.create(model=MODEL, max_tokens=50, messages=say("?")))
    await host.wait_for(lambda: host.under_way == 1)
    ask.cancel()
    await asyncio.gather(ask, return_exceptions=True)
    await host.wait_for(lambda: host.requests[0].gone, timeout=10)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Text("No JSON"), "a text that is not JSON"),
        (ToolCalls([Call("fetch", {})]), "'fetch', which is not on offer"),
        (ToolCalls([Call("search", "{broken")], broken=True), "which this wire cannot carry"),
    ],
)
async def test_what_no_model_could_say_is_a_fault_of_the_script(reply: Reply, problem: str) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    config: Any = {"format": {"type": "json_schema", "schema": schema}}

    async def run() -> None:
        async with (
            ScriptedAnthropic(lambda _: reply) as host,
            AsyncAnthropic(base_url=host.base_url, api_key=host.api_key, max_retries=4) as client,
        ):
            with pytest.raises(anthropic.InternalServerError):
                await client.messages.create(
                    model=MODEL, max_tokens=50, messages=say("?"), tools=[SEARCH], output_config=config
                )
            assert len(host.requests) == 1

    with pytest.raises(ScriptFault, match=problem):
        await run()
