"""What an article used and what it cost, and the budget that stops the next call but no answer."""

import asyncio
import socket
from decimal import Decimal

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from agents.account import Account, Budget, Metered
from agents.errors import AgentError
from agents.models import models_from
from agents.offline.model import OfflineModel
from agents.prices import Price, Prices, cost, parse_prices, unpriced
from bot.texts import failure
from knowledge.language import Language
from tests.unit.agent_runs import run_analysis
from tests.unit.answers import USUAL
from tests.unit.password_article import chinese, desk_with, english
from tests.unit.scripted_model import calls, scripted_host

OWN = {"my-model": Price(Decimal("0.40"), Decimal("1.60"))}
ANALYSIS = calls(("return_analysis", USUAL["return_analysis"]))


def answer(
    usage: RequestUsage,
    *,
    name: str = "gpt-4.1-mini",
    text: str = "ok",
    url: str | None = "https://api.openai.com/v1/",
) -> ModelResponse:
    return ModelResponse(
        [TextPart(text)], usage=usage, model_name=name, provider_name="openai", provider_url=url
    )


def count(account: Account, response: ModelResponse, *, prompt: str = "", model: Model | None = None) -> None:
    request = ModelRequest(parts=[UserPromptPart(prompt)])
    context = ModelRequestContext(
        model=model or FunctionModel(lambda messages, info: response, model_name="function"),
        messages=[request],
        model_settings=None,
        model_request_parameters=ModelRequestParameters(),
    )
    account.add(context, response)


def tokens(into: int, out: int) -> RequestUsage:
    return RequestUsage(input_tokens=into, output_tokens=out)


@pytest.mark.parametrize(
    ("setting", "prices"),
    [
        (None, {}),
        (" , ", {}),
        ("my-model=0.40/1.60", OWN),
        ("my-model = $0.40 / 1.60 ,", OWN),
        ("my-model=0.40/1.60，模型=0/1", {**OWN, "模型": Price(Decimal(0), Decimal(1))}),
        ("qwen3:8b=0/0、モデル=1e-1/2", {
            "qwen3:8b": Price(Decimal(0), Decimal(0)), "モデル": Price(Decimal("0.1"), Decimal(2)),
        }),
        ("org/a=b=1/2", {"org/a=b": Price(Decimal(1), Decimal(2))}),
    ],
)  # fmt: skip
def test_prices_are_read_in_dollars_for_a_million_tokens(setting: str | None, prices: Prices) -> None:
    assert parse_prices(setting) == prices


@pytest.mark.parametrize(
    "entry",
    [
        "my-model",
        "my-model=0.40",
        "=1/2",
        "m=1/2/3",
        "m=a/b",
        "m=-1/2",
        "m=nan/1",
        "m=1/inf",
        "m=一/二",
        "m=/",
    ],
)
def test_a_price_that_cannot_be_read_is_named_with_the_form_it_should_have(entry: str) -> None:
    with pytest.raises(ValueError, match="write MODEL=INPUT/OUTPUT") as wrong:
        parse_prices(f"other=1/2, {entry}")
    assert repr(entry) in str(wrong.value)


def test_the_cost_adds_up_over_calls_and_legs() -> None:
    account = Account()
    count(account, answer(tokens(1_000_000, 500_000)))  # 0.40 and half of 1.60, as the list has it
    assert account.as_json()["cost_usd"] == 1.2
    again = Account.of(account.as_json())
    count(again, answer(tokens(1, 1)))
    assert again.as_json() == {
        "requests": 2,
        "input_tokens": 1_000_001,
        "output_tokens": 500_001,
        "cost_usd": 1.200002,
        "priced_usd": 1.200002,
        "unpriced_requests": 0,
        "estimated_requests": 0,
    }


def test_one_call_without_a_price_makes_the_cost_unknown_for_good() -> None:
    account = Account()
    count(account, answer(tokens(1_000_000, 0)))
    count(account, answer(tokens(10, 10), name="my-model"))
    assert (account.cost_usd, account.usd) == (None, Decimal("0.4"))
    again = Account.of(account.as_json(), prices=OWN)
    count(again, answer(tokens(10, 10), name="my-model"))
    assert again.as_json()["cost_usd"] is None


def test_an_account_from_before_there_were_prices_stays_without_a_cost() -> None:
    old = {"requests": 3, "input_tokens": 900, "output_tokens": 100, "cost_usd": None}
    account = Account.of(old)
    count(account, answer(tokens(1_000_000, 0)))
    assert account.as_json()["cost_usd"] is None
    assert account.requests == 4


@pytest.mark.parametrize("requests", [0, 4])
def test_the_offline_model_costs_nothing_and_hides_no_cost(requests: int) -> None:
    account = Account.of({"requests": requests, "input_tokens": 0, "output_tokens": 0, "cost_usd": None})
    offline = answer(RequestUsage(), name="offline", url=None)
    count(account, offline)
    assert account.as_json()["cost_usd"] is None  # nothing was priced
    count(account, answer(tokens(1_000_000, 0)))
    count(account, offline)
    assert account.as_json()["cost_usd"] == 0.4
    assert account.input_tokens == 1_000_000


@pytest.mark.parametrize("name", ["my-model", "openai-chat:my-model", "my-model-2026-01-01"])
def test_own_prices_go_before_the_list_with_or_without_the_provider(name: str) -> None:
    """The third is how the host calls what the setting calls `configured`."""
    model = FunctionModel(lambda messages, info: answer(RequestUsage()), model_name="configured")
    prices = {name if "2026" not in name else "configured": Price(Decimal(1), Decimal(2))}
    called = "my-model-2026-01-01" if "2026" in name else "my-model"
    assert cost(model, answer(tokens(3, 4), name=called), tokens(3, 4), prices) == Decimal("0.000011")
    known = {"gpt-4.1-mini": Price(Decimal(100), Decimal(0))}
    assert cost(model, answer(tokens(1, 0)), tokens(1, 0), known) == Decimal("0.0001")


