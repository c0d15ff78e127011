"""The tools of research: what goes in is checked, what comes out is of its type, and ids keep their meaning.

The search here has no database: it remembers what reached it, and gives what a test put into it.
"""

import json
import logging
import re
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from asyncpg import create_pool
from pydantic import TypeAdapter, ValidationError
from pydantic_ai import Tool
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents.contracts import ResearchResult
from agents.desk import AgentProgress
from agents.errors import AgentError
from agents.prompt import instructions
from agents.reading import LONGEST_LABEL, Missed, PassageRead, Passages, Read, Reading
from agents.researcher import research
from agents.tools import MOST_QUERIES, STEPS, TOOLS, SearchArguments, mended
from bot.texts import failure
from knowledge.chunks import LIMIT
from knowledge.filters import Filters
from knowledge.language import Language
from knowledge.search import Passage, Search
from tests.unit.answers import FINDINGS
from tests.unit.password_article import desk_with, english

TOPICS: dict[Language, str] = {"en": "MD5 passwords", "zh": "MD5 密码", "ja": "MD5 のパスワード"}
SCHEMAS = {tool.name: tool.function_schema.json_schema["properties"] for tool in TOOLS}
PARAMETERS = [(name, parameter) for name, schema in SCHEMAS.items() for parameter in schema]


def found(chunk_id: int, *, document_id: int = 1, **changes: Any) -> Passage:
    passage = Passage(
        rank=1,
        score=1.0,
        text=f"Text {chunk_id}.",
        title=f"Document {document_id}",
        url=None,
        path=None,
        heading=f"Document {document_id} > Part",
        document_id=document_id,
        chunk_id=chunk_id,
        lang="en",
    )
    return passage.model_copy(update=changes)


class Shelf(Search):
    """What each call gives, in turn, then nothing; `asked` is what reached the search."""

    def __init__(self, *gives: Sequence[Passage] | Exception) -> None:
        super().__init__(create_pool("postgresql://nobody@127.0.0.1:1/nothing"), None)
        self.asked: list[tuple[Any, ...]] = []
        self._gives = list(gives)

    async def search_many(
        self, queries: Sequence[str], *, k: int = 5, filters: Filters | None = None
    ) -> list[Passage]:
        assert filters is None  # the agent has none
        return self._next([*queries], k)

    async def around(self, chunk_id: int, *, before: int = 1, after: int = 1) -> list[Passage]:
        return self._next(chunk_id, before, after)

    def _next(self, *asked: Any) -> list[Passage]:
        self.asked.append(asked)
        given = self._gives.pop(0) if self._gives else []
        if isinstance(given, Exception):
            raise given
        return [*given]


