"""The scripted OpenAI host as the `openai` package meets it: answers, streams, usage, trouble."""

import asyncio
from collections.abc import AsyncIterator, Callable

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from openai.types.chat.chat_completion import Choice

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
from tests.scripted_openai.server import ScriptedOpenAI
from tests.scripted_openai.tokens import count_tokens

MODEL = "gpt-4.1-mini"
TEXTS = ["The harbour opens at six.", "港口六点开门，周末除外。", "港は六時に開きます。🚢"]
SEARCH: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Look something up.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look up"}},
            "required": ["query"],
            "additionalProperties": False,
        },
    },
}

Client = Callable[[ScriptedOpenAI], AsyncOpenAI]


@pytest.fixture
async def client_of() -> AsyncIterator[Client]:
    """Makes clients that do not try again, and closes them."""
    clients: list[AsyncOpenAI] = []

    def make(host: ScriptedOpenAI) -> AsyncOpenAI:
        clients.append(AsyncOpenAI(base_url=host.base_url, api_key=host.api_key, max_retries=0, timeout=20))
        return clients[-1]

    yield make
    for client in clients:
        await client.close()


def say(text: str) -> list[ChatCompletionMessageParam]:
    """A conversation of one user message."""
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_arrives_whole_and_with_its_usage(client_of: Client, text: str) -> None:
    async with ScriptedOpenAI(lambda request: Text(request.last_user)) as host:
        answer = await client_of(host).chat.completions.create(model=MODEL, messages=say(text))
    assert answer.choices[0].message.content == text
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == count_tokens(text)
    assert answer.usage.prompt_tokens == count_tokens(text) + 6
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert host.refusals == []


@pytest.mark.parametrize("text", TEXTS)
async def test_a_stream_brings_the_same_text_in_pieces_and_usage_last(client_of: Client, text: str) -> None:
    async with ScriptedOpenAI(lambda _: Text(text)) as host:
        chunks = [
            chunk
            async for chunk in await client_of(host).chat.completions.create(
                model=MODEL, messages=say("Go"), stream=True, stream_options={"include_usage": True}
            )
        ]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == text
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 2) + ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == count_tokens(text)
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert host.requests[0].finished_at is not None


async def test_a_stream_without_options_has_no_usage(client_of: Client) -> None:
    async with ScriptedOpenAI(lambda _: Text("Done")) as host:
        stream = await client_of(host).chat.completions.create(model=MODEL, messages=say("Go"), stream=True)
        assert [chunk.usage async for chunk in stream] == [None, None, None]


@pytest.mark.parametrize("streamed", [False, True])
async def test_tools_are_called_and_their_results_come_back(client_of: Client, streamed: bool) -> None:
    def answer(request: ChatRequest) -> Reply:
        if request.tool_results:
            return Text(" / ".join(request.results_of("search")))
        return ToolCalls([Call("search", {"query": text}) for text in TEXTS], text="I look.")

    messages = say("When does it open?")
    async with ScriptedOpenAI(answer) as host:
        create = client_of(host).chat.completions
        first: Choice
        if streamed:
            async with create.stream(model=MODEL, messages=messages, tools=[SEARCH]) as stream:
                first = (await stream.get_final_completion()).choices[0]
        else:
            first = (await create.create(model=MODEL, messages=messages, tools=[SEARCH])).choices[0]
        assert first.finish_reason == "tool_calls"
        assert first.message.content == "I look."
        calls = [call for call in first.message.tool_calls or () if call.type == "function"]
        messages.append(
            {
                "role": "assistant",
                "content": first.message.content,
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.function.name, "arguments": call.function.arguments},
                    }
                    for call in calls
                ],
            }
        )
        for call, text in zip(calls, TEXTS, strict=True):
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text.upper()})
        second = await create.create(model=MODEL, messages=messages, tools=[SEARCH])
    assert second.choices[0].message.content == " / ".join(TEXTS).upper()
    assert [call.parsed["query"] for call in host.requests[1].calls] == TEXTS
    assert [result.call.name for result in host.requests[1].tool_results] == ["search"] * 3
    assert host.requests[0].tool("search") is not None
    assert host.requests[0].tool("fetch") is None


