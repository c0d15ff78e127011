"""Which passages of a page a question gets."""

import pytest

from knowledge.pages import nearest

TEXTS = {
    "en": ["The menu.", "Salts are stored beside the digest.", "Peppers lie in a vault.", "Imprint."],
    "zh": ["目录。", "盐与摘要一起存放。", "胡椒放在密钥库里。", "版权。"],
    "ja": ["目次。", "ソルトはダイジェストと並べて保存する。", "ペッパーは保管庫に置く。", "著作権。"],
}
QUESTIONS = {"en": "Where do peppers lie?", "zh": "胡椒放在哪里？", "ja": "ペッパーはどこに置くか"}


@pytest.mark.parametrize("language", TEXTS)
def test_those_with_its_words_come_first(language: str) -> None:
    assert nearest(QUESTIONS[language], TEXTS[language], most=1) == [2]


@pytest.mark.parametrize("question", ["где лежит перец", "", "？", "the of and"])
def test_a_question_whose_words_are_not_there_gets_the_beginning(question: str) -> None:
    assert nearest(question, TEXTS["zh"], most=2) == [0, 1]


def test_a_word_of_every_passage_says_less_than_one_of_a_single_one() -> None:
    texts = ["pepper salt", "pepper pepper pepper", "pepper", "pepper vault"]
    assert nearest("pepper vault", texts, most=1) == [3]


def test_a_short_page_is_read_whole_and_an_empty_one_gives_nothing() -> None:
    assert sorted(nearest("salt", TEXTS["en"], most=9)) == [0, 1, 2, 3]
    assert nearest("salt", [], most=9) == []
