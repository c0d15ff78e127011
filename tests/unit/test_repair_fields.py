"""What models put into the fields of an answer: what has one meaning is mended, all else is left."""

from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from agents.repair import repair
from agents.slips import ALIASES, REPAIRS
from agents.tools import ReadArguments, SearchArguments
from agents.wire import (
    AnalysisAnswer,
    FindingsAnswer,
    FrontAnswer,
    PlanAnswer,
    ReviewAnswer,
    SectionAnswer,
)
from tests.unit.wire_answers import SCHEMAS, TEXTS

FINDING = {"claim": "c", "source_id": "S1", "confidence": "high", "quote": "q"}
ISSUE = {"severity": "low", "description": "d", "suggested_fix": "f", "section": None}
SECTION = {"number": 1, "heading": "h", "change": None, "source_ids": []}
KEY_POINT = {"point": "p", "source_ids": ["S1"], "importance": "low"}
BASES: dict[type[BaseModel], dict[str, Any]] = {
    FindingsAnswer: {"findings": [FINDING], "gaps": ["g"], "summary": "s"},
    AnalysisAnswer: {
        "key_points": [KEY_POINT],
        "outline": [{"heading": "h", "description": "d", "source_ids": []}],
        "risks": [],
        "missing_evidence": [],
        "needs_more_research": False,
        "summary": "s",
        "notes": [],
    },
    FrontAnswer: {"title": "t", "description": "d", "tags": ["x"], "categories": []},
    SectionAnswer: {"content": "c", "notes": []},
    PlanAnswer: {"sections": [SECTION], "rewrite_title": False, "notes": []},
    ReviewAnswer: {"issues": [ISSUE], "decision": "approve", "score": 90, "feedback": "f"},
}
GONE: Any = object()


def with_fields(schema: type[BaseModel], changes: dict[str, Any]) -> dict[str, Any]:
    """A right answer with fields changed, added, or GONE."""
    return {name: value for name, value in (BASES[schema] | changes).items() if value is not GONE}


