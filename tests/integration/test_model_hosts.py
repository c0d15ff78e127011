"""Hosts of models as they are: busy, gone, out of credit, or no host of models at all. Over the wire."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from pydantic_ai import Agent
from pydantic_ai.models import Model, override_allow_model_requests

from agents.account import Account, Budget
from agents.call import ask
from agents.desk import Desk
from agents.errors import AgentError
from agents.models import Models, models_from
from agents.patience import Patience
from agents.prices import parse_prices
from bot.texts import failure
from knowledge.language import Language
from tests.scripted_openai.replies import (
    Drop,
    Failure,
    Hang,
    Raw,
    Refusal,
    Reply,
    Text,
    Usage,
)
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI
from tests.unit.password_article import desk_with

MODEL = "openai-chat:gpt-4.1-mini"
SOON = Patience(first_wait=0.01)
QUESTIONS = {"en": "Why is MD5 weak?", "zh": "为什么 MD5 不安全？", "ja": "MD5 はなぜ危険か。"}
ANSWER = Text("因为它太快。")

answering = Agent(None, output_type=str)


@pytest.fixture(autouse=True)
def _requests_to_this_machine() -> Iterator[None]:
    with override_allow_model_requests(True):
        yield


@asynccontextmanager
async def host_that(
    monkeypatch: pytest.MonkeyPatch, *replies: Reply, **more: Any
) -> AsyncIterator[ScriptedOpenAI]:
    """Gives these replies in turn, the last one again and again; it is the host of `openai-chat:`."""

    def answer(request: ChatRequest) -> Reply:
        return replies[min(request.number, len(replies)) - 1]

    async with ScriptedOpenAI(answer, **more) as host:
        monkeypatch.setenv("OPENAI_BASE_URL", host.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", host.api_key)
        yield host


@asynccontextmanager
async def desk_of(patience: Patience = SOON, **roles: Any) -> AsyncIterator[Desk]:
    async with models_from(MODEL, patience=patience, **roles).connected() as models:
        yield replace(desk_with(models.research), models=models)


async def answered(desk: Desk, model: Model | None = None, language: Language = "zh") -> str:
    return await ask(
        answering, QUESTIONS[language], model=model or desk.models.research, deps=None, desk=desk, step="test"
    )


async def refused(patience: Patience = SOON) -> AgentError:
    """What a call fails with."""
    async with desk_of(patience) as desk:
        with pytest.raises(AgentError) as failed:
            await answered(desk)
    return failed.value


@pytest.mark.parametrize(
    "replies",
    [
        [Failure.server_error(), Failure.server_error()],
        [Failure.overloaded(), Failure.html(502)],
        [Failure.rate_limited(retry_after=0.02), Failure.server_error()],
        [Drop(), Drop()],
        [Failure(529), Failure(408)],
    ],
    ids=str,
)
async def test_a_host_that_answers_at_the_third_try_is_asked_three_times(
    replies: list[Reply], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_that(monkeypatch, *replies, ANSWER) as host, desk_of() as desk:
        assert await answered(desk) == ANSWER.content
    assert len(host.requests) == 3
    assert desk.account.requests == 1


async def test_a_wait_that_the_host_asks_for_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Failure.rate_limited(retry_after=0.3)
    async with host_that(monkeypatch, busy, ANSWER) as host, desk_of() as desk:
        await answered(desk)
    first, second = host.requests
    assert second.at - first.at >= 0.3


@pytest.mark.parametrize("reply", [Failure.server_error(), Failure.overloaded(), Failure.rate_limited(0.01)])
async def test_a_host_that_stays_away_is_asked_four_times_and_no_more(
    reply: Failure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One layer of retries: two of them would ask 12 times."""
    async with host_that(monkeypatch, reply) as host:
        error = await refused()
    assert (error.code, error.facts["status"]) == ("model_busy", str(reply.status))
    assert len(host.requests) == 4


