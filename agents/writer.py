"""The writer: sections in parallel, each from its own evidence; a revision touches only what it must."""

import asyncio
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from agents.citations import (
    cited_ids,
    normalised,
    unknown_ids,
    unread,
    without_citations,
    without_definitions,
)
from agents.contracts import AnalysisResult, DraftResult, DraftSection, ResearchResult, ReviewResult
from agents.desk import AgentProgress, Desk, SectionInWork, StandingRequest
from agents.errors import UNUSABLE, AgentError
from agents.evidence import evidence, issue, outline, requests_of_people
from agents.headings import plain_heading, unseen, without_headings
from agents.prompt import element, prompt, restored, tag, topic_and_language
from agents.revision import PlannedSection, Revision, plan_revision
from agents.stage import Stage, answer_of
from agents.wire import FrontAnswer, SectionAnswer
from knowledge.language import Language

log = logging.getLogger(__name__)

_TEXTS = 3_000  # tokens of passages that the writer of a section gets


@dataclass(frozen=True)
class _SectionRules:
    allowed_ids: frozenset[str]


_NO_FRONT: dict[Language, str] = {
    "en": "No usable title page came from the model: title and tags are those of before, or the topic.",
    "zh": "模型没有给出可用的标题页：标题和标签沿用之前的，或用主题代替。",
    "ja": "モデルから使えるタイトルが得られませんでした。以前のもの、または主題を使います。",
}
_UNCITED: dict[Language, str] = {
    "en": "Named in the outline but not cited, by section: {sections}.",
    "zh": "大纲列出但正文未引用的来源（按节）：{sections}。",
    "ja": "構成案にあって本文で引用していない資料（節ごと）：{sections}。",
}


def _broken_front(_: None, answer: FrontAnswer) -> list[str]:
    return [] if plain_heading(answer.title) else ["The title is empty. Give one."]


def _broken_section(rules: _SectionRules, answer: SectionAnswer) -> list[str]:
    if unseen(_content(answer, rules.allowed_ids)):
        return ["The section is empty. Write it; where evidence is missing, say what is missing."]
    if strange := unread(_content(answer, rules.allowed_ids)):
        return [f"{strange[0]} is not read as a citation. Write ids alone into brackets: [S1], or [S1, S2]."]
    if unknown := unknown_ids(_content(answer, rules.allowed_ids), rules.allowed_ids):
        allowed = ", ".join(sorted(rules.allowed_ids)) or "none: this section has no source"
        return [
            f"The section cites {', '.join(unknown)}, which is not in its evidence. Cite only {allowed}; "
            "leave out what they do not say."
        ]
    return []


_FRONT = Stage("front", FrontAnswer, "return_front", _broken_front)
_SECTION = Stage("section", SectionAnswer, "return_section", _broken_section)


@dataclass(frozen=True)
class _Article:
    """What every call about one article has in common."""

    topic: str
    language: Language
    research: ResearchResult
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
    article = _Article(topic, language, research, requests, desk)
    new = [PlannedSection(section, before=None, change=None) for section in analysis.outline]
    return await _carried_out(
        article, Revision(new, rewrite_title=True, issues=[], mends=False, notes=[]), None
    )


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
    return await _carried_out(_Article(topic, language, research, requests, desk), plan, draft)


