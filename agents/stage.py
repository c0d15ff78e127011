"""A structured answer: asked for as its model can give it, put right where code can, else had another way.

docs/decisions/0012: repair, then at most two retries with what is wrong, then the formatter, then the
fallback model, then an error that keeps what was said.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.models import Model
from pydantic_core import from_json

from agents.abilities import Abilities, Output, output_type_for, settings_for
from agents.call import LONGEST_ANSWER, RETRIES, ask
from agents.desk import Desk, Trimmed
from agents.errors import FINAL, AgentError
from agents.fitting import LEAST_SHARE
from agents.mending import Mending, mended_json
from agents.models import abilities_for
from agents.prompt import instructions, prompt, tag
from agents.repair import looks_cut_off
from agents.retold import adds_nothing
from knowledge.model_record import Conduct

DepsT = TypeVar("DepsT")
AnswerT = TypeVar("AnswerT", bound=BaseModel)

_LONGEST_SHAPED = 60_000  # characters: twice the longest answer that any schema allows for

# What is asked, given the share of its evidence (0 to 1) for which there is room.
Request = Callable[[float], str]


@dataclass(frozen=True, eq=False)
class Stage(Generic[DepsT, AnswerT]):
    """One kind of structured answer. `broken_rules` says, for the model, which rules an answer breaks."""

    name: str  # of the agent and its instruction file
    answer: type[AnswerT]
    tool: str  # under which name it is returned
    broken_rules: Callable[[DepsT, AnswerT], Sequence[str]]
    # Whether what was said can be put into shape (None), and whether a shaped answer agrees with it.
    agrees: Callable[[str, AnswerT | None], bool] = lambda said, answer: True
    _agents: dict[tuple[str, Output, bool], Agent[DepsT, AnswerT]] = field(default_factory=dict)

    def agent(self, abilities: Abilities, *, instructed_by: str, retries: int) -> Agent[DepsT, AnswerT]:
        """The agent for a model of these abilities, made once."""
        key = instructed_by, abilities.output, abilities.strict
        if key not in self._agents:
            agent: Agent[DepsT, AnswerT] = Agent(
                name=instructed_by,
                instructions=instructions(instructed_by),
                output_type=output_type_for(abilities, self.answer, name=self.tool),
                retries={"output": retries, "tools": retries},  # `tools`: one that does not exist was called
            )

            @agent.output_validator
            def keeps_the_rules(ctx: RunContext[DepsT], answer: AnswerT) -> AnswerT:
                if wrong := self.broken_rules(ctx.deps, answer):
                    raise ModelRetry("\n".join(wrong))
                return answer

            self._agents[key] = agent
        return self._agents[key]


async def answer_of(
    stage: Stage[DepsT, AnswerT], request: Request, *, model: Model, deps: DepsT, desk: Desk, step: str
) -> AnswerT:
    """The answer of a model, or of those that stand in for it. `step` names the call within its leg.

    A model that cannot read all the evidence at once gets the best half of it, then a quarter, an eighth.

    Raises AgentError: of the model itself, whatever those that stood in for it said.
    """
    try:
        return await _asked(stage, request, model=model, deps=deps, desk=desk, step=step)
    except AgentError as error:
        if error.code in FINAL:
            raise
        answer = await _shaped(stage, error, deps=deps, desk=desk, step=step)
        if answer is None and (fallback := desk.models.fallback) is not None and fallback is not model:
            answer = await _stood_in(
                stage, request, model=fallback, deps=deps, desk=desk, step=f"{step}:fallback"
            )
        desk.conducts.append(
            Conduct(model.model_name, stage.name, rescued=answer is not None, failed=answer is None)
        )
        if answer is None:
            raise
        return answer


async def _asked(
    stage: Stage[DepsT, AnswerT],
    request: Request,
    *,
    model: Model,
    deps: DepsT,
    desk: Desk,
    step: str,
    instructed_by: str | None = None,
    retries: int = RETRIES,
) -> AnswerT:
    share = 1.0
    while True:
        try:
            answer = await _asked_once(
                stage,
                request(share),
                model=model,
                deps=deps,
                desk=desk,
                step=step,
                instructed_by=instructed_by or stage.name,
                retries=retries,
            )
        except AgentError as error:
            # With no less to say there is no use in saying it again.
            if (
                error.code != "request_too_long"
                or share <= LEAST_SHARE
                or request(share / 2) == request(share)
            ):
                raise
            share /= 2
        else:
            if share < 1:
                desk.trimmed.append(Trimmed(model.model_name, share))
            return answer


async def _asked_once(
    stage: Stage[DepsT, AnswerT],
    request: str,
    *,
    model: Model,
    deps: DepsT,
    desk: Desk,
    step: str,
    instructed_by: str,
    retries: int,
) -> AnswerT:
    abilities = abilities_for(model)
    mending = Mending(stage.answer, stage.tool if abilities.output == "tool" else None)
    try:
        return await ask(
            stage.agent(abilities, instructed_by=instructed_by, retries=retries),
            request,
            model=model,
            deps=deps,
            desk=desk,
            step=step,
            settings=settings_for(abilities),
            capabilities=[mending],
        )
    except AgentError as error:
        if error.code == "request_too_long" and mending.requests:
            # Not the evidence is too long, but it together with the answers that were to be mended.
            facts = {**error.facts, "step": step, "answer": error.said[:LONGEST_ANSWER]}
            raise AgentError("bad_answer", str(error), facts, said=error.said) from None
        raise
    finally:
        again = max(0, mending.requests - 1)
        desk.conducts.append(
            Conduct(model.model_name, stage.name, answers=1, repaired=mending.repaired, asked_again=again)
        )


async def _shaped(
    stage: Stage[DepsT, AnswerT], error: AgentError, *, deps: DepsT, desk: Desk, step: str
) -> AnswerT | None:
    """What the formatter makes of an answer that had the wrong shape; None if that is no answer either."""
    said = error.said
    if error.code != "bad_answer" or len(said) > _LONGEST_SHAPED or not _says_something(said):
        return None
    if looks_cut_off(said) or not stage.agrees(said, None):
        return None  # whoever closed or completed it would decide what it says
    if mended_json(said, stage.answer) is not None:
        return None  # its shape is right, so that it broke a rule: nothing for one who adds nothing
    request = prompt([tag("answer", said), tag("problem", error.facts.get("problem", ""))])
    answer = await _stood_in(
        stage,
        lambda _: request,
        model=desk.models.formatter,
        deps=deps,
        desk=desk,
        step=f"{step}:shape",
        instructed_by="shaper",
        retries=0,
    )
    if answer is None or not adds_nothing(answer, said) or not stage.agrees(said, answer):
        return None
    return answer


async def _stood_in(
    stage: Stage[DepsT, AnswerT],
    request: Request,
    *,
    model: Model,
    deps: DepsT,
    desk: Desk,
    step: str,
    instructed_by: str | None = None,
    retries: int = RETRIES,
) -> AnswerT | None:
    """The answer of a model that stands in for another; None if it gives none either."""
    try:
        return await _asked(
            stage,
            request,
            model=model,
            deps=deps,
            desk=desk,
            step=step,
            instructed_by=instructed_by,
            retries=retries,
        )
    except AgentError as failed:
        if failed.code in FINAL:
            raise
        if desk.journal is not None:  # Retry asks it anew
            await desk.journal.forget(step)
        return None


def _says_something(said: str) -> bool:
    """More than an empty text, `{}` or `null`."""
    try:
        return bool(from_json(said))
    except ValueError:
        return bool(said.strip())
