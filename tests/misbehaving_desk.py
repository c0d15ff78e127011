"""One stage of an article whose model misbehaves, at hosts on the wire: what came of it, and at what cost.

The model is at one host; a formatter and a fallback model that can be relied on are at another.
"""

import asyncio
import json
import math
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args
from unittest.mock import patch

from pydantic_ai.models import override_allow_model_requests

from agents.abilities import Output
from agents.account import Account
from agents.analyst import analyse
from agents.contracts import AnalysisResult
from agents.desk import Desk
from agents.errors import AgentError
from agents.models import Models, models_from
from knowledge.language import Language
from tests.editorial_office import stage_of
from tests.host_kinds import SOON
from tests.scripted_openai.family import TOOLS_DEAD_WITH_FORMAT
from tests.scripted_openai.replies import Call, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI
from tests.unit.agent_runs import run_research, run_review, run_revision, run_writer
from tests.unit.password_article import Example, desk_with
from tests.usual_answers import SAID, TOOLS, Answer, Came, Case, StageName, article, right_answer

End = Literal[
    "as it was",
    "repaired",
    "asked again",
    "host asked again",
    "shaped",
    "fallback",
    "done without",
    "failed and kept",
]

WAYS: tuple[Output, ...] = get_args(Output)


async def run_analysis(example: Example, desk: Desk) -> AnalysisResult:
    """A first outline: with no request of people, which would allow fewer sections."""
    return await analyse(
        example.topic, example.language, example.research, requests=[], previous=None, published=[], desk=desk
    )


RUNS: Mapping[StageName, Callable[[Example, Desk], Coroutine[Any, Any, Any]]] = {
    "formatter": run_research,
    "analyst": run_analysis,
    "front": run_writer,
    "section": run_writer,
    "planner": run_revision,
    "reviewer": run_review,
}
_MISBEHAVING = "misbehaving"
_SHAPER = "You put an answer into the shape"  # how the formatter's instructions for it begin


@dataclass(frozen=True)
class Became:
    """What became of a misbehaving answer, and what it cost beyond the one call that a good one takes."""

    end: End
    extra: int
    result: Any = None
    error: AgentError | None = None


@dataclass
class _Script:
    """What both hosts answer. `times` requests for the stage are misbehaved to, those to shape among them."""

    case: Case
    came: Came
    times: float
    own: int = 0  # requests to the misbehaving model for the stage
    shapings: int = 0  # requests to the other host
    fallbacks: int = 0

    def misbehaving(self, request: ChatRequest) -> Reply:
        if not self._is_for_the_stage(request):
            stage = next(stage for stage, tool in TOOLS.items() if tool == stage_of(request))
            answer = right_answer(stage, self.case.language)
            if stage == "section":  # each has other sources
                answer["content"] = SAID[self.case.language]
            return _said(request, answer)
        self.own += 1
        if self.own > self.times:
            return _said(request, self.case.answer)
        if isinstance(self.came, Reply):
            return self.came
        return _said(request, self.came)

    def reliable(self, request: ChatRequest) -> Reply:
        if stage_of(request) == "knowledge_search":
            if not request.tool_results:
                return ToolCalls([Call("knowledge_search", {"queries": [SAID[self.case.language]]})])
            return Text(f"Findings\n[S1] (high) {SAID[self.case.language]}")
        self.shapings += _SHAPER in request.system
        self.fallbacks += _SHAPER not in request.system
        return _said(request, self.case.answer)

    def _is_for_the_stage(self, request: ChatRequest) -> bool:
        """Of the sections the first one alone."""
        others = self.case.stage == "section" and '\n<section number="1">\n' not in request.users[0]
        return stage_of(request) == self.case.tool and (not others or _SHAPER in request.system)


def _said(request: ChatRequest, answer: str | Answer) -> Reply:
    """In the form that was asked for, whether or not a host that holds the model to it would let it pass."""
    if request.tools:
        return ToolCalls([Call(stage_of(request), answer)], broken=True)
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return Text(text, broken=True)


