"""The order of passages from what words and vectors say."""

import pytest

from knowledge.ranking import Likeness, Score, ranked, scored, together


def ids(found: dict[int, Likeness], topic: float | None = 0.0) -> list[int]:
    return [each.chunk_id for each in ranked(scored(found, topic=topic))]


def test_words_and_nearness_add_up() -> None:
    found = {
        1: Likeness(0.0, 0.5, False),
        2: Likeness(0.5, 0.4, False),
        3: Likeness(1.0, 0.3, False),
    }
    assert ids(found) == [3, 2, 1]


def test_what_has_nothing_to_do_with_the_query_is_not_shown() -> None:
    assert ids({1: Likeness(0.1, 0.2, False), 2: Likeness(0.2, 0.2, False)}) == [2]
    assert ids({1: Likeness(0.1, None, False), 2: Likeness(0.3, None, False)}, topic=None) == [2]


def test_another_language_may_be_a_little_further_away() -> None:
    found = {1: Likeness(0.0, 0.21, True), 2: Likeness(0.0, 0.21, False), 3: Likeness(0.0, 0.19, True)}
    assert ids(found) == [1]


def test_another_language_comes_before_chance_words_but_not_before_the_best_five() -> None:
    own = {number: Likeness(0.3, 0.4 - number / 100, False) for number in range(1, 8)}
    assert ids(own | {9: Likeness(0.0, 0.4, True)}) == [1, 2, 3, 4, 5, 9, 6, 7]
    order = ranked(scored(own | {9: Likeness(0.0, 0.4, True)}, topic=0.0))
    assert [each.score for each in order] == sorted((each.score for each in order), reverse=True)


def test_another_language_that_has_the_words_keeps_them() -> None:
    found = {1: Likeness(0.9, 0.3, True), 2: Likeness(0.9, 0.3, False)}
    [first, second] = ranked(scored(found, topic=0.0))
    assert first.score == second.score


def test_a_chunk_without_a_vector_is_as_near_as_its_words_suggest() -> None:
    assert ids(
        {1: Likeness(0.8, None, False), 2: Likeness(0.8, 0.5, False), 3: Likeness(0.8, 0.2, False)}
    ) == [
        2,
        1,
        3,
    ]


@pytest.mark.parametrize("number", [0, 1, 4, 5, 30])
def test_every_chunk_has_one_place(number: int) -> None:
    found = {each: Likeness(each % 7 / 7, each % 5 / 5 + 0.3, each % 2 == 0) for each in range(number)}
    assert sorted(ids(found)) == list(range(number))


def test_several_queries_count_by_their_best() -> None:
    scores = together([{1: Score(0.9, 0.9), 2: Score(0.5, 0.6)}, {2: Score(0.8, 0.8), 3: Score(0.7, 1.0)}])
    assert scores == {1: Score(0.9, 0.9), 2: Score(0.8, 0.8), 3: Score(0.7, 1.0)}
    assert [each.chunk_id for each in ranked(scores)] == [1, 2, 3]
    assert ranked({}) == []
