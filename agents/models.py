"""From settings to the models that the agents use."""

from dataclasses import dataclass

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from agents.errors import AgentError
from agents.offline.model import OfflineModel

OFFLINE = "offline"


@dataclass(frozen=True)
class Models:
    """One model for each task; they may be of different providers."""

    research: Model
    formatter: Model
    analysis: Model
    writer: Model
    reviewer: Model


def models_from(
    default: str | None,
    *,
    research: str | None = None,
    analysis: str | None = None,
    writer: str | None = None,
    reviewer: str | None = None,
    formatter: str | None = None,
) -> Models:
    """The models by PydanticAI's names, such as `openai-chat:gpt-4.1-mini`; None or "offline" needs no key.

    Raises AgentError (`unknown_model`) for a name that cannot be used or whose key is not set.
    """
    return Models(
        research=_model(research or default),
        formatter=_model(formatter or default),
        analysis=_model(analysis or research or default),
        writer=_model(writer or default),
        reviewer=_model(reviewer or default),
    )


def _model(name: str | None) -> Model:
    if name is None or name == OFFLINE:
        return OfflineModel()
    try:
        return infer_model(name)
    except (UserError, ImportError) as error:
        raise AgentError(
            "unknown_model",
            f"The model {name!r} cannot be used: {str(error).rstrip('.')}. Name it as PROVIDER:MODEL, such "
            "as openai-chat:gpt-4.1-mini, and set the provider's key; or use offline, which needs none.",
            {"model": name},
        ) from error
