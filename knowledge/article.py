"""What an article is, the states it passes through, and which state may follow which: pure."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from knowledge.language import Language


class Status(StrEnum):
    """Where an article stands. Two of them wait for people, six are worked on, three are ends."""

    RESEARCHING = "researching"
    OUTLINING = "outlining"
    AWAITING_OUTLINE = "awaiting_outline"
    WRITING = "writing"
    REVIEWING = "reviewing"
    REVISING = "revising"
    AWAITING_APPROVAL = "awaiting_approval"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Mode(StrEnum):
    """Who drives between the outline and the last word: people, or the reviewer."""

    SUPERVISED = "supervised"
    AUTO = "auto"


class Action(StrEnum):
    """What a person may ask of an article, by word, button or modal."""

    APPROVE = "approve"
    REVISE = "revise"
    RESEARCH = "research"
    CANCEL = "cancel"
    RETRY = "retry"
    STATUS = "status"


On = Literal["outline", "draft"]

# At work: one leg, one job.
AT_WORK = frozenset(
    {
        Status.RESEARCHING,
        Status.OUTLINING,
        Status.WRITING,
        Status.REVIEWING,
        Status.REVISING,
        Status.PUBLISHING,
    }
)

_STOPS = frozenset({Status.FAILED, Status.CANCELLED})

# Which state may follow which. `failed` goes back only to the leg that failed, see `may_follow`. Every
# leg that has a draft behind it may end at its gate: the budget is used up, and people have the last word.
FOLLOWS: dict[Status, frozenset[Status]] = {
    Status.RESEARCHING: _STOPS | {Status.OUTLINING, Status.AWAITING_APPROVAL},
    Status.OUTLINING: _STOPS
    | {Status.AWAITING_OUTLINE, Status.RESEARCHING, Status.OUTLINING, Status.REVISING, Status.WRITING}
    | {Status.AWAITING_APPROVAL},
    Status.AWAITING_OUTLINE: _STOPS | {Status.WRITING, Status.OUTLINING, Status.RESEARCHING},
    Status.WRITING: _STOPS | {Status.REVIEWING},
    Status.REVIEWING: _STOPS | {Status.AWAITING_APPROVAL, Status.REVISING, Status.RESEARCHING},
    Status.REVISING: _STOPS | {Status.REVIEWING, Status.AWAITING_APPROVAL},
    Status.AWAITING_APPROVAL: _STOPS | {Status.PUBLISHING, Status.REVISING, Status.RESEARCHING},
    # Past the approval there is no way back but failing to deliver.
    Status.PUBLISHING: frozenset({Status.PUBLISHED, Status.FAILED}),
    Status.PUBLISHED: frozenset({Status.REVISING, Status.RESEARCHING}),
    Status.CANCELLED: frozenset(),
    Status.FAILED: frozenset({Status.CANCELLED}) | AT_WORK,
}


@dataclass(frozen=True, slots=True)
class ArticleError:
    """Why a leg could not end: which, a stable code, and the sentence people were shown.

    Retry starts it anew. The article has failed; or, where only the budget was used up, it waits for a word
    on the draft that there is.
    """

    leg: Status
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person said of an outline or a draft, and how far it has been carried out.

    `state`: `waiting` (kept until the next gate), `taken` (the legs at work carry it out), `done`.
    `outcome`: one sentence on what became of it, once done.
    """

    id: int
    on: On
    action: Action
    text: str
    section: int | None
    by: str
    version: int
    at: datetime
    state: Literal["waiting", "taken", "done"]
    outcome: str | None


@dataclass(frozen=True, slots=True)
class Article:
    """One article as its row says.

    `moves` is the fence: every move adds 1, and a job carries the number it was made for. `heard` counts
    decision rows, so that a leg which ends while somebody speaks notices it. `research`, `analysis`,
    `draft` and `review` are the JSON of `agents.contracts`; `draft` may be one that was not shown yet.
    `version` and `outline_version` count texts shown for decision (0: none yet).
    """

    id: int
    topic: str
    language: Language
    mode: Mode
    status: Status
    moves: int
    heard: int
    team_id: str
    channel_id: str
    thread_ts: str | None
    permalink: str | None
    requested_by: str
    outline_version: int
    version: int
    research: dict[str, Any] | None
    analysis: dict[str, Any] | None
    draft: dict[str, Any] | None
    review: dict[str, Any] | None
    review_count: int
    research_rounds: int
    approved_by: str | None
    stopped_by: str | None
    error: ArticleError | None
    usage: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    decisions: tuple[Decision, ...] = field(default=())

    def is_open_to(self, user_id: str) -> bool:
        """What is made in direct messages is there for who asked for it alone (decision 11)."""
        return not self.channel_id.startswith("D") or self.requested_by == user_id

    @property
    def waiting(self) -> tuple[Decision, ...]:
        """Requests kept until the next gate, oldest first."""
        return tuple(decision for decision in self.decisions if decision.state == "waiting")

    @property
    def taken(self) -> tuple[Decision, ...]:
        """Requests that the legs at work carry out, oldest first."""
        return tuple(decision for decision in self.decisions if decision.state == "taken")


def may_follow(article: Article, to: Status) -> bool:
    """Whether `to` may follow the article's state; a failed one goes back only to where it failed."""
    if article.error is not None and to is article.error.leg:
        return True
    if article.status is Status.FAILED:
        return to is Status.CANCELLED
    return to in FOLLOWS[article.status]
