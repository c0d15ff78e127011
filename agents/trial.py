"""A trial of the models of the settings: a small answer for each task that a model has, and what came of it.

It goes through the functions that make articles, so that a host is sent what it will be sent in earnest.
"""

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from pydantic_ai import Agent
from pydantic_ai.models import Model

from agents.abilities import Output, abilities_of, has_custom_host, output_type_for, settings_for
from agents.account import Account, Budget
from agents.call import ask
from agents.desk import Desk
from agents.errors import UNUSABLE, AgentError, Code
from agents.hosts import host_of
from agents.known_models import BETTER_NAMES, KNOWN
from agents.models import Models, abilities_for
from agents.prices import Prices
from agents.trial_example import ExampleSearch, example
from agents.trial_runs import (
    ANALYSIS,
    CALLS,
    REVIEW,
    RUNS,
    Done,
    Outcome,
    Purse,
    Task,
    able,
    carried_out,
    innermost,
)
from agents.wire import Wire

# For one model, all tasks and both better ways tried: what a run may take, and a probe of each way.
_MORE_WAYS: tuple[Literal["native", "tool"], ...] = ("native", "tool")
_TWO_TASKS = (ANALYSIS, REVIEW)
MOST_CALLS = sum(run.calls for run in RUNS) + len(_MORE_WAYS) * (CALLS + sum(run.calls for run in _TWO_TASKS))
USUAL_CALLS = 8
_TOKENS = 60_000  # for one model; about 15,000 are usual

# What says something of this task alone; anything else would be said of the next one, too.
_OF_THE_TASK: frozenset[Code] = UNUSABLE | {"model_rejected", "request_too_long"}
_OF_THE_PROVIDER: frozenset[Code] = frozenset(
    {"model_refused_key", "model_no_credit", "model_unreachable", "not_a_model_host"}
)


@dataclass
class Trial:
    """What became of one model. `stopped` is why no more was asked of it, such as a refused key.

    `better` is a way of asking that holds there and that `auto` does not choose.
    """

    model: Model
    account: Account
    outcomes: dict[Task, Outcome] = field(default_factory=dict)
    failures: dict[Task, AgentError] = field(default_factory=dict)
    stopped: AgentError | None = None
    better: Output | None = None
    calls: int = 0  # requests to hosts, those that failed included
    seconds: float = 0.0


def tasks_of(models: Models) -> list[tuple[Model, tuple[Task, ...]]]:
    """Each model that has a host, with what it is there for. A fallback is for everything."""
    roles: list[tuple[Model | None, tuple[Task, ...]]] = [
        (models.research, ("research",)),
        (models.formatter, ("formatter",)),
        (models.analysis, ("analyst",)),
        (models.writer, ("front", "section", "planner")),
        (models.reviewer, ("reviewer",)),
        (models.fallback, get_args(Task)),
    ]
    return [
        (model, tuple(task for other, tasks in roles if other is model for task in tasks))
        for model in models.each()
        if model.provider is not None
    ]


async def trials(models: Models, *, prices: Prices, auto: bool) -> AsyncIterator[Trial]:
    """One model after the other. Raises nothing for what models and hosts do.

    `auto`: nobody has set how answers are asked for, so that a better way is looked for where the prompt was
    chosen for want of knowledge. A provider that refuses its key, say, is asked once, not for each model.
    """
    refused: dict[int, AgentError] = {}
    async with models.connected():
        for model, tasks in tasks_of(models):
            trial = Trial(model, Account(Budget(tokens=_TOKENS), prices=prices))
            trial.stopped = refused.get(id(model.provider))
            began = time.monotonic()
            if trial.stopped is None:
                await _try(trial, tasks, models.formatter)
            if trial.stopped is None and auto and _may_know_better(model):
                trial.better = await _better_way(trial, models.formatter)
            trial.seconds = time.monotonic() - began
            if trial.stopped is not None and trial.stopped.code in _OF_THE_PROVIDER:
                refused[id(model.provider)] = trial.stopped
            yield trial


async def _try(trial: Trial, tasks: Sequence[Task], formatter: Model) -> None:
    for run in RUNS:
        wanted = [task for task in run.tasks if task in tasks]
        if not wanted:
            continue
        purse = Purse(run.calls)
        done = await carried_out(
            run, model=able(trial.model, purse), formatter=able(formatter, purse), account=trial.account
        )
        trial.calls += purse.spent
        if done.outcomes.get("research") == "ok" and not purse.last_had_tools:
            done = Done({"research": "in words"}, None)
        for task in wanted:
            if task in done.outcomes:
                trial.outcomes[task] = done.outcomes[task]
                if done.outcomes[task] == "failed" and done.error is not None:
                    trial.failures[task] = done.error
        if done.error is not None and done.error.code not in _OF_THE_TASK:
            trial.stopped = done.error
            return


def _may_know_better(model: Model) -> bool:
    """Whether the prompt was chosen for want of knowledge, and not because something is known."""
    name = f"{model.system}:{model.model_name}"
    return (
        abilities_for(model).output == "prompted"
        and BETTER_NAMES.get(host_of(model), model.system) == model.system
        and not any(line.prompted and line.matches(name) for line in KNOWN)
    )


async def _better_way(trial: Trial, formatter: Model) -> Output | None:
    """The first way that holds against what the request says, and gives two right answers at once."""
    inner = innermost(trial.model)
    for way in _MORE_WAYS:
        abilities = abilities_of(inner, setting=way, custom_host=has_custom_host(inner))
        if abilities.thinking_off:
            continue  # it may hold, at a price
        purse = Purse(CALLS + sum(run.calls for run in _TWO_TASKS))
        model, shaper = able(trial.model, purse, abilities), able(formatter, purse)
        holds = await is_held(model, trial.account)
        for run in _TWO_TASKS:
            if holds:
                done = await carried_out(run, model=model, formatter=shaper, account=trial.account)
                holds = set(done.outcomes.values()) == {"ok"}
        trial.calls += purse.spent
        if holds:
            return way
    return None


# Names and words that nobody comes upon without the schema. A docstring would be sent with it.
class _Probe(Wire):
    lantern: Literal["velvet", "copper"]
    harbour: Literal["seven", "eleven"]


# A model that is not held to the schema does what it is told: so a host that ignores the schema, takes it for
# JSON of any shape, or only shows it to the model, is found out.
_APPLE = "Answer with the one word apple, as plain text. No JSON, no function call, nothing else."


async def is_held(model: Model, account: Account) -> bool:
    """Whether the model's host holds it to the schema of its answer, in the way that its abilities say."""
    abilities = abilities_for(model)
    agent: Agent[None, _Probe] = Agent(
        name="probe",
        instructions=_APPLE,
        output_type=output_type_for(abilities, _Probe, name="return_probe"),
        retries={"output": 0},
    )
    desk = Desk(
        models=Models(model, model, model, model, model),
        search=ExampleSearch(example("en")),
        account=account,
        progress=lambda progress: None,
    )
    try:
        await ask(
            agent,
            _APPLE,
            model=model,
            deps=None,
            desk=desk,
            step="probe",
            settings=settings_for(abilities),
        )
    except AgentError:
        return False
    return True
