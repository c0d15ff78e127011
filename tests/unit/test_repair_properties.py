"""What holds for every answer: right ones stay, mending ends, nothing is made up, nothing is raised."""

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from agents.explain import explain
from agents.repair import looks_cut_off, repair
from agents.slips import is_placeholder, means_nothing
from tests.unit.wire_answers import SCHEMAS, TEXTS, as_json, right_answer

# Texts that say "there is none", words of a template and escaped line breaks have tests of their own: "N/A"
# is a right text, and means null all the same.
TEXT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(sorted(TEXTS.values())),
    st.text("{}[]\"'“”\\:,，：`/#<>\nn ab鍵钥", max_size=30),
).filter(lambda text: not means_nothing(text) and not is_placeholder(text) and "\\n" not in text)
LABEL = TEXT.filter(lambda text: len(text) <= 40)
IDS = st.integers(1, 30).map(lambda number: f"S{number}")
CHOICES = ("high", "medium", "low", "approve", "revise", "research")
LEVEL = st.sampled_from(["high", "medium", "low"])


def lists(*of: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(*of), max_size=3)


def objects(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(fields)


RIGHT: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "return_findings": objects(
        findings=lists(objects(claim=TEXT, source_id=IDS, confidence=LEVEL, quote=TEXT)),
        gaps=lists(TEXT),
        summary=TEXT,
    ),
    "return_analysis": objects(
        key_points=lists(objects(point=TEXT, source_ids=lists(IDS), importance=LEVEL)),
        outline=lists(objects(heading=TEXT, description=TEXT, source_ids=lists(IDS))),
        risks=lists(objects(description=TEXT, source_ids=lists(IDS))),
        missing_evidence=lists(TEXT),
        needs_more_research=st.booleans(),
        summary=TEXT,
        notes=lists(TEXT),
    ),
    "return_front": objects(title=TEXT, description=TEXT, tags=lists(LABEL), categories=lists(LABEL)),
    "return_section": objects(content=TEXT, notes=lists(TEXT)),
    "return_plan": objects(
        sections=lists(
            objects(
                number=st.none() | st.integers(-5, 10**12),
                heading=TEXT,
                change=st.none() | TEXT,
                source_ids=lists(IDS),
            )
        ),
        rewrite_title=st.booleans(),
        notes=lists(TEXT),
    ),
    "return_review": objects(
        issues=lists(objects(severity=LEVEL, description=TEXT, suggested_fix=TEXT, section=st.none() | TEXT)),
        decision=st.sampled_from(["approve", "revise", "research"]),
        score=st.none() | st.integers(0, 100),
        feedback=TEXT,
    ),
}


def strings(value: Any) -> Iterator[str]:
    """Every text in a value, names of fields left out; of JSON in a text what it holds, too."""
    if isinstance(value, str):
        yield value
        if value.startswith(("[", "{", '"')):
            try:
                yield from strings(json.loads(value))
            except ValueError:
                return
    elif isinstance(value, dict | list):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from strings(inside)


NAMES = [
    *sorted({name for tool in SCHEMAS for name in right_answer(tool, "x")}),
    *("claim", "source_id", "severity", "Source Ids", "fix", "verdict", "result"),
    *("arguments", "推理", "標題"),
]
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXT
    | IDS
    | st.sampled_from(["N/A", "Yes", "7/10"]),
    lambda inside: lists(inside) | st.dictionaries(st.sampled_from(NAMES) | TEXT, inside, max_size=5),
    max_leaves=15,
)
ANY_OBJECT = st.dictionaries(st.sampled_from(NAMES) | TEXT, ANY_JSON, max_size=8)


@st.composite
def nearly_right(draw: st.DrawFn, tool: str) -> dict[str, Any]:
    """A right answer in which values were replaced, renamed or lost."""
    answer = draw(RIGHT[tool])
    for name in draw(st.lists(st.sampled_from(sorted(answer)), max_size=3, unique=True)):
        value = answer.pop(name)
        match draw(st.sampled_from(["lost", "renamed", "alone", "encoded", "any"])):
            case "renamed":
                answer[draw(st.sampled_from(NAMES))] = value
            case "alone":
                answer[name] = value[0] if isinstance(value, list) and value else [value]
            case "encoded":
                answer[name] = as_json(value)
            case "any":
                answer[name] = draw(ANY_JSON)
    return answer


