"""The order of passages: what nearness and words add up to, and what a passage in another language gets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# A passage's score is cosine + 0.45 * share: how near its vector is to the query's without language and
# topic, and the share of the query's words, by their idf, that it has. Both have a natural zero and a fixed
# scale, so the sum ranks one query's passages, is comparable between queries, and can be too low.
_WORDS_WEIGHT = 0.45
# Below this a passage has nothing to do with the query. Measured so that nothing right is lost (0.3 to 0.8
# % is).
_FLOOR = 0.25
_FLOOR_BY_TOPIC = 0.45  # what is left of a cosine is smaller the more of a topic was taken out
_FLOOR_BY_WORDS = 0.2  # where there are no vectors: a share of 0.22

# A passage in another language has few of the query's words, whatever it says: on average one that answers in
# the query's own gets as much from its words as from its vector, so it is given half as much as its vector
# says. Never past the best five, which stand as they are: who asks gets answers in the own language first.
_OTHER_LANGUAGE = 0.5
_UNTOUCHED = 5
_FLOOR_OF_OTHERS = 1.2  # times the floor, with what they are given


@dataclass(frozen=True)
class Likeness:
    """How much a chunk has to do with a query."""

    share: float  # of the query's words, by their idf
    cosine: float | None  # of the vectors without language and topic; None = it has none yet
    other_language: bool  # than the query's


@dataclass(frozen=True)
class Score:
    """What a chunk is ranked by: as it is, and with what another language is given."""

    plain: float
    given: float

    def better(self, other: "Score | None") -> "Score":
        """The better of two queries' scores, each for itself."""
        if other is None:
            return self
        return Score(max(self.plain, other.plain), max(self.given, other.given))


@dataclass(frozen=True)
class Ranked:
    """A chunk in its place."""

    chunk_id: int
    score: float  # as it is shown: never above the one before
    merit: float  # what the place is given for

    def tie(self) -> tuple[float, float]:
        """The same for two that are as good as each other, smaller for a better one."""
        return -round(self.score, 2), -round(self.merit, 2)


def scored(found: Mapping[int, Likeness], *, topic: float | None) -> dict[int, Score]:
    """The scores of the chunks that have to do with a query.

    `topic` is the length of the base's topic that was taken out of its vectors, None where there are none.
    """
    floor = _FLOOR_BY_WORDS if topic is None else _FLOOR - _FLOOR_BY_TOPIC * topic
    scores = {chunk_id: _score(likeness) for chunk_id, likeness in found.items()}
    return {
        chunk_id: score
        for chunk_id, score in scores.items()
        if score.plain >= floor
        or (found[chunk_id].other_language and score.given >= _FLOOR_OF_OTHERS * floor)
    }


def ranked(scores: Mapping[int, Score]) -> list[Ranked]:
    """The chunks, best first."""
    by_plain = sorted(scores, key=lambda chunk_id: (-scores[chunk_id].plain, chunk_id))
    best = [
        Ranked(chunk_id, scores[chunk_id].plain, scores[chunk_id].plain) for chunk_id in by_plain[:_UNTOUCHED]
    ]
    rest = sorted(by_plain[_UNTOUCHED:], key=lambda chunk_id: -scores[chunk_id].given)
    return best + [
        Ranked(chunk_id, min(scores[chunk_id].given, best[-1].score), scores[chunk_id].given)
        for chunk_id in rest
    ]


def together(scores: Iterable[Mapping[int, Score]]) -> dict[int, Score]:
    """Several queries on one matter as one: a chunk counts with its best.

    Not with the sum: it would favour passages that say a little about everything over the one that answers a
    single query well.
    """
    best: dict[int, Score] = {}
    for each in scores:
        for chunk_id, score in each.items():
            best[chunk_id] = score.better(best.get(chunk_id))
    return best


def _score(likeness: Likeness) -> Score:
    by_words = _WORDS_WEIGHT * likeness.share
    # A chunk without a vector yet is taken to be as near as its words suggest.
    cosine = by_words if likeness.cosine is None else likeness.cosine
    given = max(by_words, _OTHER_LANGUAGE * cosine) if likeness.other_language else by_words
    return Score(cosine + by_words, cosine + given)
