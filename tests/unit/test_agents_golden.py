"""One request of each agent as it goes over the wire to an OpenAI-compatible host, in English and Chinese.

A capable person must be able to do the job from it alone: read the files in `golden/` when a prompt changes.
After a change that is meant, write them anew and read the difference:
`REGENERATE_GOLDEN=1 .venv/bin/pytest tests/unit/test_agents_golden.py`
"""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agents.desk import Desk
from tests.unit.agent_runs import run_analysis, run_research, run_review, run_revision, run_writer
from tests.unit.answers import USUAL
from tests.unit.password_article import Example, chinese, desk_with, english
from tests.unit.scripted_model import calls, said, scripted_host

GOLDEN = Path(__file__).parent / "golden"
REPORTS = {
    "en": "\n".join(
        [
            "Findings",
            "[S1] (high) MD5 is fast — “MD5 was built to be fast.”",
            "Gaps",
            "Nothing on latency.",
            "Summary",
            "Fast.",
        ]
    ),
    "zh": "\n".join(
        [
            "Findings",
            "[S1] (high) MD5 很快 — “MD5 是为快速计算而设计的。”",
            "Gaps",
            "没有延迟数据。",
            "Summary",
            "很快。",
        ]
    ),
}
QUESTIONS = {"en": "How long does a login take?", "zh": "登录需要多长时间？"}

Run = Callable[[Example, Desk], Awaitable[object]]


async def research_a_question(example: Example, desk: Desk) -> object:
    return await run_research(example, desk, QUESTIONS[example.language])


REQUESTS: dict[str, tuple[str, Run]] = {
    "researcher": ("knowledge_search", research_a_question),
    "formatter": ("return_findings", research_a_question),
    "analyst": ("return_analysis", run_analysis),
    "front": ("return_front", run_writer),
    "section": ("return_section", run_revision),
    "planner": ("return_plan", run_revision),
    "reviewer": ("return_review", run_review),
}


def plan_that_keeps_all(example: Example) -> dict[str, Any]:
    sections: list[dict[str, Any]] = [
        {"number": number, "heading": section.heading, "change": None, "source_ids": []}
        for number, section in enumerate(example.draft.sections, start=1)
    ]
    return {"sections": sections, "rewrite_title": False, "notes": []}


def readable(body: dict[str, Any]) -> str:
    """A request for people: its messages as they are, its tools and the shape of its answer as JSON."""
    parts = [f"===== {message['role']}\n{message['content']}" for message in body["messages"]]
    for name in ("tools", "response_format"):
        if name in body:
            parts.append(f"===== {name}\n{json.dumps(body[name], ensure_ascii=False, indent=1)}")
    rest = {key: value for key, value in body.items() if key not in ("messages", "tools", "response_format")}
    return "\n\n".join([*parts, f"===== settings\n{json.dumps(rest)}"]) + "\n"


def wanted(body: dict[str, Any]) -> str:
    """What a request asks for: the name of its first tool, or of the shape of its answer."""
    if "tools" in body:
        return str(body["tools"][0]["function"]["name"])
    return str(body["response_format"]["json_schema"]["name"])


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
@pytest.mark.parametrize("agent", REQUESTS)
async def test_the_request_is_the_one_that_was_read_and_approved(agent: str, example: Example) -> None:
    shape, run = REQUESTS[agent]

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        if wanted(body) == "return_plan":
            return said(json.dumps(plan_that_keeps_all(example)))
        if wanted(body) in USUAL:
            return said(json.dumps(dict(USUAL[wanted(body)])))
        if body["messages"][-1]["role"] == "tool":
            return said(REPORTS[example.language])
        return calls(("knowledge_search", {"queries": ["MD5"]}))

    async with scripted_host(answer) as (host, model):
        await run(example, desk_with(model))
    approved(agent, example, next(body for body in host.requests if wanted(body) == shape))


def approved(agent: str, example: Example, body: dict[str, Any]) -> None:
    golden = GOLDEN / f"{agent}.{example.language}.txt"
    if os.environ.get("REGENERATE_GOLDEN"):
        golden.write_text(readable(body), encoding="utf-8")
    assert readable(body) == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
async def test_so_is_that_of_a_researcher_who_calls_tools_in_words(example: Example) -> None:
    """The second request, with what the first one gave."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body:
            return said(json.dumps(dict(USUAL["return_findings"])))
        if "tools" not in body and body["messages"][-1]["content"].startswith("<topic>"):
            call = {"name": "knowledge_search", "arguments": {"queries": ["MD5", "密码"], "k": 10}}
            return said(f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>")
        return said(REPORTS[example.language])  # with functions, as if it did not see them

    async with scripted_host(answer) as (host, model):
        await run_research(example, desk_with(model))
    approved("researcher_in_words", example, [body for body in host.requests if "tools" not in body][1])


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
async def test_so_is_that_of_the_one_who_puts_words_into_a_shape(example: Example) -> None:
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        if "shape" in body["messages"][0]["content"].partition("\n")[0]:
            return said(json.dumps(dict(USUAL["return_section"])))
        if wanted(body) == "return_section":
            return said(example.draft.sections[0].content)
        return said(json.dumps(dict(USUAL[wanted(body)])))

    async with scripted_host(answer) as (host, model):
        await run_writer(example, desk_with(model))
    shaping = [body for body in host.requests if "<answer>" in body["messages"][-1]["content"]]
    approved("shaper", example, shaping[0])