class Run:
    """One research, second to an English one: the model makes these calls, a turn each, and then reports."""

    def __init__(self, shelf: Shelf, *turns: tuple[str, Any]) -> None:
        self.shelf = shelf
        self.results: list[ToolReturnPart[Any]] = []
        self.progress: list[AgentProgress] = []
        self._turns = list(turns)

    async def research(self, language: Language = "en") -> ResearchResult:
        desk = desk_with(FunctionModel(self._answer, model_name="scripted"), told=self.progress)
        desk.search = self.shelf
        return await research(
            TOPICS[language], language, questions=[], previous=english().research, desk=desk
        )

    @property
    def refused(self) -> list[str]:
        return [str(result.content) for result in self.results if result.outcome == "retried"]

    @property
    def read(self) -> list[dict[str, Any]]:
        """What the model was given, as it reads it."""
        given = [result.model_response_str() for result in self.results if result.outcome == "success"]
        return [json.loads(text) for text in given]

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.output_tools:
            return ModelResponse(parts=[ToolCallPart("return_findings", dict(FINDINGS))])
        if isinstance(messages[-1], ModelRequest):
            self.results += [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if self._turns:
            return ModelResponse(parts=[ToolCallPart(*self._turns.pop(0))])
        return ModelResponse(parts=[TextPart("Findings\nGaps\nNothing more.")])


SEARCH = ("knowledge_search", {"queries": ["MD5"]})


# --- one schema -------------------------------------------------------------------------------------------


def takes(tool: Tool[Reading], arguments: dict[str, Any]) -> bool:
    try:
        tool.function_schema.validator.validate_python(arguments)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_ranges_in_a_description_are_those_of_the_schema(name: str, parameter: str) -> None:
    schema = SCHEMAS[name][parameter]
    places = [schema, *([schema["items"]] if "items" in schema else [])]
    for place in places:
        said = place["description"]
        bounds = [
            (place[low], place[high])
            for low, high in (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
            if low in place or high in place
        ]
        assert re.findall(r"(\d+) to (\d+)", said) == [(str(low), str(high)) for low, high in bounds]
        defaults = re.findall(r"(\d+) if left out", said)
        assert defaults == ([str(place["default"])] if "default" in place else [])


def test_validation_refuses_just_what_the_schema_forbids() -> None:
    tools = {tool.name: tool for tool in TOOLS}
    whole: dict[str, dict[str, Any]] = {
        "knowledge_search": {"queries": ["MD5"], "k": 5},
        "read_source": {"passage_id": "P12", "before": 1, "after": 1},
    }
    tried = 0
    for name, parameter in PARAMETERS:
        schema, tool = SCHEMAS[name][parameter], tools[name]

        def at(value: Any, tool: Tool[Reading] = tool, name: str = name, parameter: str = parameter) -> bool:
            return takes(tool, {**whole[name], parameter: value})

        assert takes(tool, whole[name])
        if schema["type"] == "integer":
            low, high = schema["minimum"], schema["maximum"]
            assert [at(low - 1), at(low), at(high), at(high + 1)] == [False, True, True, False]
            assert not at(True)
            without = {key: value for key, value in whole[name].items() if key != parameter}
            (validated,) = tool.function_schema.validator.validate_python(without).values()
            assert getattr(validated, parameter) == schema["default"]
        elif schema["type"] == "array":
            low, high = schema["minItems"], schema["maxItems"]
            assert [at(["a"] * n) for n in (low - 1, low, high, high + 1)] == [False, True, True, False]
            shortest, longest = schema["items"]["minLength"], schema["items"]["maxLength"]
            lengths = (shortest - 1, shortest, longest, longest + 1)
            assert [at(["密" * n]) for n in lengths] == [False, True, True, False]
        else:
            pattern = re.compile(schema["pattern"])
            for value in ("P1", "P12", "p12", "12", "P", "P1234567890123", "S1", " P1", "P１２"):
                assert at(value) == bool(pattern.search(value))
        tried += 1
    assert tried == 5
    assert not any(takes(tools[name], {**whole[name], "language": "ja"}) for name in tools)


def test_a_description_names_the_codes_of_its_results() -> None:
    codes = {*get_args(Missed.model_fields["code"].annotation)}
    named = {tool.name: {*re.findall(r"`(\w+)`", tool.description or "")} - {"ok"} for tool in TOOLS}
    assert named == {
        "knowledge_search": codes - {"unknown_passage"},
        "read_source": codes - {"nothing_found"},
    }


def test_the_instructions_say_what_the_tools_do() -> None:
    text = instructions("researcher")
    assert f"at most {STEPS} turns" in text
    assert {*re.findall(r"`(\w+_\w+)`", text)} <= {*SCHEMAS, "passage_id", "no_steps_left"}
    assert MOST_QUERIES == 4
    assert "two to four queries" in text


# --- what goes in -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (("knowledge_search", {}), "`queries` is missing."),
        (("knowledge_search", {"queries": []}), "`queries`: List should have at least 1 item"),
        (("knowledge_search", {"queries": ["1", "二", "三", "4", "五"]}), "at most 4 entries; it has 5."),
        (("knowledge_search", {"queries": [""]}), "`queries`: List should have at least 1 item"),
        (("knowledge_search", {"queries": ["MD5", " \n　"]}), "`queries[1]`"),
        (("knowledge_search", {"queries": ["密" * 301]}), "at most 300 characters; it has 301."),
        (("knowledge_search", {"queries": [["MD5"], 5.5]}), "`queries[1]`"),
        (
            ("knowledge_search", {"queries": ["パスワード"], "k": 0}),
            "`k` should be greater than or equal to 1",
        ),
        (
            ("knowledge_search", {"queries": ["パスワード"], "k": 11}),
            "`k` should be less than or equal to 10",
        ),
        (
            ("knowledge_search", {"queries": ["密码"], "k": "many"}),
            '`k` should be a valid integer; got "many".',
        ),
        (("knowledge_search", {"queries": ["MD5"], "k": True}), "`k` should be a valid integer; got true."),
        (("knowledge_search", {"queries": ["MD5"], "lang": "ja"}), "`lang` is not asked for: leave it out"),
        (("knowledge_search", '{"queries": ["MD5"'), "not valid JSON"),
        (("knowledge_search", "MD5 密码"), "not valid JSON"),
        (("read_source", {"passage_id": "p12"}), "`passage_id`: String should match pattern"),
        (("read_source", {"passage_id": "P12", "before": 4}), "`before` should be less than or equal to 3"),
        (("read_source", {"passage_id": "P12", "after": -1}), "`after` should be greater than or equal to 0"),
        (("read_source", {"passage_id": None}), "`passage_id`"),
    ],
)
async def test_wrong_arguments_go_back_in_one_sentence_and_never_into_the_search(
    call: tuple[str, Any], sentence: str
) -> None:
    run = Run(Shelf([found(31)]), call, SEARCH)
    result = await run.research()
    (told,) = run.refused
    assert sentence in told
    assert told.startswith(f"{call[0]} was not carried out. ")
    assert "\n" not in told.removesuffix("\n\nFix the errors and try again.")
    assert len(told) < 400
    assert run.shelf.asked == [(["MD5"], 5)]
    assert run.read[0]["ok"] is True
    assert result.searches == english().research.searches + 1  # what was refused is no search


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        (("knowledge_search", {"queries": "パスワード"}), (["パスワード"], 5)),
        (("knowledge_search", {"queries": "MD5, 密码"}), (["MD5, 密码"], 5)),
        (("knowledge_search", {"query": "密码"}), (["密码"], 5)),
        (("knowledge_search", {"query": ["MD5", "密码"], "top_k": "3"}), (["MD5", "密码"], 3)),
        (("knowledge_search", {"queries": ["MD5"], "k": "5"}), (["MD5"], 5)),
        (("knowledge_search", {"queries": ["MD5"], "k": 7.0}), (["MD5"], 7)),
        (("knowledge_search", {"queries": ["MD5"], "k": None}), (["MD5"], 5)),
        (("knowledge_search", {"queries": ["  MD5 ", "　密码　"]}), (["MD5", "密码"], 5)),
        (("knowledge_search", {"queries": '["MD5", "パスワード"]'}), (["MD5", "パスワード"], 5)),
        (("knowledge_search", {"queries": [{"query": "MD5"}]}), (["MD5"], 5)),
        (("knowledge_search", {"arguments": {"queries": ["MD5"]}}), (["MD5"], 5)),
        (("knowledge_search", json.dumps('{"queries": ["密码"], "k": 3}')), (["密码"], 3)),
        (("knowledge_search", "```json\n{'queries': ['MD5'],}\n```"), (["MD5"], 5)),
        (("read_source", {"passage_id": "P11", "before": "2", "after": None}), (11, 2, 1)),
        (("read_source", {"passageId": "P11"}), (11, 1, 1)),
        (("read_source", '{"id": "P11"}'), (11, 1, 1)),
        (("read_source", {"passage_id": ["P11"]}), (11, 1, 1)),
    ],
)
async def test_what_has_one_meaning_is_put_right_and_counted_nowhere(
    call: tuple[str, Any], asked: tuple[Any, ...]
) -> None:
    run = Run(Shelf([found(31)]), call, SEARCH)
    await run.research()
    assert run.refused == []
    assert run.shelf.asked == [asked, (["MD5"], 5)]


