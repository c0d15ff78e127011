"""The analyst's answer is held to its rules, and what people asked reaches it."""

from typing import Any

import pytest

from agents.analyst import analyse
from agents.desk import StandingRequest
from agents.errors import AgentError
from tests.unit.agent_runs import run_analysis
from tests.unit.answers import ANALYSIS, Scripted
from tests.unit.password_article import chinese, desk_with, english


def with_outline(*sections: tuple[str, list[str]]) -> dict[str, Any]:
    return {
        **ANALYSIS,
        "outline": [{"heading": heading, "description": "", "source_ids": ids} for heading, ids in sections],
    }


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (with_outline(("A", ["S1"]), ("B", ["S9"]), ("C", [])), "no source S9"),
        (with_outline(("A", ["S1"]), ("a", ["S2"]), ("C", [])), "same heading"),
        (with_outline(("A", ["S1"]), ("## ", ["S2"]), ("C", [])), "needs a heading"),
        (with_outline(("A", ["S1"]), ("\u200b", ["S2"]), ("C", [])), "needs a heading"),
        (with_outline(("迁移", ["S1"]), ("迁移[S2]", ["S2"]), ("C", [])), "same heading"),
        (with_outline(*[("移行", ["S1"])] * 12), "same heading"),
        ({**ANALYSIS, "key_points": [{"point": "x", "source_ids": ["S7"], "importance": "low"}]}, "S7"),
        ({**ANALYSIS, "risks": [{"description": "x", "source_ids": ["S8"]}]}, "S8"),
    ],
)
async def test_an_answer_that_breaks_a_rule_goes_back_with_the_reason(
    wrong: dict[str, Any], told: str
) -> None:
    scripted = Scripted(return_analysis=[wrong, ANALYSIS])
    result = await run_analysis(english(), desk_with(scripted.model))
    assert [section.heading for section in result.outline] == ["Why MD5 fails", "Argon2id", "What it costs"]
    assert len(scripted.refusals) == 1
    assert told in scripted.refusals[0]


async def test_three_sections_are_wanted_unless_people_ask_for_less() -> None:
    example = english()
    short = with_outline(("One", ["S1"]), ("Two", ["S2"]))
    scripted = Scripted(return_analysis=[short, ANALYSIS])
    fresh = await analyse(
        example.topic,
        "en",
        example.research,
        requests=[],
        previous=None,
        published=[],
        desk=desk_with(scripted.model),
    )
    assert len(fresh.outline) == 3
    assert "at least 3 sections" in scripted.refusals[0]

    asked = [StandingRequest("drop section 3", None, "outline", "U1", 1, None)]
    scripted = Scripted(return_analysis=[short])
    shorter = await analyse(
        example.topic,
        "en",
        example.research,
        requests=asked,
        previous=example.analysis,
        published=[],
        desk=desk_with(scripted.model),
    )
    assert len(shorter.outline) == 2
    assert scripted.refusals == []


async def test_a_section_without_a_source_is_allowed() -> None:
    result = await run_analysis(english(), desk_with(Scripted().model))
    assert result.outline[2].source_ids == []


async def test_headings_lose_numbers_and_marks_and_ids_stand_in_order_once() -> None:
    answer = with_outline(("## 1. Why", ["S2", "S1", "S2"]), ("2、参数", ["S2"]), ("**移行**", []))
    result = await run_analysis(english(), desk_with(Scripted(return_analysis=[answer]).model))
    assert [section.heading for section in result.outline] == ["Why", "参数", "移行"]
    assert result.outline[0].source_ids == ["S1", "S2"]


async def test_an_answer_that_stays_wrong_is_kept_raw() -> None:
    wrong = with_outline(("A", ["S9"]), ("B", []), ("C", []))
    desk = desk_with(Scripted(return_analysis=[wrong]).model)
    with pytest.raises(AgentError, match="scripted gave no usable answer for analysis") as failed:
        await run_analysis(english(), desk)
    assert failed.value.code == "bad_answer"
    assert '"S9"' in failed.value.facts["answer"]
    assert desk.account.requests == 3


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
async def test_requests_on_the_outline_reach_the_analyst_with_their_outcome(example: Any) -> None:
    scripted = Scripted()
    await run_analysis(example, desk_with(scripted.model))
    (asked,) = scripted.texts("return_analysis")
    outline_request, draft_request = example.requests
    assert f"<text>{outline_request.text}</text>" in asked
    assert f"<outcome>{outline_request.outcome}</outcome>" in asked
    assert f"<text>{draft_request.text}</text>" not in asked
    assert all(section.heading in asked for section in example.analysis.outline)
    assert all(gap in asked for gap in example.research.gaps)
