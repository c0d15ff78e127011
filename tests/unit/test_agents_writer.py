"""The writer: sections from their own evidence, joined by code; a revision touches what it must."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents.contracts import DraftResult
from agents.desk import AgentProgress, SectionInWork, StandingRequest
from agents.errors import AgentError
from agents.writer import revise_draft
from tests.unit.agent_runs import run_review, run_revision, run_writer
from tests.unit.answers import FRONT, PLAN, USUAL, Scripted
from tests.unit.password_article import Example, chinese, desk_with, english


def section(content: str, *notes: str) -> dict[str, Any]:
    return {"content": content, "notes": list(notes)}


def by_heading(**contents: str) -> Any:
    """Answers of section writers by the number of their section: `s1`, `s2`, …"""

    def give(tool: str, text: str) -> Mapping[str, Any]:
        number = text.split('\n\n<section number="')[1][0]
        return section(contents.get(f"s{number}", f"Section {number}."))

    return give


async def revise(
    example: Example, scripted: Scripted, *requests: StandingRequest, review: bool = False
) -> DraftResult:
    return await revise_draft(
        example.topic,
        example.language,
        example.research,
        example.analysis,
        example.draft,
        requests=requests,
        review=example.review if review else None,
        desk=desk_with(scripted.model),
    )


def asks(text: str, number: int | None = None) -> StandingRequest:
    return StandingRequest(text, number, "draft", "U1", 1, None)


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
async def test_headings_come_from_the_outline_and_ids_from_the_text(example: Example) -> None:
    told: list[AgentProgress] = []
    scripted = Scripted(
        return_section=by_heading(
            s1="# A heading of its own\n\nMD5 很快（S1）。", s2="Memory 【S2】.", s3="Nothing was found."
        )
    )
    draft = await run_writer(example, desk_with(scripted.model, told=told))
    first, second, third = (outlined.heading for outlined in example.analysis.outline)
    assert draft.content == (
        f"## {first}\n\nMD5 很快[S1]。\n\n## {second}\n\nMemory [S2].\n\n## {third}\n\nNothing was found."
    )
    assert draft.used_source_ids == ["S1", "S2"]
    in_work = tuple(SectionInWork(*one) for one in enumerate((first, second, third), start=1))
    assert told[0] == AgentProgress(sections=3, writing=in_work)
    assert [one.sections_done + len(one.writing) for one in told] == [3, 3, 3, 3]
    assert told[-1] == AgentProgress(sections_done=3, sections=3)


async def test_each_section_is_written_from_its_own_evidence() -> None:
    scripted = Scripted()
    await run_writer(english(), desk_with(scripted.model))
    speed, settings, cost = scripted.texts("return_section")
    assert "MD5 was built to be fast." in speed
    assert "OWASP" not in speed
    assert "OWASP 建议至少使用 19 MiB 内存、2 次迭代。" in settings
    assert "MD5 was built" not in settings
    assert "<source" not in cost


async def test_a_citation_of_a_source_that_the_section_was_not_given_goes_back() -> None:
    scripted = Scripted(
        return_section=lambda tool, text: (
            section("Fast [S2].")
            if '<section number="1">' in text and not scripted.refusals
            else section("Fast.")
        )
    )
    draft = await run_writer(english(), desk_with(scripted.model))
    assert len(scripted.refusals) == 1
    assert "cites S2, which is not in its evidence. Cite only S1" in scripted.refusals[0]
    assert draft.sections[0].content == "Fast."


@pytest.mark.parametrize(
    "content",
    ["", "  \n", "## Why MD5 fails", "## 为什么\n\n", "\u200b", "[S1]: https://evil.test", "# 移行\n\u2060"],
)
async def test_an_empty_section_goes_back_and_ends_as_a_bad_answer(content: str) -> None:
    scripted = Scripted(return_section=[section(content)])
    with pytest.raises(AgentError) as failed:
        await run_writer(english(), desk_with(scripted.model))
    assert failed.value.code == "bad_answer"
    assert any("section is empty" in refusal for refusal in scripted.refusals)


@pytest.mark.parametrize("text", ["It is fast [S1].", "它很快【S1】。", "速い（S1）。"])
async def test_code_that_a_writer_left_open_swallows_no_other_section(text: str) -> None:
    scripted = Scripted(return_section=by_heading(s1=f"{text}\n\n```go\nx := 1", s2="Memory [S2]."))
    draft = await run_writer(english(), desk_with(scripted.model))
    assert draft.used_source_ids == ["S1", "S2"]
    assert "x := 1\n```\n\n## Argon2id\n\nMemory [S2]." in draft.content


async def test_what_looks_like_a_citation_is_one() -> None:
    scripted = Scripted(
        return_section=by_heading(s1="Fast [S1](https://evil.test).\n\n[S1]: https://evil.test", s2="[S2]")
    )
    draft = await run_writer(english(), desk_with(scripted.model))
    assert draft.sections[0].content == "Fast [S1]."
    assert "evil" not in draft.content
    scripted = Scripted(return_section=[section("Fast [S9](https://evil.test)."), section("Fast.")])
    await run_writer(english(), desk_with(scripted.model))
    assert "cites S9" in scripted.refusals[0]


async def test_titles_and_headings_cite_nothing() -> None:
    front = {**FRONT, "title": "MD5 [S8]", "description": "Why it fails（S9）."}
    scripted = Scripted(return_front=[front], return_section=by_heading(s1="Fast [S1]."))
    draft = await run_writer(english(), desk_with(scripted.model))
    assert (draft.title, draft.description) == ("MD5", "Why it fails.")
    assert draft.used_source_ids == ["S1"]


async def test_a_source_that_was_declared_but_not_cited_is_a_warning() -> None:
    draft = await run_writer(english(), desk_with(Scripted(return_section=by_heading(s1="Fast [S1].")).model))
    assert draft.notes == ["Named in the outline but not cited, by section: 2 (S2)."]


async def test_the_same_note_of_several_sections_is_said_once() -> None:
    scripted = Scripted(return_section=[section("No source.", "No model is set.")])
    draft = await run_writer(english(), desk_with(scripted.model))
    assert draft.notes[0] == "No model is set."
    assert draft.notes.count("No model is set.") == 1


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
async def test_a_request_for_one_section_leaves_the_others_byte_for_byte(example: Example) -> None:
    """Even if the plan would touch all, drop one and add another."""
    plan = {
        **PLAN,
        "sections": [
            {"number": 3, "heading": "Other", "change": "Rewrite.", "source_ids": []},
            {"number": 1, "heading": "Other 1", "change": "Rewrite.", "source_ids": []},
            {"number": None, "heading": "New", "change": "Write.", "source_ids": ["S1"]},
        ],
    }
    scripted = Scripted(return_plan=[plan], return_section=[section("Shorter [S1].")])
    draft = await revise(example, scripted, asks("写短一点", 1))
    before = example.draft.sections
    assert {kept.heading: kept.content for kept in draft.sections} == {
        before[1].heading: before[1].content,
        before[2].heading: before[2].content,
        "Other 1": "Shorter [S1].",
    }
    assert len(scripted.texts("return_section")) == 1
    assert "<change>Rewrite.</change>" in scripted.texts("return_section")[0]
    assert draft.title == example.draft.title


async def test_a_section_that_was_asked_for_is_rewritten_even_if_the_plan_forgets_it() -> None:
    scripted = Scripted(return_section=[section("New [S2].")])
    draft = await revise(english(), scripted, asks("say MiB", 2))
    assert [kept.content for kept in draft.sections] == [
        english().draft.sections[0].content,
        "New [S2].",
        english().draft.sections[2].content,
    ]
    assert "<change>say MiB</change>" in scripted.texts("return_section")[0]
    assert "<content>OWASP asks for 19 MiB [S2].</content>" in scripted.texts("return_section")[0]


async def test_a_request_without_a_number_touches_all_when_the_plan_says_nothing() -> None:
    scripted = Scripted(return_section=[section("Friendly.")])
    draft = await revise(english(), scripted, asks("friendlier"))
    assert [kept.content for kept in draft.sections] == ["Friendly."] * 3


async def test_a_plan_may_drop_move_rename_and_add() -> None:
    plan = {
        "sections": [
            {"number": 2, "heading": "Argon2id", "change": None, "source_ids": []},
            {"number": 1, "heading": "MD5", "change": None, "source_ids": []},
            {"number": None, "heading": "Moving", "change": "How to move.", "source_ids": ["S1"]},
        ],
        "rewrite_title": True,
        "notes": ["Done."],
    }
    scripted = Scripted(return_plan=[plan], return_section=[section("At login [S1].")])
    draft = await revise(english(), scripted, asks("drop 3, move 2 first, add moving"))
    before = english().draft.sections
    assert [(kept.heading, kept.content) for kept in draft.sections] == [
        ("Argon2id", before[1].content),
        ("MD5", before[0].content),
        ("Moving", "At login [S1]."),
    ]
    assert draft.title == "MD5"
    assert draft.notes[0] == "Done."


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ([], "At least one section"),
        ([{"number": 4, "heading": "X", "change": None, "source_ids": []}], "sections 1 to 3"),
        ([{"number": 1, "heading": "X", "change": None, "source_ids": []}] * 2, "may stand in the plan once"),
        ([{"number": None, "heading": "X", "change": "y", "source_ids": ["S9"]}], "no source S9"),
    ],
)
async def test_a_plan_that_cannot_be_carried_out_goes_back(sections: list[Any], told: str) -> None:
    scripted = Scripted(return_plan=[{**PLAN, "sections": sections}, PLAN])
    await revise(english(), scripted, asks("better", 1))
    assert told in scripted.refusals[0]


async def test_a_bare_revise_applies_the_issues_of_the_review() -> None:
    example = english()
    scripted = Scripted(return_section=[section("164.1 billion [S1].")])
    draft = await revise(example, scripted, asks(""), review=True)
    assert [kept.content for kept in draft.sections[1:]] == [
        kept.content for kept in example.draft.sections[1:]
    ]
    (asked,) = scripted.texts("return_section")
    assert "The number of digests is missing." in asked
    assert "The title promises a move." in asked
    assert "<change>Say 164.1 billion a second.</change>" in asked


async def test_a_request_in_words_does_not_apply_the_review() -> None:
    scripted = Scripted()
    await revise(english(), scripted, asks("say MiB", 2), review=True)
    for text in [*scripted.texts("return_plan"), *scripted.texts("return_section")]:
        assert 'section="all" state="open">\n<text>The title promises a move.</text>' in text
        assert not re.search('<issue [^>]*state="now"', text)


async def test_a_bare_request_applies_the_review() -> None:
    scripted = Scripted()
    await revise(english(), scripted, asks(""), review=True)
    for text in [*scripted.texts("return_plan"), *scripted.texts("return_section")]:
        assert '<issue severity="high" section="1" state="now">' in text
        assert 'state="open"' not in text


async def test_every_writer_knows_what_people_asked_before() -> None:
    example = english()
    scripted = Scripted()
    await run_revision(example, desk_with(scripted.model))
    for text in [*scripted.texts("return_plan"), *scripted.texts("return_section")]:
        assert "put the problem first" in text
        assert "Done: section 1 is the problem." in text
        assert 'section="1" state="now"' in text


async def test_code_with_tags_in_it_is_itself_again_in_the_draft() -> None:
    example = english()
    passage = example.research.passages[2]
    html = replace(
        example,
        research=example.research.model_copy(
            update={
                "passages": [
                    *example.research.passages[:2],
                    passage.model_copy(update={"text": f"{passage.text}\n\n```html\n<p>x</p>\n```"}),
                ]
            }
        ),
    )
    scripted = Scripted(
        return_section=lambda tool, text: section(
            "```html\n<p>x‹/p>\n```\n\n[S2]" if "x‹/p>" in text else "Nothing."
        )
    )
    draft = await run_writer(html, desk_with(scripted.model))
    assert draft.sections[1].content == "```html\n<p>x</p>\n```\n\n[S2]"


@pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])
async def test_after_a_failed_draft_the_same_task_goes_on(example: Example) -> None:
    """As it did not with a TaskGroup: in Python 3.11 a task whose group has failed counts as cancelled."""

    def sorry(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        [tool] = info.output_tools
        if tool.name == "return_section":
            return ModelResponse([TextPart("Sorry.")])
        return ModelResponse([ToolCallPart(tool.name, dict(USUAL[tool.name]))])

    desk = desk_with(FunctionModel(sorry))
    with pytest.raises(AgentError):
        await run_writer(example, desk)
    assert (await run_review(example, desk)).score == 90