@pytest.mark.parametrize(
    "query", ["MD5", "密码", "パスワード", "none", "なし", "无", "str", "...", '["a"]', '{"queries": ["a"]}']
)
def test_right_arguments_stay_as_they_came(query: str) -> None:
    given = {"queries": [query, "MD5"], "k": 1}
    assert mended(given, SearchArguments) == given
    assert mended(json.dumps(given), SearchArguments) == given
    assert mended({"queries": [query]}, SearchArguments) == {"queries": [query]}


@pytest.mark.parametrize("language", TOPICS)
async def test_a_tool_called_wrongly_again_and_again_ends_the_run_and_keeps_what_was_said(
    language: Language,
) -> None:
    wrong: tuple[str, dict[str, Any]] = ("knowledge_search", {"queries": [TOPICS[language]], "k": 99})
    run = Run(Shelf([found(31)]), wrong, wrong, wrong, SEARCH)
    with pytest.raises(AgentError) as failed:
        await run.research(language)
    assert failed.value.code == "bad_answer"
    assert str(failed.value) == (
        "scripted gave no usable answer for research: it called knowledge_search wrongly again and again. "
        "`k` should be less than or equal to 10; got 99. Retry, or set another model."
    )
    assert json.loads(failed.value.said) == wrong[1]
    assert len(run.refused) == 2
    assert run.shelf.asked == []