def validates(value: str | dict[str, Any], schema: type[BaseModel]) -> bool:
    try:
        if isinstance(value, str):
            schema.model_validate_json(value.encode(errors="replace"))
        else:
            schema.model_validate(value)
    except ValidationError as error:
        told = explain(error)
    else:
        return True
    assert 0 < len(told.splitlines()) <= 10
    assert told.encode()
    return False


@pytest.mark.parametrize("tool", SCHEMAS)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_every_right_answer_is_untouched(tool: str, data: st.DataObject) -> None:
    answer = data.draw(RIGHT[tool])
    assert SCHEMAS[tool].model_validate(answer, strict=True)
    raws: list[str | dict[str, Any]] = [answer, as_json(answer), json.dumps(answer, indent=1)]
    for raw in raws:
        came = repair(raw, SCHEMAS[tool])
        assert came.value is raw
        assert came.repairs == ()
        assert not looks_cut_off(raw)


@pytest.mark.parametrize("tool", SCHEMAS)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_mending_what_was_mended_changes_nothing(tool: str, data: st.DataObject) -> None:
    raw = data.draw(nearly_right(tool) | ANY_OBJECT)
    once = repair(raw, SCHEMAS[tool])
    again = repair(once.value, SCHEMAS[tool])
    assert (again.value, again.repairs) == (once.value, ())
    assert (once.value is raw) == (once.repairs == ())


@pytest.mark.parametrize("tool", SCHEMAS)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_no_repair_makes_up_a_text(tool: str, data: st.DataObject) -> None:
    raw = data.draw(nearly_right(tool))
    said = set(strings(raw))
    ids = unicodedata.normalize("NFKC", as_json(raw))
    came = repair(as_json(raw), SCHEMAS[tool]).value
    for text in strings(json.loads(came) if isinstance(came, str) else came):
        assert text in said or text in CHOICES or text.removeprefix("S") in ids, text


@pytest.mark.parametrize("tool", SCHEMAS)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_repair_never_breaks_what_would_have_passed(tool: str, data: st.DataObject) -> None:
    raw = data.draw(nearly_right(tool))
    if validates(raw, SCHEMAS[tool]):
        assert validates(repair(raw, SCHEMAS[tool]).value, SCHEMAS[tool])


@given(
    tool=st.sampled_from(sorted(SCHEMAS)),
    raw=st.one_of(
        st.text(st.characters(exclude_categories=[]), max_size=60),  # halves of surrogate pairs too
        st.text("{}[]\"'“”\\:,，：`/*#<>\n\ufeff 1.-eEutNaNrulkfsS/think", max_size=60),
        ANY_OBJECT,
        ANY_OBJECT.map(as_json),
        ANY_OBJECT.map(repr),
    ),
)
@settings(max_examples=150, deadline=None)
def test_nothing_is_ever_raised(tool: str, raw: str | dict[str, Any]) -> None:
    came = repair(raw, SCHEMAS[tool])
    validates(came.value, SCHEMAS[tool])
    if looks_cut_off(raw):
        assert came.value is raw


@given(tool=st.sampled_from(sorted(SCHEMAS)), data=st.data())
@settings(max_examples=150, deadline=None)
def test_one_lost_or_added_character_yields_what_was_meant_or_no_other_text(
    tool: str, data: st.DataObject
) -> None:
    """A reader that guesses where texts end would join or split them."""
    whole = as_json(right_answer(tool, data.draw(st.sampled_from(sorted(TEXTS.values())))))
    at = data.draw(st.integers(0, len(whole) - 1))
    added = data.draw(st.sampled_from(["", '"', ",", "}", "]", "{", "\n", "'", ":", "x"]))
    raw = whole[:at] + added + whole[at + (not added) :]
    came = repair(raw, SCHEMAS[tool]).value
    if isinstance(came, dict):
        meant = list(strings(json.loads(whole)))
        for text in strings(came):
            word = text.isalnum() and len(text) <= 6  # `xfalse` without marks stays for validation
            assert word or any(abs(len(text) - len(one)) <= 2 for one in meant), text
