"""From an article to the messages about it: pure, and the keys that make each of them one message."""

import difflib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from agents.citations import cited_ids
from agents.contracts import AnalysisResult, DraftResult, ResearchResult, ReviewResult
from bot.article_file import filename, word_count, words
from bot.messages import (
    Decided,
    DraftMessage,
    FileMessage,
    NoteMessage,
    OutlineMessage,
    Progress,
    Related,
    SectionSummary,
    SourceMessage,
    StatusMessage,
)
from knowledge.article import Article, On, Status
from knowledge.changes import Outgoing
from knowledge.similar import SimilarArticle

NO_PROGRESS = Progress()


def waits_for(article: Article) -> tuple[On, int]:
    """What an article at a gate asks people to decide on."""
    if article.status is Status.AWAITING_OUTLINE:
        return "outline", article.outline_version
    return "draft", article.version


def gate_key(article: Article, on: On, version: int) -> str:
    return f"article:{article.id}:{on}:{version}"


def status(article: Article, *, max_reviews: int, progress: Progress = NO_PROGRESS) -> Outgoing:
    """The article's one message in its channel; the same key again edits it."""
    review = None if article.review is None else ReviewResult.model_validate(article.review)
    draft = None if article.draft is None else DraftResult.model_validate(article.draft)
    message = StatusMessage(
        article_id=article.id,
        language=article.language,
        topic=article.topic,
        requested_by=article.requested_by,
        mode=article.mode,
        status=article.status,
        moves=article.moves,
        outline_version=article.outline_version,
        version=article.version,
        progress=progress,
        elapsed_seconds=int((datetime.now(UTC) - article.updated_at).total_seconds()),
        review_number=article.review_count,
        max_reviews=max_reviews,
        review_decision=None if review is None else review.decision,
        review_score=None if review is None else review.score,
        link_to=_link_to(article),
        words=0 if draft is None else word_count(draft.content),
        sources=0 if draft is None else len(draft.used_source_ids),
        tokens=article.usage["input_tokens"] + article.usage["output_tokens"],
        cost_usd=article.usage["cost_usd"],
        approved_by=article.approved_by,
        error=None if article.error is None else article.error.message,
    )
    return Outgoing(f"article:{article.id}:status", message.model_dump(mode="json"))


def _link_to(article: Article) -> str | None:
    """What the status message leads to: what waits for a decision, or what was published."""
    match article.status:
        case Status.AWAITING_OUTLINE | Status.AWAITING_APPROVAL:
            return gate_key(article, *waits_for(article))
        case Status.PUBLISHED:
            return file_key(article)
        case _:
            return None


def outline(
    article: Article,
    analysis: AnalysisResult,
    research: ResearchResult,
    *,
    published: Sequence[SimilarArticle],
    asks: bool,
) -> Outgoing:
    """The outline that `article.outline_version` counts."""
    named = {source_id for section in analysis.outline for source_id in section.source_ids}
    message = OutlineMessage(
        article_id=article.id,
        language=article.language,
        version=article.outline_version,
        sections=analysis.outline,
        missing_evidence=analysis.missing_evidence,
        sources=[source for source in research.sources if source.id in named],
        notes=analysis.notes,
        published=[Related(title=one.title, link=one.permalink or "") for one in published],
        asks=asks,
        decided=None,
    )
    return Outgoing(
        gate_key(article, "outline", article.outline_version),
        message.model_dump(mode="json"),
        on="outline",
        version=article.outline_version,
    )


def draft_file(article: Article, draft: DraftResult, markdown: str) -> Outgoing:
    message = FileMessage(
        article_id=article.id,
        language=article.language,
        version=article.version,
        filename=filename(draft.title, article.id),
        title=draft.title,
        content=markdown,
    )
    return Outgoing(file_key(article), message.model_dump(mode="json"))


def file_key(article: Article) -> str:
    return f"article:{article.id}:file:{article.version}"


def draft(
    article: Article,
    draft: DraftResult,
    review: ReviewResult | None,
    *,
    previous: DraftResult | None,
    asks: bool,
) -> Outgoing:
    """The draft that `article.version` counts, with its review; changes are told against `previous`."""
    message = DraftMessage(
        article_id=article.id,
        language=article.language,
        version=article.version,
        title=draft.title,
        description=draft.description,
        words=word_count(draft.content),
        sections=_section_summaries(draft, previous),
        changed_since=None if previous is None else article.version - 1,
        rearranged=previous is not None and _headings(previous) != _headings(draft),
        notes=draft.notes,
        review=review,
        asks=asks,
        decided=None,
        stopped_by=article.stopped_by,
    )
    return Outgoing(
        gate_key(article, "draft", article.version),
        message.model_dump(mode="json"),
        on="draft",
        version=article.version,
    )


def asked_again(article: Article, stored: dict[str, Any]) -> Outgoing:
    """The draft that was decided on is to be decided on once more: its message gets its buttons back."""
    message = DraftMessage.model_validate(stored)
    message = message.model_copy(update={"decided": None, "asks": True, "stopped_by": article.stopped_by})
    return Outgoing(
        gate_key(article, "draft", article.version),
        message.model_dump(mode="json"),
        on="draft",
        version=article.version,
    )


def decided(message: OutlineMessage | DraftMessage, by: Decided) -> OutlineMessage | DraftMessage:
    """The same message once somebody has decided: who did takes the place of the buttons."""
    return message.model_copy(update={"decided": by, "asks": False})


def note(
    article: Article, key: str, text_key: str, params: dict[str, str | int], *, to: str | None = None
) -> Outgoing:
    """A sentence in the thread, or to one person alone."""
    message = NoteMessage(
        article_id=article.id, language=article.language, key=text_key, params=params, to=to
    )
    return Outgoing(f"article:{article.id}:note:{key}", message.model_dump(mode="json"))


def source_key(article_id: int, document_id: int) -> str:
    return f"article:{article_id}:source:{document_id}"


def source(message: SourceMessage) -> Outgoing:
    """What the thread is told of a file that was shared in it; the same document again edits it."""
    return Outgoing(source_key(message.article_id, message.document_id), message.model_dump(mode="json"))


def _headings(draft: DraftResult) -> list[str]:
    return [section.heading for section in draft.sections]


def _section_summaries(draft: DraftResult, previous: DraftResult | None) -> list[SectionSummary]:
    before = {} if previous is None else {section.heading: section.content for section in previous.sections}
    summaries = []
    for section in draft.sections:
        added, removed = (
            (0, 0) if previous is None else _changed_words(before.get(section.heading, ""), section.content)
        )
        summaries.append(
            SectionSummary(
                heading=section.heading,
                words=word_count(section.content),
                source_ids=cited_ids(section.content, draft.used_source_ids),
                added=added,
                removed=removed,
            )
        )
    return summaries


def _changed_words(old: str, new: str) -> tuple[int, int]:
    """How many words were added and how many removed."""
    added = removed = 0
    matcher = difflib.SequenceMatcher(a=words(old), b=words(new), autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            removed += old_to - old_from
            added += new_to - new_from
    return added, removed
