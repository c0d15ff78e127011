"""What a model cannot read at once is cut by rank, step by step, and said; with no less to say it fails."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agents.contracts import Finding, Level, ResearchResult
from agents.desk import Trimmed
from agents.errors import AgentError
from agents.evidence import evidence
from agents.fitting import FittingModel
from agents.patience import is_too_long
from agents.reading import PassageRead, Passages
from tests.unit.agent_runs import run_analysis
from tests.unit.answers import ANALYSIS
from tests.unit.password_article import Example, chinese, desk_with, english

EXAMPLES = pytest.mark.parametrize("example", [english(), chinese()], ids=["en", "zh"])

TOO_LONG = ModelHTTPError(400, "m", {"message": "This model's maximum context length is 8192 tokens."})


def with_findings(example: Example, *claims: tuple[Level, str]) -> ResearchResult:
    """The research with these findings (confidence, claim), all of its first passage."""
    passage = example.research.passages[0]
    findings = [
        Finding(
            claim=claim, source_id=passage.source_id, confidence=level, quote=claim, chunk_id=passage.chunk_id
        )
        for level, claim in claims
    ]
    return example.research.model_copy(update={"findings": findings})


@pytest.mark.parametrize(
    ("about", "claims", "kept"),
    [
        (
            "memory of Argon2id",
            [("low", "memory"), ("high", "speed"), ("high", "Argon2id needs memory"), ("medium", "Argon2id")],
            ["speed", "Argon2id needs memory"],
        ),
        ("内存", [("high", "速度"), ("high", "内存 19 MiB"), ("high", "迭代")], ["速度", "内存 19 MiB"]),
        (
            "メモリ",
            [("high", "速さ"), ("high", "回数"), ("high", "メモリは 19 MiB")],
            ["速さ", "メモリは 19 MiB"],
        ),
    ],
)
def test_the_best_half_is_the_surest_and_what_is_asked_about(
    about: str, claims: list[tuple[Level, str]], kept: list[str]
) -> None:
    half = evidence(with_findings(english(), *claims), about=about, share=0.5)
    assert re.findall("<claim>(.*?)</claim>", half) == kept
    assert f'left_out="{len(claims) - len(kept)} findings"' in half


def test_with_room_for_all_nothing_is_said_of_it() -> None:
    assert "left_out" not in evidence(english().research, about="x", share=1.0)


def test_a_source_of_which_nothing_is_left_is_not_named() -> None:
    quarter = evidence(english().research, about="MD5 fast", share=0.25)
    assert re.findall('source id="(S.)"', quarter) == ["S1"]


def reading_at_most(findings: int, asked: list[str]) -> FunctionModel:
    """A model with room for so many findings."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(str(messages[0].parts[-1].content))  # type: ignore[union-attr]  # a request's is text
        if asked[-1].count("<finding") > findings:
            raise TOO_LONG
        return ModelResponse([ToolCallPart(info.output_tools[0].name, dict(ANALYSIS))])

    return FunctionModel(answer, model_name="m")


@EXAMPLES
@pytest.mark.parametrize(("room", "share", "calls"), [(4, 1.0, 1), (2, 0.5, 2), (1, 0.25, 3)])
async def test_the_evidence_is_halved_until_it_fits(
    example: Example, room: int, share: float, calls: int
) -> None:
    asked: list[str] = []
    research = with_findings(example, *(("high", f"claim {number}") for number in range(4)))
    desk = desk_with(reading_at_most(room, asked))
    assert len((await run_analysis(replace(example, research=research), desk)).outline) == 3
    assert len(asked) == calls
    assert desk.trimmed == ([] if share == 1 else [Trimmed("m", share)])


@EXAMPLES
async def test_with_no_less_to_say_it_is_not_said_again(example: Example) -> None:
    asked: list[str] = []
    desk = desk_with(reading_at_most(0, asked))
    with pytest.raises(AgentError) as failed:
        await run_analysis(example, desk)
    assert failed.value.code == "request_too_long"
    assert len(asked) == len(set(asked)) <= 4
    assert desk.trimmed == []


def passage(number: int) -> PassageRead:
    return PassageRead(
        passage_id=f"P{number}", source_id="S1", title="密码", heading="盐", lang="ja", text=f"文 {number}"
    )


def history() -> list[ModelMessage]:
    found = Passages(passages=[passage(number) for number in range(1, 9)])
    return [
        ModelResponse([ToolCallPart("knowledge_search", {}, "1")]),
        ModelRequest([ToolReturnPart("knowledge_search", found, "1")]),
    ]


async def passages_asked(fits: Callable[[int], bool]) -> tuple[list[int], FittingModel]:
    """How many passages each request held, until it had fewer than would not fit."""
    counts: list[int] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        part = messages[-1].parts[-1]
        assert isinstance(part, ToolReturnPart)
        found: object = part.content
        assert isinstance(found, Passages)
        ids = [one.passage_id for one in found.passages]
        assert ids == [f"P{number}" for number in range(1, len(ids) + 1)]  # the best stay
        counts.append(len(ids))
        if not fits(len(ids)):
            raise TOO_LONG
        return ModelResponse([TextPart("…")])

    model = FittingModel(FunctionModel(answer))
    await model.request(history(), None, ModelRequestParameters())
    return counts, model


async def test_what_tools_found_is_cut_to_the_best_and_stays_so() -> None:
    counts, model = await passages_asked(lambda count: count <= 2)
    assert (counts, model.share) == ([8, 4, 2], 0.25)
    await model.request(history(), None, ModelRequestParameters())
    assert counts == [8, 4, 2, 2]


async def test_below_an_eighth_the_request_fails() -> None:
    with pytest.raises(ModelHTTPError):
        await passages_asked(lambda count: False)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "the request exceeds the available context size, try increasing it"),
        (500, "the request exceeds the available context size. try increasing the context size"),
        (400, "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded "
              "with context length of only 4096 tokens"),
        (400, "The prompt (total length 25938) is too long to fit into the model"),
        (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens"),
        (400, "Invalid request: Your request exceeded model token limit: 8192"),
        (400, "Range of input length should be [1, 30720]"),
        (413, "Request Entity Too Large"),
    ],
)  # fmt: skip
def test_hosts_say_in_many_ways_that_a_request_is_too_long(status: int, said: str) -> None:
    assert is_too_long(ModelHTTPError(status, "m", {"error": {"message": said}}))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Invalid schema for response_format"),
        (400, "Unsupported parameter: 'max_tokens' is too large for this model"),
        (429, "Rate limit reached: the request is too long for this minute"),
        (503, "too many tokens in flight"),
    ],
)
def test_other_refusals_are_none_of_length(status: int, said: str) -> None:
    assert not is_too_long(ModelHTTPError(status, "m", {"error": {"message": said}}))
