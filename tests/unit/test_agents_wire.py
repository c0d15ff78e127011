"""What goes over the wire is strict: in the schema of each answer, and as an OpenAI host sees it."""

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from agents.desk import Desk
from agents.wire import FrontAnswer
from tests.unit.agent_runs import run_analysis, run_research, run_review, run_revision, run_writer
from tests.unit.answers import USUAL, Scripted
from tests.unit.password_article import Example, desk_with, english
from tests.unit.scripted_model import calls, scripted_host

RUNS: dict[str, Callable[[Example, Desk], Awaitable[object]]] = {
    "return_findings": run_research,
    "return_analysis": run_analysis,
    "return_front": run_writer,
    "return_section": run_writer,
    "return_plan": run_revision,
    "return_review": run_review,
}


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema, itself first."""
    if isinstance(schema, dict):
        yield schema
        for inside in schema.values():
            yield from objects(inside)
    elif isinstance(schema, list):
        for inside in schema:
            yield from objects(inside)


def faults(schema: dict[str, Any], *, bounded: bool) -> list[str]:
    """What OpenAI's strict mode, or a small model's host, would stumble over."""
    found = ["a union at the root"] if "anyOf" in schema or schema.get("type") != "object" else []
    for inside in objects(schema):
        properties = inside.get("properties")
        if isinstance(properties, dict) and "type" in inside:
            if inside.get("additionalProperties") is not False:
                found.append(f"open: {inside}")
            if set(inside.get("required", [])) != set(properties):
                found.append(f"not all required: {inside}")
        if inside.get("type") == "object" and not properties:
            found.append(f"a dict: {inside}")
        if "default" in inside and "type" in inside:
            found.append(f"a default: {inside}")
        if bounded and inside.get("type") == "string" and not {"maxLength", "enum", "const"} & inside.keys():
            found.append(f"unbounded: {inside}")
        if bounded and inside.get("type") == "array" and "maxItems" not in inside:
            found.append(f"unbounded: {inside}")
    return found


@pytest.mark.parametrize("tool", RUNS)
async def test_the_schema_of_each_answer_is_strict_and_bounded(tool: str) -> None:
    scripted = Scripted()
    await RUNS[tool](english(), desk_with(scripted.model))
    asked = [output for info in scripted.infos for output in info.output_tools if output.name == tool]
    assert asked
    for output in asked:
        assert output.strict is True
        assert faults(output.parameters_json_schema, bounded=True) == []


@pytest.mark.parametrize("tool", RUNS)
async def test_an_openai_host_is_asked_in_strict_mode(tool: str) -> None:
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body:
            return {"content": json.dumps(USUAL[body["response_format"]["json_schema"]["name"]])}
        if body["messages"][-1]["role"] == "tool":
            return {"content": "Findings\nGaps\nNothing more."}
        return calls(("knowledge_search", {"queries": ["MD5"], "k": 5}))

    async with scripted_host(answer) as (host, model):
        await RUNS[tool](english(), desk_with(model))
    formats = [body["response_format"]["json_schema"] for body in host.requests if "response_format" in body]
    answers = [one for one in formats if one["name"] == tool]
    assert answers
    for answer_format in answers:
        assert answer_format["strict"] is True
        assert faults(answer_format["schema"], bounded=True) == []


async def test_the_ranges_of_the_tools_stand_in_their_descriptions_too() -> None:
    scripted = Scripted()
    await run_research(english(), desk_with(scripted.model))
    tools = {tool.name: tool for tool in scripted.infos[0].function_tools}
    assert set(tools) == {"knowledge_search", "read_source"}
    search = tools["knowledge_search"].parameters_json_schema["properties"]
    assert (search["k"]["minimum"], search["k"]["maximum"], search["k"]["default"]) == (1, 10, 5)
    assert "1 to 10" in search["k"]["description"]
    assert (search["queries"]["minItems"], search["queries"]["maxItems"]) == (1, 4)
    assert "1 to 4" in search["queries"]["description"]
    around = tools["read_source"].parameters_json_schema["properties"]
    assert "0 to 3" in around["before"]["description"]
    assert "0 to 3" in around["after"]["description"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["密码", "x" * 41, "", 3, "パスワード"], ["密码", "パスワード"]),
        ([f"tag {number}" for number in range(9)], [f"tag {number}" for number in range(8)]),
        ("密码，哈希、Go", ["密码", "哈希", "Go"]),
        (None, []),
        ({"a": "b"}, []),
    ],
)
def test_tags_that_cannot_be_used_are_left_out_and_cost_no_call(given: Any, kept: list[str]) -> None:
    front = FrontAnswer.model_validate({"title": "T", "description": "D", "tags": given, "categories": []})
    assert front.tags == kept
