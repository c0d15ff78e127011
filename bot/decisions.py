"""What may follow a word, and who may say it: the table of docs/decisions/0008 as pure functions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from bot.replies import NearMiss, Word
from knowledge.article import AT_WORK, Action, Article, Decision, Mode, On, Status
from knowledge.language import Language

Approvers = Literal["anyone", "requester"] | frozenset[str]
Params = Mapping[str, str | int]


class BadApprovers(ValueError):
    """The setting of approvers cannot be read; the sentence says what it may hold."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of the settings; they bind the reviewer and the analyst, never people."""

    max_reviews: int
    max_research_rounds: int


@dataclass(frozen=True, slots=True)
class Person:
    """Who speaks. `groups` are the ids of those user groups among the approvers that the person is in."""

    id: str
    full_member: bool  # not a guest, a bot, or of another workspace
    groups: frozenset[str]
    language: Language = "en"  # that they have set in Slack


@dataclass(frozen=True, slots=True)
class Seen:
    """What stood above the word, or what the button was shown for; `on` is None when nothing did."""

    on: On | None
    version: int


@dataclass(frozen=True, slots=True)
class Move:
    """The article moves to `to`, and the decision is recorded about `version` (0: nothing was shown yet).

    `key` and `params` are a note in the thread, if there is something to say.
    """

    to: Status
    on: On
    version: int
    key: str | None = None
    params: Params = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Keep:
    """Agents are at work: the request waits for `version`, the next one, and the thread is told so."""

    on: On
    version: int
    key: str
    params: Params


@dataclass(frozen=True, slots=True)
class Reply:
    """Nothing changes; that person alone is told. A `link` of "" is for the workflow to fill in."""

    key: str
    params: Params = field(default_factory=dict)


def parse_approvers(setting: str) -> Approvers:
    """`anyone`, `requester`, or ids of users and user groups; an empty list is nobody, never everybody.

    Raises `BadApprovers`.
    """
    names = [name for name in re.split(r"[\s,;，、；]+", setting) if name]
    match [name.casefold() for name in names]:
        case ["anyone"]:
            return "anyone"
        case ["requester"]:
            return "requester"
    for name in names:
        if re.fullmatch("[UWS][A-Z0-9]+", name) is None:
            raise BadApprovers(
                f'"{name}" is no id of a user (U… or W…) or of a user group (S…); '
                "it may be anyone, requester, or such ids with commas between them"
            )
    return frozenset(names)


def may(action: Action, person: Person, article: Article, approvers: Approvers) -> Reply | None:
    """Why this person may not do this, None if they may: the one rule for words, buttons and modals."""
    if action is Action.STATUS:
        return None
    if not person.full_member:
        return Reply("not_full_member")
    approves = is_approver(person, article.requested_by, approvers)
    if action is Action.APPROVE and not approves:
        who = [article.requested_by] if isinstance(approvers, str) else sorted(approvers)
        return Reply("not_approver", {"who": ", ".join(who)}) if who else Reply("no_approvers")
    if action is Action.CANCEL and not approves and person.id != article.requested_by:
        return Reply("not_canceller")
    return None


def is_approver(person: Person, asked_by: str | None, approvers: Approvers) -> bool:
    """Whether a full member decides about what `asked_by` has asked for, or added."""
    if isinstance(approvers, str):
        return approvers == "anyone" or person.id == asked_by
    return person.id in approvers or not person.groups.isdisjoint(approvers)


def decide(article: Article, word: Word, seen: Seen) -> Move | Keep | Reply:
    """What a word does to an article, by the article's state; total, and blind to who said it (see `may`)."""
    if word.action is Action.STATUS:
        return _status(article)
    match article.status:
        case Status.AWAITING_OUTLINE | Status.AWAITING_APPROVAL:
            return _at_gate(article, word, seen)
        case Status.PUBLISHING:
            return _while_publishing(article, word, seen)
        case Status.FAILED:
            return _when_failed(article, word)
        case Status.PUBLISHED:
            return _when_published(article, word, seen)
        case Status.CANCELLED:
            cancel = word.action is Action.CANCEL
            return Reply("already_cancelled" if cancel else "is_cancelled_what_can_be_done")
        case _:
            return _while_at_work(article, word, seen)


