"""The backlog: chunks without a vector, worked off in the background."""

import logging
import time
from collections.abc import Callable

import numpy as np
from pydantic_ai.embeddings import Embedder

from knowledge.chunks import searchable
from knowledge.database import Pool
from knowledge.embeddings import embed_pending, embed_texts, embedding_name, forget_vectors
from knowledge.hosted_model import EmbeddingError, EmbeddingPause, HostedModel

logger = logging.getLogger(__name__)

# Chunks in one go. The bundled model needs a few seconds for so many, so that a stop never waits long; a host
# takes what hosts take without being set up for more (text-embeddings-inference 32, Cohere 96, OpenAI 2,048).
_AT_ONCE = 16
_AT_ONCE_BY_A_HOST = 32

_WAIT_SECONDS = 30.0  # after a failure
_CHECK_SECONDS = 3600.0  # between looks at whether the model is still the one that made the vectors

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
    """The chunks without a vector, worked off in the background of one process."""

    def __init__(
        self, pool: Pool, embedder: Embedder, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._pool = pool
        self._embedder = embedder
        self._clock = clock
        self._again = self._check_at = clock()
        self._said = ""  # the last failure, until some succeed
        self._limit = _AT_ONCE_BY_A_HOST if isinstance(embedder.model, HostedModel) else _AT_ONCE

    async def work_off_some(self) -> int:
        """Give some chunks vectors and return how many; 0 at the end and while the model fails.

        A failure is logged in one line, the same one only once, and nothing is tried for half a minute.
        """
        if self._clock() < self._again:
            return 0
        try:
            if self._clock() >= self._check_at:
                await self._check()
            done = await embed_pending(self._pool, self._embedder, limit=self._limit)
        except EmbeddingError as error:
            self._again = self._clock() + _WAIT_SECONDS
            if not isinstance(error, EmbeddingPause) and str(error) != self._said:
                logger.warning("%s", error)
                self._said = str(error)
            return 0
        if done:
            self._said = ""
        return done

    async def _check(self) -> None:
        """Search would compare a query of one model with vectors of another."""
        if await model_changed(self._pool, self._embedder):
            name = embedding_name(self._embedder)
            logger.warning("%s gives other vectors than before: those of all passages are made anew.", name)
            async with self._pool.acquire() as connection, connection.transaction():
                await forget_vectors(connection, name)
        self._check_at = self._clock() + _CHECK_SECONDS