async def test_a_right_call_in_between_gives_the_model_its_tries_back() -> None:
    wrong: tuple[str, dict[str, Any]] = ("knowledge_search", {"queries": []})
    run = Run(Shelf([found(31)], [found(32)]), wrong, wrong, SEARCH, wrong, wrong, SEARCH)
    await run.research()
    assert len(run.refused) == 4
    assert len(run.shelf.asked) == 2


async def test_a_tool_that_does_not_exist_is_answered_with_those_that_do() -> None:
    run = Run(Shelf([found(31)]), ("web_search", {"queries": ["MD5"]}), SEARCH)
    await run.research()
    (told,) = run.refused
    assert "'knowledge_search', 'read_source'" in told
    assert run.shelf.asked == [(["MD5"], 5)]


# --- what comes out ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "codes", "asked"),
    [
        ([SEARCH, ("knowledge_search", {"queries": ["？"]})], ["nothing_found", "nothing_found"], 2),
        ([SEARCH, ("read_source", {"passage_id": "P999"})], ["nothing_found", "unknown_passage"], 1),
        ([SEARCH, ("read_source", {"passage_id": "P999999999999"})], ["nothing_found", "unknown_passage"], 1),
        # Its document has gone since it was read.
        ([SEARCH, ("read_source", {"passage_id": "P11"})], ["nothing_found", "unknown_passage"], 2),
        ([SEARCH] * 7, ["nothing_found"] * 6 + ["no_steps_left"], 6),
        (
            [SEARCH] * 6 + [("read_source", {"passage_id": "P11"})],
            ["nothing_found"] * 6 + ["no_steps_left"],
            6,
        ),
    ],
)
async def test_an_expected_miss_is_a_value_with_a_code(
    calls: list[tuple[str, Any]], codes: list[str], asked: int
) -> None:
    run = Run(Shelf(), *calls)
    await run.research()
    results = [TypeAdapter[Read](Read).validate_python(given) for given in run.read]
    assert all(isinstance(result, Missed) and result.advice for result in results)
    assert [given["code"] for given in run.read] == codes
    assert len(run.shelf.asked) == asked


@pytest.mark.parametrize("language", TOPICS)
async def test_a_fault_is_told_once_and_the_second_ends_the_run_in_words_for_people(
    language: Language,
) -> None:
    down = ConnectionError("password of nobody: 密码")
    run = Run(Shelf(down, [found(31)], down), SEARCH, SEARCH, SEARCH)
    with pytest.raises(AgentError, match="could not be searched, twice") as failed:
        await run.research(language)
    assert [given.get("code") for given in run.read] == ["failed", None]
    assert failed.value.code == "search_failed"
    assert failed.value.__cause__ is down
    sentence = failure(language, failed.value.code, failed.value.facts)
    assert sentence != failure(language, "unexpected", {})
    assert "doctor" in sentence
    assert "密码" not in str(failed.value)


async def test_a_fault_in_a_result_of_the_search_is_no_mistake_of_the_model() -> None:
    with pytest.raises(ValidationError) as wrong:
        Passage.model_validate({})
    run = Run(Shelf(wrong.value, [found(31)]), SEARCH, SEARCH)
    await run.research()
    assert run.refused == []
    assert run.read[0]["code"] == "failed"


