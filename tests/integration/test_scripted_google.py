"""The scripted Google host as the `google-genai` package meets it: answers, functions, formats, trouble."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from tests.integration.google_clients import SEARCH, client_of, config
from tests.scripted_google.server import ScriptedGoogle
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

NEW, OLD = "gemini-3.5-flash", "gemini-2.5-flash"
TEXTS = ["The harbour opens at six.", "港口六点开门，周末除外。", "港は六時に開きます。🚢"]


def echo(request: ChatRequest) -> Reply:
    """Says what was said."""
    return Text(request.last_user)


@pytest.fixture
async def host() -> AsyncIterator[ScriptedGoogle]:
    """A host whose script tests replace."""
    async with ScriptedGoogle(echo) as running:
        yield running


@pytest.fixture
async def client(host: ScriptedGoogle) -> AsyncIterator[genai.client.AsyncClient]:
    """A client that does not try again."""
    async with client_of(host) as made:
        yield made


@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_arrives_whole_and_with_its_usage(
    host: ScriptedGoogle, client: genai.client.AsyncClient, text: str
) -> None:
    settings = config(system_instruction="简短", max_output_tokens=50, temperature=0)
    answer = await client.models.generate_content(model=NEW, contents=text, config=settings)
    assert answer.text == text
    assert answer.candidates is not None
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    usage = answer.usage_metadata
    assert usage is not None
    assert usage.candidates_token_count == count_tokens(text)
    assert usage.prompt_token_count == count_tokens(text) + count_tokens("简短") + 9
    [request] = host.requests
    assert (request.wire, request.system, request.users) == ("generate", "简短", (text,))
    assert (request.model, request.max_tokens, request.tools_work) == (NEW, 50, False)
    assert host.refusals == []


@pytest.mark.parametrize("model", [NEW, OLD])
async def test_functions_are_called_and_their_results_come_back(
    host: ScriptedGoogle, client: genai.client.AsyncClient, model: str
) -> None:
    def answer(request: ChatRequest) -> Reply:
        if request.tool_results:
            return Text(" / ".join(request.results_of("search")))
        return ToolCalls([Call("search", {"query": text}) for text in TEXTS], text="I look.")

    host.answer = answer
    first = await client.models.generate_content(model=model, contents="When?", config=config(tools=[SEARCH]))
    calls = first.function_calls or []
    assert [call.args for call in calls] == [{"query": text} for text in TEXTS]
    assert [call.id is not None for call in calls] == [model == NEW] * 3
    assert first.candidates is not None
    said = first.candidates[0].content
    assert said is not None
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name="search", response={"result": text.upper()}
            )
        )
        for call, text in zip(calls, TEXTS, strict=True)
    ]
    talk: Any = [
        types.UserContent("When?"),
        said,
        types.Content(role="user", parts=results),
    ]
    second = await client.models.generate_content(model=model, contents=talk, config=config(tools=[SEARCH]))
    assert second.text == " / ".join(TEXTS).upper()
    assert [call.parsed["query"] for call in host.requests[1].calls] == TEXTS
    assert host.refusals == []


async def test_a_call_without_its_signature_is_refused_from_gemini_3_on(
    host: ScriptedGoogle, client: genai.client.AsyncClient
) -> None:
    call = types.Part(function_call=types.FunctionCall(name="search", args={"query": "鍵"}))
    result = types.Part.from_function_response(name="search", response={"result": "见附件"})
    talk: Any = [
        types.UserContent("?"),
        types.Content(role="model", parts=[call]),
        types.Content(role="user", parts=[result]),
    ]
    with pytest.raises(errors.ClientError) as caught:
        await client.models.generate_content(model=NEW, contents=talk, config=config(tools=[SEARCH]))
    assert "missing a thought_signature" in (caught.value.message or "")
    assert "`default_api:search` , position 2." in (caught.value.message or "")
    await client.models.generate_content(model=OLD, contents=talk, config=config(tools=[SEARCH]))
    finished: Any = [
        *talk,
        types.Content(role="model", parts=[types.Part(text="好")]),
        types.UserContent("そう"),
    ]
    await client.models.generate_content(model=NEW, contents=finished, config=config(tools=[SEARCH]))


@pytest.mark.parametrize(
    ("mode", "allowed", "seen", "named"),
    [
        ("AUTO", None, "auto", None),
        ("VALIDATED", None, "auto", None),
        ("ANY", None, "required", None),
        ("ANY", ["search"], "required", "search"),
        ("NONE", None, "none", None),
    ],
)
async def test_the_choice_of_functions_is_the_same_as_on_any_wire(
    host: ScriptedGoogle,
    client: genai.client.AsyncClient,
    mode: types.FunctionCallingConfigMode,
    allowed: list[str] | None,
    seen: str,
    named: str | None,
) -> None:
    host.answer = lambda request: (
        ToolCalls([Call("search", {"query": "?"})]) if seen == "required" else Text("好")
    )
    calling = types.FunctionCallingConfig(mode=mode, allowed_function_names=allowed)
    settings = config(tools=[SEARCH], tool_config=types.ToolConfig(function_calling_config=calling))
    await client.models.generate_content(model=NEW, contents="?", config=settings)
    [request] = host.requests
    assert (request.tool_choice.mode, request.tool_choice.named) == (seen, named)
    assert request.tools[0].held is (mode in ("ANY", "VALIDATED"))


async def test_refusals_cut_texts_thoughts_and_stated_usage_arrive(
    host: ScriptedGoogle, client: genai.client.AsyncClient
) -> None:
    replies = iter(
        [
            Refusal("恕难从命"),
            Text("长", finish_reason="length"),
            Text("好", reasoning="考える", usage=Usage(100, 9, cached_tokens=40, reasoning_tokens=5)),
        ]
    )
    host.answer = lambda _: next(replies)
    settings = config(thinking_config=types.ThinkingConfig(include_thoughts=True))
    answers = [
        await client.models.generate_content(model=NEW, contents="?", config=settings) for _ in range(3)
    ]
    reasons = [(answer.candidates or [])[0].finish_reason for answer in answers]
    assert reasons == ["SAFETY", "MAX_TOKENS", "STOP"]
    assert answers[0].text is None
    assert [(part.text, part.thought) for part in answers[2].parts or []] == [("考える", True), ("好", None)]
    usage = answers[2].usage_metadata
    assert usage is not None
    assert (usage.candidates_token_count, usage.thoughts_token_count, usage.total_token_count) == (4, 5, 109)


FAILURES: list[tuple[Failure, type[errors.APIError], int, str]] = [
    (Failure.rate_limited(retry_after=1.4), errors.ClientError, 429, "RESOURCE_EXHAUSTED"),
    (Failure.no_quota(), errors.ClientError, 429, "RESOURCE_EXHAUSTED"),
    (Failure.server_error(), errors.ServerError, 500, "INTERNAL"),
    (Failure.overloaded(), errors.ServerError, 503, "UNAVAILABLE"),
    (Failure.wrong_key(), errors.ClientError, 400, "INVALID_ARGUMENT"),
    (Failure(403, message="不可"), errors.ClientError, 403, "PERMISSION_DENIED"),
]


@pytest.mark.parametrize(("failure", "kind", "code", "status"), FAILURES)
async def test_failures_are_said_in_googles_words(
    host: ScriptedGoogle,
    client: genai.client.AsyncClient,
    failure: Failure,
    kind: type[errors.APIError],
    code: int,
    status: str,
) -> None:
    host.answer = lambda _: failure
    with pytest.raises(kind) as caught:
        await client.models.generate_content(model=NEW, contents="?")
    assert (caught.value.code, caught.value.status) == (code, status)
    assert host.requests[0].failed == code
    assert "openai" not in (caught.value.message or "").lower()
    details = {
        one["@type"].rpartition(".")[2]: one for one in caught.value.details["error"].get("details", ())
    }
    if failure.kind == "rate_limited":
        assert details["RetryInfo"]["retryDelay"] == "1.4s"
    if failure.kind == "wrong_key":
        assert details["ErrorInfo"]["reason"] == "API_KEY_INVALID"


async def test_pages_and_dropped_connections_are_errors_too(
    host: ScriptedGoogle, client: genai.client.AsyncClient
) -> None:
    replies = iter([Failure.html(502), Drop(), Raw(200, b'{"candidates": [')])
    host.answer = lambda _: next(replies)
    for _ in range(3):
        with pytest.raises(Exception, match=r"502|[Dd]isconnected|JSON|delimiter|value"):
            await client.models.generate_content(model=NEW, contents="?")
    assert [request.failed for request in host.requests] == [502, 0, None]


async def test_a_client_that_goes_away_is_noticed(
    host: ScriptedGoogle, client: genai.client.AsyncClient
) -> None:
    host.answer = lambda _: Hang()
    ask = asyncio.create_task(client.models.generate_content(model=NEW, contents="?"))
    await host.wait_for(lambda: host.under_way == 1)
    ask.cancel()
    await asyncio.gather(ask, return_exceptions=True)
    await host.wait_for(lambda: host.requests[0].gone, timeout=10)


async def test_what_no_model_could_say_is_a_fault_of_the_script() -> None:
    async def run() -> None:
        async with (
            ScriptedGoogle(lambda _: ToolCalls([Call("fetch", {})])) as host,
            client_of(host) as client,
        ):
            with pytest.raises(errors.ServerError, match="not on offer"):
                await client.models.generate_content(model=NEW, contents="?", config=config(tools=[SEARCH]))

    with pytest.raises(ScriptFault, match="'fetch', which is not on offer"):
        await run()
