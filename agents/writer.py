"""The writer: sections in parallel, each from its own evidence; a revision touches only what it must."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput

from agents.analyst import plain_heading
from agents.call import RETRIES, ask
from agents.citations import cited_ids, normalised, unknown_ids
from agents.contracts import (
    AnalysisResult,
    DraftResult,
    DraftSection,
    OutlineSection,
    ResearchResult,
    ReviewResult,
)
from agents.desk import AgentProgress, Desk, StandingRequest
from agents.evidence import evidence, issue, outline, requests_of_people
from agents.prompt import element, instructions, prompt, restored, tag, topic_and_language
from agents.revision import Revision, plan_revision
from agents.section_text import without_headings
from agents.wire import FrontAnswer, SectionAnswer
from knowledge.language import Language

_TEXTS = 12_000  # characters of passages that the writer of a section gets


@dataclass(frozen=True)
class _SectionRules:
    allowed_ids: frozenset[str]


_front_writer = Agent(
    name="front",
    instructions=instructions("front"),
    output_type=ToolOutput(FrontAnswer, name="return_front", strict=True),
    retries={"output": RETRIES},
)
_section_writer = Agent(
    name="section",
    instructions=instructions("section"),
    deps_type=_SectionRules,
    output_type=ToolOutput(SectionAnswer, name="return_section", strict=True),
    retries={"output": RETRIES},
)

_UNCITED: dict[Language, str] = {
    "en": "Section {number} was to rest on {ids} too and does not cite it.",
    "zh": "第 {number} 节原定也依据 {ids}，但正文没有引用。",
    "ja": "第{number}節は {ids} にも基づく予定でしたが、本文では引用していません。",
}


@_front_writer.output_validator
def _has_a_title(answer: FrontAnswer) -> FrontAnswer:
    if not plain_heading(answer.title):
        raise ModelRetry("The title is empty. Give one.")
    return answer


@_section_writer.output_validator
def _cites_what_it_was_given(ctx: RunContext[_SectionRules], answer: SectionAnswer) -> SectionAnswer:
    if not without_headings(answer.content):
        raise ModelRetry("The section is empty. Write it; where evidence is missing, say what is missing.")
    if unknown := unknown_ids(answer.content, ctx.deps.allowed_ids):
        allowed = ", ".join(sorted(ctx.deps.allowed_ids)) or "none: this section has no source"
        raise ModelRetry(
            f"The section cites {', '.join(unknown)}, which is not in its evidence. Cite only {allowed}; "
            "leave out what they do not say."
        )
    return answer


@dataclass(frozen=True)
class _Article:
    """What every call about one article has in common."""

    topic: str
    language: Language
    research: ResearchResult
    outline: Sequence[OutlineSection]
    requests: Sequence[StandingRequest]
    desk: Desk


async def write_draft(
    topic: str,
    language: Language,
    research: ResearchResult,
    analysis: AnalysisResult,
    *,
    requests: Sequence[StandingRequest],
    desk: Desk,
) -> DraftResult:
    """The first draft: title and all sections at once, headings from the outline. Raises AgentError."""
    article = _Article(topic, language, research, analysis.outline, requests, desk)
    plan = Revision.of_new(analysis.outline)
    front, sections = await asyncio.gather(_front(article), _sections(article, plan, None))
    return _joined(article, front, [*sections], [])


async def revise_draft(
    topic: str,
    language: Language,
    research: ResearchResult,
    analysis: AnalysisResult,
    draft: DraftResult,
    *,
    requests: Sequence[StandingRequest],
    review: ReviewResult | None,
    desk: Desk,
) -> DraftResult:
    """The next draft: requests without an outcome are carried out, other sections stay byte for byte.

    A bare request, or none at all, means the issues of the review. Raises AgentError.
    """
    plan = await plan_revision(
        topic, language, research, analysis, draft, requests=requests, review=review, desk=desk
    )
    article = _Article(topic, language, research, plan.outline, requests, desk)
    kept = FrontAnswer(
        title=draft.title, description=draft.description, tags=draft.tags, categories=draft.categories
    )
    front, sections = await asyncio.gather(
        _front(article) if plan.rewrite_title else _nothing_to_do(kept), _sections(article, plan, review)
    )
    return _joined(article, front, sections, plan.notes)
