"""Which sections a revision touches: a plan by the model, held to what was asked by code."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.citations import cited_ids
from agents.contracts import (
    AnalysisResult,
    DraftResult,
    DraftSection,
    OutlineSection,
    ResearchResult,
    ReviewIssue,
    ReviewResult,
)
from agents.desk import Desk, StandingRequest
from agents.evidence import evidence, issue, outline, requests_of_people
from agents.headings import plain_heading
from agents.prompt import element, prompt, restored, tag, topic_and_language
from agents.stage import Stage, answer_of
from agents.wire import PlanAnswer, PlannedSectionAnswer
from knowledge.language import Language


@dataclass(frozen=True)
class PlannedSection:
    """A section of the next draft. `before` is it in the last one, None if it is new."""

    outline: OutlineSection
    before: DraftSection | None
    change: str | None  # what its writer is to do; None = it stays byte for byte, if there is a `before`

    @property
    def kept(self) -> DraftSection | None:
        """It in the last draft, if it stays as it is."""
        return self.before if self.change is None else None


@dataclass(frozen=True)
class Revision:
    """The sections of the next draft in order.

    `issues` are those of the last review; they are to be mended if `mends`, otherwise they are known.
    """

    sections: list[PlannedSection]
    rewrite_title: bool
    issues: list[ReviewIssue]
    mends: bool
    notes: list[str]


@dataclass(frozen=True)
class _Rules:
    count: int
    headings: frozenset[str]  # of the draft, in lower case
    known_ids: frozenset[str]


def _broken_rules(rules: _Rules, answer: PlanAnswer) -> list[str]:
    wrong = []
    numbers = [section.number for section in answer.sections if section.number is not None]
    headings = [plain_heading(section.heading).casefold() for section in answer.sections]
    if not answer.sections:
        wrong.append("At least one section has to stay.")
    # A null number is a new section; one that a model forgot would have the section written from nothing.
    for section in answer.sections:
        if section.number is None and plain_heading(section.heading).casefold() in rules.headings:
            wrong.append(f'"{section.heading}" is in the draft: give its number.')
    if strange := sorted({number for number in numbers if not 1 <= number <= rules.count}):
        wrong.append(f"The draft has sections 1 to {rules.count}; there is no {strange}.")
    if len(set(numbers)) < len(numbers):
        wrong.append("A section of the draft may stand in the plan once.")
    if not all(headings) or len(set(headings)) < len(headings):
        wrong.append("Each section needs a heading of its own.")
    named = {source_id for section in answer.sections for source_id in section.source_ids}
    if unknown := sorted(named - rules.known_ids):
        wrong.append(f"There is no source {', '.join(unknown)}.")
    return wrong


_PLANNER = Stage("planner", PlanAnswer, "return_plan", _broken_rules)


async def plan_revision(
    topic: str,
    language: Language,
    research: ResearchResult,
    analysis: AnalysisResult,
    draft: DraftResult,
    *,
    requests: Sequence[StandingRequest],
    review: ReviewResult | None,
    desk: Desk,
) -> Revision:
    """What changes and what stays. Raises AgentError.

    A request for a section by number touches that section alone, whatever the model plans.
    """
    pending = [request for request in requests if request.outcome is None and request.on == "draft"]
    mends = not pending or any(not request.text for request in pending)
    issues = list(review.issues) if review else []
    headings = [section.heading for section in draft.sections]
    wishes = "\n".join([topic, *(request.text for request in pending)])
    answer = await answer_of(
        _PLANNER,
        lambda share: prompt(
            [
                topic_and_language(topic, language),
                outline(analysis.outline),
                evidence(research, about=wishes, share=share),
                element(
                    "draft",
                    tag("title", draft.title),
                    *(
                        element(
                            "section",
                            tag("heading", section.heading),
                            tag("content", section.content),
                            number=number,
                        )
                        for number, section in enumerate(draft.sections, start=1)
                    ),
                ),
                *(issue(found, headings, "now" if mends else "open") for found in issues),
                *requests_of_people(requests),
            ]
        ),
        model=desk.models.writer,
        deps=_Rules(
            len(draft.sections),
            frozenset(heading.casefold() for heading in headings),
            frozenset(source.id for source in research.sources),
        ),
        desk=desk,
        step="plan",
    )
    notes = [restored(note) for note in answer.notes if note.strip()]
    to_mend = issues if mends else []
    sections = _held_to_requests(answer.sections, pending, to_mend, headings, explained=bool(notes))
    known = {section.heading: section for section in analysis.outline}
    return Revision(
        sections=[_planned(section, draft, known) for section in sections],
        rewrite_title=answer.rewrite_title,
        issues=issues,
        mends=mends,
        notes=notes,
    )


def _held_to_requests(
    sections: list[PlannedSectionAnswer],
    pending: Sequence[StandingRequest],
    issues: Sequence[ReviewIssue],
    headings: Sequence[str],
    *,
    explained: bool,
) -> list[PlannedSectionAnswer]:
    """The plan, with what was asked of a section by number asked of it, and of no other."""
    asked: dict[int, list[str]] = {}
    for request in pending:
        if request.text and request.section is not None and request.section <= len(headings):
            asked.setdefault(request.section, []).append(request.text)
    if asked and not issues and all(request.section is not None for request in pending):
        sections = _others_unchanged(sections, asked, headings)
    for found in issues:
        if found.section in headings:
            asked.setdefault(headings.index(found.section) + 1, []).append(found.suggested_fix)
    touched = _touched(sections, headings)
    for at, section in enumerate(sections):
        if section.number in asked and section.number not in touched:
            sections[at] = section.model_copy(update={"change": "\n".join(asked[section.number])})
    general = [request.text for request in pending if request.text and request.section is None]
    if general and not asked and not touched and not explained:
        sections = [section.model_copy(update={"change": "\n".join(general)}) for section in sections]
    return sections


def _others_unchanged(
    sections: Sequence[PlannedSectionAnswer], asked: Collection[int], headings: Sequence[str]
) -> list[PlannedSectionAnswer]:
    """Sections that nobody asked about: each there, in its order, with its heading and text."""
    kept = [
        section if section.number in asked else _as_it_is(section.number, headings)
        for section in sections
        if section.number is not None
    ]
    present = {section.number for section in kept}
    for number in range(1, len(headings) + 1):
        if number not in present and number not in asked:
            before = [at for at, section in enumerate(kept) if (section.number or 0) < number]
            kept.insert(before[-1] + 1 if before else 0, _as_it_is(number, headings))
    return kept


def _as_it_is(number: int, headings: Sequence[str]) -> PlannedSectionAnswer:
    return PlannedSectionAnswer(number=number, heading=headings[number - 1], change=None, source_ids=[])


def _touched(sections: Sequence[PlannedSectionAnswer], headings: Sequence[str]) -> set[int]:
    """The numbers of sections that the plan drops, moves, renames or has rewritten; new ones count as 0."""
    touched = set(range(1, len(headings) + 1)) - {section.number for section in sections}
    for at, section in enumerate(sections, start=1):
        number = section.number or 0
        if number != at or section.change is not None or section.heading != headings[number - 1]:
            touched.add(number)
    return touched


def _planned(
    answer: PlannedSectionAnswer, draft: DraftResult, known: Mapping[str, OutlineSection]
) -> PlannedSection:
    before = None if answer.number is None else draft.sections[answer.number - 1]
    heading = plain_heading(restored(answer.heading))
    origin = known.get(before.heading if before else heading)
    source_ids = {
        *answer.source_ids,
        *(origin.source_ids if origin else []),
        *(cited_ids(before.content, draft.used_source_ids) if before else []),
    }
    change = None if answer.change is None else restored(answer.change.strip()) or None
    return PlannedSection(
        outline=OutlineSection(
            heading=heading,
            description=origin.description if origin else change or "",
            source_ids=sorted(source_ids, key=lambda source_id: int(source_id[1:])),
        ),
        before=before,
        change=change,
    )
