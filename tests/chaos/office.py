"""The model's side: the same question gets the same answer, whenever it is asked and however often."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.editorial_office import Office, one, stage_of
from tests.scripted_openai.replies import Reply, Text
from tests.scripted_openai.request import ChatRequest


class SteadyOffice(Office):
    """No answer depends on how many there were before, and none is the same for two topics."""

    def _research(self, request: ChatRequest) -> Reply:
        reply = super()._research(request)
        if isinstance(reply, Text):  # the report: all that the next question has of the topic
            return replace(reply, content=f"{reply.content}\n{one(request.users[0], 'topic')}")
        return reply

    def _section(self, text: str) -> dict[str, Any]:
        self.written = 0
        return super()._section(text)


class Memory:
    """Asks the office once for each question; each answer takes `delay` seconds."""

    def __init__(self, office: Callable[[ChatRequest], Reply], *, delay: float = 0.0) -> None:
        self._office = office
        self._delay = delay
        self._names: dict[tuple[str, str], str] = {}
        self._replies: dict[tuple[str, str], Reply] = {}
        self._counted: dict[str, int] = {}

    def answer(self, request: ChatRequest) -> Reply:
        question = _question(request)
        if question not in self._replies:
            self._replies[question] = replace(self._office(request), delay=self._delay)
        return self._replies[question]

    def name(self, request: ChatRequest) -> str:
        """What is asked for, and how many other questions for the same there were before: "review #2"."""
        question = _question(request)
        if question not in self._names:
            what = _what(request)
            self._counted[what] = self._counted.get(what, 0) + 1
            self._names[question] = f"{what} #{self._counted[what]}"
        return self._names[question]


def _question(request: ChatRequest) -> tuple[str, str]:
    return stage_of(request), request.text


def _what(request: ChatRequest) -> str:
    stage = stage_of(request)
    what = "research" if stage == "knowledge_search" else stage.removeprefix("return_")
    here = re.search(r'^<section number="(\d+)">$', request.last_user, re.M) if what == "section" else None
    return f"{what} {here[1]}" if here else what
