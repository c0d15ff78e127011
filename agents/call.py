"""One call of an agent: its model, the article's account, and what goes wrong in words for people."""

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelRetry,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from agents.account import Metered
from agents.desk import Desk
from agents.errors import AgentError, Code
from agents.explain import explain
from agents.hosts import failure
from agents.journal import Journaled
from agents.patience import causes

DepsT = TypeVar("DepsT")
OutputT = TypeVar("OutputT")

RETRIES = 2  # of an answer that broke a rule; every failed answer stays in the history and is paid again
_WHOLE = frozenset({"", "stop", "eos", "eos_token", "end_turn", "stop_sequence", "completed", "finish"})
_LONGEST_PROBLEM = 600  # characters
LONGEST_ANSWER = 4_000  # characters of an unusable answer that are kept


async def ask(
    agent: Agent[DepsT, OutputT],
    request: str,
    *,
    model: Model,
    deps: DepsT,
    desk: Desk,
    step: str,
    steps: int | None = None,
    settings: ModelSettings | None = None,
    capabilities: Sequence[AbstractCapability[Any]] = (),
) -> OutputT:
    """The agent's answer to a request. `step` names the call within its leg (`section:3`), in traces and
    for whoever wants to replay it; `steps` is the most model calls that this one may take.

    Raises AgentError.
    """
    # None: PydanticAI's own limit of 50 is not meant here. The budget is the account's: among these limits it
    # would be looked at after an answer, and throw away what was paid for.
    limits = UsageLimits(request_limit=steps)
    with capture_run_messages() as messages:
        try:
            result = await agent.run(
                request,
                model=model,
                deps=deps,
                usage_limits=limits,
                model_settings=settings,
                metadata={"step": step},
                # The journal is before the meter: what it gives again is not counted again.
                capabilities=[
                    *capabilities,
                    *([] if desk.journal is None else [Journaled(desk.journal, desk.account, step)]),
                    Metered(desk.account),
                ],
            )
        except UsageLimitExceeded as error:
            why = f"it did not finish in {steps} steps"
            raise _unusable("bad_answer", model, step, why, messages) from error
        except ContentFilterError as error:
            raise _unusable("model_declined", model, step, "it declined to answer", messages) from error
        except UnexpectedModelBehavior as error:
            if isinstance(error, OutputTokenLimitExceeded) or _last(messages).finish_reason == "length":
                raise _cut_off(model, step, messages) from error
            raise _unusable("bad_answer", model, step, _problem(error), messages) from error
        except ModelAPIError as error:
            failed = failure(model, error)
            failed.said = _last_answer(messages)
            raise failed from None  # it may hold the key, see there
        if isinstance(result.output, str) and not _is_whole(result.response):
            # Text that ends in mid-sentence is a report without its last findings.
            if result.response.finish_reason == "content_filter":
                raise _unusable("model_declined", model, step, "it was stopped by a filter", messages)
            raise _cut_off(model, step, messages)
    return result.output


def _is_whole(response: ModelResponse) -> bool:
    """Whether a text ended because its model had said all: by PydanticAI's word, else by the host's."""
    if response.finish_reason is not None:
        return response.finish_reason in ("stop", "tool_call")
    reason = str((response.provider_details or {}).get("finish_reason") or "").lower()
    return reason in _WHOLE


def _cut_off(model: Model, step: str, messages: list[ModelMessage]) -> AgentError:
    return _unusable("answer_cut_off", model, step, "it was cut off at the limit of the model", messages)


def _unusable(code: Code, model: Model, step: str, why: str, messages: list[ModelMessage]) -> AgentError:
    said = _last_answer(messages)
    return AgentError(
        code,
        f"{model.model_name} gave no usable answer for {step}: {why}. Retry, or set another model.",
        {
            "model": model.model_name,
            "step": step,
            "problem": why,
            "answer": said[:LONGEST_ANSWER],
        },
        said=said,
    )


def _problem(error: UnexpectedModelBehavior) -> str:
    """What was wrong with the last answer: PydanticAI's own sentence says only that it was one too many."""
    if not re.search("(?i)exceeded max", str(error)):
        return str(error)
    wrong = list(causes(error))[1:]
    said = next((each.message for each in wrong if isinstance(each, ModelRetry)), None)
    if said is None:
        said = next((explain(each) for each in wrong if isinstance(each, ValidationError)), None)
    return " ".join((said or str(wrong[0] if wrong else error)).split())[:_LONGEST_PROBLEM].rstrip(". ")


def _last_answer(messages: list[ModelMessage]) -> str:
    """What the model said last, as it came: text, or the arguments of its calls."""
    return "\n".join(
        part.content if isinstance(part, TextPart) else arguments_of(part)
        for part in _last(messages).parts
        if isinstance(part, TextPart | ToolCallPart)
    )


def arguments_of(call: ToolCallPart) -> str:
    """As they came: PydanticAI wraps those that are no JSON."""
    return call.args if isinstance(call.args, str) else call.args_as_json_str()


def _last(messages: list[ModelMessage]) -> ModelResponse:
    return next((each for each in reversed(messages) if isinstance(each, ModelResponse)), ModelResponse([]))
