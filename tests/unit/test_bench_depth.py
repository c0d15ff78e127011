"""How deep calls stand one behind the other, over intervals made for it."""

from collections.abc import Callable
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.chain import Interval, longest_chain, seconds


def count(_: Interval) -> float:
    return 1


def depth(*spans: tuple[float, float]) -> int:
    return len(longest_chain([Interval(*span) for span in spans]))


def test_no_calls_have_no_depth() -> None:
    assert depth() == 0


def test_calls_one_after_the_other_count_each() -> None:
    assert depth((0, 1), (1.1, 2), (2.1, 3)) == 3


def test_a_call_may_begin_the_moment_another_ends() -> None:
    assert depth((0, 1), (1, 2)) == 2


def test_calls_side_by_side_count_once() -> None:
    assert depth((0, 1), (0.1, 1.1), (0.2, 1.2), (0.9, 2)) == 1


def test_overlap_by_a_moment_is_no_step() -> None:
    assert depth((0, 1.001), (1, 2)) == 1


def test_research_sections_side_by_side_and_a_review_are_six_deep() -> None:
    research = [(0, 1), (1.1, 2), (2.1, 3), (3.1, 4)]
    sections = [(5, 6), (5.01, 6.2), (5.02, 6.1), (5.03, 6.05)]
    assert depth(*research, *sections, (6.3, 7)) == 6


def test_two_sections_one_after_the_other_are_a_step_deeper() -> None:
    assert depth((0, 1), (1.1, 2), (1.1, 1.5), (1.6, 2.1), (2.2, 3)) == 4


def test_the_chain_that_takes_longest_need_not_be_the_deepest() -> None:
    long, short, last = Interval(0, 5), [Interval(0, 1), Interval(1.5, 2), Interval(2.5, 3)], Interval(5.5, 6)
    assert longest_chain([last, *short, long], worth=seconds) == [long, last]
    assert longest_chain([last, *short, long]) == [*short, last]


def test_a_step_that_nothing_needs_can_be_left_out() -> None:
    first, second, third = Interval(0, 1), Interval(2, 3), Interval(4, 5)
    read = {(first, third)}
    chain = longest_chain([first, second, third], may_follow=lambda former, later: (former, later) in read)
    assert chain == [first, third]


@pytest.mark.parametrize("worth", [count, seconds])
@given(spans=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)), max_size=7))
def test_no_choice_of_calls_makes_a_better_chain(
    worth: Callable[[Interval], float], spans: list[tuple[int, int]]
) -> None:
    calls = [Interval(began, began + length) for began, length in spans]
    chains = [
        chosen
        for size in range(len(calls) + 1)
        for chosen in combinations(sorted(calls, key=lambda call: call.began), size)
        if all(former.ended <= later.began for former, later in pairwise(chosen))
    ]
    found = longest_chain(calls, worth=worth)
    assert tuple(found) in chains
    assert sum(map(worth, found)) == max(sum(map(worth, chain)) for chain in chains)
