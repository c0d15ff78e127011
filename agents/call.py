"""One call of an agent: its model, the article's account, and what goes wrong in words for people."""

from typing import TypeVar
from urllib.parse import urlsplit

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from agents.desk import Desk
from agents.errors import AgentError

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
) -> OutputT:
    """The agent's answer to a request. `step` names the call within its leg (`section:3`), in traces and
    for whoever wants to replay it; `steps` is the most model calls that this one may take.

    Raises AgentError.
    """
    calls_before = desk.usage.requests
    # Cumulative, since the usage is the article's. None: PydanticAI's own limit of 50 is not meant here.
    limits = UsageLimits(request_limit=None if steps is None else calls_before + steps)
    with capture_run_messages() as messages:
        try:
            result = await agent.run(
                request,
                model=model,
                deps=deps,
                usage=desk.usage,
                usage_limits=limits,
                metadata={"step": step},
                capabilities=[],  # the place of a capability that journals and replays this step
            )
        except UsageLimitExceeded as error:
            if steps is not None and desk.usage.requests - calls_before >= steps:
                raise _bad_answer(model, step, f"it did not finish in {steps} steps", messages) from error
            raise AgentError(
                "budget", "This article has used its budget. Raise COPYDESK_BUDGET_TOKENS, then retry."
            ) from error
        except UnexpectedModelBehavior as error:
            raise _bad_answer(model, step, str(error), messages) from error
        except ModelAPIError as error:
            raise _refused(model, error) from error
    return result.output


def _bad_answer(model: Model, step: str, why: str, messages: list[ModelMessage]) -> AgentError:
    return AgentError(
        "bad_answer",
        f"{model.model_name} gave no usable answer for {step}: {why}. Retry, or set another model.",
        {"model": model.model_name, "step": step, "answer": _last_answer(messages)[:_LONGEST_ANSWER]},
    )


def _refused(model: Model, error: ModelAPIError) -> AgentError:
    host = urlsplit(model.base_url or "").hostname or model.model_name
    facts = {"host": host, "model": model.model_name}
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    if isinstance(error, ModelAuthenticationError) or status in (401, 403):
        return AgentError(
            "model_refused_key",
            f"{host} answered {status or 'that the key is not valid'}: it refused the key. Set the "
            "provider's key on the server, then retry.",
            facts,
        )
    if isinstance(error, ModelConnectionError):
        return AgentError(
            "model_unreachable",
            f"{host} cannot be reached ({error}). Check the network and the base URL, then retry.",
            facts,
        )
    if isinstance(error, ModelRequestRejectedError):
        return AgentError(
            "unknown_model",
            f"{host} does not take requests for {model.model_name} ({error}). Set another model, then retry.",
            facts,
        )
    return AgentError("model_unreachable", f"{host} cannot answer now ({error}). Retry in a while.", facts)


def _last_answer(messages: list[ModelMessage]) -> str:
    """What the model said last, as it came: text, or the arguments of its calls."""
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            return "\n".join(
                part.content if isinstance(part, TextPart) else part.args_as_json_str()
                for part in message.parts
                if isinstance(part, TextPart | ToolCallPart)
            )
    return ""
