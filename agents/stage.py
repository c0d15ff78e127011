"""A structured answer: asked for as its model can give it, put right where code can, else had another way.

docs/decisions/0012: repair, then at most two retries with what is wrong, then the formatter, then the
fallback model, then an error that keeps what was said.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.exceptions import OutputTokenLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.output import OutputContext
from pydantic_core import from_json

from agents.abilities import Abilities, Output, output_type_for, settings_for
from agents.call import LONGEST_ANSWER, RETRIES, arguments_of, ask
from agents.desk import Desk, Trimmed
from agents.errors import FINAL, AgentError
from agents.explain import explain
from agents.fitting import LEAST_SHARE
from agents.models import abilities_for
from agents.prompt import instructions, prompt, tag
from agents.repair import looks_cut_off, repair
from knowledge.model_record import Conduct

DepsT = TypeVar("DepsT")
AnswerT = TypeVar("AnswerT", bound=BaseModel)

_LONGEST_SHAPED = 60_000  # characters: twice the longest answer that any schema allows for
_LONGEST_RETOLD = 20_000  # characters of an answer that goes back to its model with what is wrong with it

_TOO_MUCH = (
    "The answer was cut off: it is longer than you may write. Give the whole answer in far fewer words, with "
    "shorter texts and only the most important entries."
)

# What is asked, given the share of its evidence (0 to 1) for which there is room.
Request = Callable[[float], str]


@dataclass(frozen=True, eq=False)
class Stage(Generic[DepsT, AnswerT]):
    """One kind of structured answer. `broken_rules` says, for the model, which rules an answer breaks."""

    name: str  # of the agent and its instruction file
    answer: type[AnswerT]
    tool: str  # under which name it is returned
    broken_rules: Callable[[DepsT, AnswerT], Sequence[str]]
    shapeable: str = ""  # a pattern: what the formatter must find in an answer, since it may not make it up
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
    mending = _Mending(stage.answer, stage.tool if abilities.output == "tool" else None)
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
    if re.search(stage.shapeable, said) is None:
        return None
    if _mended(said, stage.answer) is not None:
        return None  # its shape is right, so that it broke a rule: nothing for one who adds nothing
    request = prompt([tag("answer", said), tag("problem", error.facts.get("problem", ""))])
    return await _stood_in(
        stage,
        lambda _: request,
        model=desk.models.formatter,
        deps=deps,
        desk=desk,
        step=f"{step}:shape",
        instructed_by="shaper",
        retries=0,
    )


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
        return None


def _says_something(said: str) -> bool:
    """More than an empty text, `{}` or `null`."""
    try:
        return bool(from_json(said))
    except ValueError:
        return bool(said.strip())


def _said(response: ModelResponse) -> str:
    """The arguments of its first call, else its text."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if calls:
        return arguments_of(calls[0])
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _mended(said: str, schema: type[BaseModel]) -> str | None:
    """An answer put right as far as code can, as JSON; None if it has not the shape then."""
    mended = repair(said, schema).value
    text = mended if isinstance(mended, str) else json.dumps(mended, ensure_ascii=False)
    try:
        schema.model_validate_json(text)
    except ValidationError:
        return None
    return text


class _Mending(AbstractCapability[Any]):
    """Puts answers right before they are validated, and says in plain words what is wrong with the others."""

    def __init__(self, schema: type[BaseModel], tool: str | None) -> None:
        """`tool` is the one that answers, None where the answer is text."""
        self.requests = 0
        self.repaired = 0  # answers
        self._schema = schema
        self._tool = tool
        self._cut_off = False  # the last answer was, at the limit of what its model may write
        self._said_so = False

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        messages = [_without_long_answers(message) for message in request_context.messages]
        response = await handler(replace(request_context, messages=messages))
        self.requests += 1
        self._cut_off = response.finish_reason == "length" and looks_cut_off(_said(response))
        return self._in_the_form_asked_for(response)

    async def before_output_validate(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: str | dict[str, Any]
    ) -> str | dict[str, Any]:
        mended = repair(output, self._schema)
        self.repaired += bool(mended.repairs)
        return mended.value

    async def on_output_validate_error(
        self,
        ctx: RunContext[Any],
        *,
        output_context: OutputContext,
        output: str | dict[str, Any],
        error: ValidationError | ModelRetry,
    ) -> Any:
        if self._cut_off and self._said_so:  # a third one would be paid for and end the same way
            raise OutputTokenLimitExceeded("it was cut off twice at the limit of the model") from error
        if self._cut_off:
            self._said_so = True
            raise ModelRetry(_TOO_MUCH) from error
        if isinstance(error, ValidationError):
            raise ModelRetry(explain(error)) from error
        raise error

    def _in_the_form_asked_for(self, response: ModelResponse) -> ModelResponse:
        """An answer that came as text and not as a call, as another call, or the other way round."""
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        if any(call.tool_name == self._tool for call in calls) or len(set(map(arguments_of, calls))) > 1:
            return response
        if self._tool is None and not calls:
            return response
        said = _said(response)
        if looks_cut_off(said) or (mended := _mended(said, self._schema)) is None:
            return response
        self.repaired += 1
        kept = [part for part in response.parts if not isinstance(part, TextPart | ToolCallPart)]
        answer = TextPart(mended) if self._tool is None else ToolCallPart(self._tool, mended)
        return replace(response, parts=[*kept, answer])


def _without_long_answers(message: ModelMessage) -> ModelMessage:
    """A message of the history; of a very long answer its model gets back the beginning."""
    if not isinstance(message, ModelResponse):
        return message
    return replace(message, parts=[_shortened(part) for part in message.parts])


def _shortened(part: ModelResponsePart) -> ModelResponsePart:
    if isinstance(part, TextPart) and len(part.content) > _LONGEST_RETOLD:
        return replace(part, content=f"{part.content[:_LONGEST_RETOLD]}…")
    if isinstance(part, ToolCallPart) and len(said := arguments_of(part)) > _LONGEST_RETOLD:
        call: ToolCallPart[Any] = part
        return replace(call, args={"cut": f"{said[:_LONGEST_RETOLD]}…"})  # arguments have to be an object
    return part