@pytest.mark.parametrize(
    "broken", [{"text": ""}, {"chunk_id": -1}, {"chunk_id": 10**13}], ids=["no text", "negative", "too long"]
)
async def test_a_passage_that_breaks_its_model_is_left_out_and_logged(
    broken: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    bad = found(32, document_id=9).model_copy(update=broken)
    run = Run(Shelf([bad, found(31)], [bad]), SEARCH, SEARCH)
    result = await run.research()
    assert [passage["passage_id"] for passage in run.read[0]["passages"]] == ["P31"]
    assert run.read[1]["code"] == "failed"
    assert run.progress[-1].passages == len(english().research.passages) + 1
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert all(source.document_id != 9 for source in result.sources)


async def test_a_passage_that_lacks_only_its_labels_is_logged_and_passed_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = Run(Shelf([found(31, document_id=9, title="", heading="")]), SEARCH)
    await run.research()
    (passage,) = run.read[0]["passages"]
    assert (passage["text"], passage["title"], passage["heading"]) == ("Text 31.", "", "")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "passage 31 is passed on" in caplog.text


@pytest.mark.parametrize("words", ["long ", "很长", "長い"])
async def test_a_megabyte_of_text_or_heading_does_not_go_to_the_model(words: str) -> None:
    huge = words * 1_000_000
    run = Run(Shelf([found(31, document_id=9, text=huge, title=huge, heading=huge)]), SEARCH)
    await run.research()
    (passage,) = run.read[0]["passages"]
    assert PassageRead.model_validate(passage)
    assert len(passage["text"]) == LIMIT
    assert len(passage["title"]) == len(passage["heading"]) == LONGEST_LABEL
    assert passage["text"].endswith("…")


async def test_a_quote_is_looked_for_in_what_the_model_has_read() -> None:
    reading = Reading.after(None, desk_with(FunctionModel(Run(Shelf())._answer)), "research")
    seen = reading.record([found(31, text="密" * (LIMIT + 1))])
    [kept] = reading.of_source("S1")
    assert kept.text == seen.passages[0].text


# --- ids --------------------------------------------------------------------------------------------------


async def test_ids_keep_their_meaning_over_searches_tools_and_rounds() -> None:
    before = english().research
    known = {source.document_id: source.id for source in before.sources}
    old = before.passages[0]
    old_document = next(source for source in before.sources if source.id == old.source_id).document_id
    shelf = Shelf(
        [found(31, document_id=91), found(old.chunk_id, document_id=old_document, text="Anything else.")],
        [found(41, document_id=92), found(31, document_id=91)],
        [found(30, document_id=91), found(31, document_id=91), found(32, document_id=91)],
    )
    run = Run(shelf, SEARCH, SEARCH, ("read_source", {"passage_id": "P31"}))
    await run.research("ja")
    first, second, around = ([(p["passage_id"], p["source_id"]) for p in r["passages"]] for r in run.read)
    new = f"S{len(known) + 1}"
    assert first == [("P31", new), (f"P{old.chunk_id}", old.source_id)]
    assert second == [("P41", f"S{len(known) + 2}"), ("P31", new)]
    assert around == [("P30", new)]  # three under the same heading are read as one
    # What a passage says is what it said when it was read first.
    assert run.read[0]["passages"][1]["text"] == old.text


async def test_both_tools_give_the_same_type() -> None:
    run = Run(Shelf([found(31)], [found(31)]), SEARCH, ("read_source", {"passage_id": "P31"}))
    await run.research()
    assert run.read[0] == run.read[1]
    assert all(isinstance(result.content, Passages) for result in run.results)


# --- progress ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", TOPICS)
async def test_what_is_searched_is_told_before_it_is_found(language: Language) -> None:
    topic = TOPICS[language]
    run = Run(
        Shelf([found(31, document_id=9)], ConnectionError(), []),
        ("knowledge_search", {"queries": [topic, "MD5"]}),
        ("knowledge_search", {"queries": ["Argon2id"]}),
        ("read_source", {"passage_id": "P31"}),
    )
    await run.research(language)
    before = english().research
    searches, passages, sources = before.searches, len(before.passages), len(before.sources)
    both = (topic, "MD5")
    assert run.progress == [
        AgentProgress(searches + 2, passages, sources, both),
        AgentProgress(searches + 2, passages + 1, sources + 1, both),
        AgentProgress(searches + 3, passages + 1, sources + 1, ("Argon2id",)),
    ]
