"""Who may say which word, and how the setting of approvers is read."""

from dataclasses import replace
from itertools import product

import pytest

from bot.decisions import Approvers, BadApprovers, Person, Reply, may, parse_approvers
from bot.texts import say
from knowledge.article import Action
from knowledge.language import Language
from tests.unit.situations import SITUATIONS

ANA = Person("UANA", full_member=True, groups=frozenset())  # asked for the article
BO = Person("UBO", full_member=True, groups=frozenset())
EDITOR = Person("UEDI", full_member=True, groups=frozenset({"SEDIT"}))
GUEST = Person("UGUEST", full_member=False, groups=frozenset({"SEDIT"}))
EVERYTHING = set(Action)
NO_APPROVAL = EVERYTHING - {Action.APPROVE}


@pytest.mark.parametrize(
    ("approvers", "person", "allowed"),
    [
        ("anyone", ANA, EVERYTHING),
        ("anyone", BO, EVERYTHING),
        ("anyone", GUEST, {Action.STATUS}),
        ("requester", ANA, EVERYTHING),
        ("requester", BO, NO_APPROVAL - {Action.CANCEL}),
        ("requester", replace(GUEST, id="UANA"), {Action.STATUS}),
        (frozenset({"UBO"}), ANA, NO_APPROVAL),
        (frozenset({"UBO"}), BO, EVERYTHING),
        (frozenset({"UBO"}), EDITOR, NO_APPROVAL - {Action.CANCEL}),
        (frozenset({"UBO", "SEDIT"}), EDITOR, EVERYTHING),
        (frozenset({"UGUEST", "SEDIT"}), GUEST, {Action.STATUS}),
        (frozenset(), ANA, NO_APPROVAL),
        (frozenset(), BO, NO_APPROVAL - {Action.CANCEL}),
    ],
)
def test_who_may_do_what(approvers: Approvers, person: Person, allowed: set[Action]) -> None:
    for article in SITUATIONS.values():
        assert {action for action in Action if may(action, person, article, approvers) is None} == allowed


def test_a_refusal_names_who_may() -> None:
    article = SITUATIONS["at the draft"]
    assert may(Action.APPROVE, GUEST, article, "anyone") == Reply("not_full_member")
    assert may(Action.APPROVE, BO, article, "requester") == Reply("not_approver", {"who": "UANA"})
    approvers = frozenset({"UEDI", "SEDIT"})
    assert may(Action.APPROVE, BO, article, approvers) == Reply("not_approver", {"who": "SEDIT, UEDI"})
    assert may(Action.APPROVE, BO, article, frozenset()) == Reply("no_approvers")
    assert may(Action.CANCEL, BO, article, approvers) == Reply("not_canceller")


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_every_refusal_can_be_told(language: Language) -> None:
    article = SITUATIONS["at the draft"]
    all_approvers: list[Approvers] = ["anyone", "requester", frozenset(), frozenset({"UEDI", "SEDIT"})]
    for approvers, person, action in product(all_approvers, (BO, GUEST), Action):
        refusal = may(action, person, article, approvers)
        assert refusal is None or say(language, refusal.key, **refusal.params)


@pytest.mark.parametrize(
    ("setting", "approvers"),
    [
        ("anyone", "anyone"),
        (" Anyone ", "anyone"),
        ("requester", "requester"),
        ("U1", frozenset({"U1"})),
        ("U1,W2, S3", frozenset({"U1", "W2", "S3"})),
        ("U1 S3", frozenset({"U1", "S3"})),
        ("U1，S3、W2；", frozenset({"U1", "S3", "W2"})),
        ("", frozenset()),
        (" , ", frozenset()),
    ],
)
def test_approvers_are_read_and_an_empty_list_is_nobody(setting: str, approvers: Approvers) -> None:
    assert parse_approvers(setting) == approvers


@pytest.mark.parametrize(
    "wrong", ["everyone", "@ana", "u1", "<@U1>", "C123", "编辑", "編集者", "anyone, U1", "U1 requester"]
)
def test_a_wrong_setting_of_approvers_says_what_it_may_hold(wrong: str) -> None:
    with pytest.raises(BadApprovers, match=r"is no id of a user .* anyone, requester, or such ids"):
        parse_approvers(wrong)
