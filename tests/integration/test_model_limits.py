"""What all calls to a host share over the wire: how many at once, in which order, and when none."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from pydantic_ai import Agent
from pydantic_ai.models import Model, override_allow_model_requests

from agents.account import Account
from agents.call import ask
from agents.desk import Desk
from agents.errors import AgentError
from agents.models import models_from
from agents.patience import Patience
from tests.editorial_office import Office
from tests.scripted_openai.replies import Failure, Reply, Text
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI
from tests.unit.agent_runs import run_writer
from tests.unit.password_article import chinese, desk_with, english

MODEL = "openai-chat:gpt-4.1-mini"
HERE = 4  # calls at once to a host on this machine
SOON = Patience(first_wait=0.01)
QUESTIONS = ["Why is MD5 weak?", "为什么 MD5 不安全？", "MD5 はなぜ危険か。"]

answering = Agent(None, output_type=str)


@pytest.fixture(autouse=True)
def _requests_to_this_machine() -> Iterator[None]:
    with override_allow_model_requests(True):
        yield


@asynccontextmanager
async def desk_at(
    host: ScriptedOpenAI, monkeypatch: pytest.MonkeyPatch, patience: Patience = SOON
) -> AsyncIterator[Desk]:
    """All models are at this host, under two names."""
    monkeypatch.setenv("OPENAI_BASE_URL", host.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", host.api_key)
    models = models_from(MODEL, reviewer="openai-chat:gpt-4.1", patience=patience)
    async with models.connected(), asyncio.timeout(60):  # a place that is lost fails a test, and hangs none
        yield replace(desk_with(models.research), models=models)


async def answered(desk: Desk, question: str, model: Model | None = None) -> str:
    return await ask(
        answering, question, model=model or desk.models.research, deps=None, desk=desk, step="test"
    )


class Held:
    """Answers each question with itself, once `open` is set."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, request: ChatRequest) -> Reply:
        await self.open.wait()
        return Text(request.last_user)


async def test_three_articles_at_once_ask_a_host_no_more_at_a_time_than_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    office = Office()

    async def answer(request: ChatRequest) -> Reply:
        if request.number <= HERE:  # until all are there that come at once
            await host.wait_for(lambda: host.most_at_once >= HERE)
        return office(request)

    async with ScriptedOpenAI(answer) as host, desk_at(host, monkeypatch) as desk:
        desks = [replace(desk, account=Account()) for _ in range(3)]
        examples = [english(), chinese(), english()]
        drafts = await asyncio.gather(*(run_writer(*each) for each in zip(examples, desks, strict=True)))
    assert [draft.title for draft in drafts] == [example.topic[:60] for example in examples]
    assert len(host.requests) == 12  # three sections and a title page each
    assert host.most_at_once == HERE


async def test_models_of_one_host_share_its_places_and_hosts_share_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = Held(), Held()
    async with (
        ScriptedOpenAI(one) as host,
        ScriptedOpenAI(other, models=("qwen3:8b",)) as second,
        desk_at(host, monkeypatch) as desk,
        asyncio.TaskGroup() as calls,
    ):
        monkeypatch.setenv("VLLM_BASE_URL", second.base_url)
        monkeypatch.setenv("VLLM_API_KEY", second.api_key)
        both = models_from(MODEL, reviewer="vllm:qwen3:8b", patience=SOON)
        async with both.connected():
            for number in range(2 * HERE):
                model = desk.models.research if number % 2 else desk.models.reviewer
                calls.create_task(answered(desk, QUESTIONS[number % 3], model))
            await host.wait_for(lambda: host.under_way == HERE)
            waiting = [asyncio.create_task(answered(desk, "?", both.reviewer)) for _ in range(9)]
            await second.wait_for(lambda: second.under_way == 8)  # vLLM takes more
            other.open.set()
            await asyncio.gather(*waiting)
            assert host.most_at_once == HERE
            assert {request.model for request in host.requests} == {"gpt-4.1-mini", "gpt-4.1"}
            one.open.set()
    assert (host.most_at_once, second.most_at_once) == (HERE, 8)
    assert len(host.requests) == 2 * HERE