def carry_on(article: Article) -> Status | None:
    """Where requests that were kept lead at the end of a leg, instead of asking people; None = ask them.

    Only the legs that end at a gate take them up; in between they go on waiting. A bare one was kept for the
    review that `article` now has: where that asks for nothing there is nothing to do.
    """
    on = _phase(article, article.status)
    gate_is_next = article.status is (Status.OUTLINING if on == "outline" else Status.REVIEWING)
    to_do = [decision for decision in article.waiting if _goes_by_something(article, decision)]
    if not gate_is_next or not to_do:
        return None
    if any(decision.action is Action.RESEARCH for decision in to_do):
        return Status.RESEARCHING
    return Status.OUTLINING if on == "outline" else Status.REVISING


def after_outline(article: Article, *, lacks_evidence: bool, limits: Limits) -> Status:
    """Where an outline leads that nobody has asked to change; `lacks_evidence`: the analyst asks for more.

    It gets one more round before the outline is shown, while rounds are left; then the gaps stand beside it.
    """
    if article.draft is not None:
        return Status.REVISING  # new evidence for a draft: no second gate
    first = article.analysis is None
    if lacks_evidence and first and not article.taken and _rounds_left(article, limits):
        return Status.RESEARCHING
    return Status.WRITING if article.mode is Mode.AUTO else Status.AWAITING_OUTLINE


def after_review(article: Article, decision: str, limits: Limits) -> tuple[Status, str | None]:
    """Where a review leads that `article.review_count` counts already, and the cap that stopped the loop.

    Supervised: people decide. Auto: the reviewer, up to the caps; with no research left it revises with the
    evidence at hand.
    """
    if article.mode is Mode.SUPERVISED or decision == "approve":
        return Status.AWAITING_APPROVAL, None
    research = decision == "research"
    if article.review_count >= limits.max_reviews:
        used_up = research and not _rounds_left(article, limits)
        return Status.AWAITING_APPROVAL, "max_research_rounds" if used_up else "max_reviews"
    return (Status.RESEARCHING if research and _rounds_left(article, limits) else Status.REVISING), None


def research_used_up(article: Article, limits: Limits) -> bool:
    """Whether a revision is what became of a reviewer's wish for research, for want of rounds."""
    wanted = article.review is not None and article.review["decision"] == "research"
    return wanted and article.mode is Mode.AUTO and not article.taken and not _rounds_left(article, limits)


def near_miss(article: Article, miss: NearMiss) -> Reply | None:
    """The word to use, told where that word would do something; None = talk, left alone."""
    on, version = _current(article)
    at_gate = article.status in (Status.AWAITING_OUTLINE, Status.AWAITING_APPROVAL)
    if miss.courtesy:
        return Reply("thanks_use_word", {"on": on, "version": version}) if at_gate else None
    if isinstance(decide(article, Word(miss.meant, miss.said, None), Seen(on, version)), Reply):
        return None
    if miss.meant is Action.APPROVE:
        told: Params = {"word": str(miss.meant), "on": on, "version": version, "said": miss.said}
        return Reply("near_miss", told)
    return Reply(f"near_miss_{miss.meant}", {"said": miss.said})


def missing_evidence(article: Article) -> list[str]:
    """What a bare `research` looks for: what a draft's reviewer asks for, else what the outline lacks.

    Of a review that asks for research that is what its high issues say: writing can mend the others.
    """
    review, lacking = article.review, (article.analysis or {}).get("missing_evidence", [])
    if review is not None and (review["decision"] == "research" or not lacking):
        issues = review["issues"]
        high = [issue for issue in issues if issue["severity"] == "high"]
        return [f"{issue['description']} {issue['suggested_fix']}".strip() for issue in high or issues]
    return list(lacking)


