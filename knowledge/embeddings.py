"""Embeddings: the vector of a query, and vectors for the chunks that have none yet."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from pydantic_ai.embeddings import Embedder
from pydantic_ai.embeddings.result import EmbedInputType

from knowledge.chunks import searchable
from knowledge.database import Connection, Pool
from knowledge.embedding_models import BUNDLED_NAME, bundled_embedder
from knowledge.hosted_model import EmbeddingError, HostedModel
from knowledge.language import Language
from knowledge.means import knows_languages, reference_texts, refresh_means, store_languages

logger = logging.getLogger(__name__)

Vector = NDArray[np.float32]

# How long vectors of a model are kept that no worker has used: trying another one, and going back, costs
# nothing for a week. After as long, passages that a host refused are tried once more.
_KEPT_DAYS = 7

_MOST_DIMENSIONS = 16_000  # of pgvector


@dataclass(frozen=True)
class EmbeddingState:
    """What the database has of one model."""

    dimensions: int | None  # of its vectors, None before the first
    vectors: int
    refused: int  # chunks that its host refuses


def embedding_name(embedder: Embedder) -> str:
    """The name that is stored with the vectors, so that those of two models are never compared.

    For a model at a host with the host's name: what it serves as `default` is its own.
    """
    model = embedder.model
    if isinstance(model, str):
        return model
    name = f"{model.system}:{model.model_name}"
    return f"{name}@{model.host}" if isinstance(model, HostedModel) else name


async def serving_embedder(pool: Pool, embedder: Embedder | None) -> Embedder | None:
    """The embedder whose vectors are searched.

    Ours, as soon as every chunk has a vector of it. Until then the one before, whose vectors are complete, if
    it can still be asked: the bundled one always, another model at the same host too.
    """
    if embedder is None:
        return None
    name = embedding_name(embedder)
    rows = await pool.fetch(
        "select name from embedding_models where complete_at is not null order by name <> $1, used_at desc",
        name,
    )
    for row in rows:
        if row["name"] == name:
            break
        if (earlier := embedder_called(row["name"], embedder)) is not None:
            return earlier
    return embedder


async def embed_query(embedder: Embedder, query: str) -> Vector:
    """The vector of a query, of length 1. Raises EmbeddingError."""
    vectors, reason = await embed_texts(embedder, [query], "query")
    if vectors[0] is None:
        raise EmbeddingError(
            f"{embedding_name(embedder)} refused a query ({reason}): it is searched by words."
        )
    return vectors[0]


async def embed_texts(
    embedder: Embedder, texts: list[str], input_type: EmbedInputType
) -> tuple[list[Vector | None], str]:
    """Vectors of length 1, None for a text that the host refuses, and why it does. Raises EmbeddingError."""
    name = embedding_name(embedder)
    try:
        result = await embedder.embed(texts, input_type=input_type)
        vectors = [np.asarray(embedding, dtype=np.float32) for embedding in result.embeddings]
    except EmbeddingError:
        raise
    except Exception as error:  # any model's, with errors of its own
        raise EmbeddingError(
            f"The embedding model {name} did not answer ({error}). Search goes on by words. Check "
            "COPYDESK_EMBEDDING_MODEL and its key and URL, or set it to none."
        ) from error
    refused = str((result.provider_details or {}).get("refused", ""))
    present = [vector for vector in vectors if len(vector) or not refused]
    lengths = [float(np.linalg.norm(vector)) for vector in present]
    if (
        len(vectors) != len(texts)
        or len({vector.shape for vector in present}) > 1
        or any(vector.ndim != 1 or len(vector) > _MOST_DIMENSIONS for vector in present)
        or not all(0 < length < np.inf for length in lengths)
    ):
        raise EmbeddingError(
            f"The embedding model {name} gave no usable vectors for {len(texts)} texts. Set "
            "COPYDESK_EMBEDDING_MODEL to another model, or unset it for the bundled one."
        )
    return [vector / np.linalg.norm(vector) if len(vector) else None for vector in vectors], refused


async def embed_pending(pool: Pool, embedder: Embedder, *, limit: int = 16) -> int:
    """Give the next chunks without a vector of this model one. Returns how many are done; 0 at the end.

    A chunk that the model's host refuses counts as done: it is found by words. Nothing is locked while the
    model works, since an ingest must not wait for it: two workers at once do the same work, and the first
    counts. Raises EmbeddingError.
    """
    name = embedding_name(embedder)
    rows = await pool.fetch(
        """
        select id, heading, text from chunks
        where not exists (
            select from chunk_vectors v join embedding_models m on m.id = v.model_id
            where v.chunk_id = chunks.id and m.name = $1
        ) and not exists (select from embedding_refusals r where r.chunk_id = chunks.id and r.model = $1)
        order by id limit $2
        """,
        name,
        limit,
    )
    if not rows:
        await _tidy(pool, name)
        return 0
    texts = [searchable(row["heading"], row["text"]) for row in rows]
    vectors, reason = await embed_texts(embedder, texts, "document")
    languages = await _languages(pool, embedder, vectors)
    given = {row["id"]: vector for row, vector in zip(rows, vectors, strict=True) if vector is not None}
    refused = [row["id"] for row in rows if row["id"] not in given]
    async with pool.acquire() as connection, connection.transaction():
        model_id = await _model_id(connection, name, len(next(iter(given.values())))) if given else None
        done = 0
        if model_id is not None:
            await store_languages(connection, model_id, languages)
            done = await _store(connection, model_id, given)
        done += await _store_refusals(connection, name, refused, reason) if refused else 0
    if model_id is not None:
        await refresh_means(pool, model_id)
    if refused:
        logger.warning(
            "%s refused %d passages, which are found by words only (%s).", name, len(refused), reason
        )
    return done


async def embedding_state(pool: Pool, embedder: Embedder) -> EmbeddingState:
    """How far the vectors of this model are."""
    row = await pool.fetchrow(
        """
        select (select dimensions from embedding_models where name = $1) as dimensions,
               (select count(*) from chunk_vectors v join embedding_models m on m.id = v.model_id
                where m.name = $1) as vectors,
               (select count(*) from embedding_refusals where model = $1) as refused
        """,
        embedding_name(embedder),
    )
    assert row is not None
    return EmbeddingState(**row)


async def chunks_without_vector(pool: Pool, embedder: Embedder) -> int:
    """How many chunks still wait for a vector of this model; those that its host refused do not."""
    waiting = await pool.fetchval(
        """
        select count(*) from chunks
        where not exists (
            select from chunk_vectors v join embedding_models m on m.id = v.model_id
            where v.chunk_id = chunks.id and m.name = $1
        ) and not exists (select from embedding_refusals r where r.chunk_id = chunks.id and r.model = $1)
        """,
        embedding_name(embedder),
    )
    return int(waiting)


async def embedding_size(embedder: Embedder) -> int:
    """How many numbers the model gives now, by asking it. Raises EmbeddingError."""
    return len(await embed_query(embedder, "Copydesk"))


async def forget_vectors(connection: Connection, name: str) -> None:
    """Remove what there is of a model, refusals too: all chunks are its backlog again."""
    await connection.execute("delete from embedding_models where name = $1", name)
    await connection.execute("delete from embedding_refusals where model = $1", name)


def embedder_called(name: str, like: Embedder) -> Embedder | None:
    """The embedder whose vectors are stored under a name, if it is at hand; `like` is the one that is set."""
    if name == BUNDLED_NAME:
        return bundled_embedder()
    model = like.model
    if isinstance(model, HostedModel) and name.endswith(f"@{model.host}"):
        other = model.other(name.removeprefix(f"{model.system}:").removesuffix(f"@{model.host}"))
        return Embedder(other) if f"{other.system}:{other.model_name}@{other.host}" == name else None
    return None


async def _languages(
    pool: Pool, embedder: Embedder, vectors: Sequence[Vector | None]
) -> dict[Language, Vector]:
    """The means of the model's languages, if they are not known: measured with its first vectors."""
    sizes = {len(vector) for vector in vectors if vector is not None}
    if not sizes or await knows_languages(pool, embedding_name(embedder), sizes.pop()):
        return {}
    means: dict[Language, Vector] = {}
    for language, texts in reference_texts().items():
        measured, _ = await embed_texts(embedder, texts, "document")
        if present := [vector for vector in measured if vector is not None]:
            means[language] = np.asarray(np.mean(present, axis=0), dtype=np.float32)
    return means