async def test_calls_get_their_turn_in_the_order_in_which_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an article whose calls come later is not starved by one that goes on asking."""
    held = Held()
    async with ScriptedOpenAI(held) as host, desk_at(host, monkeypatch) as desk:
        async with asyncio.TaskGroup() as calls:
            for number in range(5 * HERE):
                calls.create_task(answered(desk, f"{number:02} {QUESTIONS[number % 3]}"))
            await host.wait_for(lambda: host.under_way == HERE)
            held.open.set()
        asked = [request.last_user[:2] for request in host.requests]
    rounds = [sorted(asked[at : at + HERE]) for at in range(0, 5 * HERE, HERE)]
    assert all(abs(int(name) - at) < HERE for at, name in enumerate(asked)), rounds


async def test_when_a_host_says_when_to_come_back_nobody_comes_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def answer(request: ChatRequest) -> Reply:
        if request.number == 1:
            await host.wait_for(lambda: host.under_way == HERE)
            return Failure.rate_limited(retry_after=0.6)
        if request.number <= HERE:  # under way when the first is refused; the others are told meanwhile
            await host.wait_for(lambda: host.requests[0].finished_at is not None)
            return replace(Text(request.last_user), delay=0.2)
        return Text(request.last_user)

    async with ScriptedOpenAI(answer) as host, desk_at(host, monkeypatch) as desk:
        questions = [f"{number} {QUESTIONS[number % 3]}" for number in range(3 * HERE)]
        assert await asyncio.gather(*(answered(desk, each) for each in questions)) == questions
    told = host.requests[0].finished_at
    assert told is not None
    assert min(request.at for request in host.requests[HERE:]) - told >= 0.6
    assert len(host.requests) == len(questions) + 1  # one was refused, and not each in its turn
    assert host.requests[0].last_user in [request.last_user for request in host.requests[HERE : 2 * HERE]]


async def test_a_wait_that_is_too_long_for_one_call_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may be for one model of the host: OpenAI and Google count each by itself."""

    def answer(request: ChatRequest) -> Reply:
        if request.model == "gpt-4.1":
            return Failure(429, headers={"retry-after": "600"})
        return Text(request.last_user)

    async with ScriptedOpenAI(answer) as host, desk_at(host, monkeypatch) as desk:
        with pytest.raises(AgentError, match="Retry in 10 min"):
            await answered(desk, "?", desk.models.reviewer)
        assert await answered(desk, QUESTIONS[1]) == QUESTIONS[1]
    assert len(host.requests) == 2


@pytest.mark.parametrize("under_way", [True, False], ids=["under way", "in the queue"])
async def test_a_cancelled_call_gives_its_place_back(
    under_way: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    async with ScriptedOpenAI(held) as host, desk_at(host, monkeypatch) as desk:
        first = [asyncio.create_task(answered(desk, each)) for each in [*QUESTIONS, "?"]]
        await host.wait_for(lambda: host.under_way == HERE)
        later = [asyncio.create_task(answered(desk, f"later {number}")) for number in range(3)]
        await asyncio.sleep(0)  # so that they queue
        gone = first if under_way else later[:2]
        for call in gone:
            call.cancel()
        await asyncio.wait(gone)
        assert all(call.cancelled() for call in gone)
        held.open.set()
        kept = [call for call in [*first, *later] if call not in gone]
        assert len(await asyncio.gather(*kept)) == len(kept)
        # And all places are there again.
        held.open.clear()
        async with asyncio.TaskGroup() as calls:
            for question in [*QUESTIONS, "?"]:
                calls.create_task(answered(desk, question))
            await host.wait_for(lambda: host.under_way == HERE)
            held.open.set()
    assert "later 0" not in [request.last_user for request in host.requests] or under_way


async def test_a_call_that_waits_for_its_turn_is_not_out_of_time_before_it_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(request: ChatRequest) -> Reply:
        return replace(Text(request.last_user), delay=0.6)

    patience = Patience(first_wait=0.01, total=1.7)
    async with ScriptedOpenAI(answer) as host, desk_at(host, monkeypatch, patience) as desk:
        questions = [f"{number} {QUESTIONS[number % 3]}" for number in range(4 * HERE)]
        assert await asyncio.gather(*(answered(desk, each) for each in questions)) == questions
        took = max(request.at for request in host.requests) - host.requests[0].at
    assert took > patience.total
    assert len(host.requests) == len(questions)
