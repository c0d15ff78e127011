"""How the offline model reviews: by rules that need no judgement."""

import re
from collections.abc import Iterator

from agents.citations import cited_ids, without_citations
from agents.contracts import Level
from agents.offline.parts import sections_of
from agents.offline.phrases import phrase
from agents.offline.relevance import terms
from agents.offline.tagged import Element, language_of_request
from agents.offline.wishes import Drop, Rename, wishes
from agents.wire import IssueAnswer, ReviewAnswer
from knowledge.language import Language
from knowledge.sentences import sentences

_FEWEST_SENTENCES = 3
_COSTS: dict[Level, int] = {"high": 20, "medium": 7, "low": 2}
_LONGEST_QUOTE = 80


def review(request: Element) -> ReviewAnswer:
    """Uncited paragraphs, single sources, gaps, missing, sourceless, short and repeated parts."""
    language = language_of_request(request)
    draft = request.one("draft").all("section")
    found = [
        *(issue for section in draft for issue in _of_section(section, language)),
        *_missing(request, language),
        *_repeated(request, language),
        *_gaps(request, language),
    ]
    found.sort(key=lambda issue: -_COSTS[issue.severity])
    kinds = {issue.severity for issue in found}
    paragraphs = [paragraph for section in draft for paragraph in _paragraphs(section.text("content"))]
    feedback = phrase(
        "feedback",
        language,
        cited=sum(bool(cited_ids(paragraph)) for paragraph in paragraphs),
        all=len(paragraphs),
        sources=len({source_id for section in draft for source_id in cited_ids(section.text("content"))}),
    )
    return ReviewAnswer(
        decision="revise" if "high" in kinds else "approve",
        score=max(0, 100 - sum(_COSTS[issue.severity] for issue in found)),
        issues=found[:30],
        feedback=feedback,
    )


def _of_section(section: Element, language: Language) -> Iterator[IssueAnswer]:
    content, number, heading = section.text("content"), section.attributes["number"], section.text("heading")
    cited = cited_ids(content)
    if not cited:
        yield _issue("medium", "no_source", language, number, fix=heading)
        return
    for paragraph in _paragraphs(content):
        if not cited_ids(paragraph) and terms(paragraph):
            yield _issue("high", "uncited", language, number, what=_short(paragraph))
    if len(cited) == 1:
        yield _issue("low", "single", language, number, ids=cited[0])
    if sum(len(sentences(paragraph)) for paragraph in _paragraphs(content)) < _FEWEST_SENTENCES:
        yield _issue("low", "short", language, number, fix=heading)


def _missing(request: Element, language: Language) -> Iterator[IssueAnswer]:
    """Sections of the outline that the draft has not, unless people asked for fewer or other ones."""
    asked = [wish for element in request.all("request") for wish in wishes(element.text("text"))]
    if any(isinstance(wish, Drop | Rename) for wish in asked):
        return
    headings = {section.text("heading").casefold() for section in request.one("draft").all("section")}
    for section in sections_of(request.one("outline")):
        if section.heading.casefold() not in headings:
            yield _issue("high", "missing", language, None, what=section.heading)


def _repeated(request: Element, language: Language) -> Iterator[IssueAnswer]:
    seen: set[str] = set()
    for section in request.one("draft").all("section"):
        for paragraph in _paragraphs(section.text("content")):
            bare = without_citations(paragraph)
            for start, end in sentences(bare):
                sentence = bare[start:end].strip()
                if len(sentence) > 20 and sentence in seen:
                    yield _issue(
                        "medium", "repeated", language, section.attributes["number"], what=_short(sentence)
                    )
                seen.add(sentence)


def _gaps(request: Element, language: Language) -> Iterator[IssueAnswer]:
    for gap in request.all("gap"):
        yield _issue("low", "gap", language, None, what=gap.body.strip())


def _issue(
    severity: Level,
    kind: str,
    language: Language,
    section: str | None,
    *,
    what: str = "",
    ids: str = "",
    fix: str = "",
) -> IssueAnswer:
    return IssueAnswer(
        severity=severity,
        description=phrase(f"issue_{kind}", language, what=what, ids=ids)[:1_200],
        suggested_fix=phrase(f"fix_{kind}", language, what=fix)[:1_200],
        section=section,
    )


def _paragraphs(content: str) -> list[str]:
    """Prose: no code, no headings."""
    prose = re.sub(r"^(`{3,}|~{3,}).*?^\1[`~]*[ \t]*$", "", content, flags=re.DOTALL | re.MULTILINE)
    return [
        paragraph
        for paragraph in re.split(r"\n\s*\n", prose)
        if paragraph.strip() and not paragraph.startswith("#")
    ]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE].rstrip()}…"