@pytest.mark.parametrize(
    "reply",
    [
        Raw(200, b'{"error": {"message": "no", "code": 502}}'),
        Raw(200, b'{"id":"c","object":"chat.completion","created":0,"model":"m","choices":[]}'),
    ],
    ids=["an error with status 200", "no choices"],
)
async def test_an_answer_that_lacks_a_part_is_asked_for_again(
    reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_that(monkeypatch, reply, ANSWER) as host, desk_of() as desk:
        assert await answered(desk) == ANSWER.content
    assert len(host.requests) == 2
    async with host_that(monkeypatch, reply) as host:
        error = await refused()
    assert error.code == "not_a_model_host"
    assert "no model's answer" in str(error)
    assert len(host.requests) == 4


@pytest.mark.parametrize(
    ("reply", "code", "said"),
    [
        (Failure.wrong_key(), "model_refused_key", "answered 401 (key refused). Set OPENAI_API_KEY"),
        (Failure(401, body=b""), "model_refused_key", "Set OPENAI_API_KEY"),
        (Failure.no_quota(), "model_no_credit", "has no credit left"),
        (Failure(402, message="Payment required"), "model_no_credit", "answered 402"),
        (Failure(429, headers={"retry-after": "600"}), "model_busy", "Retry in 10 min"),
        (Failure(400, message="模型不支持 tools"), "model_rejected", "400: 模型不支持 tools. Set another"),
        (Failure(422, message="ツールは使えません。"), "model_rejected", "ツールは使えません"),
        (Failure.html(200), "not_a_model_host", "with a web page, not with JSON: check OPENAI_BASE_URL"),
        (Failure.html(404), "not_a_model_host", "with a web page, not with JSON: check OPENAI_BASE_URL"),
        (Failure.html(403), "not_a_model_host", "with a web page"),
        (Raw(404, b"404 page not found", "text/plain"), "not_a_model_host", "it often ends in /v1"),
        (Raw(404, b'{"detail":"Not Found"}'), "not_a_model_host", "it often ends in /v1"),
        (Raw(200, b""), "not_a_model_host", "something that is no model's answer"),
        (Raw(200, b'{"id": "c", "choices": [{"ind'), "not_a_model_host", "no model's answer"),
        (Raw(302, b""), "not_a_model_host", "no model's answer"),
        (Refusal("I cannot."), "model_declined", "declined to answer"),
        (Text("", finish_reason="content_filter", broken=True), "model_declined", "declined to answer"),
        (Text("", finish_reason="length", broken=True), "answer_cut_off", "cut off"),
    ],
    ids=str,
)  # fmt: skip
async def test_what_no_wait_mends_is_asked_once_and_said(
    reply: Reply, code: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_that(monkeypatch, reply) as host:
        error = await refused()
    assert (error.code, said in str(error)) == (code, True), str(error)
    assert len(host.requests) == 1
    assert host.api_key not in str(error) + str(error.facts)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Retry in 10 min."),
        ("zh", "请等 10 min 再重试。"),
        ("ja", "10 min 待ってから再試行してください。"),
    ],
)
async def test_people_read_when_to_come_back(
    language: Language, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_that(monkeypatch, Failure(429, headers={"retry-after": "600"})):
        error = await refused()
    text = failure(language, error.code, error.facts)
    assert said in text
    assert "127.0.0.1" in text


async def test_a_model_that_the_host_does_not_have_is_told_from_a_wrong_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with host_that(monkeypatch, ANSWER, models=("qwen3",)) as host:
        assert (await refused()).code == "unknown_model"
        monkeypatch.setenv("OPENAI_BASE_URL", host.base_url.removesuffix("/v1"))
        assert (await refused()).code == "not_a_model_host"


async def test_a_request_that_a_model_cannot_read_at_once_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async with host_that(monkeypatch, ANSWER, context_window=5):
        assert (await refused()).code == "request_too_long"


async def test_silence_ends_the_request_and_is_waited_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    async with host_that(monkeypatch, Hang()) as host:
        error = await refused(Patience(silence=0.1, first_wait=0.01))
        await host.wait_for(lambda: all(request.gone for request in host.requests))
    assert error.code == "model_timeout"
    assert len(host.requests) == 2


async def test_a_host_that_trickles_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces that keep the connection alive are no silence: only the bound on all of it ends this."""

    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.02)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", trickle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        assert (await refused(Patience(silence=5, total=0.3))).code == "model_timeout"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("address", "reason"),
    [("https://127.0.0.1:{port}/v1", "TLS: "), ("http://127.0.0.1:1/v1", "connection refused")],
)
async def test_a_host_that_cannot_be_reached_is_said_with_the_reason(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_that(monkeypatch, ANSWER) as host:
        monkeypatch.setenv("OPENAI_BASE_URL", address.format(port=host.port))
        error = await refused()
    assert error.code == "model_unreachable"
    assert error.facts["reason"].startswith(reason)
    assert "Check the network and OPENAI_BASE_URL" in str(error)


async def test_roles_are_asked_at_the_hosts_of_their_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        host_that(monkeypatch, ANSWER) as cloud,
        ScriptedOpenAI(lambda request: ANSWER, models=("qwen3:8b",)) as local,
    ):
        monkeypatch.setenv("VLLM_BASE_URL", local.base_url)
        monkeypatch.setenv("VLLM_API_KEY", local.api_key)
        async with desk_of(reviewer="vllm:qwen3:8b") as desk:
            await answered(desk)
            await answered(desk, desk.models.reviewer)
    assert [request.model for request in cloud.requests] == ["gpt-4.1-mini"]
    assert [request.model for request in local.requests] == ["qwen3:8b"]
    assert desk.account.requests == 2
    assert desk.account.cost_usd is None  # nobody has a price for the second
    assert desk.account.usd is not None


async def test_the_cost_of_all_calls_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    used = replace(ANSWER, usage=Usage(1_000_000, 100_000))
    async with host_that(monkeypatch, used) as host, desk_of() as desk:
        for _ in range(2):
            await answered(desk)
        assert desk.account.as_json()["cost_usd"] == 1.12  # twice 0.40 and a tenth of 1.60
        again = replace(
            desk, account=Account.of(desk.account.as_json(), prices=parse_prices("gpt-4.1-mini=1/0"))
        )
        await answered(again)
        assert again.account.as_json()["cost_usd"] == 2.12
    assert len(host.requests) == 3


@pytest.mark.parametrize("language", QUESTIONS)
async def test_a_budget_of_tokens_binds_where_a_host_says_nothing_of_what_it_used(
    language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with host_that(monkeypatch, ANSWER) as host, desk_of() as desk:
        await answered(desk, language=language)
        counted = desk.account.input_tokens + desk.account.output_tokens
        host.answer = lambda request: replace(ANSWER, usage=None)
        silent = replace(desk, account=Account(budget=Budget(tokens=2)))
        await answered(silent, language=language)
        assert silent.account.estimated_requests == 1
        estimated = silent.account.input_tokens + silent.account.output_tokens
        assert 0.5 < estimated / counted < 2
        with pytest.raises(AgentError, match="has used its 2 tokens"):
            await answered(silent, language=language)
    assert len(host.requests) == 2


async def test_connections_are_shared_and_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async with host_that(monkeypatch, ANSWER):
        models: Models = models_from(MODEL, writer="openai-chat:gpt-4.1", patience=SOON)
        async with models.connected():
            desk = replace(desk_with(models.research), models=models)
            await answered(desk)
            provider = models.writer.provider
            assert provider is not None
            assert provider is models.research.provider
            assert not provider.client.is_closed()
        assert provider.client.is_closed()
        async with models.connected():  # and may be opened again
            await answered(desk)
