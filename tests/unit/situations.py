"""Articles in the situations that the tests of the rules speak of."""

from dataclasses import replace
from datetime import UTC, datetime

from bot.decisions import Seen
from knowledge.article import Action, Article, ArticleError, Decision, Mode, On, Status

NOW = datetime(2026, 11, 30, tzinfo=UTC)
OUTLINE = {"outline": [{"heading": "A"}, {"heading": "B"}, {"heading": "C"}], "missing_evidence": ["latency"]}
DRAFT = {"sections": [{"heading": "A"}, {"heading": "B"}]}
ISSUE = {"severity": "high", "description": "the unit is missing", "suggested_fix": "say MiB", "section": "A"}
REVIEW = {"decision": "revise", "issues": [ISSUE]}


def decision(
    on: On, action: Action, by: str, version: int, *, text: str = "", waiting: bool = False
) -> Decision:
    return Decision(1, on, action, text, None, by, version, NOW, "waiting" if waiting else "done", None)


def make(status: Status, *, draft_phase: bool = False, mode: Mode = Mode.SUPERVISED) -> Article:
    """An article on its way: outline 2 or, in its draft phase, draft 3 were the last that people saw."""
    return Article(
        id=12,
        topic="Go 后端为什么应该从 MD5 迁移到 Argon2id？",
        language="zh",
        mode=mode,
        status=status,
        moves=7,
        heard=2,
        team_id="T1",
        channel_id="C1",
        thread_ts="1.0",
        permalink=None,
        requested_by="UANA",
        outline_version=2,
        version=3 if draft_phase else 0,
        research={},
        analysis=OUTLINE,
        draft=DRAFT if draft_phase else None,
        review=REVIEW if draft_phase else None,
        review_count=1,
        research_rounds=0,
        approved_by=None,
        stopped_by=None,
        error=None,
        usage={},
        created_at=NOW,
        updated_at=NOW,
    )


def failed_in(leg: Status, *, draft_phase: bool = False) -> Article:
    return replace(make(Status.FAILED, draft_phase=draft_phase), error=ArticleError(leg, "unexpected", "…"))


SITUATIONS = {
    "researching": make(Status.RESEARCHING),
    "outlining": make(Status.OUTLINING),
    "at the outline": make(Status.AWAITING_OUTLINE),
    "writing": make(Status.WRITING),
    "reviewing the first draft": replace(make(Status.REVIEWING), draft=DRAFT),
    "at the draft": make(Status.AWAITING_APPROVAL, draft_phase=True),
    "revising": make(Status.REVISING, draft_phase=True),
    "researching for a draft": make(Status.RESEARCHING, draft_phase=True),
    "outlining for a draft": make(Status.OUTLINING, draft_phase=True),
    "publishing": make(Status.PUBLISHING, draft_phase=True),
    "at a draft, the budget used up": replace(
        make(Status.AWAITING_APPROVAL, draft_phase=True),
        stopped_by="budget",
        error=ArticleError(Status.REVISING, "budget", "…"),
    ),
    "published": make(Status.PUBLISHED, draft_phase=True),
    "cancelled": make(Status.CANCELLED, draft_phase=True),
    "failed while outlining": failed_in(Status.OUTLINING),
    "failed at the outline": failed_in(Status.AWAITING_OUTLINE),
    "failed while publishing": failed_in(Status.PUBLISHING, draft_phase=True),
}


def current(article: Article) -> Seen:
    """The newest outline or draft that was shown."""
    return Seen("draft", article.version) if article.version else Seen("outline", article.outline_version)