@dataclass
class MisbehavingDesk:
    """Both hosts, and models of both kinds: with those that stand in, and alone as settings have it unset."""

    misbehaving: ScriptedOpenAI
    reliable: ScriptedOpenAI
    models: Mapping[tuple[Output, bool], Models]
    _right: dict[tuple[StageName, Language, str], Any] = field(default_factory=dict)

    async def put(
        self, case: Case, came: Came, way: Output, *, times: float = math.inf, helped: bool = True
    ) -> Became:
        """`came` in place of the stage's answer, so many times. Whatever is no AgentError is raised."""
        script = _Script(case, came, times)
        self.misbehaving.answer, self.reliable.answer = script.misbehaving, script.reliable
        models = self.models[way, helped]
        if case.stage == "formatter":  # it is the one that misbehaves
            models = replace(models, formatter=models.writer)
        desk = replace(desk_with(models.writer), models=models, account=Account.of({}))
        result, error = None, None
        try:
            # In a task of its own, as a leg is.
            result = await asyncio.create_task(RUNS[case.stage](article(case.language), desk))
        except AgentError as failed:
            error = failed
        extra = script.own + script.shapings + script.fallbacks - 1
        return Became(_end(script, desk, error), extra, result, error)

    async def right_result(self, case: Case) -> Any:
        """What comes of the answer that was meant."""
        key = case.stage, case.language, json.dumps(case.answer)
        if key not in self._right:
            became = await self.put(case, case.answer, "prompted")
            assert (became.end, became.extra) == ("as it was", 0), became
            self._right[key] = became.result
        return self._right[key]


def _end(script: _Script, desk: Desk, error: AgentError | None) -> End:
    conducts = [one for one in desk.conducts if (one.model, one.stage) == (_MISBEHAVING, script.case.stage)]
    if error is not None:
        return "failed and kept"
    if any(one.failed for one in conducts):
        return "done without"
    if any(one.rescued for one in conducts):
        return "fallback" if script.fallbacks else "shaped"
    if any(one.asked_again for one in conducts):
        return "asked again"
    if script.own > 1:
        return "host asked again"
    return "repaired" if any(one.repaired for one in conducts) else "as it was"


@asynccontextmanager
async def misbehaving_desk() -> AsyncIterator[MisbehavingDesk]:
    """Hosts and models for as many runs as one likes. That the hosts refused nothing is looked at here."""

    def nothing(request: ChatRequest) -> Reply:
        raise AssertionError(request)

    roles = ("research", "formatter", "fallback")
    misbehaving = ScriptedOpenAI(nothing, models=[_MISBEHAVING])
    reliable = ScriptedOpenAI(nothing, family=TOOLS_DEAD_WITH_FORMAT, models=roles)
    async with misbehaving, reliable, AsyncExitStack() as stack:
        addresses = {
            "OPENAI_BASE_URL": misbehaving.base_url,
            "OPENAI_API_KEY": misbehaving.api_key,
            "VLLM_BASE_URL": reliable.base_url,
            "VLLM_API_KEY": reliable.api_key,
        }
        stack.enter_context(override_allow_model_requests(True))
        with patch.dict(os.environ, addresses):
            models = {
                (way, helped): models_from(
                    f"openai-chat:{_MISBEHAVING}",
                    research="vllm:research",
                    analysis=f"openai-chat:{_MISBEHAVING}",
                    formatter="vllm:formatter" if helped else None,
                    fallback="vllm:fallback" if helped else None,
                    structured_output=way,
                    patience=SOON,
                )
                for way in WAYS
                for helped in (True, False)
            }
        for one in models.values():
            await stack.enter_async_context(one.connected())
        yield MisbehavingDesk(misbehaving, reliable, models)
        assert (misbehaving.refusals, reliable.refusals) == ([], [])
