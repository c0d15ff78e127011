"""From settings to the models that the agents use."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from openai import OpenAIError
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers import Provider, infer_provider

from agents.abilities import Abilities, Setting, abilities_of, has_custom_host, with_abilities
from agents.errors import AgentError
from agents.hosts import address_setting, key_of, key_setting
from agents.offline.model import OfflineModel
from agents.patience import Patience, PatientModel
from agents.transport import bound_answers
from agents.turns import Turns, address_of, turns_at

OFFLINE = "offline"


@dataclass(frozen=True)
class Models:
    """One model for each task; they may be of different providers. `fallback` stands in for any of them."""

    research: Model
    formatter: Model
    analysis: Model
    writer: Model
    reviewer: Model
    fallback: Model | None = None

    def each(self) -> list[Model]:
        """Every model once."""
        roles = (self.research, self.formatter, self.analysis, self.writer, self.reviewer, self.fallback)
        return list({id(model): model for model in roles if model is not None}.values())

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Models"]:
        """Keeps the connections to the hosts while inside, and closes them at the end."""
        async with AsyncExitStack() as stack:
            for model in self.each():
                await stack.enter_async_context(model)
            yield self


def models_from(
    default: str | None,
    *,
    research: str | None = None,
    analysis: str | None = None,
    writer: str | None = None,
    reviewer: str | None = None,
    formatter: str | None = None,
    fallback: str | None = None,
    structured_output: Setting = "auto",
    patience: Patience | None = None,
) -> Models:
    """The models by PydanticAI's names, such as `openai-chat:gpt-4.1-mini`; None or "offline" needs no key.

    Roles with the same name share a model, models of the same provider its connections, and models at the
    same host their turns (`agents/turns.py`). Raises AgentError (`unknown_model`) for a name that cannot be
    used or whose key or address is missing or malformed.
    """
    providers: dict[str, Provider[Any]] = {}
    models: dict[str, Model] = {}
    hosts: dict[str, Turns] = {}

    def provider(kind: str) -> Provider[Any]:
        if kind not in providers:
            providers[kind] = infer_provider(kind)
            bound_answers(providers[kind])
        return providers[kind]

    def model(*names: str | None) -> Model:
        name = next((name.strip() for name in names if name and name.strip()), OFFLINE)
        if name not in models:
            models[name] = _model(name, provider, patience or Patience(), hosts, structured_output)
        return models[name]

    return Models(
        research=model(research, default),
        formatter=model(formatter, default),
        analysis=model(analysis, research, default),
        writer=model(writer, default),
        reviewer=model(reviewer, default),
        fallback=model(fallback) if fallback else None,
    )


def abilities_for(model: Model) -> Abilities:
    """What a model can do: as it was resolved when it was made, else by its profile."""
    return model.abilities if isinstance(model, AbleModel) else abilities_of(model, custom_host=False)


class AbleModel(PatientModel):
    """A model of the settings, with what it can do."""

    def __init__(self, wrapped: Model, patience: Patience, turns: Turns, abilities: Abilities) -> None:
        super().__init__(wrapped, patience, turns)
        self.abilities = abilities


def _model(
    name: str,
    provider: Callable[[str], Provider[Any]],
    patience: Patience,
    hosts: dict[str, Turns],
    structured_output: Setting,
) -> Model:
    if name == OFFLINE:
        return OfflineModel()
    try:
        model = infer_model(name, provider)
    except (UserError, ImportError, ValueError, OpenAIError) as error:
        raise _unusable(name, _why(error)) from error
    if isinstance(model, TestModel):
        return model
    if not name.partition(":")[2]:
        raise _unusable(name, "It names a provider and no model")
    if (wrong := _wrong_address(model) or _wrong_key(model)) is not None:
        raise _unusable(name, wrong)
    abilities = abilities_of(model, setting=structured_output, custom_host=has_custom_host(model))
    turns = hosts.setdefault(address_of(model), turns_at(model))
    return AbleModel(with_abilities(model, abilities), patience, turns, abilities)


def _unusable(name: str, why: str) -> AgentError:
    return AgentError(
        "unknown_model",
        f"The model {name!r} cannot be used: {why}. Name it as PROVIDER:MODEL, such as "
        "openai-chat:gpt-4.1-mini, and set the provider's key; or use offline, which needs none.",
        {"model": name},
    )


def _why(error: Exception) -> str:
    """PydanticAI's own words, without what concerns programmers only."""
    if isinstance(error, OpenAIError):  # of its library, which counts an empty key as none
        return "OPENAI_API_KEY is set, but empty"
    sentence = re.sub(r" or pass it via `[^`]*`| To try Pydantic AI without .*", "", str(error))
    return sentence.rstrip(". ")


def _wrong_address(model: Model) -> str | None:
    """A base URL that no request could be sent to; an empty setting counts as one."""
    if model.base_url is None:
        return None
    setting = address_setting(model.system) or "its base URL"
    try:
        address = urlsplit(model.base_url)
    except ValueError:
        address = urlsplit("")
    host = address.hostname or ""  # a label, of any script, or the number of an address
    if address.scheme in ("http", "https") and re.fullmatch(r"[\w.:-]+", host) and " " not in model.base_url:
        return None
    return f"{setting} is no address of a host; it begins with http:// or https:// and holds no spaces"


def _wrong_key(model: Model) -> str | None:
    """A key that no request could carry. The key itself is never said."""
    key = key_of(model)
    if key is None or re.fullmatch(r"[\x21-\x7e]+", key):
        return None
    return (
        f"{key_setting(model.system)} holds characters that no key has (spaces, line ends or other scripts)"
    )
