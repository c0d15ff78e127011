"""Finished calls are not made again: what models and searches gave is kept, and given again."""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opentelemetry import trace
from pydantic import TypeAdapter, ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_core import PydanticSerializationError

from agents.account import Account
from knowledge.counters import replays
from knowledge.journal import Journal
from knowledge.search import Passage, Search

log = logging.getLogger(__name__)

T = TypeVar("T")

_PASSAGES = TypeAdapter(list[Passage])
# Of the parts of messages: new in every run, and nothing of what was asked.
_NEW_EACH_RUN = frozenset({"timestamp", "tool_call_id", "id", "metadata", "provider_details", "signature"})


class Journaled(AbstractCapability[Any]):
    """Has the answers to a run's requests kept, and those given that a run before this one got.

    What is given again does not reach the capabilities behind this one: it was counted and paid before.
    """

    def __init__(self, journal: Journal, account: Account, step: str) -> None:
        self._journal = journal
        self._account = account
        self._step = step
        self._asked = 0

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        n, asked = self._asked, _digest_of_request(request_context)
        self._asked += 1
        if (body := self._journal.find(self._step, n, asked)) is not None:
            if (given := _response(body)) is not None:
                replays.add(1, {"of": "model"})
                trace.get_current_span().set_attribute("copydesk.replayed", True)
                return given
            log.warning(
                "an answer of another version of PydanticAI cannot be read: %s is asked anew", self._step
            )
        response = await handler(request_context)
        try:
            kept = ModelMessagesTypeAdapter.dump_json([response]).decode()
        except (PydanticSerializationError, ValueError) as error:
            log.warning("an answer for %s cannot be kept: %s", self._step, error)
            return response
        await self._journal.write(self._step, n, asked, kept, usage=self._account.as_json())
        return response


@dataclass
class JournaledSearch:
    """The search of one run. What was found is found again, whatever was added to the knowledge since."""

    search: Search
    journal: Journal | None
    step: str
    _asked: int = field(default=0, init=False)

    async def search_many(self, queries: Sequence[str], *, k: int) -> list[Passage]:
        """As `Search.search_many`."""
        return await self._once(["search", *queries, k], lambda: self.search.search_many(queries, k=k))

    async def around(self, chunk_id: int, *, before: int, after: int) -> list[Passage]:
        """As `Search.around`."""
        return await self._once(
            ["around", chunk_id, before, after],
            lambda: self.search.around(chunk_id, before=before, after=after),
        )

    async def _once(
        self, asked: list[str | int], search: Callable[[], Awaitable[list[Passage]]]
    ) -> list[Passage]:
        n = self._asked
        self._asked += 1
        return await once(self.journal, f"{self.step}:search", n, asked, _PASSAGES, search)


async def once(
    journal: Journal | None,
    step: str,
    n: int,
    asked: list[str | int],
    shape: TypeAdapter[T],
    call: Callable[[], Awaitable[T]],
) -> T:
    """What the `n`-th call of a step gave, if it was asked the same before; else what it gives now."""
    if journal is None:
        return await call()
    digest = _digest(asked)
    if (body := journal.find(step, n, digest)) is not None:
        try:
            given = shape.validate_json(body)
        except ValidationError:
            log.warning("a search of another version cannot be read: %s is made anew", step)
        else:
            replays.add(1, {"of": step.rpartition(":")[2]})
            return given
    found = await call()
    await journal.write(step, n, digest, shape.dump_json(found).decode())
    return found


def _response(body: str) -> ModelResponse | None:
    try:
        [message] = ModelMessagesTypeAdapter.validate_json(body)
    except ValueError:  # a ValidationError, or not one message
        return None
    return message if isinstance(message, ModelResponse) else None


def _digest_of_request(request: ModelRequestContext) -> str:
    """Of what a model is asked: who, the messages, the tools and the shape of the answer."""
    parameters = request.model_request_parameters
    tools = [*parameters.function_tools, *parameters.output_tools]
    output = parameters.output_object
    return _digest(
        [
            request.model.system,
            request.model.model_name,
            [
                _asked(message)
                for message in ModelMessagesTypeAdapter.dump_python(request.messages, mode="json")
            ],
            [[tool.name, tool.description, tool.parameters_json_schema] for tool in tools],
            None if output is None else [output.name, output.json_schema],
            parameters.output_mode,
        ]
    )


def _asked(message: dict[str, Any]) -> list[Any]:
    parts = [
        {key: value for key, value in part.items() if key not in _NEW_EACH_RUN} for part in message["parts"]
    ]
    return [message["kind"], message.get("instructions"), parts]


def _digest(asked: list[Any]) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