async def _carried_out(article: _Article, plan: Revision, last: DraftResult | None) -> DraftResult:
    """The draft that a plan describes: what is to be written is written in parallel."""
    to_write = [at for at, section in enumerate(plan.sections) if section.kept is None]
    in_work = {at: SectionInWork(at + 1, plan.sections[at].outline.heading) for at in to_write}

    def tell() -> None:
        done = len(to_write) - len(in_work)
        article.desk.progress(
            AgentProgress(sections_done=done, sections=len(to_write), writing=tuple(in_work.values()))
        )

    async def written(at: int) -> SectionAnswer:
        answer = await _section(article, plan, at)
        del in_work[at]
        tell()
        return answer

    new_front = last is None or plan.rewrite_title or len(plan.sections) < len(last.sections)

    async def new_or_none() -> FrontAnswer | None:
        return await _front(article, plan, last) if new_front else None

    tell()
    front_task = asyncio.create_task(new_or_none())
    tasks = {at: asyncio.create_task(written(at)) for at in to_write}
    # All are waited for, also where one fails: they are paid for, and a journal keeps them for Retry.
    await asyncio.gather(front_task, *tasks.values(), return_exceptions=True)
    written_front = front_task.result()
    answers = {at: task.result() for at, task in tasks.items()}
    sections = []
    notes = list(plan.notes)
    uncited = []
    for at, section in enumerate(plan.sections):
        if section.kept:
            content = section.kept.content
        else:
            content = _content(answers[at], section.outline.source_ids)
            notes += answers[at].notes
            cited = cited_ids(content, section.outline.source_ids)
            if unused := [known for known in section.outline.source_ids if known not in cited]:
                uncited.append(f"{at + 1} ({', '.join(unused)})")
        sections.append(DraftSection(heading=section.outline.heading, content=content))
    if uncited:
        notes.append(_UNCITED[article.language].format(sections=", ".join(uncited)))
    content = "\n\n".join(f"## {section.heading}\n\n{section.content}" for section in sections)
    if new_front and written_front is None:
        notes.append(_NO_FRONT[article.language])
    front: FrontAnswer | DraftResult | None = written_front or last
    known = {source.id for source in article.research.sources}
    return DraftResult(
        title=plain_heading(restored(front.title if front else article.topic)),
        description=" ".join(without_citations(restored(front.description if front else "")).split()),
        tags=_each_once(front.tags if front else []),
        categories=_each_once(front.categories if front else []),
        sections=sections,
        content=content,
        used_source_ids=sorted(
            {cited for section in sections for cited in cited_ids(section.content, known)},
            key=lambda source_id: int(source_id[1:]),
        ),
        notes=_each_once(notes),
    )


async def _front(article: _Article, plan: Revision, last: DraftResult | None) -> FrontAnswer | None:
    """Title, description and tags; None if no model gives any: an article does not fail for want of these."""

    def request(share: float) -> str:
        return prompt(
            [
                topic_and_language(article.topic, article.language),
                outline([section.outline for section in plan.sections]),
                evidence(article.research, about=article.topic, share=share),
                *requests_of_people(article.requests),
                ""
                if last is None
                else element(
                    "previous",
                    tag("title", last.title),
                    tag("description", last.description),
                    tag("tags", ", ".join(last.tags)),
                    tag("categories", ", ".join(last.categories)),
                ),
            ]
        )

    desk = article.desk
    try:
        return await answer_of(_FRONT, request, model=desk.models.writer, deps=None, desk=desk, step="front")
    except AgentError as error:
        if error.code not in UNUSABLE:
            raise
        log.warning("no title page: %s", error)
        return None


async def _section(article: _Article, plan: Revision, at: int) -> SectionAnswer:
    section = plan.sections[at]
    headings = [planned.before.heading if planned.before else "" for planned in plan.sections]
    return await answer_of(
        _SECTION,
        lambda share: prompt(
            [
                topic_and_language(article.topic, article.language),
                outline([planned.outline for planned in plan.sections]),
                element(
                    "section",
                    tag("heading", section.outline.heading),
                    tag("description", section.outline.description),
                    number=at + 1,
                ),
                evidence(
                    article.research,
                    section.outline.source_ids,
                    about=f"{section.outline.heading} {section.outline.description} {section.change or ''}",
                    texts=_TEXTS,
                    share=share,
                ),
                *requests_of_people(article.requests),
                "" if section.before is None else element("previous", tag("content", section.before.content)),
                *(
                    issue(found, headings, "now" if plan.mends else "open")
                    for found in plan.issues
                    if section.before is not None and found.section in (section.before.heading, None)
                ),
                tag("change", section.change) if section.change else "",
            ]
        ),
        model=article.desk.models.writer,
        deps=_SectionRules(frozenset(section.outline.source_ids)),
        desk=article.desk,
        step=f"section:{at + 1}",
    )


def _content(answer: SectionAnswer, known: Collection[str]) -> str:
    return normalised(without_headings(without_definitions(restored(answer.content))), known)


def _each_once(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(restored(line).split()) for line in lines if line.strip()))
