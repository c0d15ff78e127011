"""The research agent: searches, reads and reports; then a formatter makes findings of its report."""

from collections.abc import Sequence

from pydantic_ai import Agent, ModelRetry, RunContext

from agents.call import RETRIES, ask
from agents.contracts import Finding, ResearchResult
from agents.desk import Desk
from agents.errors import AgentError
from agents.evidence import evidence
from agents.prompt import element, instructions, prompt, restored, tag, topic_and_language
from agents.quotes import locate
from agents.reading import STEPS, TOOLS, Reading
from agents.stage import Stage, answer_of
from agents.wire import FindingsAnswer
from knowledge.language import Language

# Tools and free text first, then structure without tools: the only order that every provider survives.
_researcher = Agent(
    name="researcher",
    instructions=instructions("researcher"),
    deps_type=Reading,
    tools=TOOLS,
    retries={"tools": RETRIES, "output": 1},
)
_FORMATTER: Stage[None, FindingsAnswer] = Stage(
    "formatter", FindingsAnswer, "return_findings", lambda _, answer: []
)

_NO_SUPPORT: dict[Language, str] = {
    "en": "No passage that was read says so word for word: {claim}",
    "zh": "读过的段落中没有这句话的原文依据：{claim}",
    "ja": "読んだ箇所に、この記述の原文は見つかりませんでした：{claim}",
}


@_researcher.output_validator
def _has_searched(ctx: RunContext[Reading], report: str) -> str:
    if not ctx.deps.searches:
        raise ModelRetry("You have not searched. Call knowledge_search first, then write the report.")
    if not report.strip():
        raise ModelRetry("The report is empty. Write it now, from what you have read.")
    return report


async def research(
    topic: str,
    language: Language,
    *,
    questions: Sequence[str],
    previous: ResearchResult | None,
    desk: Desk,
) -> ResearchResult:
    """What the knowledge base says on a topic, each finding with a quote that this program has found.

    `questions` are what people, reviewer or analyst ask beyond the topic. With `previous` its findings are
    kept, its ids keep their meaning, and what is new is added. Sources without a finding are left out.

    Raises AgentError; `nothing_found` when there is no finding at all.
    """
    reading = Reading.after(previous, desk)
    request = prompt(
        [
            topic_and_language(topic, language),
            *(tag("question", question) for question in questions),
            *([] if previous is None else _known(previous)),
        ]
    )
    report = await ask(
        _researcher,
        request,
        model=desk.models.research,
        deps=reading,
        desk=desk,
        step="research",
        steps=STEPS,
    )
    if not reading.passages:
        raise _nothing_found(topic)
    answer = await answer_of(
        _FORMATTER,
        tag("report", report),
        model=desk.models.formatter,
        deps=None,
        desk=desk,
        step="format",
    )
    result = _checked(topic, language, answer, reading, previous)
    if not result.findings:
        raise _nothing_found(topic)
    return result


def _known(previous: ResearchResult) -> list[str]:
    return [
        element(
            "known",
            evidence(previous),
            *(tag("gap", gap) for gap in previous.gaps),
            tag("summary", previous.summary),
        )
    ]


def _checked(
    topic: str,
    language: Language,
    answer: FindingsAnswer,
    reading: Reading,
    previous: ResearchResult | None,
) -> ResearchResult:
    """Findings whose quotes stand in what was read; the others become gaps."""
    findings = list(previous.findings) if previous else []
    gaps = [restored(gap) for gap in answer.gaps if gap.strip()]
    for claimed in answer.findings:
        located = locate(claimed.quote, reading.of_source(claimed.source_id))
        claim = restored(claimed.claim.strip())
        if located is None or not claim:
            gaps.append(_NO_SUPPORT[language].format(claim=claim or claimed.quote))
            continue
        finding = Finding(
            claim=claim,
            source_id=claimed.source_id,
            confidence=claimed.confidence,
            quote=located.quote,
            chunk_id=located.passage.chunk_id,
        )
        if all((finding.quote, finding.chunk_id) != (known.quote, known.chunk_id) for known in findings):
            findings.append(finding)
    used = {finding.source_id for finding in findings}
    return ResearchResult(
        topic=topic,
        findings=findings,
        sources=[source for source in reading.sources.values() if source.id in used],
        gaps=list(dict.fromkeys(gaps)),
        summary=restored(answer.summary.strip()),
        passages=[passage for passage in reading.passages.values() if passage.source_id in used],
        searches=reading.searches_before + reading.searches,
    )


def _nothing_found(topic: str) -> AgentError:
    return AgentError(
        "nothing_found",
        f"Nothing in the knowledge base is about {topic!r}. Add documents with `python -m bot ingest PATH`, "
        "or try other words.",
        {"topic": topic},
    )