Row = tuple[type[BaseModel], dict[str, Any], dict[str, Any], tuple[str, ...]]
MENDED: list[Row] = [
    # Names.
    (AnalysisAnswer, {"missing_evidence": GONE, "evidenceGaps": ["a"]}, {"missing_evidence": ["a"]},
     ("renamed",)),
    (AnalysisAnswer, {"key_points": GONE, "Key Takeaways": [KEY_POINT]}, {}, ("renamed",)),
    (AnalysisAnswer, {"risks": GONE, "risk": []}, {}, ("renamed",)),
    (FindingsAnswer, {"findings": [{"statement": "c", "source": "S1", "certainty": "high", "excerpt": "q"}]},
     {},
     ("renamed",)),
    (FindingsAnswer, {"summary": GONE, "摘要": "总之"}, {"summary": "总之"}, ("renamed",)),
    (FindingsAnswer, {"gaps": GONE, "missing-information": ["g"]}, {}, ("renamed",)),
    (FrontAnswer, {"title": GONE, "タイトル": "鍵"}, {"title": "鍵"}, ("renamed",)),
    (FrontAnswer, {"title": GONE, "headline": "t", "tags": GONE, "keywords": ["x"]}, {}, ("renamed",)),
    (SectionAnswer, {"content": GONE, "body": "正文"}, {"content": "正文"}, ("renamed",)),
    (ReviewAnswer, {"decision": GONE, "verdict": "approve"}, {}, ("renamed",)),
    (ReviewAnswer, {"issues": [{"severity": "low", "problem": "d", "fix": "f", "section": None}]},
     {}, ("renamed",)),
    (PlanAnswer, {"sections": [{"section_number": 1, "title": "h", "change": None, "source_ids": []}]}, {},
     ("renamed",)),
    # Lists and single values.
    (FindingsAnswer, {"findings": FINDING}, {}, ("single_for_list",)),
    (FindingsAnswer, {"gaps": "g"}, {}, ("single_for_list",)),
    (FindingsAnswer, {"gaps": "没有数字；没有日期"}, {"gaps": ["没有数字；没有日期"]}, ("single_for_list",)),
    (AnalysisAnswer, {"missing_evidence": "a; b"}, {"missing_evidence": ["a; b"]}, ("single_for_list",)),
    (FrontAnswer, {"tags": "x"}, {}, ("single_for_list",)),
    (ReviewAnswer, {"issues": ISSUE}, {}, ("single_for_list",)),
    (ReviewAnswer, {"issues": None}, {"issues": []}, ("null_for_list",)),
    (ReviewAnswer, {"issues": GONE}, {"issues": []}, ("missing_list",)),
    (ReviewAnswer, {"issues": {"1": ISSUE, "2": ISSUE}}, {"issues": [ISSUE, ISSUE]}, ("wrapped",)),
    (ReviewAnswer, {"issues": {"items": [ISSUE]}}, {}, ("wrapped",)),
    (ReviewAnswer, {"issues": [{"issue": ISSUE}]}, {}, ("wrapped",)),
    (ReviewAnswer, {"issues": [[ISSUE]]}, {}, ("list_for_single",)),
    (ReviewAnswer, {"issues": [ISSUE, None]}, {}, ("null_entry",)),
    (ReviewAnswer, {"decision": ["approve"]}, {}, ("list_for_single",)),
    (SectionAnswer, {"content": ["c"]}, {}, ("list_for_single",)),
    (SectionAnswer, {"notes": "注意：见 [S1]"}, {"notes": ["注意：见 [S1]"]}, ("single_for_list",)),
    (SectionAnswer, {"notes": "[S1] は古い"}, {"notes": ["[S1] は古い"]}, ("single_for_list",)),
    (SectionAnswer, {"notes": "[draft]"}, {"notes": ["[draft]"]}, ("single_for_list",)),
    (SectionAnswer, {"notes": GONE}, {}, ("missing_list",)),
    (SectionAnswer, {"notes": ["N/A"]}, {}, ("null_word",)),
    (SectionAnswer, {"notes": [""]}, {}, ("null_word",)),
    (SectionAnswer, {"notes": "无"}, {}, ("null_word",)),
    (SectionAnswer, {"notes": ["なし。"]}, {}, ("null_word",)),
    (AnalysisAnswer, {"risks": "None"}, {}, ("null_word",)),
    # Encoded twice.
    (ReviewAnswer, {"issues": '[{"severity":"low","description":"d","suggested_fix":"f","section":""}]'}, {},
     ("double_encoded", "null_word")),
    (ReviewAnswer, {"issues": ['{"severity":"low","description":"d","suggested_fix":"f","section":null}']},
     {},
     ("double_encoded",)),
    (ReviewAnswer, {"issues": "[]"}, {"issues": []}, ("double_encoded",)),
    (FrontAnswer, {"tags": "['x', 'キー',]"}, {"tags": ["x", "キー"]},
     ("double_encoded", "quote_marks", "stray_comma")),
    # Objects and texts.
    (AnalysisAnswer, {"risks": ["太旧"]}, {"risks": [{"description": "太旧", "source_ids": []}]},
     ("text_for_object",)),
    (AnalysisAnswer, {"risks": "古い"}, {"risks": [{"description": "古い", "source_ids": []}]},
     ("single_for_list", "text_for_object")),
    (AnalysisAnswer, {"summary": {"text": "s"}}, {}, ("object_for_text",)),
    (FindingsAnswer, {"gaps": [{"gap": "g"}]}, {}, ("object_for_text",)),
    (FindingsAnswer, {"gaps": {"gap": "g"}}, {}, ("single_for_list", "object_for_text")),
    (ReviewAnswer, {"issues": [ISSUE | {"section": 2}]}, {"issues": [ISSUE | {"section": "2"}]},
     ("number_for_text",)),
    # Nothing.
    (ReviewAnswer, {"score": GONE}, {"score": None}, ("missing_null",)),
    (ReviewAnswer, {"score": "N/A"}, {"score": None}, ("null_word",)),
    (ReviewAnswer, {"score": "無し"}, {"score": None}, ("null_word",)),
    (ReviewAnswer, {"score": float("nan")}, {"score": None}, ("not_a_number",)),
    (ReviewAnswer, {"issues": [ISSUE | {"section": ""}]}, {}, ("null_word",)),
    (ReviewAnswer, {"issues": [{name: ISSUE[name] for name in ISSUE if name != "section"}]}, {},
     ("missing_null",)),
    (PlanAnswer, {"sections": [SECTION | {"change": "null"}]}, {}, ("null_word",)),
    # Numbers.
    (ReviewAnswer, {"score": "71"}, {"score": 71}, ("text_for_number",)),
    (ReviewAnswer, {"score": "７１"}, {"score": 71}, ("text_for_number",)),
    (ReviewAnswer, {"score": "71/100"}, {"score": 71}, ("text_for_number",)),
    (ReviewAnswer, {"score": "71 out of 100"}, {"score": 71}, ("text_for_number",)),
    (ReviewAnswer, {"score": "71分"}, {"score": 71}, ("text_for_number",)),
    (ReviewAnswer, {"score": "71 点"}, {"score": 71}, ("text_for_number",)),
    (ReviewAnswer, {"score": "71%"}, {"score": 71}, ("text_for_number",)),
    (ReviewAnswer, {"score": 71.0}, {"score": 71}, ("whole_float",)),
    (ReviewAnswer, {"score": "71.0"}, {"score": 71}, ("text_for_number",)),
    (PlanAnswer, {"sections": [SECTION | {"number": "第1节"}]}, {}, ("text_for_number",)),
    (PlanAnswer, {"sections": [SECTION | {"number": "第１章"}]}, {}, ("text_for_number",)),
    (PlanAnswer, {"sections": [SECTION | {"number": "Section 1."}]}, {}, ("text_for_number",)),
    # Booleans.
    (PlanAnswer, {"rewrite_title": "false"}, {}, ("text_for_boolean",)),
    (PlanAnswer, {"rewrite_title": "Yes."}, {"rewrite_title": True}, ("text_for_boolean",)),
    (PlanAnswer, {"rewrite_title": "否"}, {}, ("text_for_boolean",)),
    (PlanAnswer, {"rewrite_title": "はい"}, {"rewrite_title": True}, ("text_for_boolean",)),
    (AnalysisAnswer, {"needs_more_research": 0}, {}, ("text_for_boolean",)),
    # Choices.
    (ReviewAnswer, {"decision": "Approve"}, {}, ("choice_spelling",)),
    (ReviewAnswer, {"decision": "**APPROVE**."}, {}, ("choice_spelling",)),
    (ReviewAnswer, {"decision": "✅ approve"}, {}, ("choice_spelling",)),
    (ReviewAnswer, {"decision": "通过"}, {}, ("choice_translated",)),
    (ReviewAnswer, {"decision": "承認"}, {}, ("choice_translated",)),
    (ReviewAnswer, {"decision": "需修改"}, {"decision": "revise"}, ("choice_translated",)),
    (ReviewAnswer, {"decision": "要修正"}, {"decision": "revise"}, ("choice_translated",)),
    (ReviewAnswer, {"decision": "needs_more_research"}, {"decision": "research"}, ("choice_translated",)),
    (ReviewAnswer, {"issues": [ISSUE | {"severity": "「低」"}]}, {}, ("choice_translated",)),
    (FindingsAnswer, {"findings": [FINDING | {"confidence": "高い"}]}, {}, ("choice_translated",)),
    (AnalysisAnswer, {"key_points": [KEY_POINT | {"importance": "Low!"}]}, {}, ("choice_spelling",)),
    # Ids of sources.
    (FindingsAnswer, {"findings": [FINDING | {"source_id": "[S1]"}]}, {}, ("source_id_form",)),
    (FindingsAnswer, {"findings": [FINDING | {"source_id": 1}]}, {}, ("source_id_form",)),
    (FindingsAnswer, {"findings": [FINDING | {"source_id": ["S1"]}]}, {}, ("list_for_single",)),
    (FindingsAnswer, {"findings": [FINDING | {"source_id": "ｓ１"}]}, {}, ("source_id_form",)),
    (FindingsAnswer, {"findings": [FINDING | {"source_id": "【Ｓ１】"}]}, {}, ("source_id_form",)),
    (FindingsAnswer, {"findings": [FINDING | {"source_id": {"id": "S1", "title": "T"}}]}, {},
     ("object_for_text",)),
    (AnalysisAnswer, {"key_points": [KEY_POINT | {"source_ids": ["[S1], [S2]", "s3、S4", 5]}]},
     {"key_points": [KEY_POINT | {"source_ids": ["S1", "S2", "S3", "S4", "S5"]}]}, ("source_id_form",)),
    (AnalysisAnswer, {"key_points": [KEY_POINT | {"source_ids": "S1"}]}, {}, ("single_for_list",)),
    (AnalysisAnswer, {"key_points": [KEY_POINT | {"source_ids": "[S1]"}]}, {},
     ("single_for_list", "source_id_form")),
    (AnalysisAnswer, {"key_points": [KEY_POINT | {"source_ids": '["S1"]'}]}, {}, ("double_encoded",)),
    (AnalysisAnswer, {"key_points": [{"point": "p", "source_id": "S1", "importance": "low"}]}, {},
     ("renamed", "single_for_list")),
    (AnalysisAnswer, {"key_points": [{"point": "p", "sources": [{"id": "S1"}], "importance": "low"}]}, {},
     ("renamed", "object_for_text")),
    # Fields that nobody asked for.
    (ReviewAnswer, {"mood": "sunny", "type": "review"}, {}, ("extra_field",)),
    (ReviewAnswer, {"issues": [ISSUE | {"id": 1, "category": "style"}]}, {}, ("extra_field",)),
    (FrontAnswer, {"slug": "t"}, {}, ("extra_field",)),
]  # fmt: skip


