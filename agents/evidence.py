"""How evidence and requests stand in a prompt."""

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


def evidence(
    research: ResearchResult, source_ids: Collection[str] | None = None, *, about: str = "", texts: int = 0
) -> str:
    """Sources with their findings; of all, or of those named.

    `texts` is how many tokens of passages go with them: first those with findings, then the others by the
    words that they share with `about`. A finding whose passage has no room brings its quote instead.
    """
    findings: dict[int, list[Finding]] = {}
    for finding in research.findings:
        findings.setdefault(finding.chunk_id, []).append(finding)
    sources = [source for source in research.sources if source_ids is None or source.id in source_ids]
    named = {source.id for source in sources}
    passages = [passage for passage in research.passages if passage.source_id in named]
    with_text = _with_text(passages, findings, about, texts)
    rendered = []
    for source in sources:
        parts = [
            _passage(passage, findings.get(passage.chunk_id, []), passage.chunk_id in with_text)
            for passage in passages
            if passage.source_id == source.id
            and (passage.chunk_id in findings or passage.chunk_id in with_text)
        ]
        rendered.append(element("source", tag("title", source.title), *parts, id=source.id))
    return element("evidence", *rendered)


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
