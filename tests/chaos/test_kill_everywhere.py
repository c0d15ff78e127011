"""A sample of the kills of `make test-chaos`, and what their comparison sees."""

import copy

import pytest

from tests.chaos.databases import Databases
from tests.chaos.kill_everywhere import UNDISTURBED, Task, problems, run_all
from tests.chaos.run import same_account
from tests.chaos.steps import Point
from tests.chaos.thread import Shown, differences

SAMPLE: list[Task] = [
    (Point("model: section 2 #1", "answered, not read"), "en"),
    (Point("model: analysis #2", "kept in the journal"), "zh"),
    (Point("Slack: chat.postMessage outline:2 #1", "applied, not answered"), "ja"),
    (Point("Slack: files.completeUploadExternal #1", "applied, not answered"), "en"),
    (Point("move 8: reviewing → awaiting_approval", "not committed"), "zh"),
    (Point("person: revise draft 1", "acknowledged"), "ja"),
]
AT_ONCE = 9  # all of them: most of the time they wait


async def test_a_bot_that_is_killed_at_any_step_ends_with_the_thread_of_one_that_was_not(
    databases: Databases,
) -> None:
    runs = [ran async for ran in run_all(databases, [*UNDISTURBED, *SAMPLE], at_once=AT_ONCE)]
    undisturbed = {ran.language: ran for ran in runs if ran.target is None}
    assert {str(ran.target): problems(ran, undisturbed) for ran in runs if ran.target is not None} == {
        str(point): [] for point, _ in SAMPLE
    }
    assert [str(ran.target) for ran in runs if ran.missed] == []


def message(text: str) -> Shown:
    return {"by": "U1", "text": text, "blocks": [], "files": []}


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (["大纲", "草稿"], []),
        (["大纲"], ["missing: 草稿"]),
        (["大纲", "大纲", "草稿"], ["too many, or other than it should be: 大纲"] * 2),
        (["草稿", "大纲"], ["in another order: 草稿 | 大纲"]),
        (["大纲", "原稿"], ["missing: 草稿", "too many, or other than it should be: 原稿"]),
    ],
)
def test_the_comparison_sees_what_is_lost_doubled_changed_or_moved(found: list[str], told: list[str]) -> None:
    assert differences([message("大纲"), message("草稿")], [message(text) for text in found]) == told


def test_the_comparison_sees_a_change_deep_in_a_block() -> None:
    expected = [message("x") | {"blocks": [{"elements": [{"text": "Approve"}]}]}]
    found = copy.deepcopy(expected)
    found[0]["blocks"][0]["elements"][0]["text"] = "承認"
    assert len(differences(expected, found)) == 2


def test_accounts_are_the_same_but_for_the_rounding_of_costs() -> None:
    account = {"requests": 14, "input_tokens": 42298, "cost_usd": 0.023736}
    assert same_account(account, {**account, "cost_usd": 0.023737})
    assert not same_account(account, {**account, "requests": 15})
    assert not same_account(account, {**account, "cost_usd": 0.025})
    assert not same_account({}, account)