@pytest.mark.parametrize("row", MENDED, ids=[str(number) for number in range(len(MENDED))])
def test_a_slip_with_one_meaning_is_mended_and_named(row: Row) -> None:
    schema, came, expected, repairs = row
    raw = with_fields(schema, came)
    before = repr(raw)
    mended = repair(raw, schema)
    assert mended.value == BASES[schema] | expected
    assert mended.repairs == repairs
    assert schema.model_validate(mended.value, strict=True)
    assert repr(raw) == before


LEFT: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (FindingsAnswer, {"findings": ["a claim without a quote"]}),
    (FindingsAnswer, {"findings": [FINDING | {"source_id": "the handbook"}]}),
    (FindingsAnswer, {"findings": [FINDING | {"source_id": None}]}),
    (FindingsAnswer, {"findings": [FINDING | {"confidence": "rather high"}]}),
    (FindingsAnswer, {"findings": [FINDING | {"quote": None}]}),
    (FindingsAnswer, {"summary": GONE}),
    (FindingsAnswer, {"summary": "長" * 3_001}),
    (AnalysisAnswer, {"key_points": ["a point of unknown importance"]}),
    (AnalysisAnswer, {"key_points": [KEY_POINT | {"source_ids": ["S1-S40 all"]}]}),
    (AnalysisAnswer, {"outline": ["一个标题"]}),
    (AnalysisAnswer, {"needs_more_research": "maybe"}),
    (AnalysisAnswer, {"needs_more_research": None}),
    (AnalysisAnswer, {"needs_more_research": 2}),
    (FrontAnswer, {"title": ["one", "another"]}),
    (FrontAnswer, {"title": None}),
    (FrontAnswer, {"tags": GONE, "labels_of_it": ["x"]}),  # is it tags?
    (SectionAnswer, {"content": GONE, "draft_of_it": "x"}),
    (SectionAnswer, {"content": GONE, "text": "x", "body": "y"}),  # which of the two?
    (SectionAnswer, {"content": {"first": "x", "second": "y"}}),
    (PlanAnswer, {"sections": ["1. MD5", "2. Argon2"]}),
    (PlanAnswer, {"sections": [SECTION | {"number": "the new one"}]}),
    (PlanAnswer, {"sections": [SECTION | {"number": 1.5}]}),
    (ReviewAnswer, {"issues": ["an issue of unknown severity"]}),
    (ReviewAnswer, {"issues": [ISSUE | {"severity": "major"}]}),
    (ReviewAnswer, {"decision": "approve with changes"}),
    (ReviewAnswer, {"decision": "不通过"}),
    (ReviewAnswer, {"decision": "差し戻し"}),
    (ReviewAnswer, {"decision": None}),
    (ReviewAnswer, {"score": "7/10"}),
    (ReviewAnswer, {"score": 101}),
    (ReviewAnswer, {"score": "good"}),
    (ReviewAnswer, {"score": 71.5}),
    (ReviewAnswer, {"score": float("inf")}),
]


