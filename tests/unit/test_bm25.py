"""What a word of a query weighs."""

import pytest

from knowledge.bm25 import EVERY_CHUNK, chunk_vector, query_terms, query_vector
from knowledge.language import Language


@pytest.mark.parametrize(
    ("rare", "common"), [("argon2id", "password"), ("盐", "密"), ("トークン", "パスワード")]
)
def test_a_rare_word_weighs_more_than_a_common_one_and_an_unknown_one_only_in_the_sum(
    rare: str, common: str
) -> None:
    rare_terms, common_terms = query_terms(rare) - query_terms(common), query_terms(common)
    counts = {EVERY_CHUNK: 100, **dict.fromkeys(common_terms, 60), **dict.fromkeys(rare_terms, 2)}
    vector, most = query_vector(rare_terms | common_terms, counts)
    weights = dict(zip(vector.indices(), vector.values(), strict=True))
    assert min(weights[term] for term in rare_terms) > max(weights[term] for term in common_terms) > 0
    del counts[min(rare_terms)]
    vector, more = query_vector(rare_terms | common_terms, counts)
    assert min(rare_terms) not in vector.indices()
    assert more > most


@pytest.mark.parametrize(("language", "word"), [("en", "password "), ("zh", "密码 "), ("ja", "パスワード ")])
def test_a_word_said_ten_times_does_not_weigh_ten_times(language: Language, word: str) -> None:
    once, often = chunk_vector(word, language), chunk_vector(word * 10, language)
    assert max(once.values()) < max(often.values()) < 3 * max(once.values())
