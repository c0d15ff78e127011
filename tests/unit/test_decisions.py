"""The table of decisions: written out, and its invariants over every state, word, mode and version seen."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Literal

import pytest

from bot.decisions import Keep, Move, Reply, Seen, decide, missing_evidence
from bot.replies import Word, read_reply
from bot.texts import say
from knowledge.article import AT_WORK, Action, Article, ArticleError, Mode, Status, may_follow
from knowledge.language import Language
from tests.unit.situations import OUTLINE, SITUATIONS, current, decision, make

# `->` the article moves, `+` the request is kept for that version, `=` that person alone is told.
TABLE = """
researching
    approve         = busy_outline 3
    revise          = what_should_change
    revise: T       + outline 3
    revise 3: T     + outline 3
    revise 4: T     = no_such_section
    research        = what_to_research
    research: T     + outline 3
    cancel          -> cancelled
    retry           = nothing_to_retry
    status          = line_researching
outlining
    approve         = busy_outline 3
    revise          = what_should_change
    revise: T       + outline 3
    revise 3: T     + outline 3
    revise 4: T     = no_such_section
    research        = what_to_research
    research: T     + outline 3
    cancel          -> cancelled
    retry           = nothing_to_retry
    status          = line_outlining 3
at the outline
    approve         -> writing
    revise          = what_should_change
    revise: T       -> outlining
    revise 3: T     -> outlining
    revise 0: T     = no_such_section
    revise 4: T     = no_such_section
    revise 2        = what_should_change
    research        -> researching
    research: T     -> researching
    cancel          -> cancelled
    retry           = nothing_to_retry
    status          = line_awaiting_outline 2
writing
    approve         = busy_draft 1
    revise          + draft 1
    revise: T       + draft 1
    revise 3: T     + draft 1
    revise 4: T     = no_such_section
    revise 2        = what_should_change
    research        + draft 1
    research: T     + draft 1
    cancel          -> cancelled
    retry           = nothing_to_retry
    status          = line_writing 1
reviewing the first draft
    approve         = busy_draft 1
    revise: T       + draft 1
    revise 2: T     + draft 1
    revise 3: T     = no_such_section
    research: T     + draft 1
    cancel          -> cancelled
    status          = line_reviewing 1
at the draft
    approve         -> publishing
    revise          -> revising
    revise: T       -> revising
    revise 2: T     -> revising
    revise 3: T     = no_such_section
    revise 2        = what_should_change
    research        -> researching
    research: T     -> researching
    cancel          -> cancelled
    retry           = nothing_to_retry
    status          = line_awaiting_approval 3
revising
    approve         = busy_draft 4
    revise          + draft 4
    revise: T       + draft 4
    revise 2: T     + draft 4
    revise 3: T     = no_such_section
    research        + draft 4
    research: T     + draft 4
    cancel          -> cancelled
    retry           = nothing_to_retry
    status          = line_revising 4
researching for a draft
    approve         = busy_draft 4
    revise: T       + draft 4
    research: T     + draft 4
    cancel          -> cancelled
    status          = line_researching
outlining for a draft
    approve         = busy_draft 4
    revise: T       + draft 4
    research: T     + draft 4
    cancel          -> cancelled
    status          = line_outlining_again
publishing
    approve         = publishing_now
    revise          = publishing_now
    revise: T       = publishing_now
    research: T     = publishing_now
    cancel          = publishing_now
    retry           = publishing_now
    status          = line_publishing 3
at a draft, the budget used up
    approve         -> publishing
    revise: T       -> revising
    research: T     -> researching
    cancel          -> cancelled
    retry           -> revising
    status          = line_awaiting_approval 3
published
    approve         = already_published
    revise          = is_published_what_can_be_done
    revise: T       -> revising
    revise 2: T     -> revising
    revise 3: T     = no_such_section
    research        = is_published_what_can_be_done
    research: T     = is_published_what_can_be_done
    cancel          = is_published_what_can_be_done
    retry           = is_published_what_can_be_done
    status          = line_published
cancelled
    approve         = is_cancelled_what_can_be_done
    revise: T       = is_cancelled_what_can_be_done
    research: T     = is_cancelled_what_can_be_done
    cancel          = already_cancelled
    retry           = is_cancelled_what_can_be_done
    status          = line_cancelled
