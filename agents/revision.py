"""Which sections a revision touches: a plan by the model, held to what was asked by code."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput

from agents.analyst import plain_heading
from agents.call import RETRIES, ask
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
from agents.prompt import element, instructions, prompt, restored, tag, topic_and_language
from agents.wire import PlanAnswer, PlannedSectionAnswer
from knowledge.language import Language


@dataclass(frozen=True)
class PlannedSection:
    """A section of the next draft. `before` is it in the last one, None if it is new."""

    outline: OutlineSection
    before: DraftSection | None
    change: str | None  # what its writer is to do; None = it stays byte for byte, if there is a `before`

    @property
    def stays(self) -> bool:
        return self.before is not None and self.change is None


@dataclass(frozen=True)
class Revision:
    """The sections of the next draft in order. `issues` are those of the review that are to be mended."""

    sections: list[PlannedSection]
    rewrite_title: bool
    issues: list[ReviewIssue]
    notes: list[str]


@dataclass(frozen=True)
class _Rules:
    count: int
    known_ids: frozenset[str]


_planner = Agent(
    name="planner",
    instructions=instructions("planner"),
    deps_type=_Rules,
    output_type=ToolOutput(PlanAnswer, name="return_plan", strict=True),
    retries={"output": RETRIES},
)


@_planner.output_validator
def _is_a_plan(ctx: RunContext[_Rules], answer: PlanAnswer) -> PlanAnswer:
    wrong = []
    numbers = [section.number for section in answer.sections if section.number is not None]
    headings = [plain_heading(section.heading).casefold() for section in answer.sections]
    if not answer.sections:
        wrong.append("At least one section has to stay.")
    if strange := sorted({number for number in numbers if not 1 <= number <= ctx.deps.count}):
        wrong.append(f"The draft has sections 1 to {ctx.deps.count}; there is no {strange}.")
    if len(set(numbers)) < len(numbers):
        wrong.append("A section of the draft may stand in the plan once.")
    if not all(headings) or len(set(headings)) < len(headings):
        wrong.append("Each section needs a heading of its own.")
    named = {source_id for section in answer.sections for source_id in section.source_ids}
    if unknown := sorted(named - ctx.deps.known_ids):
        wrong.append(f"There is no source {', '.join(unknown)}.")
    if wrong:
        raise ModelRetry("\n".join(wrong))
    return answer


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
    issues = review.issues if review and not any(request.text for request in pending) else []
    issues = issues if not pending or any(not request.text for request in pending) else []
    headings = [section.heading for section in draft.sections]
    answer = await ask(
        _planner,
        prompt(
            [
                topic_and_language(topic, language),
                outline(analysis.outline),
                evidence(research),
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
                *(issue(found, headings) for found in issues),
                *requests_of_people(requests),
            ]
        ),
        model=desk.models.writer,
        deps=_Rules(len(draft.sections), frozenset(source.id for source in research.sources)),
        desk=desk,
        step="plan",
    )
    answer = _held_to_requests(answer, pending, issues, headings)
    known = {section.heading: section for section in analysis.outline}
    return Revision(
        sections=[_planned(section, draft, known) for section in answer.sections],
        rewrite_title=answer.rewrite_title,
        issues=list(issues),
        notes=[restored(note) for note in answer.notes if note.strip()],
    )
