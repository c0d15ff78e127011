"""How the offline model analyses: key points, an outline, what stands on one leg, what is missing."""

import re

from agents.offline.clusters import outline_of
from agents.offline.outline import Outline, carry_out, take_in_new_evidence
from agents.offline.parts import parts_of, sections_of
from agents.offline.phrases import phrase
from agents.offline.relevance import share, terms, weights
from agents.offline.tagged import Element, language_of_request
from agents.offline.wishes import Drop, wishes
from agents.wire import AnalysisAnswer, KeyPointAnswer, OutlineSectionAnswer, RiskAnswer

_KEY_POINTS = 6


def analysis(request: Element) -> AnalysisAnswer:
    """The outline that the evidence gives, or the previous one with what was asked of it now."""
    language = language_of_request(request)
    topic = request.text("topic")
    parts = [part for part in parts_of(request.one("evidence")) if part.claims]
    before = sections_of(request.one("previous").one("outline"))
    table = Outline(language, topic, parts, before or outline_of(parts, topic, language))
    table.missing = [gap.body.strip() for gap in request.all("gap")]
    if before:
        table.dropped = _dropped_sources(request)
        take_in_new_evidence(table)
    for asked in request.all("request"):
        section = asked.attributes["section"]
        if asked.attributes["state"] == "now":
            for wish in wishes(asked.text("text")):
                carry_out(table, wish, None if section == "all" else int(section))

    singles = [section for section in table.sections if len(section.source_ids) == 1]
    return AnalysisAnswer(
        key_points=_key_points(table),
        outline=[
            OutlineSectionAnswer(
                heading=section.heading[:300],
                description=section.description[:1_200],
                source_ids=[*section.source_ids][:20],
            )
            for section in table.sections[:12]
        ],
        risks=[
            RiskAnswer(
                description=phrase(
                    "single_source", language, heading=section.heading, ids=section.source_ids[0]
                ),
                source_ids=[*section.source_ids],
            )
            for section in singles[:10]
        ],
        missing_evidence=[gap[:1_200] for gap in table.missing[:10]],
        needs_more_research=bool(table.missing) and len(table.named()) < 2,
        summary=request.text("summary")[:3_000],
        notes=[note[:1_200] for note in [phrase("no_model", language), *table.notes][:10]]
        if table.notes
        else [],
    )


def _dropped_sources(request: Element) -> set[str]:
    """The sources of sections that people have dropped before, as the outcomes name them."""
    return {
        source_id
        for element in request.all("request")
        if any(isinstance(wish, Drop) for wish in wishes(element.text("text")))
        for source_id in re.findall(r"\bS[1-9][0-9]*\b", element.text("outcome"))
    }


def _key_points(table: Outline) -> list[KeyPointAnswer]:
    weighed = weights(terms(table.topic), [part.bag for part in table.parts])
    claims = [
        (share(weighed, terms(claim)) + 0.2 * (part.lang == table.language), claim, part.source_id)
        for part in table.parts
        for claim in part.claims
    ]
    claims.sort(key=lambda item: -item[0])
    return [
        KeyPointAnswer(point=claim, source_ids=[source_id], importance="high" if place < 3 else "medium")
        for place, (_, claim, source_id) in enumerate(claims[:_KEY_POINTS])
    ]