@pytest.mark.parametrize(("schema", "changes"), LEFT, ids=[str(number) for number in range(len(LEFT))])
def test_what_would_have_to_be_guessed_is_left_to_the_model(
    schema: type[BaseModel], changes: dict[str, Any]
) -> None:
    raw = with_fields(schema, changes)
    came = repair(raw, schema)
    assert came.value is raw
    assert came.repairs == ()
    with pytest.raises(ValidationError):
        schema.model_validate(came.value)


@pytest.mark.parametrize(
    ("schema", "more"),
    [
        (SectionAnswer, {"subsections": [{"heading": "H", "content": "Text [S1]."}]}),
        (SectionAnswer, {"conclusion": "So it goes [S1]."}),
        (SectionAnswer, {"content_continued": "另一半正文在这里，还没有写完，所以不能丢掉它"}),
        (SectionAnswer, {"まとめ": "古い。"}),
        (ReviewAnswer, {"more_issues": [ISSUE]}),
        (
            ReviewAnswer,
            {"issues": [ISSUE | {"evidence": "Section 2 says that MD5 is safe, and no source does"}]},
        ),
        (FrontAnswer, {"subtitle": {"en": "x"}}),
    ],
)
def test_no_text_is_dropped_with_a_field_that_nobody_asked_for(
    schema: type[BaseModel], more: dict[str, Any]
) -> None:
    raw = with_fields(schema, more)
    came = repair(raw, schema)
    assert (came.value, came.repairs) == (raw, ())
    with pytest.raises(ValidationError):
        schema.model_validate(came.value)


