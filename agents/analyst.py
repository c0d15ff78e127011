"""The analysis agent: from findings to an outline, and to what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.contracts import AnalysisResult, KeyPoint, OutlineSection, ResearchResult, Risk
from agents.desk import Desk, PublishedBefore, StandingRequest
from agents.evidence import evidence, outline, requests_of_people
from agents.headings import plain_heading
from agents.prompt import element, prompt, restored, tag, topic_and_language
from agents.stage import Stage, answer_of
from agents.wire import AnalysisAnswer, KeyPointAnswer, OutlineSectionAnswer, RiskAnswer
from knowledge.language import Language

_FEWEST_SECTIONS = 3


@dataclass(frozen=True)
class _Rules:
    """What an answer is held to."""

    known_ids: frozenset[str]
    fewest_sections: int


def _broken_rules(rules: _Rules, answer: AnalysisAnswer) -> list[str]:
    wrong = []
    headings = [plain_heading(section.heading) for section in answer.outline]
    if len(headings) < rules.fewest_sections:
        wrong.append(f"The outline needs at least {rules.fewest_sections} sections; it has {len(headings)}.")
    if not all(headings):
        wrong.append("Each section needs a heading.")
    if len({heading.casefold() for heading in headings}) < len(headings):
        wrong.append("Two sections have the same heading; give each its own.")
    items: Sequence[OutlineSectionAnswer | KeyPointAnswer | RiskAnswer]
    items = [*answer.outline, *answer.key_points, *answer.risks]
    named = {source_id for item in items for source_id in item.source_ids}
    if unknown := sorted(named - rules.known_ids):
        wrong.append(
            f"There is no source {', '.join(unknown)}. Name only {', '.join(sorted(rules.known_ids))}, "
            "or none where nothing supports it."
        )
    return wrong


_ANALYST = Stage("analyst", AnalysisAnswer, "return_analysis", _broken_rules)


async def analyse(
    topic: str,
    language: Language,
    research: ResearchResult,
    *,
    requests: Sequence[StandingRequest],
    previous: AnalysisResult | None,
    published: Sequence[PublishedBefore],
    desk: Desk,
) -> AnalysisResult:
    """An outline on the evidence. With `previous` it is changed only as requests or new evidence ask.

    Raises AgentError.
    """
    requests_on_outline = [request for request in requests if request.on == "outline"]
    asked_to_change = any(request.outcome is None for request in requests_on_outline)
    answer = await answer_of(
        _ANALYST,
        lambda share: prompt(
            [
                topic_and_language(topic, language),
                evidence(research, about=topic, share=share),
                *(tag("gap", gap) for gap in research.gaps),
                tag("summary", research.summary) if research.summary else "",
                "" if previous is None else element("previous", outline(previous.outline)),
                *(
                    element("published", tag("title", one.title), tag("description", one.description))
                    for one in published
                ),
                *requests_of_people(requests_on_outline),
            ]
        ),
        model=desk.models.analysis,
        deps=_Rules(
            known_ids=frozenset(source.id for source in research.sources),
            # People may ask for less, or have done so; and little evidence makes a short article.
            fewest_sections=1
            if asked_to_change
            else min(
                _FEWEST_SECTIONS,
                len(research.findings),
                _FEWEST_SECTIONS if previous is None else len(previous.outline),
            ),
        ),
        desk=desk,
        step="analysis",
    )
    return AnalysisResult(
        topic=topic,
        key_points=[
            KeyPoint(
                point=restored(item.point), source_ids=_each_once(item.source_ids), importance=item.importance
            )
            for item in answer.key_points
        ],
        outline=[
            OutlineSection(
                heading=plain_heading(restored(section.heading)),
                description=restored(section.description.strip()),
                source_ids=_each_once(section.source_ids),
            )
            for section in answer.outline
        ],
        risks=[
            Risk(description=restored(risk.description), source_ids=_each_once(risk.source_ids))
            for risk in answer.risks
        ],
        missing_evidence=[restored(gap) for gap in answer.missing_evidence if gap.strip()],
        needs_more_research=answer.needs_more_research,
        summary=restored(answer.summary),
        notes=[restored(note) for note in answer.notes if note.strip()],
    )


def _each_once(source_ids: Sequence[str]) -> list[str]:
    return sorted(set(source_ids), key=lambda source_id: int(source_id[1:]))
