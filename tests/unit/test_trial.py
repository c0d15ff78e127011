"""The example on which models are tried, what each model is tried for, and what is said of it."""

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.settings import ModelSettings

from agents.account import Account, Budget
from agents.errors import AgentError
from agents.models import Models, models_from
from agents.offline.model import OfflineModel
from agents.quotes import locate
from agents.trial import MOST_CALLS, Trial, tasks_of
from agents.trial_example import ExampleSearch, example
from agents.trial_runs import RUNS, Outcome, Purse, Run, Task, carried_out
from bot.__main__ import parser
from bot.doctor import Finding, tried_models
from bot.settings import Settings
from bot.trial_words import better_ways, outcome_of
from knowledge.language import LANGUAGES, Language, language_of

OPENAI = "openai-chat:gpt-4.1-mini"
ANTHROPIC = "anthropic:claude-sonnet-4-6"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-none")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_example_is_whole_in_each_language(language: Language) -> None:
    found = example(language)
    assert language_of(found.topic) == language
    assert found.topic == found.analysis.topic
    for finding in found.research.findings:
        located = locate(finding.quote, found.research.passages)
        assert located is not None
        assert located.passage.chunk_id == finding.chunk_id
    assert len(found.research.findings) == 4
    assert [len(found.analysis.outline), len(found.draft.sections)] == [1, 2]
    assert language_of(found.outline_request.text) == language_of(found.draft_request.text) == language


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.tasks[0])
async def test_the_offline_model_passes_every_run(run: Run, language: Language) -> None:
    offline = OfflineModel()
    done = await carried_out(
        replace(run, language=language), model=offline, formatter=offline, account=Account()
    )
    assert done.outcomes == dict.fromkeys(run.tasks, "ok")
    assert done.error is None


async def test_a_run_that_fails_leaves_the_next_one_alone() -> None:
    [draft] = [run for run in RUNS if "section" in run.tasks]
    offline, nonsense = OfflineModel(), TestModel(custom_output_args={"weather": "fine"})
    failed = await carried_out(draft, model=nonsense, formatter=nonsense, account=Account())
    assert failed.outcomes["section"] == "failed"
    assert failed.error is not None
    assert failed.error.code == "bad_answer"
    again = await carried_out(draft, model=offline, formatter=offline, account=Account())
    assert again.outcomes == {"front": "ok", "section": "ok"}


async def test_the_example_is_found_whatever_is_asked() -> None:
    search = ExampleSearch(example("ja"))
    assert [passage.chunk_id for passage in await search.search_many(["天気", "weather"], k=5)] == [1, 2]
    assert [passage.chunk_id for passage in await search.search_many(["天气"], k=1)] == [1]
    assert {passage.lang for passage in await search.around(1)} == {"ja"}
    assert search.searches == 2


def test_one_model_is_tried_for_everything(keys: None) -> None:
    [(_, tasks)] = tasks_of(models_from(OPENAI))
    assert tasks == ("research", "formatter", "analyst", "front", "section", "planner", "reviewer")


def test_each_model_is_tried_for_what_it_is_there_for(keys: None) -> None:
    models = models_from(OPENAI, writer=ANTHROPIC, fallback="openai-chat:gpt-4.1")
    assert [(model.model_name, tasks) for model, tasks in tasks_of(models)] == [
        ("gpt-4.1-mini", ("research", "formatter", "analyst", "reviewer")),
        ("claude-sonnet-4-6", ("front", "section", "planner")),
        ("gpt-4.1", ("research", "formatter", "analyst", "front", "section", "planner", "reviewer")),
    ]


async def test_models_without_a_host_are_not_tried(keys: None) -> None:
    assert tasks_of(models_from(None)) == []
    assert [finding async for finding in tried_models(Settings())] == [
        Finding("✓", "there is no model to try: the offline one asks no host")
    ]
    assert [tasks for _, tasks in tasks_of(models_from(None, reviewer=OPENAI))] == [("reviewer",)]