def test_no_text_is_dropped_with_a_wrapping() -> None:
    review = BASES[ReviewAnswer]
    for beside in ({"additional_issues": [ISSUE]}, {"補足": "第2節は誤り。"}, {"更多": {"問題": 1}}):
        raw = {"review": review, **beside}
        assert repair(raw, ReviewAnswer).value is raw
    for label in (
        {"status": "ok"},
        {"type": "审稿", "n": 1, "done": True, "x": None},
        {"reason": "長い" * 90},
    ):
        came = repair({"review": review, **label}, ReviewAnswer)
        assert (came.value, came.repairs) == (review, ("wrapped",))


@pytest.mark.parametrize(
    "feedback",
    ["string", "…", "<feedback>", "feedback", "[your feedback]", "字符串", "文字列", "总评", "講評",
     "Two or three sentences for the people who decide."],
)  # fmt: skip
@pytest.mark.parametrize("issues", [[], [ISSUE]])
def test_a_decision_with_words_of_a_template_for_reasons_is_asked_for(
    feedback: str, issues: list[dict[str, Any]]
) -> None:
    raw = with_fields(ReviewAnswer, {"issues": issues, "feedback": feedback})
    came = repair(raw, ReviewAnswer)
    assert came.repairs == ("placeholder",)
    with pytest.raises(ValidationError, match="feedback"):
        ReviewAnswer.model_validate(came.value)