async def test_a_forced_function_ends_with_stop(client_of: Client) -> None:
    async with ScriptedOpenAI(
        lambda request: ToolCalls([Call(request.tool_choice.named or "", {"query": ""})])
    ) as host:
        answer = await client_of(host).chat.completions.create(
            model=MODEL,
            messages=say("Go"),
            tools=[SEARCH],
            tool_choice={"type": "function", "function": {"name": "search"}},
        )
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.tool_calls is not None


async def test_a_refusal_takes_the_place_of_content(client_of: Client) -> None:
    async with ScriptedOpenAI(lambda _: Refusal("恕难从命")) as host:
        message = (
            (await client_of(host).chat.completions.create(model=MODEL, messages=say("Go")))
            .choices[0]
            .message
        )
    assert (message.content, message.refusal) == (None, "恕难从命")


async def test_a_script_may_state_usage_or_leave_it_out(client_of: Client) -> None:
    replies = iter([Text("a", usage=Usage(1000, 20, cached_tokens=512)), Text("b", usage=None)])
    async with ScriptedOpenAI(lambda _: next(replies)) as host:
        client = client_of(host)
        stated = await client.chat.completions.create(model=MODEL, messages=say("Go"))
        left_out = await client.chat.completions.create(model=MODEL, messages=say("Go"))
    assert stated.usage is not None
    assert stated.usage.total_tokens == 1020
    assert stated.usage.prompt_tokens_details is not None
    assert stated.usage.prompt_tokens_details.cached_tokens == 512
    assert left_out.usage is None


async def test_tools_and_schemas_are_billed_as_prompt(client_of: Client) -> None:
    async with ScriptedOpenAI(lambda _: Text("ok")) as host:
        client = client_of(host)
        plain = await client.chat.completions.create(model=MODEL, messages=say("Go"))
        with_tool = await client.chat.completions.create(model=MODEL, messages=say("Go"), tools=[SEARCH])
    assert plain.usage is not None
    assert with_tool.usage is not None
    assert 20 < with_tool.usage.prompt_tokens - plain.usage.prompt_tokens < 60


async def test_the_request_shows_what_was_sent(client_of: Client) -> None:
    async with ScriptedOpenAI(lambda _: Text("ok")) as host:
        await client_of(host).chat.completions.create(
            model=MODEL,
            messages=[
                {"role": "system", "content": "规则"},
                {"role": "developer", "content": [{"type": "text", "text": "短く"}]},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "One. "}, {"type": "text", "text": "Two."}],
                },
                {"role": "assistant", "content": "Yes?"},
            ],
            max_completion_tokens=50,
            extra_headers={"X-Trace": "鍵".encode().hex()},
        )
    [request] = host.requests
    assert (request.number, request.model, request.stream, request.max_tokens) == (1, MODEL, False, 50)
    assert request.system == "规则\n\n短く"
    assert request.last_user == "One. Two."
    assert request.users == ("One. Two.",)
    assert [message.role for message in request.messages] == ["system", "developer", "user", "assistant"]
    assert request.tool_choice.mode == "none"
    assert request.headers["x-trace"] == "鍵".encode().hex()
    assert request.body["max_completion_tokens"] == 50


FAILURES: list[tuple[Reply, type[openai.APIError], int]] = [
    (Failure.rate_limited(retry_after=0.4), openai.RateLimitError, 429),
    (Failure.no_quota(), openai.RateLimitError, 429),
    (Failure.server_error(), openai.InternalServerError, 500),
    (Failure.overloaded(), openai.InternalServerError, 503),
    (Failure.wrong_key(), openai.AuthenticationError, 401),
    (Failure.html(502), openai.InternalServerError, 502),
    (Failure.html(404), openai.NotFoundError, 404),
    (Raw(418, b"\xff\xfe", "text/plain"), openai.APIStatusError, 418),
]


