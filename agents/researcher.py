"""The research agent: searches, reads and reports; then a formatter makes findings of its report."""

import logging
import re
from collections.abc import Sequence

from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.models import Model

from agents.call import LONGEST_ANSWER, RETRIES, ask
from agents.contracts import Finding, ResearchResult, SourcePassage
from agents.desk import Desk, Trimmed
from agents.errors import FINAL, AgentError
from agents.evidence import evidence
from agents.fitting import FittingModel
from agents.journaled_web import JournaledWeb
from agents.models import abilities_for
from agents.prompt import element, instructions, prompt, restored, tag, topic_and_language
from agents.quotes import locate
from agents.reading import Reading
from agents.stage import Stage, answer_of
from agents.tools import STEPS, TOOLS, CheckedArguments
from agents.tools_in_words import ToolsInWords
from agents.web import WEB_ARGUMENTS, WebResearch
from agents.wire import FindingsAnswer
from agents.written_calls import WrittenCalls
from knowledge.language import Language
from knowledge.model_record import Conduct

log = logging.getLogger(__name__)

# Tools and free text first, then structure without tools: the only order that every provider survives.
_researcher = Agent(
    name="researcher",
    instructions=instructions("researcher"),
    deps_type=Reading,
    tools=TOOLS,
    retries={"tools": RETRIES, "output": 1},
)
_FINDING_LINE = re.compile(r"^\W{0,9}\[[SP]\d+\]", re.MULTILINE)
_GAPS_LINE = re.compile(r"^\W{0,9}(?:gaps|缺口|空白|不足|ギャップ)\b", re.IGNORECASE | re.MULTILINE)


def _left_out(report: str, answer: FindingsAnswer) -> list[str]:
    lines = len(_FINDING_LINE.findall(report))
    if lines < 2 or 2 * len(answer.findings) >= lines:
        return []
    return [f"The report has {lines} findings; {len(answer.findings)} were returned. Return each of them."]


_FORMATTER = Stage("formatter", FindingsAnswer, "return_findings", _left_out)

NO_QUOTE = "none of its quotes stands in what it has read"
_NO_SUPPORT: dict[Language, str] = {
    "en": "No passage that was read says so word for word: {claim}",
    "zh": "读过的段落中没有这句话的原文依据：{claim}",
    "ja": "読んだ箇所に、この記述の原文は見つかりませんでした：{claim}",
}


@_researcher.output_validator
def _has_searched(ctx: RunContext[Reading], report: str) -> str:
    if not ctx.deps.searches and not ctx.deps.read_on:
        raise ModelRetry("You have not searched. Call knowledge_search first, then write the report.")
    if not report.strip():
        raise ModelRetry("The report is empty. Write it now, from what you have read.")
    if not _FINDING_LINE.search(report) and not _GAPS_LINE.search(report):
        raise ModelRetry(
            "This is no report: it has no line for a finding, such as `[S1] (high) …`, and none under Gaps. "
            "Call a tool, or write the report now."
        )
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
    request = prompt(
        [
            topic_and_language(topic, language),
            *(tag("question", question) for question in questions),
            *([] if previous is None else _known(previous)),
        ]
    )
    report, reading = await _reported(request, previous, desk)
    if not reading.passages:
        raise _nothing_found(topic)
    answer = await answer_of(
        _FORMATTER,
        lambda _: tag("report", report),
        model=desk.models.formatter,
        deps=report,
        desk=desk,
        step="format",
    )
    result = _checked(topic, language, answer, reading, previous)
    if not result.findings:
        claims = answer.findings or _FINDING_LINE.search(report)
        raise _made_up(report, desk) if claims else _nothing_found(topic)
    return result


