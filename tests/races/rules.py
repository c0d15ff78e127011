"""The rules of docs/decisions/0008 once more, written from the table and not from the code: what may follow.

An article is seen from outside: its states as the history has them, and what each word may do in each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from knowledge.article import AT_WORK, Action, Mode, On, Status

GATES = (Status.AWAITING_OUTLINE, Status.AWAITING_APPROVAL)


@dataclass(frozen=True, slots=True)
class Text:
    """An outline or a draft that people were shown: what a word is about."""

    on: On
    version: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an article stood at one time."""

    status: Status
    outline: int = 0
    draft: int = 0
    has_draft: bool = False  # written, if not shown yet
    failed_in: Status | None = None
    approved: tuple[Text, ...] = ()  # by people, up to then

    @property
    def current(self) -> Text:
        status = self.failed_in or self.status
        early = status in (Status.RESEARCHING, Status.OUTLINING) and not self.has_draft
        if early or status is Status.AWAITING_OUTLINE:
            return Text("outline", self.outline)
        return Text("draft", self.draft)


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of a word: the article moved, the request was kept, or its author was told something."""

    kind: Literal["moved", "kept", "told"]
    what: str  # the new state, or the key of the text


def walk(history: Sequence[tuple[Status | None, Status]]) -> list[Standing]:
    """Where the article stood after each move; a history that is no walk fails."""
    standings: list[Standing] = []
    for from_, to in history:
        if from_ is None:
            assert not standings
            standings.append(Standing(to))
            continue
        before = standings[-1]
        assert before.status is from_, f"{before.status} was followed by a move from {from_}"
        after = replace(before, status=to, failed_in=from_ if to is Status.FAILED else None)
        match from_, to:
            case Status.OUTLINING, Status.AWAITING_OUTLINE:
                after = replace(after, outline=before.outline + 1)
            case Status.OUTLINING, Status.WRITING:  # in auto mode an outline is shown and nobody is asked
                after = replace(after, outline=before.outline + 1)
            case Status.WRITING, Status.REVIEWING:
                after = replace(after, has_draft=True)
            case Status.REVIEWING, Status.AWAITING_APPROVAL:
                after = replace(after, draft=before.draft + 1)
            case (Status.AWAITING_OUTLINE, Status.WRITING) | (Status.AWAITING_APPROVAL, Status.PUBLISHING):
                after = replace(after, approved=(*before.approved, before.current))
        standings.append(after)
    return standings


def effect(at: Standing, action: Action, seen: Text | None, mode: Mode) -> Effect:
    """What a word does that says all it needs (no bare `revise`), by where the article stands."""
    if action is Action.STATUS:
        return Effect("told", f"line_{at.status}")
    if action is Action.CANCEL:
        return _cancel(at)
    if action is Action.RETRY:
        return _retry(at)
    if action is Action.APPROVE:
        return _approve(at, seen, mode)
    return _request(at, action)


def _cancel(at: Standing) -> Effect:
    match at.status:
        case Status.PUBLISHING:
            return Effect("told", "publishing_now")
        case Status.PUBLISHED:
            return Effect("told", "is_published_what_can_be_done")
        case Status.CANCELLED:
            return Effect("told", "already_cancelled")
        case _:
            return Effect("moved", Status.CANCELLED)


def _retry(at: Standing) -> Effect:
    match at.status:
        case Status.FAILED:
            assert at.failed_in is not None
            return Effect("moved", at.failed_in)
        case Status.PUBLISHING:
            return Effect("told", "publishing_now")
        case Status.PUBLISHED:
            return Effect("told", "is_published_what_can_be_done")
        case Status.CANCELLED:
            return Effect("told", "is_cancelled_what_can_be_done")
        case _:
            return Effect("told", "nothing_to_retry")


def _approve(at: Standing, seen: Text | None, mode: Mode) -> Effect:
    if at.status in GATES:
        if seen is None or seen.on != at.current.on:
            return Effect("told", "not_seen_yet")
        if seen != at.current:
            return Effect("told", "older_version")
        return Effect("moved", Status.WRITING if at.status is Status.AWAITING_OUTLINE else Status.PUBLISHING)
    match at.status:
        case Status.WRITING | Status.PUBLISHING if seen in at.approved:
            return Effect("told", "somebody_faster")
        case Status.PUBLISHING:
            return Effect("told", "publishing_now")
        case Status.FAILED:
            return Effect("told", "is_failed_what_can_be_done")
        case Status.PUBLISHED:
            return Effect("told", "already_published")
        case Status.CANCELLED:
            return Effect("told", "is_cancelled_what_can_be_done")
        case _:
            outline_is_next = at.current.on == "outline" and mode is Mode.SUPERVISED
            return Effect("told", "busy_outline" if outline_is_next else "busy_draft")


def _request(at: Standing, action: Action) -> Effect:
    """`revise: …` and `research: …`."""
    match at.status:
        case Status.PUBLISHING:
            return Effect("told", "publishing_now")
        case Status.FAILED:
            return Effect("told", "is_failed_what_can_be_done")
        case Status.CANCELLED:
            return Effect("told", "is_cancelled_what_can_be_done")
        case Status.PUBLISHED if action is Action.RESEARCH:
            return Effect("told", "is_published_what_can_be_done")
        case Status.PUBLISHED:
            return Effect("moved", Status.REVISING)
        case status if status in AT_WORK:
            return Effect("kept", f"kept_{at.current.on}")
        case _ if action is Action.RESEARCH:
            return Effect("moved", Status.RESEARCHING)
        case _:
            return Effect("moved", Status.OUTLINING if at.current.on == "outline" else Status.REVISING)
