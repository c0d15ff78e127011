"""What reached the host and what came of it, and waiting for a change of it."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.scripted_openai.request import ChatRequest, EmbeddingRequest, Traced

Found = TypeVar("Found")
SHOWN = 5  # requests in the message of a wait that failed


class ScriptFault(Exception):
    """The script of a test is wrong: it raised, or it answered what no real model could have."""


@dataclass(frozen=True)
class Refused:
    """A request that the host refused before any script saw it."""

    method: str
    path: str
    status: int
    message: str
    param: str | None
    code: str | None
    body: Any  # as it was sent, parsed if it was JSON


class Record:
    """Requests in order of arrival, refusals and faults, and how many requests are under way."""

    def __init__(self) -> None:
        self.requests: list[ChatRequest] = []
        self.embedding_requests: list[EmbeddingRequest] = []
        self.refusals: list[Refused] = []
        self.faults: list[ScriptFault] = []
        self.under_way = 0
        self.most_at_once = 0
        self.stopping = asyncio.Event()
        self._changed = asyncio.Event()

    def changed(self) -> None:
        """Wakes who waits."""
        self._changed.set()
        self._changed = asyncio.Event()

    @contextmanager
    def following(self, request: Traced) -> Iterator[None]:
        """Counts a request as under way, and notes when and how it ends."""
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        self.changed()
        try:
            yield
        except (asyncio.CancelledError, ConnectionError):
            request.trace.gone = not self.stopping.is_set()
            raise
        finally:
            request.trace.finished_at = time.monotonic()
            self.under_way -= 1
            self.changed()

    async def wait_for(
        self,
        predicate: Callable[[], Found],
        timeout: float = 30,  # noqa: ASYNC109 - it ends in an AssertionError that shows the last requests
    ) -> Found:
        """Returns what `predicate` returns as soon as that is true. It is asked again at each change here.

        Raises AssertionError after `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        while True:
            changed = self._changed
            if found := predicate():
                return found
            left = deadline - time.monotonic()
            try:
                await asyncio.wait_for(changed.wait(), max(left, 0))
            except TimeoutError:
                raise AssertionError(f"Not within {timeout:g} s. {self}") from None

    def __str__(self) -> str:
        lines = [f"{len(self.requests)} chat requests, {self.under_way} under way; the last:"]
        lines += [f"  {describe(request)}" for request in self.requests[-SHOWN:]]
        lines += [f"  refused: {one.status} {one.message}" for one in self.refusals[-SHOWN:]]
        lines += [f"  fault: {fault}" for fault in self.faults[-SHOWN:]]
        return "\n".join(lines)


def describe(request: ChatRequest) -> str:
    """A request in a line."""
    if request.finished_at is None:
        state = "under way"
    else:
        state = "gone" if request.gone else f"status {request.trace.status}"
    tools = f", tools {', '.join(request.tool_names)}" if request.tools else ""
    last = request.messages[-1]
    text = " ".join(last.text.split())
    return f"#{request.number} {request.model}, {state}{tools}, {last.role}: {text[:100]}"
