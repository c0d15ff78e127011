"""Acceptable answers of a model, and a model that gives them; tests change what they are about."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

REPORT = 'Findings\n[S1] (high) MD5 is fast — "MD5 was built to be fast."\nGaps\nSummary\nFast.'

FINDINGS: Mapping[str, Any] = {"findings": [], "gaps": [], "summary": "Fast."}
ANALYSIS: Mapping[str, Any] = {
    "key_points": [],
    "outline": [
        {"heading": "Why MD5 fails", "description": "Speed.", "source_ids": ["S1"]},
        {"heading": "Argon2id", "description": "Parameters.", "source_ids": ["S2"]},
        {"heading": "What it costs", "description": "Latency.", "source_ids": []},
    ],
    "risks": [],
    "missing_evidence": [],
    "needs_more_research": False,
    "summary": "From speed to memory.",
    "notes": [],
}
FRONT: Mapping[str, Any] = {"title": "MD5", "description": "Why it fails.", "tags": ["md5"], "categories": []}
SECTION: Mapping[str, Any] = {"content": "A paragraph.", "notes": []}
PLAN: Mapping[str, Any] = {
    "sections": [
        {"number": 1, "heading": "Why MD5 fails", "change": None, "source_ids": []},
        {"number": 2, "heading": "Argon2id", "change": None, "source_ids": []},
        {"number": 3, "heading": "What it costs", "change": None, "source_ids": []},
    ],
    "rewrite_title": False,
    "notes": [],
}
REVIEW: Mapping[str, Any] = {"decision": "approve", "score": 90, "issues": [], "feedback": "Good."}

USUAL: Mapping[str, Mapping[str, Any]] = {
    "return_findings": FINDINGS,
    "return_analysis": ANALYSIS,
    "return_front": FRONT,
    "return_section": SECTION,
    "return_plan": PLAN,
    "return_review": REVIEW,
}

Give = Callable[[str, str], Mapping[str, Any]]
"""From the name of the tool and the text of the request to the arguments."""


class Scripted:
    """A model that gives, for each tool, its answers in turn (the last one again and again).

    `asked` are the requests as (tool, text), `refusals` what it was told of answers that broke a rule.
    """

    def __init__(self, **answers: Sequence[Mapping[str, Any]] | Give) -> None:
        self.asked: list[tuple[str, str]] = []
        self.refusals: list[str] = []
        self.infos: list[AgentInfo] = []
        self._answers = answers
        self._given: dict[str, int] = {}
        self.model = FunctionModel(self._answer, model_name="scripted")

    def texts(self, tool: str) -> list[str]:
        return [text for name, text in self.asked if name == tool]

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.infos.append(info)
        self.refusals += refusals(messages[-1:])
        if not info.output_tools:
            searched = any(isinstance(message, ModelResponse) for message in messages)
            return ModelResponse(
                parts=[
                    TextPart(REPORT) if searched else ToolCallPart("knowledge_search", {"queries": ["MD5"]})
                ]
            )
        tool = info.output_tools[0].name
        text = request_text(messages)
        self.asked.append((tool, text))
        answers = self._answers.get(tool, [USUAL[tool]])
        if callable(answers):
            answer = answers(tool, text)
        else:
            turn = self._given.get(tool, 0)
            self._given[tool] = turn + 1
            answer = answers[min(turn, len(answers) - 1)]
        return ModelResponse(parts=[ToolCallPart(tool, dict(answer))])


def request_text(messages: Sequence[ModelMessage]) -> str:
    """What the program asked."""
    return next(
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart) and isinstance(part.content, str)
    )


def refusals(messages: Sequence[ModelMessage]) -> list[str]:
    """What the model was told of an answer that cannot be used."""
    return [
        part.content if isinstance(part.content, str) else json.dumps(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart) and part.outcome == "retried"
    ]
