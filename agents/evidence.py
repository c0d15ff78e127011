"""How evidence and requests stand in a prompt."""

import math
from collections.abc import Collection, Sequence
from typing import Literal

from agents.contracts import (
    AnalysisResult,
    Finding,
    OutlineSection,
    ResearchResult,
    ReviewIssue,
    SourcePassage,
)
from agents.desk import StandingRequest
from agents.headings import parts
from agents.prompt import element, harmless, tag
from agents.quotes import find
from agents.size import tokens_of
from knowledge.tokens import tokens

_CONFIDENCE = ("high", "medium", "low")


def evidence(
    research: ResearchResult,
    source_ids: Collection[str] | None = None,
    *,
    about: str = "",
    texts: int = 0,
    share: float = 1.0,
) -> str:
    """Sources with their findings; of all, or of those named.

    `texts` is how many tokens of passages go with them: first those with findings, then the others by the
    words that they share with `about`. A finding whose passage has no room brings its quote instead.
    `share`, above 0, is how much of all this there is room for: the best of it, by confidence and by the
    words shared with `about`; `left_out` says that there is more.
    """
    sources = [source for source in research.sources if source_ids is None or source.id in source_ids]
    named = {source.id for source in sources}
    findings: dict[int, list[Finding]] = {}
    for finding in _best([one for one in research.findings if one.source_id in named], about, share):
        findings.setdefault(finding.chunk_id, []).append(finding)
    passages = [passage for passage in research.passages if passage.source_id in named]
    with_text = _with_text(passages, findings, about, int(texts * share))
    if share < 1:  # one of which nothing is left would be a title without a word
        told = {passage.source_id for passage in passages if passage.chunk_id in {*findings, *with_text}}
        sources = [source for source in sources if source.id in told]
    rendered = []
    for source in sources:
        parts = [
            _passage(passage, findings.get(passage.chunk_id, []), passage.chunk_id in with_text)
            for passage in passages
            if passage.source_id == source.id
            and (passage.chunk_id in findings or passage.chunk_id in with_text)
        ]
        rendered.append(element("source", tag("title", source.title), *parts, id=source.id))
    left_out = sum(one.source_id in named for one in research.findings) - sum(map(len, findings.values()))
    attributes = {"left_out": f"{left_out} findings"} if left_out else {}
    return element("evidence", *rendered, **attributes)


def outline(sections: Sequence[OutlineSection]) -> str:
    """The outline, numbered from 1."""
    return element(
        "outline",
        *(
            element(
                "section",
                tag("heading", section.heading),
                tag("description", section.description),
                number=number,
                sources=", ".join(section.source_ids) or "none",
            )
            for number, section in enumerate(sections, start=1)
        ),
    )


def gaps(analysis: AnalysisResult) -> list[str]:
    """What is known to be missing."""
    return [tag("gap", gap) for gap in analysis.missing_evidence]


def requests_of_people(requests: Sequence[StandingRequest]) -> list[str]:
    """Every request, oldest first, with what became of it; `state="now"` is to be carried out now."""
    return [
        element(
            "request",
            tag("text", request.text),
            "" if request.outcome is None else tag("outcome", request.outcome),
            number=number,
            on=request.on,
            section="all" if request.section is None else request.section,
            state="now" if request.outcome is None else "done",
        )
        for number, request in enumerate(requests, start=1)
        if request.text
    ]


def issue(found: ReviewIssue, headings: Sequence[str], state: Literal["now", "open"] | None = None) -> str:
    """An issue of a review; its section by number. `now`: it is to be mended; `open`: it is known."""
    number = headings.index(found.section) + 1 if found.section in headings else "all"
    return element(
        "issue",
        tag("text", found.description),
        tag("fix", found.suggested_fix),
        severity=found.severity,
        section=number,
        **({} if state is None else {"state": state}),
    )


def _passage(passage: SourcePassage, findings: Sequence[Finding], with_text: bool) -> str:
    elements = [tag("heading", passage.heading)]
    if with_text:
        elements.append(tag("text", passage.text))
    for finding in findings:
        # A quote that says what the claim says, or stands in the text, is not said twice.
        shows_quote = not with_text and finding.quote != finding.claim
        below = "" if with_text else _heading_above(finding, passage)
        elements.append(
            element(
                "finding",
                tag("heading", below) if below else "",
                tag("claim", finding.claim),
                tag("quote", finding.quote) if shows_quote else "",
                confidence=finding.confidence,
            )
        )
    return element("passage", *elements, id=f"P{passage.chunk_id}", lang=passage.lang)


def _heading_above(finding: Finding, passage: SourcePassage) -> str:
    """The heading inside the passage below which the quote stands; "" if there is none."""
    return next((heading for heading, text in parts(passage.text) if find(finding.quote, text)), "")


def _best(findings: Sequence[Finding], about: str, share: float) -> list[Finding]:
    """That share of the findings, at least one, in their order."""
    words = set(tokens(about))

    def rank(at: int) -> tuple[int, int]:
        claim = findings[at].claim
        return _CONFIDENCE.index(findings[at].confidence), -len(words.intersection(tokens(claim)))

    best = sorted(range(len(findings)), key=rank)[: math.ceil(len(findings) * share)]
    return [findings[at] for at in sorted(best)]


def _with_text(
    passages: Sequence[SourcePassage], findings: Collection[int], about: str, limit: int
) -> set[int]:
    words = set(tokens(about))

    def rank(passage: SourcePassage) -> tuple[bool, int]:
        return passage.chunk_id not in findings, -len(words.intersection(tokens(passage.text)))

    chosen: set[int] = set()
    for passage in sorted(passages, key=rank):
        limit -= tokens_of(harmless(passage.text))
        if limit < 0:
            break
        chosen.add(passage.chunk_id)
    return chosen