def _goes_by_something(article: Article, decision: Decision) -> bool:
    """Whether a request says what it wants, or the review does."""
    if decision.text:
        return True
    if decision.action is Action.RESEARCH:
        return bool(missing_evidence(article))
    return article.review is not None and bool(article.review["issues"])


def _at_gate(article: Article, word: Word, seen: Seen) -> Move | Reply:
    on, version = _current(article)
    match word.action:
        case Action.APPROVE if seen.on != on:
            return Reply("not_seen_yet", {"on": on, "version": version, "link": ""})
        case Action.APPROVE if seen.version != version:
            return Reply("older_version", {"on": on, "seen": seen.version, "current": version, "link": ""})
        case Action.APPROVE:
            return Move(Status.WRITING if on == "outline" else Status.PUBLISHING, on, version)
        case Action.REVISE:
            issues = article.review["issues"] if on == "draft" and article.review else []
            if not word.text and (word.section is not None or not issues):
                return Reply("what_should_change", {"on": on})
            move = _revise(article, word, seen)
            if isinstance(move, Move) and _research_is_due(article):
                return replace(move, to=Status.RESEARCHING)
            return move
        case Action.RESEARCH:
            if not word.text and not missing_evidence(article):
                return Reply("what_to_research")
            note = _note(article, seen, word.text, "research_taken", {})
            return Move(Status.RESEARCHING, on, version, *note)
        case Action.CANCEL:
            return Move(Status.CANCELLED, on, version, "cancelled_kept")
        case _ if article.error is not None:  # the budget was used up, and has been raised since, perhaps
            return _retry(article.error.leg, on, version)
        case _:
            return Reply("nothing_to_retry")


def _research_is_due(article: Article) -> bool:
    """At a gate that is there since the budget was used up: whether people's questions are still to be
    looked into, since they wait or were taken and not reached. They and the request are one.
    """
    stopped_in_research = article.error is not None and article.error.leg is Status.RESEARCHING
    still_open = [*article.waiting, *(article.taken if stopped_in_research else ())]
    return any(decision.action is Action.RESEARCH for decision in still_open)


def _while_at_work(article: Article, word: Word, seen: Seen) -> Move | Keep | Reply:
    on, version = _current(article)
    following = version + 1
    match word.action:
        case Action.APPROVE if article.status is Status.WRITING and (by := _approved(article, seen)):
            return _faster(by, seen)
        case Action.APPROVE if on == "outline" and article.mode is Mode.SUPERVISED:
            return Reply("busy_outline", {"version": following})
        case Action.APPROVE:
            return Reply("busy_draft", {"version": article.version + 1})
        case Action.REVISE if not word.text and (on == "outline" or word.section is not None):
            return Reply("what_should_change", {"on": on})
        case Action.RESEARCH if not word.text and on == "outline":
            return Reply("what_to_research")
        case Action.REVISE if not word.text and article.taken and (seen.on, seen.version) == (on, version):
            # The review of the very draft that is being revised: a second click on the same button.
            return Reply("busy_draft", {"version": following})
        case Action.REVISE | Action.RESEARCH:
            kept = Keep(on, following, f"kept_{on}", {"version": following, "text": word.text})
            return _no_such_section(article, word) or kept
        case Action.CANCEL:
            return Move(Status.CANCELLED, on, version, "cancelled_kept")
        case _:
            return Reply("nothing_to_retry")


def _while_publishing(article: Article, word: Word, seen: Seen) -> Reply:
    if word.action is Action.APPROVE and (by := _approved(article, seen)):
        return _faster(by, seen)
    return Reply("publishing_now")


def _when_failed(article: Article, word: Word) -> Move | Reply:
    on, version = _current(article)
    if word.action is Action.CANCEL:
        return Move(Status.CANCELLED, on, version, "cancelled_kept")
    if word.action is Action.RETRY and article.error is not None:
        return _retry(article.error.leg, on, version)
    return Reply("is_failed_what_can_be_done")


