"""One call of an agent: its model, the article's account, and what goes wrong in words for people."""

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
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
from agents.hosts import failure

DepsT = TypeVar("DepsT")
OutputT = TypeVar("OutputT")

RETRIES = 2  # of an answer that broke a rule; every failed answer stays in the history and is paid again
_LONGEST_ANSWER = 4_000  # characters of an unusable answer that are kept


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
                # The place of one that journals and replays, too.
                capabilities=[*capabilities, Metered(desk.account)],
            )
        except UsageLimitExceeded as error:
            why = f"it did not finish in {steps} steps"
            raise _unusable("bad_answer", model, step, why, messages) from error
        except ContentFilterError as error:
            raise _unusable("model_declined", model, step, "it declined to answer", messages) from error
        except UnexpectedModelBehavior as error:
            if isinstance(error, OutputTokenLimitExceeded) or _last(messages).finish_reason == "length":
                raise _cut_off(model, step, messages) from error
            raise _unusable("bad_answer", model, step, str(error), messages) from error
        except ModelAPIError as error:
            raise failure(model, error) from None  # it may hold the key, see there
        if isinstance(result.output, str) and result.response.finish_reason == "length":
            # Text that ends in mid-sentence is a report without its last findings.
            raise _cut_off(model, step, messages)
    return result.output


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
            "answer": said[:_LONGEST_ANSWER],
        },
        said=said,
    )


def _last_answer(messages: list[ModelMessage]) -> str:
    """What the model said last, as it came: text, or the arguments of its calls."""
    return "\n".join(
        part.content if isinstance(part, TextPart) else part.args_as_json_str()
        for part in _last(messages).parts
        if isinstance(part, TextPart | ToolCallPart)
    )


def _last(messages: list[ModelMessage]) -> ModelResponse:
    return next((each for each in reversed(messages) if isinstance(each, ModelResponse)), ModelResponse([]))