failed while outlining
    approve         = is_failed_what_can_be_done
    revise: T       = is_failed_what_can_be_done
    research: T     = is_failed_what_can_be_done
    cancel          -> cancelled
    retry           -> outlining
    status          = line_failed
failed at the outline
    cancel          -> cancelled
    retry           -> awaiting_outline
    status          = line_failed
failed while publishing
    approve         = is_failed_what_can_be_done
    revise: T       = is_failed_what_can_be_done
    cancel          -> cancelled
    retry           -> publishing
    status          = line_failed
"""


def rows() -> Iterator[tuple[str, str, str]]:
    situation = ""
    for line in TABLE.strip().splitlines():
        if line.startswith(" "):
            word, outcome = line.strip().split("  ", 1)
            yield situation, word, outcome.strip()
        else:
            situation = line


def told(outcome: Move | Keep | Reply) -> str:
    match outcome:
        case Move():
            return f"-> {outcome.to}"
        case Keep():
            assert outcome.key == f"kept_{outcome.on}"
            return f"+ {outcome.on} {outcome.version}"
        case Reply():
            version = outcome.params.get("version")
            return f"= {outcome.key}" + ("" if version is None else f" {version}")


@pytest.mark.parametrize(("situation", "said", "expected"), list(rows()))
def test_the_table_of_decisions(situation: str, said: str, expected: str) -> None:
    word = read_reply(said, bot_user_id="U0BOT")
    assert isinstance(word, Word)
    article = SITUATIONS[situation]
    assert told(decide(article, word, current(article))) == expected


GATES = {Status.AWAITING_OUTLINE, Status.AWAITING_APPROVAL}
WORDS = [
    Word(action, text, section)
    for action in Action
    for text in ("", "先讲迁移", "移行を先に", "shorter")
    for section in (None, 1, 99)
    if action in (Action.REVISE, Action.RESEARCH) or not text
]


def everything() -> Iterator[tuple[Article, Word, Seen]]:
    """Every state × mode × phase × what there is to work from × word × version seen."""
    for status, mode, draft_phase, bare in product(Status, Mode, (False, True), (False, True)):
        article = make(status, mode=mode, draft_phase=draft_phase)
        if bare:
            article = replace(article, analysis=None, draft=None, review=None)
        articles = [article]
        if status is Status.FAILED:
            articles += [
                replace(article, error=ArticleError(leg, "unexpected", "…")) for leg in AT_WORK | GATES
            ]
        versions: list[Seen] = [Seen(None, 0)]
        versions += [Seen("outline", version) for version in (1, 2, 3)]
        versions += [Seen("draft", version) for version in (1, 2, 3, 4)]
        yield from product(articles, WORDS, versions)


def test_every_move_is_one_that_the_states_allow() -> None:
    moves = 0
    for article, word, seen in everything():
        outcome = decide(article, word, seen)
        if isinstance(outcome, Move):
            moves += 1
            assert may_follow(article, outcome.to), (article.status, word, outcome)
            # What a decision is about is what stands now, never what was seen.
            assert outcome.version == (
                article.outline_version if outcome.on == "outline" else article.version
            )
    assert moves > 100


def test_whatever_is_decided_can_be_told_in_every_language() -> None:
    told_with: dict[tuple[str, frozenset[str], bool], Move | Keep | Reply] = {}
    for article, word, seen in everything():
        outcome = decide(article, word, seen)
        if outcome.key is not None:
            told_with[outcome.key, frozenset(outcome.params), outcome.params.get("text") == ""] = outcome
    assert len(told_with) > 30
    languages: tuple[Language, ...] = ("en", "zh", "ja")
    for (key, _, _), outcome in told_with.items():
        for language in languages:
            assert say(language, key, **outcome.params)


def test_status_is_always_answered_and_changes_nothing() -> None:
    for article, word, seen in everything():
        if word.action is Action.STATUS:
            outcome = decide(article, word, seen)
            assert isinstance(outcome, Reply)
            assert outcome.key.startswith("line_")


def test_an_approval_moves_only_what_its_author_saw() -> None:
    for article, word, seen in everything():
        outcome = decide(article, word, seen)
        if word.action is Action.APPROVE and isinstance(outcome, Move):
            assert article.status in GATES
            assert (seen.on, seen.version) == (outcome.on, outcome.version)


def test_requests_are_kept_at_work_and_nothing_else_ever_is() -> None:
    for article, word, seen in everything():
        outcome = decide(article, word, seen)
        if isinstance(outcome, Keep):
            assert article.status in AT_WORK - {Status.PUBLISHING}
            assert word.action in (Action.REVISE, Action.RESEARCH)
            assert outcome.version >= 1
        elif article.status in AT_WORK - {Status.PUBLISHING} and word.text and word.section is None:
            pytest.fail(f"{word} was lost while {article.status}")


def test_a_request_with_words_is_never_lost_at_a_gate() -> None:
    for article, word, seen in everything():
        at_gate = article.status in GATES
        if at_gate and word.text and (word.section is None or word.action is Action.RESEARCH):
            outcome = decide(article, word, seen)
            assert isinstance(outcome, Move)
            assert outcome.params["text"] == word.text


def test_words_decide_the_same_in_both_modes() -> None:
    for article, word, seen in everything():
        if article.mode is Mode.AUTO:
            auto = decide(article, word, seen)
            supervised = decide(replace(article, mode=Mode.SUPERVISED), word, seen)
            # Only what is announced differs: in auto mode the next text that asks is a draft.
            busy = {"= busy_outline 3", "= busy_draft 1", "= busy_draft 4"}
            assert auto == supervised or {told(auto), told(supervised)} <= busy


@pytest.mark.parametrize(
    ("situation", "seen", "reply"),
    [
        (
            "at the outline",
            Seen("outline", 1),
            Reply("older_version", {"on": "outline", "seen": 1, "current": 2, "link": ""}),
        ),
        (
            "at the draft",
            Seen("draft", 2),
            Reply("older_version", {"on": "draft", "seen": 2, "current": 3, "link": ""}),
        ),
        (
            "at the draft",
            Seen("outline", 2),
            Reply("not_seen_yet", {"on": "draft", "version": 3, "link": ""}),
        ),
        (
            "at the draft",
            Seen("outline", 3),
            Reply("not_seen_yet", {"on": "draft", "version": 3, "link": ""}),
        ),
        ("at the outline", Seen(None, 0), Reply("not_seen_yet", {"on": "outline", "version": 2, "link": ""})),
    ],
)
def test_an_approval_of_another_version_is_answered(situation: str, seen: Seen, reply: Reply) -> None:
    assert decide(SITUATIONS[situation], Word(Action.APPROVE, "", None), seen) == reply


@pytest.mark.parametrize("text", ["shorter", "短一点", "もっと短く", ""])
def test_a_request_about_an_older_version_applies_to_the_current_and_says_so(text: str) -> None:
    assert decide(SITUATIONS["at the draft"], Word(Action.REVISE, text, None), Seen("draft", 2)) == Move(
        Status.REVISING,
        "draft",
        3,
        "request_for_current",
        {"seen_on": "draft", "seen": 2, "on": "draft", "version": 3, "text": text},
    )
    assert decide(
        SITUATIONS["at the outline"], Word(Action.RESEARCH, text, None), Seen("outline", 1)
    ) == Move(
        Status.RESEARCHING,
        "outline",
        2,
        "request_for_current",
        {"seen_on": "outline", "seen": 1, "on": "outline", "version": 2, "text": text},
    )


def test_a_request_typed_before_the_outline_stood_there_is_taken() -> None:
    outcome = decide(SITUATIONS["at the outline"], Word(Action.REVISE, "短一点", None), Seen(None, 0))
    assert outcome == Move(Status.OUTLINING, "outline", 2, "request_taken_outline", {"text": "短一点"})


def test_the_bare_word_needs_something_to_go_by() -> None:
    at_draft, at_outline = SITUATIONS["at the draft"], SITUATIONS["at the outline"]
    clean = replace(at_draft, review={"decision": "approve", "issues": []})
    assert decide(clean, Word(Action.REVISE, "", None), current(clean)) == Reply(
        "what_should_change", {"on": "draft"}
    )
    assert told(decide(clean, Word(Action.RESEARCH, "", None), current(clean))) == "-> researching"
    complete = {**OUTLINE, "missing_evidence": []}
    for article in (replace(clean, analysis=complete), replace(at_outline, analysis=complete)):
        assert decide(article, Word(Action.RESEARCH, "", None), current(article)) == Reply("what_to_research")


def issue(severity: str, description: str) -> dict[str, str]:
    return {"severity": severity, "description": description, "suggested_fix": "→"}


def test_missing_evidence_is_the_reviewers_when_the_reviewer_asks() -> None:
    at_draft = SITUATIONS["at the draft"]
    assert missing_evidence(at_draft) == ["latency"]
    asks = {"decision": "research", "issues": [issue("high", "测得的登录延迟"), issue("low", "費用")]}
    assert missing_evidence(replace(at_draft, review=asks)) == ["测得的登录延迟 →"]
    asks = {"decision": "research", "issues": [issue("medium", "测得的登录延迟"), issue("low", "費用")]}
    assert missing_evidence(replace(at_draft, review=asks)) == ["测得的登录延迟 →", "費用 →"]
    assert missing_evidence(replace(at_draft, analysis=None)) == ["the unit is missing say MiB"]
    assert missing_evidence(replace(at_draft, analysis=None, review=None)) == []


def test_a_section_that_is_not_there_is_told_with_how_many_there_are() -> None:
    outcome = decide(SITUATIONS["at the draft"], Word(Action.REVISE, "x", 3), Seen("draft", 3))
    assert outcome == Reply("no_such_section", {"section": 3, "count": 2})
    # Before the first outline there are none.
    nothing_yet = replace(make(Status.RESEARCHING), analysis=None, outline_version=0)
    outcome = decide(nothing_yet, Word(Action.REVISE, "x", 1), Seen(None, 0))
    assert outcome == Reply("no_such_section", {"section": 1, "count": 0})


def test_who_comes_second_is_told_who_approved() -> None:
    approve = Word(Action.APPROVE, "", None)
    writing = replace(SITUATIONS["writing"], decisions=(decision("outline", Action.APPROVE, "UANA", 2),))
    faster: dict[str, str | int] = {"by": "UANA", "action": "approve", "on": "outline", "version": 2}
    assert decide(writing, approve, Seen("outline", 2)) == Reply("somebody_faster", faster)
    assert decide(writing, approve, Seen("outline", 1)) == Reply("busy_draft", {"version": 1})
    publishing = replace(
        SITUATIONS["publishing"],
        decisions=(
            decision("outline", Action.APPROVE, "UANA", 2),
            decision("draft", Action.APPROVE, "UBO", 3),
        ),
    )
    assert decide(publishing, approve, Seen("draft", 3)) == Reply(
        "somebody_faster", {"by": "UBO", "action": "approve", "on": "draft", "version": 3}
    )
    assert decide(publishing, approve, Seen("draft", 2)) == Reply("publishing_now")


def test_a_busy_answer_in_auto_mode_announces_the_draft() -> None:
    article = make(Status.OUTLINING, mode=Mode.AUTO)
    assert decide(article, Word(Action.APPROVE, "", None), Seen(None, 0)) == Reply(
        "busy_draft", {"version": 1}
    )


@pytest.mark.parametrize(
    ("leg", "state", "to"),
    [
        (Status.RESEARCHING, "taken", Status.RESEARCHING),
        (Status.OUTLINING, "taken", Status.REVISING),  # it was looked into before the budget was used up
        (Status.REVISING, "waiting", Status.RESEARCHING),
        (Status.REVISING, "done", Status.REVISING),
    ],
)
@pytest.mark.parametrize("question", ["What of salts?", "加盐有什么用？", "ソルトとは"])
def test_a_question_that_the_budget_cut_off_is_looked_into_with_the_next_request(
    leg: Status, state: Literal["taken", "waiting", "done"], to: Status, question: str
) -> None:
    asked = replace(decision("draft", Action.RESEARCH, "UBO", 3, text=question), state=state)
    article = replace(
        SITUATIONS["at a draft, the budget used up"],
        error=ArticleError(leg, "budget", "…"),
        decisions=(asked,),
    )
    outcome = decide(article, Word(Action.REVISE, "MiB", None), Seen("draft", 3))
    assert isinstance(outcome, Move)
    assert outcome.to is to
