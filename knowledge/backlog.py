"""The backlog: what search wants of the base beyond an ingest, made in the background."""

import logging
import time
from collections.abc import Callable

import asyncpg
import numpy as np
from pydantic_ai.embeddings import Embedder

from knowledge.chunks import searchable
from knowledge.database import Pool
from knowledge.embeddings import (
    chunks_without_vector,
    embed_pending,
    embed_texts,
    embedding_name,
    forget_vectors,
    serving_embedder,
)
from knowledge.hosted_model import EmbeddingError, EmbeddingPause, HostedModel
from knowledge.vector_index import index_vectors
from knowledge.word_lists import extend_lists

logger = logging.getLogger(__name__)

# Chunks in one go. The bundled model needs a few seconds for so many, so that a stop never waits long; a host
# takes what hosts take without being set up for more (text-embeddings-inference 32, Cohere 96, OpenAI 2,048).
_AT_ONCE = 16
_AT_ONCE_BY_A_HOST = 32

_WAIT_SECONDS = 30.0  # after a failure
_CHECK_SECONDS = 3600.0  # between looks at whether the model is still the one that made the vectors
_WORTH_TELLING = 100  # passages
_PROGRESS_SECONDS = 60.0  # between two lines of the log on how far it is
_INDEX_SECONDS = 30.0  # between looks at whether there is something to index

# Cosine of two vectors of one text. A model's own are above 0.99 on any hardware, also in fewer bits; those
# of two models are near 0, since their numbers mean different things.
_SAME = 0.9


async def model_changed(pool: Pool, embedder: Embedder) -> bool:
    """Whether the model gives a stored chunk another vector than before: a host serves another by this name.

    Raises EmbeddingError.
    """
    row = await pool.fetchrow(
        """
        select c.heading, c.text, v.vector from embedding_models m
        join chunk_vectors v on v.model_id = m.id join chunks c on c.id = v.chunk_id
        where m.name = $1 order by v.chunk_id limit 1
        """,
        embedding_name(embedder),
    )
    if row is None:
        return False
    [now], _ = await embed_texts(embedder, [searchable(row["heading"], row["text"])], "document")
    before = row["vector"].to_numpy().astype(np.float32)
    return now is not None and (len(now) != len(before) or float(now @ before) < _SAME)


class Backlog:
    """Vectors for chunks that have none, lists of words and indexes, made in one process's background."""

    def __init__(
        self, pool: Pool, embedder: Embedder | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pool = pool
        self._embedder = embedder
        self._clock = clock
        self._again = self._check_at = self._index_at = clock()
        self._tell_at: float | None = None  # None while there is nothing to tell
        self._index_said = ""  # why the last list or index was not made
        self._said = ""  # the last failure, until some succeed

    async def work_off_some(self) -> int:
        """Do a part of what there is and return how much, in chunks; 0 at the end and while the model fails.

        What was done stays, whenever the process ends. A failure is logged in one line, the same one only
        once, and no vectors are asked for for half a minute.
        """
        return await self._index_some() or await self._embed_some()

    async def _index_some(self) -> int:
        """Lists and indexes, which search does without as long as they are not there."""
        if self._clock() < self._index_at:
            return 0
        try:
            listed = await extend_lists(self._pool)
            if listed or await index_vectors(self._pool) is not None:
                return listed or 1
        except (asyncpg.PostgresError, TimeoutError) as error:  # a full disk, too little shared memory
            if str(error) != self._index_said:
                logger.warning("Search cannot be made faster now (%s): it goes on without.", error)
                self._index_said = str(error)
        self._index_at = self._clock() + _INDEX_SECONDS
        return 0

    async def _embed_some(self) -> int:
        if self._embedder is None or self._clock() < self._again:
            return 0
        limit = _AT_ONCE_BY_A_HOST if isinstance(self._embedder.model, HostedModel) else _AT_ONCE
        try:
            if self._clock() >= self._check_at:
                await self._check(self._embedder)
            done = await embed_pending(self._pool, self._embedder, limit=limit)
        except EmbeddingError as error:
            self._again = self._clock() + _WAIT_SECONDS
            if not isinstance(error, EmbeddingPause) and str(error) != self._said:
                logger.warning("%s", error)
                self._said = str(error)
            return 0
        if done:
            self._said = ""
        if done == limit:
            await self._tell(self._embedder)
        elif not done and self._tell_at is not None:
            logger.info("All passages have vectors of %s.", embedding_name(self._embedder))
            self._tell_at = None
        return done

    async def _tell(self, embedder: Embedder) -> None:
        """Say how many passages wait: at the beginning, if they are many, and then each minute."""
        if self._tell_at is not None and self._clock() < self._tell_at:
            return
        left, name = await chunks_without_vector(self._pool, embedder), embedding_name(embedder)
        if self._tell_at is None and left < _WORTH_TELLING:
            return
        serving = await serving_embedder(self._pool, embedder)
        until = (
            "" if serving is None or serving is embedder else f"; until then {embedding_name(serving)} serves"
        )
        logger.info("%d passages wait for vectors of %s%s.", left, name, until)
        self._tell_at = self._clock() + _PROGRESS_SECONDS

    async def _check(self, embedder: Embedder) -> None:
        """Search would compare a query of one model with vectors of another."""
        if await model_changed(self._pool, embedder):
            name = embedding_name(embedder)
            logger.warning("%s gives other vectors than before: those of all passages are made anew.", name)
            async with self._pool.acquire() as connection, connection.transaction():
                await forget_vectors(connection, name)
        self._check_at = self._clock() + _CHECK_SECONDS
