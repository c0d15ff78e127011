"""What a model is told of an answer that does not fit: short, with the path, and safe to send."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from agents.explain import explain
from agents.wire import FindingsAnswer, FrontAnswer, PlanAnswer, ReviewAnswer


def told(schema: type[BaseModel], value: str | dict[str, Any]) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        _ = schema.model_validate_json(value) if isinstance(value, str) else schema.model_validate(value)
    return explain(caught.value).splitlines()


ISSUE = {"severity": "low", "description": "d", "suggested_fix": "f", "section": None}
REVIEW = {"issues": [ISSUE], "decision": "approve", "score": 90, "feedback": "f"}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"score": 101}, "`score` should be less than or equal to 100; got 101."),
        ({"score": "good"},
         '`score` should be a valid integer, unable to parse string as an integer; got "good".'),
        ({"score": 7.5}, "`score` should be a valid integer, got a number with a fractional part; got 7.5."),
        ({"decision": "不通过"}, "`decision` must be 'approve', 'revise' or 'research'; got \"不通过\"."),
        ({"decision": None}, "`decision` must be 'approve', 'revise' or 'research'; got null."),
        ({"issues": "問題\nあり"}, '`issues` should be a valid list; got "問題 あり".'),
        ({"issues": [ISSUE, "x"]}, '`issues[1]` must be an object; got "x".'),
        ({"issues": [ISSUE | {"severity": [1, 2]}]},
         "`issues[0].severity` must be 'high', 'medium' or 'low'; got a list of 2."),
        ({"feedback": {"a": 1}}, "`feedback` should be a valid string; got an object."),
        ({"feedback": "長" * 1_201}, "`feedback` may have at most 1200 characters; it has 1201."),
        ({"issues": [ISSUE] * 31}, "`issues` may have at most 30 entries; it has 31."),
        ({"mood": "sunny"},
         '`mood` is not asked for: leave it out, or put what it says where it belongs; got "sunny".'),
    ],
)  # fmt: skip
def test_an_error_says_where_what_was_wanted_and_what_came(changes: dict[str, Any], line: str) -> None:
    assert told(ReviewAnswer, REVIEW | changes) == [line]


def test_missing_fields_are_named() -> None:
    assert told(FrontAnswer, {"title": "t", "description": "d"}) == [
        "`tags` is missing.",
        "`categories` is missing.",
    ]


def test_what_is_no_json_is_said_of_the_whole_answer() -> None:
    (line,) = told(ReviewAnswer, "抱歉，我无法回答。")
    assert line.startswith("The answer is not valid JSON: ")
    assert "抱歉" not in line  # who said it knows it, and who is to copy it would have it twice
    (line,) = told(ReviewAnswer, "[1]")
    assert line == "The answer must be an object; got a list of 1."


def test_at_most_ten_are_named_and_the_others_counted() -> None:
    lines = told(FindingsAnswer, {"findings": [{}] * 4, "gaps": [], "summary": "s"})
    assert len(lines) == 10
    assert lines[-1] == "`findings[2].source_id` is missing. There are 6 errors more."


@pytest.mark.parametrize("text", ["a" * 100_000, "鍵" * 100_000, "a b\n" * 50_000, '"' * 1_000])
def test_what_came_is_cut(text: str) -> None:
    for value in ({"title": [text, text]}, {"title": "t", text: text}):
        assert all(len(line) < 300 for line in told(FrontAnswer, value))
    (line,) = told(ReviewAnswer, REVIEW | {"score": text})
    assert len(line) < 200
    assert "…" in line


def test_whatever_came_can_be_said_and_sent() -> None:
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    for odd in (deep, {"x": deep}, "\ud800", 10**6_000, float("nan"), float("inf"), b"\xff", True):
        lines = told(PlanAnswer, {"sections": odd, "rewrite_title": odd, "notes": odd, "\ud800": odd})
        assert 1 <= len(lines) <= 10
        "\n".join(lines).encode()
