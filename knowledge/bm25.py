"""Word search as two sparse vectors: what a chunk says of its terms, and what a query makes of them."""

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np
from pgvector import SparseVector

from knowledge.language import Language
from knowledge.tokens import TERM_SPACE, term_counts, term_id, tokens

EVERY_CHUNK = -1
"""The id of what every chunk has, counted beside the terms: so the number of chunks is at hand."""

# The usual values.
_K1 = 1.2
_B = 0.75

# Number of terms of a full chunk. Constants, so that new documents leave the rows of old ones as they are:
# between half and double, nDCG@10 moves by 0.002. One for each script, since CJK has several terms a word.
_USUAL_LENGTH: Mapping[Language, int] = {"en": 150, "zh": 800, "ja": 800}

_MOST_TERMS = 16_000  # pgvector's limit of a sparsevec


def chunk_vector(searchable: str, lang: Language) -> SparseVector:
    """The document's side of BM25: the saturated frequency of each term, without idf."""
    return vector_of_terms(term_counts(searchable), lang)


def vector_of_terms(frequencies: Counter[int], lang: Language) -> SparseVector:
    """The same, of how often each term stands in the chunk."""
    return SparseVector.from_binary(packed_vector(frequencies, lang))


def packed_vector(frequencies: Counter[int], lang: Language) -> bytes:
    """The same as the database stores it: dimensions, number of terms, 0, the terms in order, weights."""
    norm = _K1 * (1 - _B + _B * frequencies.total() / _USUAL_LENGTH[lang])
    if len(frequencies) > _MOST_TERMS:
        frequencies = Counter(dict(frequencies.most_common(_MOST_TERMS)))
    terms = np.fromiter(frequencies.keys(), np.int32, len(frequencies))
    counts = np.fromiter(frequencies.values(), np.float64, len(frequencies))
    order = np.argsort(terms)
    weights = (counts * (_K1 + 1) / (counts + norm))[order]
    head = np.array([TERM_SPACE, len(terms), 0], ">i4")
    return head.tobytes() + terms[order].astype(">i4").tobytes() + weights.astype(">f4").tobytes()


def query_terms(query: str) -> set[int]:
    """The ids of a query's terms."""
    return {term_id(token) for token in tokens(query)}


def query_vector(terms: set[int], chunks_with: Mapping[int, int]) -> tuple[SparseVector, float]:
    """The query's side of BM25, and its sum: the score of a chunk that has every term about once.

    `chunks_with` says how many chunks have a term. One that none has counts in the sum, so that score / sum
    is the share of the query that a chunk answers.
    """
    chunks = chunks_with.get(EVERY_CHUNK, 0)
    idf = {
        term: math.log1p((chunks - n + 0.5) / (n + 0.5)) for term in terms for n in [chunks_with.get(term, 0)]
    }
    known = {term: weight for term, weight in idf.items() if term in chunks_with}
    return SparseVector(known, TERM_SPACE), sum(idf.values())