async def _reported(request: str, previous: ResearchResult | None, desk: Desk) -> tuple[str, Reading]:
    """A report and what was read for it: of the research model, or of the fallback where that gives none."""
    model, fallback = desk.models.research, desk.models.fallback
    try:
        return await _report_of(model, request, previous, desk, step="research")
    except AgentError as error:
        if error.code in FINAL:
            raise
        reported = None
        if fallback is not None and fallback is not model:
            reported = await _stood_in(fallback, request, previous, desk)
        desk.conducts.append(
            Conduct(model.model_name, "researcher", rescued=reported is not None, failed=reported is None)
        )
        if reported is None:
            raise
        return reported


async def _stood_in(
    fallback: Model, request: str, previous: ResearchResult | None, desk: Desk
) -> tuple[str, Reading] | None:
    """From the start, since it has not read what the other has; None if it gives no report either."""
    try:
        return await _report_of(fallback, request, previous, desk, step="research:fallback")
    except AgentError as failed:
        if failed.code in FINAL:
            raise
        if desk.journal is not None:  # Retry asks it anew
            await desk.journal.forget("research:fallback")
        return None


async def _report_of(
    model: Model, request: str, previous: ResearchResult | None, desk: Desk, *, step: str
) -> tuple[str, Reading]:
    """The report of one model, which calls tools as functions or, where that does not work, in words."""
    if abilities_for(model).tools:
        reading, calls = Reading.after(previous, desk, step), WrittenCalls()
        try:
            return await _report_on(reading, model, request, desk, calls=calls, step=step), reading
        except AgentError as error:
            refused = error.code == "model_rejected" and "tool" in error.facts.get("said", "").lower()
            # Some hosts drop the tools of a request without a word.
            ignored = error.code == "bad_answer" and not calls.seen
            if not refused and not ignored:
                raise
            log.warning("%s calls no function: tools are said in words (%s)", model.model_name, error)
    step = f"{step}:words"
    reading, calls = Reading.after(previous, desk, step), WrittenCalls()
    return await _report_on(reading, ToolsInWords(model), request, desk, calls=calls, step=step), reading


async def _report_on(
    reading: Reading, model: Model, request: str, desk: Desk, *, calls: WrittenCalls, step: str
) -> str:
    fitting = FittingModel(model)
    web = [] if desk.web is None else [WebResearch(JournaledWeb(desk.web, desk.journal, step))]
    report = await ask(
        _researcher,
        request,
        model=fitting,
        deps=reading,
        desk=desk,
        step=step,
        steps=STEPS,
        capabilities=[calls, CheckedArguments(WEB_ARGUMENTS), *web],
    )
    if fitting.share < 1:
        desk.trimmed.append(Trimmed(model.model_name, fitting.share))
    return report


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
        located = locate(claimed.quote, _meant(claimed.source_id, reading))
        claim = restored(claimed.claim.strip())
        if located is None or not claim:
            gaps.append(_NO_SUPPORT[language].format(claim=claim or claimed.quote))
            continue
        finding = Finding(
            claim=claim,
            source_id=located.passage.source_id,
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
        searches=reading.searches_in_all,
    )


def _meant(named: str, reading: Reading) -> list[SourcePassage]:
    """The passages in which a quote may stand: of the source that is named, or whose passage is (`P16`).

    With an id that there is not all of them: where a quote stands is known, whoever misnamed it.
    """
    if re.fullmatch(r"P\d{1,12}", named) and (passage := reading.passages.get(int(named[1:]))):
        return reading.of_source(passage.source_id)
    return reading.of_source(named) or list(reading.passages.values())


def _made_up(report: str, desk: Desk) -> AgentError:
    model = desk.models.research.model_name
    return AgentError(
        "bad_answer",
        f"{model} gave no usable answer for research: {NO_QUOTE}. Retry, or set another model.",
        {"model": model, "step": "research", "problem": NO_QUOTE, "answer": report[:LONGEST_ANSWER]},
        said=report,
    )


def _nothing_found(topic: str) -> AgentError:
    return AgentError(
        "nothing_found",
        f"Nothing in the knowledge base is about {topic!r}. Add documents with `python -m bot ingest PATH`, "
        "or try other words.",
        {"topic": topic},
    )
