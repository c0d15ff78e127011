"""Language and topic taken out of vectors, so that what is compared is what a passage says about its topic.

Two texts in one language are nearer than two on one subject: without this a Chinese question found the
English passage that answers it in 2 % of cases. And in a base about one topic everything is near everything.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knowledge.database import Pool
from knowledge.language import LANGUAGES, Language

Vector = NDArray[np.float32]

_ENOUGH = 50  # vectors that tell a mean; fewer count in proportion
_GROWN = 1.2  # a mean is taken anew when the number of vectors has changed by this factor


@dataclass(frozen=True)
class Means:
    """What to subtract from the vectors of one model before they are compared."""

    model_id: int
    dimensions: int
    of: Mapping[Language, Vector]
    topic: (
        float  # length of the topic's share: near 0 for a base about everything, 0.3 for one about one thing
    )

    def centred(self, vector: Vector, lang: Language) -> Vector:
        """The vector without its language and the base's topic, of length 1."""
        rest = vector - self.of[lang]
        return rest / max(float(np.linalg.norm(rest)), 1e-9)


@lru_cache(maxsize=1)
def _shipped() -> dict[str, dict[Language, Vector]]:
    """Means of languages alone, over texts on many topics (docs/decisions/0005-search.md says which)."""
    stored = json.loads(Path(__file__).with_name("means.json").read_text())
    return {
        name: {language: np.array(mean, dtype=np.float32) for language, mean in means.items()}
        for name, means in stored.items()
    }


async def read_means(pool: Pool, name: str) -> Means | None:
    """The means of a model, from what is shipped and what is in the base; None if it has no vectors there.

    For a model whose language means are shipped, the base only adds its topic: the same shift for all
    languages, so that two languages stay comparable when they hold different things. For any other model,
    the base's own mean of a language stands for both.
    """
    rows = await pool.fetch(
        """
        select id, dimensions, lang, chunks, mean
        from embedding_models left join embedding_means on model_id = id where name = $1
        """,
        name,
    )
    if not rows:
        return None
    own = {row["lang"]: (row["chunks"], row["mean"].to_numpy()) for row in rows if row["lang"]}
    total = sum(chunks for chunks, _ in own.values())
    nothing = np.zeros(rows[0]["dimensions"], dtype=np.float32)
    shipped = _shipped().get(name)
    prior = shipped or dict.fromkeys(LANGUAGES, nothing)
    shift = sum((chunks * (mean - prior[lang]) for lang, (chunks, mean) in own.items()), nothing) / (
        total + _ENOUGH
    )
    means = {language: mean + shift for language, mean in prior.items()}
    if shipped is None:
        means |= {lang: mean for lang, (chunks, mean) in own.items() if chunks >= _ENOUGH}
    topic = float(np.linalg.norm(shift)) if shipped else 0.0
    return Means(rows[0]["id"], rows[0]["dimensions"], means, topic)


async def refresh_means(pool: Pool, model_id: int) -> None:
    """Take the base's means anew for languages whose number of vectors has changed much since."""
    await pool.execute(
        """
        with counted as (
            select lang, count(*)::int as chunks from chunk_vectors where model_id = $1 group by lang
        ), changed as (
            select c.lang from counted c left join embedding_means m on m.model_id = $1 and m.lang = c.lang
            where m.chunks is null or c.chunks >= m.chunks * $2::float or c.chunks * $2::float <= m.chunks
        )
        insert into embedding_means (model_id, lang, chunks, mean)
        select $1, lang, count(*), avg(vector::vector) from chunk_vectors
        where model_id = $1 and lang in (select lang from changed) group by lang
        on conflict (model_id, lang) do update set chunks = excluded.chunks, mean = excluded.mean
        """,
        model_id,
        _GROWN,
    )
