"""The calls of one article as the host recorded them, and what can be read from them."""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench.chain import longest_chain, seconds
from tests.editorial_office import Office, stage_of
from tests.scripted_openai.plausible import completion_tokens
from tests.scripted_openai.replies import ModelReply, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.tokens import prompt_tokens

AGENTS = {  # by the tool that an agent's requests offer, in the order in which they are asked
    "knowledge_search": "research",
    "return_findings": "formatter",
    "return_analysis": "analysis",
    "return_front": "title and tags",
    "return_section": "sections",
    "return_review": "review",
}

SHORTEST_SAID = 4  # characters of an answer by which a later request is taken to have read it


class Script:
    """The answers of the tests' office, each after the time that a model would take."""

    def __init__(self, delay: float) -> None:
        """`delay` is in seconds."""
        self._delay = delay
        self.begin()

    def begin(self) -> None:
        """A new article."""
        self._office = Office()
        self.replies: dict[int, ModelReply] = {}

    def __call__(self, request: ChatRequest) -> Reply:
        reply = self._office(request)
        assert isinstance(reply, ModelReply), reply
        self.replies[request.number] = reply
        return replace(reply, delay=self._delay)


@dataclass(frozen=True)
class ModelCall:
    """One request to the host and its answer; times in seconds of `time.monotonic`."""

    agent: str
    began: float
    ended: float
    request: ChatRequest
    reply: ModelReply

    @property
    def prompt(self) -> int:
        return prompt_tokens(self.request.body)

    @property
    def completion(self) -> int:
        return completion_tokens(self.reply)

    def said(self) -> set[str]:
        """The lines of its answer that were not in the topic: whoever has one of them has read it."""
        topic = self.request.last_user
        if isinstance(self.reply, Text):
            content = self.reply.content
            texts = iter([content]) if self.agent == "research" else strings(json.loads(content))
        else:
            assert isinstance(self.reply, ToolCalls)
            texts = itertools.chain.from_iterable(strings(call.arguments) for call in self.reply.calls)
        lines = {line.strip() for text in texts for line in text.splitlines()}
        if self.agent == "research":  # it searches for the topic, which all requests hold
            lines = {line for line in lines if line not in topic}
        return {line for line in lines if len(line) >= SHORTEST_SAID}

    def read(self, other: "ModelCall") -> bool:
        """Whether this request holds something of the other's answer: it could not have been made before."""
        mine, others = self.request.messages, other.request.messages
        if len(mine) > len(others) and mine[: len(others)] == others:
            return True
        return any(line in self.request.text for line in other.said())


@dataclass(frozen=True)
class Run:
    """One article up to its first reviewed draft."""

    calls: list[ModelCall]
    began: float
    outline_asked: float
    ended: float
    words: int

    @property
    def depth(self) -> int:
        """The longest chain of calls, each begun after the one before it had ended."""
        return len(longest_chain(self.calls))

    @property
    def needed_depth(self) -> int:
        """The same, where each call also holds something of the answer before it."""
        return len(longest_chain(self.calls, may_follow=lambda former, later: later.read(former)))

    @property
    def overhead(self) -> float:
        """The part of the wall time beyond the chain of calls that took longest."""
        wall = self.ended - self.began
        return (wall - sum(map(seconds, longest_chain(self.calls, worth=seconds)))) / wall

    @property
    def prompt(self) -> int:
        return sum(call.prompt for call in self.calls)

    def between(self) -> Iterator[tuple[str, float]]:
        """What the overhead is made of: seconds before each call of that chain, and after the last one."""
        at = self.began
        for call in longest_chain(self.calls, worth=seconds):
            name = call.agent if call.agent not in ("sections", "title and tags") else "writer"
            # People are asked in between: what comes before their answer is apart from what comes after it.
            if at < self.outline_asked < call.began:
                yield "outline asked", self.outline_asked - at
                at = self.outline_asked
            yield f"→ {name}", call.began - at
            at = call.ended
        yield "draft asked", self.ended - at


def strings(value: Any) -> Iterator[str]:
    """Every text inside a JSON value."""
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from strings(inner)
        case list():
            for inner in value:
                yield from strings(inner)


def agent_of(request: ChatRequest) -> str:
    return next(name for tool, name in AGENTS.items() if tool == stage_of(request))