def test_a_purse_pays_no_request_too_many() -> None:
    purse = Purse(2)
    purse.take()
    purse.take()
    with pytest.raises(AgentError, match="after 2 calls") as stopped:
        purse.take()
    assert (stopped.value.code, purse.spent) == ("budget", 2)


def test_the_help_says_what_a_trial_may_cost(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["doctor", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "costs money: about 8 calls" in said
    assert f"never over {MOST_CALLS}" in said
    assert MOST_CALLS == 68


def trial_of(models: Models, outcomes: dict[Task, Outcome], *failures: AgentError) -> Trial:
    account = Account(Budget(), input_tokens=11_000, output_tokens=345, usd=Decimal("0.0123456"))
    trial = Trial(models.writer, account, outcomes, calls=8, seconds=12.4)
    failed = [task for task, outcome in outcomes.items() if outcome == "failed"]
    trial.failures.update(zip(failed, failures, strict=True))
    return trial


def test_what_was_used_is_said(keys: None) -> None:
    trial = trial_of(models_from(OPENAI), {"research": "ok", "reviewer": "asked again"})
    assert outcome_of(trial, fallback=False, auto=True) == (
        "✓",
        "tried gpt-4.1-mini: research ok, review asked again (8 calls, 11,345 tokens, 12 s, $0.0123)",
    )


UNUSABLE: dict[Language, str] = {
    "en": "I would\nrather \x1b[31mtalk about the weather, which is fine today, than about chains.",
    "zh": "比起链条，" + "我更想谈谈今天的天气。" * 9,
    "ja": "チェーンよりも、" + "今日の天気の話をしましょう。" * 9,
}
QUOTED: dict[Language, str] = {
    "en": "I would rather [31mtalk about the weather, which is fine to…",
    "zh": "比起链条，" + "我更想谈谈今天的天气。" * 4 + "我更想谈谈今天的天气…",
    "ja": "チェーンよりも、" + "今日の天気の話をしましょう。" * 3 + "今日の天気の話をし…",
}


@pytest.mark.parametrize("language", UNUSABLE)
def test_what_a_model_said_is_shown_short_and_harmless(language: Language, keys: None) -> None:
    error = AgentError("bad_answer", "…", {"step": "review", "answer": UNUSABLE[language]})
    trial = trial_of(models_from(OPENAI), {"reviewer": "failed"}, error)
    mark, text = outcome_of(trial, fallback=False, auto=True)
    assert mark == "✗"
    said = text.partition("For review it said “")[2].partition("”")[0]
    assert said == QUOTED[language]
    assert len(said) <= 60
    assert text.endswith("Set another COPYDESK_REVIEWER_MODEL")


def test_without_a_title_page_an_article_goes_on(keys: None) -> None:
    trial = Trial(models_from(OPENAI).writer, Account(), {"front": "failed", "section": "ok"})
    mark, text = outcome_of(trial, fallback=False, auto=True)
    assert mark == "!"
    assert "title page failed, section ok" in text


def test_a_better_way_is_advised_for_one_model_and_not_where_it_does_not_fit_another(keys: None) -> None:
    proxy, listed = models_from("openai-chat:my-model"), models_from(OPENAI)
    better = Trial(proxy.writer, Account(), better="tool")
    assert list(better_ways([better])) == [
        "my-model holds to tool output, which is surer than the prompt: set COPYDESK_STRUCTURED_OUTPUT=tool"
    ]
    [said] = better_ways([better, Trial(listed.writer, Account())])
    assert said.endswith("would be for all models, and not all are best asked so")
    assert list(better_ways([])) == []


async def test_a_trial_that_is_cancelled_ends_at_once() -> None:
    class Never(OfflineModel):
        async def request(
            self,
            messages: list[ModelMessage],
            model_settings: ModelSettings | None,
            model_request_parameters: ModelRequestParameters,
        ) -> ModelResponse:
            began.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody sets the event")

    began = asyncio.Event()
    never = Never()
    running = asyncio.create_task(carried_out(RUNS[-1], model=never, formatter=never, account=Account()))
    await asyncio.wait_for(began.wait(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 10)