def _retry(leg: Status, on: On, version: int) -> Move:
    if leg not in AT_WORK:  # a gate whose message Slack refused: the message, sent again, says it all
        return Move(leg, on, version)
    return Move(leg, on, version, "retrying", {"leg": str(leg)})


def _when_published(article: Article, word: Word, seen: Seen) -> Move | Reply:
    """`revise: …` opens a new version; the bare word has no review before it that still waits for anybody."""
    if word.action is Action.REVISE and word.text:
        return _revise(article, word, seen)
    approve = word.action is Action.APPROVE
    return Reply("already_published" if approve else "is_published_what_can_be_done")


def _revise(article: Article, word: Word, seen: Seen) -> Move | Reply:
    on, version = _current(article)
    to = Status.OUTLINING if on == "outline" else Status.REVISING
    key, params = (
        ("request_taken_outline", {}) if on == "outline" else ("request_taken_draft", {"version": version})
    )
    return _no_such_section(article, word) or Move(
        to, on, version, *_note(article, seen, word.text, key, params)
    )


def _note(article: Article, seen: Seen, text: str, key: str, params: Params) -> tuple[str, Params]:
    """What the thread is told of a request; one that was made of another version is told where it went."""
    on, version = _current(article)
    if seen.on is None or (seen.on, seen.version) == (on, version):
        return key, {**params, "text": text}
    meant: Params = {"seen_on": seen.on, "seen": seen.version, "on": on, "version": version, "text": text}
    return "request_for_current", meant


def _no_such_section(article: Article, word: Word) -> Reply | None:
    if word.section is None:
        return None
    on, _ = _current(article)
    if on == "draft" and article.draft is not None:
        count = len(article.draft["sections"])
    else:
        count = len((article.analysis or {}).get("outline", []))
    if 1 <= word.section <= count:
        return None
    return Reply("no_such_section", {"section": word.section, "count": count})


def _rounds_left(article: Article, limits: Limits) -> bool:
    return article.research_rounds < limits.max_research_rounds


def _current(article: Article) -> tuple[On, int]:
    """What words are about now, and its version (0: none was shown yet)."""
    failed_in = article.error.leg if article.status is Status.FAILED and article.error else None
    on = _phase(article, failed_in or article.status)
    return on, article.outline_version if on == "outline" else article.version


def _phase(article: Article, status: Status) -> On:
    """Research and outlining come before the first draft, and again when a draft needs more evidence."""
    if status in (Status.RESEARCHING, Status.OUTLINING):
        return "outline" if article.version == 0 and article.draft is None else "draft"
    return "outline" if status is Status.AWAITING_OUTLINE else "draft"


def _approved(article: Article, seen: Seen) -> str | None:
    """Who approved the very version that was seen."""
    for decision in reversed(article.decisions):
        if decision.action is Action.APPROVE and (decision.on, decision.version) == (seen.on, seen.version):
            return decision.by
    return None


def _faster(by: str, seen: Seen) -> Reply:
    assert seen.on is not None  # it was approved, so it was shown
    return Reply(
        "somebody_faster", {"by": by, "action": str(Action.APPROVE), "on": seen.on, "version": seen.version}
    )


def _status(article: Article) -> Reply:
    """The line of the status message for this state, with the version that is being made or waits."""
    on, version = _current(article)
    match article.status:
        case Status.AWAITING_OUTLINE | Status.AWAITING_APPROVAL | Status.PUBLISHING:
            return Reply(f"line_{article.status}", {"version": version})
        case Status.OUTLINING if on == "draft":
            return Reply("line_outlining_again")
        case Status.OUTLINING | Status.WRITING | Status.REVIEWING | Status.REVISING:
            return Reply(f"line_{article.status}", {"version": version + 1})
        case Status.FAILED:
            return Reply("line_failed", {"error": "" if article.error is None else article.error.message})
        case _:
            return Reply(f"line_{article.status}")
