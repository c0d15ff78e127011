"""How a leg can end, as the change that is written then."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from agents.contracts import AnalysisResult, DraftResult, ResearchResult, ReviewResult
from agents.desk import Trimmed
from agents.errors import UNUSABLE
from bot import announcements
from bot.article_file import to_markdown, word_count
from bot.fitting import shorten
from bot.layouts import section_mark
from bot.texts import failure
from knowledge.article import Article, ArticleError, Status
from knowledge.changes import Change, NewVersion, Outgoing

OUTCOME_CHARACTERS = 1_000


def showing(
    shown: Article,
    draft: DraftResult,
    evidence: ResearchResult,
    *,
    review: ReviewResult | None,
    before: DraftResult | None,
) -> Change:
    """The draft that `shown.version` counts goes into the thread: its file, then what people decide on."""
    markdown = to_markdown(draft, evidence.sources, language=shown.language, on=datetime.now(UTC).date())
    asks = shown.status is Status.AWAITING_APPROVAL
    return Change(
        shown,
        why="",
        version=NewVersion(shown.version, draft.model_dump(mode="json"), markdown, word_count(draft.content)),
        messages=[
            announcements.draft_file(shown, draft, markdown),
            announcements.draft(shown, draft, review, previous=before, asks=asks),
        ],
    )


def published(article: Article, draft: DraftResult, review: ReviewResult | None, *, link: str) -> Outgoing:
    """What the thread is told: `link` leads to the file, and what was open when it was approved is named."""
    params: dict[str, str | int] = {
        "version": article.version,
        "words": word_count(draft.content),
        "sources": len(draft.used_source_ids),
        "by": article.approved_by or "",
        "link": link,
    }
    open_issues = [issue for issue in review.issues if issue.severity == "high"] if review else []
    text_key = "published"
    if open_issues:
        text_key = "published_over"
        headings = [section.heading for section in draft.sections]
        params["issues"] = "\n".join(
            f"🔴 {section_mark(issue.section, headings)}{issue.description}" for issue in open_issues
        )
    return announcements.note(article, f"published:{article.version}", text_key, params)


def trimmed(article: Article, left_out: Sequence[Trimmed]) -> list[Outgoing]:
    """What people read when a model could not read all the evidence of a leg at once."""
    if not left_out:
        return []
    least = min(left_out, key=lambda one: one.share)
    params: dict[str, str | int] = {
        "model": least.model,
        "percent": math.ceil(least.share * 100),
        "leg": article.status,
    }
    return [announcements.note(article, f"trimmed:{article.moves}", "evidence_trimmed", params)]


def failed(article: Article, code: str, facts: Mapping[str, str]) -> Change:
    """The article stops where it is, and the thread is told why and what to do."""
    message = failure(article.language, code, facts)
    after = replace(article, status=Status.FAILED, error=ArticleError(article.status, code, message))
    # What Slack said, or the raw answer of a model that could not be used, is kept in the history.
    why = "\n".join([code, *(facts[name] for name in ("code", "answer") if name in facts)])
    note = announcements.note(after, f"failed:{article.moves}", "failed", {"message": message})
    return Change(after, why=why, messages=[note], forget=_to_be_made_anew(code, facts))


def _to_be_made_anew(code: str, facts: Mapping[str, str]) -> str | None:
    """The step whose answers Retry must not get once more: they were no good, or there may be better."""
    if code in UNUSABLE:
        return facts.get("step", "")
    # What an unforeseen fault comes of is not known, and it must not come again and again.
    return "" if code in ("nothing_found", "unexpected") else None


def outcome(notes: Sequence[str]) -> str:
    """What became of a request: it goes with every later call, and a model may write pages of notes."""
    return shorten(" ".join(notes), OUTCOME_CHARACTERS)


def untold(analysis: AnalysisResult | None, shown: Mapping[str, Any] | None) -> list[str]:
    """Notes on an outline that nobody has seen, since requests that were kept changed it at once.

    `shown` is the message of the outline that people saw last.
    """
    notes = [] if analysis is None else analysis.notes
    return [note for note in notes if shown is None or note not in shown["notes"]]