@pytest.mark.parametrize(("reply", "kind", "status"), FAILURES)
async def test_failures_arrive_as_the_errors_they_are(
    client_of: Client, reply: Reply, kind: type[openai.APIStatusError], status: int
) -> None:
    async with ScriptedOpenAI(lambda _: reply) as host:
        with pytest.raises(kind) as caught:
            await client_of(host).chat.completions.create(model=MODEL, messages=say("Go"))
    assert caught.value.status_code == status
    assert host.requests[0].failed == status
    if isinstance(reply, Failure) and reply.body is None:
        assert caught.value.code == reply.code
        assert caught.value.type == reply.type
        assert caught.value.response.headers["x-request-id"].startswith("req_")
    if reply == Failure.rate_limited(retry_after=0.4):
        assert caught.value.response.headers["retry-after"] == "1"
        assert caught.value.response.headers["retry-after-ms"] == "400"
        assert caught.value.response.headers["x-ratelimit-remaining-tokens"] == "1961"


async def test_a_dropped_connection_and_an_answer_that_is_no_json_are_errors_too(client_of: Client) -> None:
    replies = iter([Drop(), Raw(200, b'{"choices": [')])
    async with ScriptedOpenAI(lambda _: next(replies)) as host:
        client = client_of(host)
        with pytest.raises(openai.APIConnectionError):
            await client.chat.completions.create(model=MODEL, messages=say("Go"))
        with pytest.raises(ValueError, match="Expecting value"):
            await client.chat.completions.create(model=MODEL, messages=say("Go"))
    assert [request.failed for request in host.requests] == [0, None]
    assert not host.requests[0].gone


@pytest.mark.parametrize("reply", [Hang(), Text("late", delay=60)])
async def test_a_client_that_goes_away_is_noticed(client_of: Client, reply: Reply) -> None:
    async with ScriptedOpenAI(lambda _: reply) as host:
        ask = asyncio.create_task(client_of(host).chat.completions.create(model=MODEL, messages=say("Go")))
        await host.wait_for(lambda: host.under_way)
        ask.cancel()
        await asyncio.gather(ask, return_exceptions=True)
        await host.wait_for(lambda: host.requests[0].gone, timeout=10)
        assert host.under_way == 0
        assert host.requests[0].failed is None


async def test_a_hanging_request_ends_when_the_host_stops(client_of: Client) -> None:
    async with ScriptedOpenAI(lambda _: Hang()) as host:
        ask = asyncio.create_task(client_of(host).chat.completions.create(model=MODEL, messages=say("Go")))
        await host.wait_for(lambda: host.under_way)
    with pytest.raises(openai.APIConnectionError):
        await asyncio.wait_for(ask, timeout=10)
    assert not host.requests[0].gone


async def test_requests_under_way_are_counted(client_of: Client) -> None:
    gate = asyncio.Event()

    async def answer(request: ChatRequest) -> Reply:
        if request.number <= 3:
            await gate.wait()
        return Text(str(request.number))

    async with ScriptedOpenAI(answer) as host:
        create = client_of(host).chat.completions.create
        first = [asyncio.ensure_future(create(model=MODEL, messages=say("Go"))) for _ in range(3)]
        await host.wait_for(lambda: host.under_way == 3)
        gate.set()
        await asyncio.gather(*first)
        assert host.under_way == 0
        for _ in range(3):  # one after the other: each is over before the client has its answer
            await create(model=MODEL, messages=say("Go"))
        assert host.most_at_once == 3
        with pytest.raises(
            AssertionError, match=r"6 chat requests, 0 under way(.|\n)*#6 gpt-4.1-mini, status 200"
        ):
            await host.wait_for(lambda: host.under_way == 9, timeout=0.05)
