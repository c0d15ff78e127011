"""What a trial does for each task, through the functions that make articles, and what came of it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agents.abilities import Abilities, has_custom_host, with_abilities
from agents.account import Account
from agents.analyst import analyse
from agents.desk import Desk
from agents.errors import AgentError
from agents.models import AbleModel, Models, abilities_for
from agents.offline.model import OfflineModel
from agents.patience import Patience
from agents.researcher import NO_QUOTE, research
from agents.reviewer import review
from agents.revision import plan_revision
from agents.trial_example import Example, ExampleSearch, example
from agents.turns import turns_at
from agents.writer import write_draft
from knowledge.language import Language

Task = Literal["research", "formatter", "analyst", "front", "section", "planner", "reviewer"]
Outcome = Literal["ok", "in words", "put right", "asked again", "shaped", "failed"]

CALLS = 5  # for one answer: the first, two for broken rules, the formatter's, and one that a host spoiled
_RESEARCH_CALLS = 8  # tools called or, where that does not work, said in words; then the report
_LONGEST_ANSWER = 8_000  # tokens; room for a model that thinks before it answers
_PATIENCE = Patience(silence=60.0, total=75.0, tries=3, timeouts=1, longest_wait=10.0)


@dataclass
class Purse:
    """Requests that may be sent. Raises AgentError (`budget`) for one too many."""

    most: int
    spent: int = 0
    last_had_tools: bool = False

    def take(self) -> None:
        if self.spent >= self.most:
            raise AgentError("budget", f"The trial ended here, after {self.most} calls for one task.")
        self.spent += 1


def able(model: Model, purse: Purse, abilities: Abilities | None = None) -> Model:
    """The model with less patience, paid from a purse, and asked in another way if `abilities` say so."""
    if model.provider is None:
        return model
    abilities = abilities or abilities_for(model)
    inner = innermost(model)
    paid = _Paid(with_abilities(inner, abilities), purse)
    return AbleModel(paid, _PATIENCE, turns_at(inner), abilities)


def innermost(model: Model) -> Model:
    """As PydanticAI made it."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return model


class _Paid(WrapperModel):
    """A model whose requests are paid from a purse, those of a second try too."""

    def __init__(self, wrapped: Model, purse: Purse) -> None:
        super().__init__(wrapped)
        self._purse = purse

    @property
    def settings(self) -> ModelSettings | None:
        # A server that nobody knows may refuse the field, which requests for articles never have.
        if has_custom_host(self.wrapped):
            return self.wrapped.settings
        return {**(self.wrapped.settings or {}), "max_tokens": _LONGEST_ANSWER}

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        self._purse.take()
        self._purse.last_had_tools = bool(model_request_parameters.function_tools)
        return await self.wrapped.request(messages, model_settings, model_request_parameters)


async def _searches(found: Example, desk: Desk) -> None:
    """Whether it calls the tools. What its report is worth, and a search that goes on, are not tried here."""
    assert isinstance(desk.search, ExampleSearch)
    try:
        await research(found.topic, found.language, questions=[], previous=None, desk=desk)
    except AgentError as error:
        of_report = error.facts.get("step") == "format" or error.facts.get("problem") == NO_QUOTE
        if not desk.search.searches or not (of_report or error.code in ("nothing_found", "budget")):
            raise


async def _formats(found: Example, desk: Desk) -> None:
    """Whether quotes of a report come through as they are."""
    try:
        await research(found.topic, found.language, questions=[], previous=None, desk=desk)
    except AgentError as error:
        if error.facts.get("problem") != NO_QUOTE:
            raise
        name = desk.models.formatter.model_name
        raise AgentError(
            "bad_answer", f"{name} changed every quote of a report, so nothing could be found in its source."
        ) from error


async def _analyses(found: Example, desk: Desk) -> None:
    await analyse(
        found.topic,
        found.language,
        found.research,
        requests=[found.outline_request],
        previous=None,
        published=[],
        desk=desk,
    )


async def _drafts(found: Example, desk: Desk) -> None:
    await write_draft(found.topic, found.language, found.research, found.analysis, requests=[], desk=desk)


async def _plans(found: Example, desk: Desk) -> None:
    await plan_revision(
        found.topic,
        found.language,
        found.research,
        found.analysis,
        found.draft,
        requests=[found.draft_request],
        review=None,
        desk=desk,
    )


async def _reviews(found: Example, desk: Desk) -> None:
    await review(
        found.topic,
        found.language,
        found.research,
        found.analysis,
        found.draft,
        requests=[],
        last=None,
        desk=desk,
    )


@dataclass(frozen=True)
class Run:
    """Tasks that are tried in one go, and by what."""

    tasks: tuple[Task, ...]
    language: Language
    carry_out: Callable[[Example, Desk], Coroutine[object, object, None]]

    @property
    def calls(self) -> int:
        """The most that it may take."""
        return _RESEARCH_CALLS if "research" in self.tasks else CALLS * len(self.tasks)


ANALYSIS = Run(("analyst",), "ja", _analyses)
REVIEW = Run(("reviewer",), "en", _reviews)
RUNS = (
    Run(("research",), "en", _searches),
    Run(("formatter",), "zh", _formats),
    ANALYSIS,
    Run(("front", "section"), "zh", _drafts),
    Run(("planner",), "ja", _plans),
    REVIEW,
)


@dataclass(frozen=True)
class Done:
    """What came of a run; `error` is why tasks failed, None where an article would go on without them."""

    outcomes: Mapping[Task, Outcome]
    error: AgentError | None


async def carried_out(run: Run, *, model: Model, formatter: Model, account: Account) -> Done:
    """A run with a model; `formatter` shapes answers of the others, as for articles. Raises nothing for what
    models and hosts do."""
    searching, formatting = "research" in run.tasks, "formatter" in run.tasks
    offline = OfflineModel()
    desk = Desk(
        models=Models(
            research=model if searching else offline,
            formatter=offline if searching else model if formatting else formatter,
            analysis=model,
            writer=model,
            reviewer=model,
        ),
        search=ExampleSearch(example(run.language)),
        account=account,
        progress=lambda progress: None,
    )
    error = None
    try:
        # In a task of its own: before Python 3.13 a task group that failed, as a draft's may, leaves its task
        # marked as being cancelled, and PydanticAI takes the next call of that task for cancelled.
        await asyncio.create_task(run.carry_out(example(run.language), desk))
    except AgentError as raised:
        error = raised
    if searching:  # no structured answer of its own
        return Done({"research": "failed" if error else "ok"}, error)
    outcomes = {task: outcome for task in run.tasks if (outcome := _outcome(desk, task)) is not None}
    if error is not None:
        # Nothing is known of an answer that was under way when another failed.
        failed = [task for task, outcome in outcomes.items() if outcome == "failed"]
        outcomes = dict.fromkeys(failed or run.tasks, "failed")
    return Done(outcomes, error)


def _outcome(desk: Desk, task: Task) -> Outcome | None:
    conducts = [conduct for conduct in desk.conducts if conduct.stage == task]
    if not conducts:
        return None
    if any(conduct.failed for conduct in conducts):
        return "failed"
    if any(conduct.rescued for conduct in conducts):
        return "shaped"
    if any(conduct.asked_again for conduct in conducts):
        return "asked again"
    return "put right" if any(conduct.repaired for conduct in conducts) else "ok"