def test_the_list_of_prices_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    account = Account()
    count(account, answer(tokens(1_000_000, 0)))
    assert account.cost_usd == Decimal("0.4")


@pytest.mark.parametrize(
    ("prompt", "text", "into", "out"),
    [
        ("MD5 was built to be fast, and so it is.", "It is fast.", 10, 3),
        ("MD5 是为快速计算而设计的。", "很快。", 14, 3),
        ("MD5 は高速に計算できるように作られた。", "高速です。", 20, 5),
    ],
)
def test_tokens_that_a_host_does_not_report_are_estimated(
    prompt: str, text: str, into: int, out: int
) -> None:
    for usage in (RequestUsage(unmeasured_requests=1), RequestUsage()):
        account = Account(prices=OWN)
        count(account, answer(usage, name="my-model", text=text), prompt=prompt)
        assert abs(account.input_tokens - into) <= 2
        assert abs(account.output_tokens - out) <= 1
        assert account.estimated_requests == 1
        assert account.cost_usd is not None


def test_models_that_nobody_can_price_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    models = models_from(
        "openai-chat:gpt-4.1-mini",
        writer="openai-chat:my-model",
        reviewer="openai-chat:模型",
        formatter="offline",
    )
    assert unpriced(models.each(), {}) == ["my-model", "模型"]
    assert unpriced(models.each(), OWN) == ["模型"]
    assert unpriced(models_from(None).each(), {}) == []


async def test_each_request_of_a_run_is_counted() -> None:
    async with scripted_host(lambda body: ANALYSIS) as (host, model):
        desk = desk_with(model)
        await run_analysis(english(), desk)
    assert desk.account.requests == len(host.requests)
    assert (desk.account.input_tokens, desk.account.output_tokens) == (100, 10)
    assert desk.account.as_json()["cost_usd"] == 0.000056


@pytest.mark.parametrize("budget", [Budget(tokens=110), Budget(usd=Decimal("0.00005"))])
async def test_the_answer_that_reaches_the_budget_is_used_and_the_next_call_is_not_made(
    budget: Budget,
) -> None:
    async with scripted_host(lambda body: ANALYSIS) as (host, model):
        desk = desk_with(model)
        desk.account.budget = budget
        await run_analysis(chinese(), desk)
        with pytest.raises(AgentError, match="has used its") as failed:
            await run_analysis(chinese(), desk)
    assert failed.value.code == "budget"
    assert len(host.requests) == 1


async def test_parallel_calls_share_one_account_and_stop_together() -> None:
    asked: list[str] = []

    async def slowly(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append("one")
        await asyncio.sleep(0)
        return ModelResponse([TextPart("ok")], usage=RequestUsage(input_tokens=40, output_tokens=10))

    account = Account(budget=Budget(tokens=100))
    agent = Agent(FunctionModel(slowly), capabilities=[Metered(account)])
    first = await asyncio.gather(*(agent.run("a section") for _ in range(3)))
    assert [result.output for result in first] == ["ok"] * 3  # under way together, so each is used
    late = await asyncio.gather(*(agent.run("a section") for _ in range(3)), return_exceptions=True)
    assert [getattr(error, "code", None) for error in late] == ["budget"] * 3
    assert len(asked) == account.requests == 3


@pytest.mark.parametrize(
    ("language", "tokens_said", "dollars_said"),
    [
        ("en", "has used its 400,000 tokens.", "has used its 2.50 US dollars."),
        ("zh", "本文的预算（400,000 token）已用完。", "本文的预算（2.50 美元）已用完。"),
        (
            "ja",
            "予算（400,000 トークン）を使い切りました。",
            "予算（2.50 米ドル）を使い切りました。",
        ),
    ],
)
def test_a_used_budget_is_said_with_the_setting_that_raises_it(
    language: Language, tokens_said: str, dollars_said: str
) -> None:
    spent = {"input_tokens": 400_000, "output_tokens": 1, "requests": 9, "cost_usd": 2.5}
    for budget, said, setting in (
        (Budget(tokens=400_000), tokens_said, "COPYDESK_BUDGET_TOKENS"),
        (Budget(usd=Decimal("2.50")), dollars_said, "COPYDESK_BUDGET_USD"),
    ):
        with pytest.raises(AgentError, match=f"Raise {setting}") as failed:
            Account.of(spent, budget=budget).check()
        text = failure(language, failed.value.code, failed.value.facts)
        assert said in text
        assert setting in text


def test_below_the_budget_and_without_one_calls_go_on() -> None:
    spent = {"input_tokens": 399_999, "output_tokens": 0, "requests": 9, "cost_usd": 2.49}
    Account.of(spent, budget=Budget(tokens=400_000, usd=Decimal("2.5"))).check()
    Account.of(spent).check()
    unknown = {"input_tokens": 5, "output_tokens": 0, "requests": 1, "cost_usd": None}
    Account.of(unknown, budget=Budget(usd=Decimal("0.01"))).check()  # nobody can price it: see `unpriced`


def test_the_offline_model_runs_under_any_budget() -> None:
    account = Account(budget=Budget(tokens=1, usd=Decimal("0.01")))
    offline = answer(RequestUsage(), name="offline", url=None)
    for _ in range(3):
        account.check()
        count(account, offline, model=OfflineModel())
    assert account.requests == 3