async def _store(connection: Connection, model_id: int, vectors: dict[int, Vector]) -> int:
    """Store vectors of chunks that are still there. A chunk that is being removed right now is left out."""
    stored = await connection.fetch(
        """
        insert into chunk_vectors (model_id, chunk_id, lang, vector)
        select $1, c.id, c.lang, given.vector
        from unnest($2::int[], $3::halfvec[]) given(id, vector) join chunks c on c.id = given.id
        for key share of c skip locked
        on conflict do nothing returning chunk_id
        """,
        model_id,
        [*vectors],
        [HalfVector(vector) for vector in vectors.values()],
    )
    return len(stored)


async def _store_refusals(connection: Connection, name: str, chunk_ids: list[int], reason: str) -> int:
    stored = await connection.fetch(
        """
        insert into embedding_refusals (chunk_id, model, reason)
        select id, $2, $3 from chunks where id = any($1::int[]) for key share skip locked
        on conflict do nothing returning chunk_id
        """,
        chunk_ids,
        name,
        reason,
    )
    return len(stored)


async def _model_id(connection: Connection, name: str, dimensions: int) -> int:
    """The id of the model. One that gives another size than before is another model: start anew."""
    while True:
        # Looked at only once the row is ours: of two workers with two sizes each would else keep the other's.
        row = await connection.fetchrow(
            """
            insert into embedding_models (name, dimensions) values ($1, $2)
            on conflict (name) do update set used_at = now() returning id, dimensions
            """,
            name,
            dimensions,
        )
        assert row is not None
        if row["dimensions"] == dimensions:
            return int(row["id"])
        await forget_vectors(connection, name)


async def _tidy(pool: Pool, name: str) -> None:
    """All chunks have vectors of this model: those of models that no worker has had for long may go.

    Not at once: two workers with different settings would otherwise undo each other's (paid) work for ever.
    """
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(
            """
            update embedding_models set used_at = now(), complete_at = coalesce(complete_at, now())
            where name = $1 and (complete_at is null or used_at < now() - interval '1 hour')
            """,
            name,
        )
        await connection.execute(
            """
            delete from embedding_models
            where name <> $1 and used_at < now() - make_interval(days => $2)
              and exists (select from embedding_models where name = $1)
            """,
            name,
            _KEPT_DAYS,
        )
        await connection.execute(
            "delete from embedding_refusals where refused_at < now() - make_interval(days => $1)", _KEPT_DAYS
        )