def test_a_decision_of_which_all_texts_are_a_template_was_not_made() -> None:
    issue = ISSUE | {"description": "string", "suggested_fix": "<修正案>"}
    came = repair(with_fields(ReviewAnswer, {"issues": [issue], "feedback": ""}), ReviewAnswer)
    assert isinstance(came.value, dict)
    assert "decision" not in came.value


@pytest.mark.parametrize("tags", ["md5, 密码、鍵", ["x" * 41], ["鍵"] * 9])
def test_tags_that_are_too_many_too_long_or_one_text_are_left_to_the_answer_itself(tags: Any) -> None:
    raw = with_fields(FrontAnswer, {"tags": tags})
    came = repair(raw, FrontAnswer)
    assert came.value is raw
    assert FrontAnswer.model_validate(came.value)


def test_two_ids_where_one_is_wanted_are_left_to_the_rules_of_the_answer() -> None:
    raw = with_fields(FindingsAnswer, {"findings": [FINDING | {"source_id": "S1、S2"}]})
    assert repair(raw, FindingsAnswer).value is raw


@pytest.mark.parametrize("tool", SCHEMAS)
def test_an_answer_with_next_to_nothing_is_not_made_whole(tool: str) -> None:
    schema = SCHEMAS[tool]
    nothing: list[dict[str, Any]]
    nothing = [{}, {"error": "I cannot."}, {"error": {"message": "无法"}}, {"result": {}}, {"result": None}]
    for raw in nothing:
        came = repair(raw, schema)
        assert came.repairs == ()
        with pytest.raises(ValidationError):
            schema.model_validate(came.value)
    assert repair({"summary": "Nothing was found."}, FindingsAnswer).repairs == ()


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("field", ["notes", "gaps", "missing_evidence"])
def test_a_text_for_a_list_of_texts_becomes_its_one_entry_in_any_language(field: str, language: str) -> None:
    schema = next(one for one in BASES if field in one.model_fields)
    came = repair(with_fields(schema, {field: TEXTS[language]}), schema)
    assert came.value == BASES[schema] | {field: [TEXTS[language]]}
    assert came.repairs == ("single_for_list",)


def test_repairs_follow_any_schema() -> None:
    class Tone(StrEnum):
        dry = "dry"
        warm = "warm"

    class Part(BaseModel):
        tone: Tone
        weight: float | None

    class Whole(BaseModel):
        parts: list[Part] | None
        first: Part
        extra_time: bool | None = None
        either: int | str

    raw = {
        "Parts": {"tone": "WARM", "weight": "0"},
        "first": ['{"tone": "dry", "weight": ""}'],
        "extraTime": "no",
        "either": "7",
        "kept": 1,  # this schema is open
    }
    came = repair(raw, Whole)
    assert isinstance(came.value, dict)
    assert Whole.model_validate(came.value) == Whole(
        parts=[Part(tone=Tone.warm, weight=0)],
        first=Part(tone=Tone.dry, weight=None),
        extra_time=False,
        either="7",
    )
    assert came.value["kept"] == 1


def test_each_alias_belongs_to_a_field_and_each_repair_has_a_reason() -> None:
    def names(schema: object) -> set[str]:
        if isinstance(schema, dict):
            inside = {name for each in schema.values() for name in names(each)}
            return inside | set(schema.get("properties", {}))
        return set()

    schemas: list[type[BaseModel]] = [*SCHEMAS.values(), SearchArguments, ReadArguments]
    fields = {name for schema in schemas for name in names(schema.model_json_schema())}
    assert set(ALIASES) <= fields
    assert all(sentence.endswith(".") for sentence in REPAIRS.values())
    mended = {name for row in MENDED for name in row[3]}
    assert mended <= set(REPAIRS)
