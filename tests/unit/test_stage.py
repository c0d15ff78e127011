"""From a bad answer to one that can be used: put right, asked again, shaped, had from another model, kept."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents.desk import Desk
from agents.errors import AgentError
from knowledge.model_record import Conduct
from tests.unit.agent_runs import run_analysis, run_review, run_writer
from tests.unit.answers import ANALYSIS, REVIEW, SECTION
from tests.unit.password_article import Example, chinese, desk_with, english


class Scripted:
    """A model that gives its answers in turn, the last one for ever: text, or arguments of its tool."""

    def __init__(self, name: str, *answers: str | dict[str, Any] | ModelResponse) -> None:
        self.asked: list[str] = []
        self.model = FunctionModel(self._answer, model_name=name)
        self._answers = answers

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append(str(messages[0].parts[-1].content))  # type: ignore[union-attr]  # a request's is text
        answer = self._answers[min(len(self.asked), len(self._answers)) - 1]
        if isinstance(answer, ModelResponse):
            return answer
        if isinstance(answer, str):
            return ModelResponse([TextPart(answer)])
        return ModelResponse([ToolCallPart(info.output_tools[0].name, answer)])


def of(conducts: Sequence[Conduct]) -> Conduct:
    """All that was counted of one model."""
    assert len({conduct.model for conduct in conducts}) == 1
    return Conduct(
        conducts[0].model,
        "",
        answers=sum(conduct.answers for conduct in conducts),
        repaired=sum(conduct.repaired for conduct in conducts),
        asked_again=sum(conduct.asked_again for conduct in conducts),
        rescued=sum(conduct.rescued for conduct in conducts),
        failed=sum(conduct.failed for conduct in conducts),
    )


EXAMPLES = pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])


@EXAMPLES
@pytest.mark.parametrize(
    "given",
    [
        {**ANALYSIS, "missing_evidence": "登录需要多长时间？"},
        {**{name: value for name, value in ANALYSIS.items() if name != "notes"}, "Notes": None},
        {"return_analysis": ANALYSIS},
        json.dumps(ANALYSIS),
        f"Here it is:\n```json\n{json.dumps(ANALYSIS)}\n```",
        ModelResponse([ToolCallPart("json", json.dumps(ANALYSIS))]),
    ],
    ids=["text for list", "renamed", "wrapped", "text, no call", "fenced, no call", "another name"],
)
async def test_what_code_can_put_right_costs_no_call(example: Example, given: Any) -> None:
    model = Scripted("m", given)
    desk = desk_with(model.model)
    analysis = await run_analysis(example, desk)
    assert len(analysis.outline) == 3
    assert len(model.asked) == 1
    assert of(desk.conducts) == Conduct("m", "", answers=1, repaired=1)


@EXAMPLES
async def test_what_is_wrong_is_named_and_asked_for_again(example: Example) -> None:
    wrong = {**REVIEW, "score": 700}
    model = Scripted("m", wrong, dict(REVIEW))
    desk = desk_with(model.model)
    assert (await run_review(example, desk)).score == 90
    assert of(desk.conducts) == Conduct("m", "", answers=1, asked_again=1)


def desk_of(writer: Scripted, formatter: Scripted, fallback: Scripted | None = None) -> Desk:
    desk = desk_with(writer.model)
    models = replace(
        desk.models, formatter=formatter.model, fallback=None if fallback is None else fallback.model
    )
    return replace(desk, models=models)


@EXAMPLES
async def test_words_in_the_wrong_shape_are_shaped_by_the_formatter(example: Example) -> None:
    prose = (
        "1. **Why MD5 fails**: Speed. (S1) 2. Argon2id: Parameters. (S2) 3. What it costs: Latency. "
        "为什么 MD5 不安全、費用. From speed to memory."
    )
    analyst, formatter = Scripted("m", prose), Scripted("f", dict(ANALYSIS))
    desk = desk_of(analyst, formatter)
    assert len((await run_analysis(example, desk)).outline) == 3
    assert len(analyst.asked) == 3  # itself, and two retries
    [asked] = formatter.asked
    assert f"<answer>{prose}</answer>" in asked
    assert example.topic not in asked  # it has no other source than the answer
    assert of([one for one in desk.conducts if one.model == "m"]).rescued == 1


@EXAMPLES
async def test_an_answer_that_broke_a_rule_is_not_for_the_formatter_but_for_the_fallback(
    example: Example,
) -> None:
    unknown = {**ANALYSIS, "key_points": [{"point": "…", "source_ids": ["S9"], "importance": "high"}]}
    analyst, formatter = Scripted("m", unknown), Scripted("f", dict(ANALYSIS))
    fallback = Scripted("b", dict(ANALYSIS))
    desk = desk_of(analyst, formatter, fallback)
    assert len((await run_analysis(example, desk)).outline) == 3
    assert (len(analyst.asked), len(formatter.asked), len(fallback.asked)) == (3, 0, 1)
    assert example.topic in fallback.asked[0]  # the whole request, not the answer


@EXAMPLES
async def test_no_review_is_made_of_words_that_hold_none(example: Example) -> None:
    reviewer, formatter = (
        Scripted("m", "申し訳ありませんが、お手伝いできません。"),
        Scripted("f", dict(REVIEW)),
    )
    desk = desk_of(reviewer, formatter)
    with pytest.raises(AgentError) as failed:
        await run_review(example, desk)
    assert failed.value.code == "bad_answer"
    assert formatter.asked == []
    assert of(desk.conducts) == Conduct("m", "", answers=1, asked_again=2, failed=1)


@EXAMPLES
async def test_where_nobody_helps_the_answer_of_the_model_itself_is_kept(example: Example) -> None:
    analyst, formatter, fallback = Scripted("m", "啊" * 9_000), Scripted("f", "?"), Scripted("b", "??")
    desk = desk_of(analyst, formatter, fallback)
    with pytest.raises(AgentError, match=r"^m gave no usable answer for analysis") as failed:
        await run_analysis(example, desk)
    assert failed.value.facts["answer"] == "啊" * 4_000
    assert "xceeded" not in str(failed.value)  # what was wrong, not how often it was asked
    # Nothing loops: three of its own, one to shape, three of the fallback.
    assert (len(analyst.asked), len(formatter.asked), len(fallback.asked)) == (3, 1, 3)


@EXAMPLES
async def test_an_article_does_not_fail_for_want_of_a_title(example: Example) -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        [tool] = info.output_tools
        if tool.name == "return_front":
            return ModelResponse([TextPart("🤷")])
        return ModelResponse([ToolCallPart(tool.name, dict(SECTION))])

    draft = await run_writer(example, desk_with(FunctionModel(answer)))
    assert (draft.title, draft.description, draft.tags) == (example.topic, "", [])
    assert any("title" in note or "标题" in note for note in draft.notes)


async def test_the_budget_ends_everything_at_once() -> None:
    analyst, formatter, fallback = (
        Scripted("m", "…"),
        Scripted("f", dict(ANALYSIS)),
        Scripted("b", dict(ANALYSIS)),
    )
    desk = desk_of(analyst, formatter, fallback)
    desk.account.budget = replace(desk.account.budget, tokens=1)
    with pytest.raises(AgentError) as failed:
        await run_analysis(english(), desk)
    assert failed.value.code == "budget"
    assert formatter.asked == fallback.asked == []


@EXAMPLES
async def test_a_very_long_answer_does_not_go_back_whole(example: Example) -> None:
    given: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        given.append(messages)
        long = {**ANALYSIS, "summary": "长" * 2_000_000}
        return ModelResponse([ToolCallPart(info.output_tools[0].name, json.dumps(long))])

    desk = desk_with(FunctionModel(answer, model_name="m"))
    with pytest.raises(AgentError) as failed:
        await run_analysis(example, desk)
    assert len(given) == 3  # and nobody is asked to put it into a shape
    assert all(len(str(messages)) < 100_000 for messages in given)
    assert failed.value.said.count("长") + failed.value.said.count("\\u957f") == 2_000_000


@EXAMPLES
async def test_where_a_bad_answer_leaves_no_room_to_ask_again_the_evidence_is_not_to_blame(
    example: Example,
) -> None:
    asked: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages))
        if len(messages) > 1:
            raise ModelHTTPError(400, "m", {"message": "This model's maximum context length is 8192 tokens."})
        return ModelResponse([TextPart("申し訳ありません。")])

    fallback = Scripted("b", dict(ANALYSIS))
    desk = desk_with(FunctionModel(answer, model_name="m"))
    desk = replace(desk, models=replace(desk.models, formatter=fallback.model, fallback=fallback.model))
    assert len((await run_analysis(example, desk)).outline) == 3
    assert len(asked) == 2
    assert desk.trimmed == []
    assert example.topic in fallback.asked[-1]  # the whole request, of another model


@EXAMPLES
@pytest.mark.parametrize(
    ("said", "shaped"),
    [
        ("content: MD5 is not safe for passwords [S1].", "MD5 is safe for passwords [S1]."),
        (
            "正文：MD5 不能用来安全地保存任何一种用户密码[S1]。",
            "MD5 可以用来安全地保存任何一种用户密码[S1]。",
        ),
        (
            "本文：MD5 は安全ではなく、利用者のパスワードには使えない[S1]。",
            "MD5 は安全で、利用者のパスワードに使える[S1]。",
        ),
    ],
)
async def test_a_formatter_that_says_something_else_is_not_heard(
    example: Example, said: str, shaped: str
) -> None:
    writer, formatter = Scripted("m", said), Scripted("f", {"content": shaped, "notes": []})
    with pytest.raises(AgentError) as failed:
        await run_writer(example, desk_of(writer, formatter))
    assert failed.value.code == "bad_answer"
    assert formatter.asked


@EXAMPLES
async def test_of_several_answers_that_differ_none_is_taken(example: Example) -> None:
    asked: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages[-1]))
        tool = info.output_tools[0].name
        both = [
            ToolCallPart(tool, dict(REVIEW)),
            ToolCallPart(tool, {**REVIEW, "feedback": "Bad. 不行。だめ。"}),
        ]
        return ModelResponse(both if len(asked) == 1 else both[:1])

    assert (await run_review(example, desk_with(FunctionModel(answer, model_name="m")))).score == 90
    assert "several answers" in asked[1]
