"""Language and topic taken out of vectors, so that what is compared is what a passage says about its topic.

Two texts in one language are nearer than two on one subject: without this a Chinese question found the
English passage that answers it in 2 % of cases. And in a base about one topic everything is near everything.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector as DenseVector

from knowledge.database import Connection, Pool
from knowledge.language import LANGUAGES, Language

Vector = NDArray[np.float32]

_ENOUGH = 50  # vectors that tell a mean; fewer count in proportion
_TOPIC_OF_SHIFT = 0.5  # the rest is how the reference texts are written: a base about everything has 0.2 too
_GROWN = 1.2  # a mean is taken anew when the number of vectors has changed by this factor


@dataclass(frozen=True)
class Means:
    """What to subtract from the vectors of one model before they are compared."""

    model_id: int
    dimensions: int
    of: Mapping[Language, Vector]
    languages: Sequence[Language]  # in which there are vectors
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


@lru_cache(maxsize=1)
def reference_texts() -> dict[Language, list[str]]:
    """The same texts on many subjects in each language, by which the languages of any model are measured."""
    stored = tomllib.loads(Path(__file__).with_name("reference_texts.toml").read_text())
    return {language: stored[language] for language in LANGUAGES}


async def knows_languages(pool: Pool, name: str, dimensions: int) -> bool:
    """Whether the means of a model's languages are shipped or measured."""
    return name in _shipped() or await pool.fetchval(
        """
        select exists (select from embedding_languages l join embedding_models m on m.id = l.model_id
                       where m.name = $1 and m.dimensions = $2)
        """,
        name,
        dimensions,
    )


async def store_languages(connection: Connection, model_id: int, means: Mapping[Language, Vector]) -> None:
    """Keep the means of a model's vectors of the reference texts."""
    await connection.executemany(
        """
        insert into embedding_languages (model_id, lang, mean) values ($1, $2, $3)
        on conflict (model_id, lang) do update set mean = excluded.mean
        """,
        [(model_id, language, DenseVector(mean)) for language, mean in means.items()],
    )


async def read_means(pool: Pool, name: str) -> Means | None:
    """The means of a model: its languages, shipped or measured; and the base's topic.

    None if it has no vectors in the base. The base adds the same shift to all languages, so that two
    languages stay comparable when they hold different things; to measured ones also what it knows of each.
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
    model_id, dimensions = rows[0]["id"], rows[0]["dimensions"]
    shipped = _shipped().get(name)
    languages = shipped or await _measured(pool, model_id, dimensions)
    own = {
        row["lang"]: (row["chunks"], row["mean"].to_numpy() - languages[row["lang"]])
        for row in rows
        if row["lang"]
    }
    total = sum(chunks for chunks, _ in own.values())
    nothing = np.zeros(dimensions, dtype=np.float32)
    shift = sum((chunks * rest for chunks, rest in own.values()), nothing) / (total + _ENOUGH)
    means = {language: mean + shift for language, mean in languages.items()}
    topic = float(np.linalg.norm(shift))
    if shipped is None:
        for lang, (chunks, rest) in own.items():  # few texts told the language: the base knows it better
            means[lang] = means[lang] + chunks / (chunks + _ENOUGH) * (rest - shift)
        topic *= _TOPIC_OF_SHIFT
    return Means(model_id, dimensions, means, [*own], topic)


async def _measured(pool: Pool, model_id: int, dimensions: int) -> dict[Language, Vector]:
    rows = await pool.fetch(
        "select lang, mean from embedding_languages where model_id = $1 and vector_dims(mean) = $2",
        model_id,
        dimensions,
    )
    measured: dict[Language, Vector] = {row["lang"]: row["mean"].to_numpy() for row in rows}
    return dict.fromkeys(LANGUAGES, np.zeros(dimensions, dtype=np.float32)) | measured


async def refresh_means(pool: Pool, model_id: int) -> None:
    """Take the base's means anew for languages whose number of vectors has changed much since."""
    await pool.execute(
        """
        with model as (  -- which another worker may be removing
            select id from embedding_models where id = $1 for key share
        ), counted as (
            select lang, count(*)::int as chunks from chunk_vectors
            where model_id in (select id from model) group by lang
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
