"""What one transaction writes about an article, as values; and why it may write nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from knowledge.article import Action, Article, Mode, On
from knowledge.language import Language


class Moved(Exception):
    """The article has moved, or somebody has spoken, since it was read: read it again."""


class AlreadyHeard(Exception):
    """This event of Slack has had its effect already."""


class IllegalMove(Exception):
    """A move that the table of states does not allow: a fault in the program, nothing was written."""


@dataclass(frozen=True, slots=True)
class NewArticle:
    topic: str
    language: Language
    mode: Mode
    team_id: str
    channel_id: str
    requested_by: str


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message for the outbox: the same key again with another text is an edit of the same message.

    `on` and `version` mark a message that asks for a decision. `to` is somebody who gets it directly: it is
    not of the article's thread, and goes out also where that cannot be written to.
    """

    key: str
    message: dict[str, Any]
    on: On | None = None
    version: int | None = None
    to: str | None = None


@dataclass(frozen=True, slots=True)
class NewDecision:
    on: On
    action: Action
    text: str
    section: int | None
    by: str
    version: int
    kept: bool = False  # waits for the next gate, instead of being taken at once


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A draft shown for decision, with the file people got."""

    number: int
    draft: dict[str, Any]
    markdown: str
    words: int


@dataclass(frozen=True, slots=True)
class Change:
    """All that one transaction writes.

    `after` is the article as it shall be (`dataclasses.replace` of the one that was read; `moves`, `heard`,
    `thread_ts` and the times are kept by the database). `take` turns waiting requests into taken ones, and
    `settle` ends them, since nothing is left to do; `outcome` ends the taken ones with one sentence. `claims`
    are inbox keys: if one is there already nothing is written. `review` is (version, by, review). A leg that
    fails keeps its journal for Retry, except for the step `forget`, which is to be made anew.
    """

    after: Article
    why: str
    decision: NewDecision | None = None
    take: bool = False
    outcome: str | None = None
    settle: bool = False
    messages: Sequence[Outgoing] = ()
    version: NewVersion | None = None
    review: tuple[int, str, dict[str, Any]] | None = None
    claims: Sequence[str] = ()
    forget: str | None = None
