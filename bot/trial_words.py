"""What the doctor says of models that were tried."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from agents.errors import AgentError
from agents.models import abilities_for
from agents.trial import Trial
from agents.trial_runs import Outcome, Task

Mark = Literal["✓", "!", "✗"]

_LONGEST_QUOTE = 60  # characters of what a model said

_TASKS: dict[Task, str] = {
    "research": "research",
    "formatter": "findings",
    "analyst": "outline",
    "front": "title page",
    "section": "section",
    "planner": "revision plan",
    "reviewer": "review",
}
_OUTCOMES: dict[Outcome, str] = {
    "ok": "ok",
    "in words": "ok, with tools said in words since it calls none",
    "put right": "put right by code",
    "asked again": "asked again",
    "shaped": "shaped by the formatter",
    "failed": "failed",
}
_SETTINGS: dict[Task, str] = {
    "research": "COPYDESK_RESEARCH_MODEL",
    "formatter": "COPYDESK_FORMATTER_MODEL",
    "analyst": "COPYDESK_RESEARCH_MODEL",
    "front": "COPYDESK_WRITER_MODEL",
    "section": "COPYDESK_WRITER_MODEL",
    "planner": "COPYDESK_WRITER_MODEL",
    "reviewer": "COPYDESK_REVIEWER_MODEL",
}


def outcome_of(trial: Trial, *, fallback: bool, auto: bool) -> tuple[Mark, str]:
    """One line: what became of each task, what it took, what to set. `auto`: no way of asking is set."""
    name = f"tried {trial.model.model_name}"
    failed = [task for task, outcome in trial.outcomes.items() if outcome == "failed"]
    if trial.stopped is not None and len(failed) == len(trial.outcomes):
        return "✗", f"{name}: {trial.stopped}"
    said = [f"{_TASKS[task]} {_OUTCOMES[outcome]}" for task, outcome in trial.outcomes.items()]
    text = f"{name}: {', '.join(said)} ({_used(trial)})"
    if trial.stopped is not None:
        return "✗", f"{text}. {trial.stopped}"
    if not trial.failures:
        # Without a title page an article goes on.
        surely = {"failed", "shaped", "in words"}.isdisjoint(trial.outcomes.values())
        return "✓" if surely else "!", text
    settings = ["COPYDESK_FALLBACK_MODEL"] if fallback else _to_set(failed)
    mend = f"Set another {' and '.join(settings)}{'' if auto else ', or COPYDESK_STRUCTURED_OUTPUT=auto'}"
    return "✗", " ".join([f"{text}.", *_reasons(trial.failures.values()), mend])


def better_ways(done: Sequence[Trial]) -> Iterator[str]:
    """What to set; one setting is for all models, so it has to fit them all."""
    ways = {trial.better or abilities_for(trial.model).output for trial in done}
    for trial in done:
        if trial.better is None:
            continue
        setting = f"COPYDESK_STRUCTURED_OUTPUT={trial.better}"
        holds = f"{trial.model.model_name} holds to {trial.better} output, which is surer than the prompt"
        if len(ways) == 1:
            yield f"{holds}: set {setting}"
        else:
            yield f"{holds}, but {setting} would be for all models, and not all are best asked so"


def _used(trial: Trial) -> str:
    tokens = trial.account.input_tokens + trial.account.output_tokens
    used = [f"{trial.calls} calls", f"{tokens:,} tokens", f"{trial.seconds:.0f} s"]
    if (usd := trial.account.cost_usd) is not None:
        used.append(f"${usd:.4f}")
    return ", ".join(used)


def _to_set(failed: Collection[Task]) -> list[str]:
    settings = list(dict.fromkeys(_SETTINGS[task] for task in failed))
    return ["COPYDESK_MODEL"] if len(settings) == len(set(_SETTINGS.values())) else settings


def _reasons(failures: Collection[AgentError]) -> list[str]:
    """The sentences of hosts, and of unusable answers the first one, as it came."""
    answers = [error for error in failures if "answer" in error.facts]
    others = [str(error) for error in failures if "answer" not in error.facts]
    return list(dict.fromkeys([*others, *map(_quoted, answers[:1])]))


def _quoted(error: AgentError) -> str:
    answer = " ".join("".join(c if c.isprintable() else " " for c in error.facts["answer"]).split())
    cut = answer if len(answer) <= _LONGEST_QUOTE else answer[: _LONGEST_QUOTE - 1] + "…"
    return f"For {error.facts['step'].partition(':')[0]} it said {f'“{cut}”' if cut else 'nothing'}."
