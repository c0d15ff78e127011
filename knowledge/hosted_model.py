"""An embedding model at a host: what it may refuse, how long it may take, what is said when it fails."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import numpy as np
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, EmbeddingSettings, WrapperEmbeddingModel
from pydantic_ai.embeddings.result import EmbedInputType
from pydantic_ai.exceptions import (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelUnavailableError,
)

logger = logging.getLogger(__name__)

# Any host that embeds at all embeds this.
_HARMLESS = "Copydesk"

# A text that is refused is tried in so many parts, whose vectors are averaged, as the bundled model does with
# texts longer than its window. A chunk has 1,200 tokens, rarely more (knowledge/chunks.py), so eighths fit
# the smallest window in use, 256.
_PARTS = (2, 4, 8)

# Of a host's refusal that are kept: enough for "inputs must have less than 512 tokens. Given: 934".
_LONGEST_REASON = 200


class EmbeddingError(Exception):
    """The embedding model gave no usable vectors. The message says what to do."""


class EmbeddingPause(EmbeddingError):
    """It failed a moment ago and is left alone for a while. That it failed has been said already."""


@dataclass(frozen=True, kw_only=True)
class Waits:
    """How long to wait for a host, in seconds, with the SDK's own two retries within."""

    query: float = 5  # in all: somebody waits, and words answer too
    documents: float = 120  # for each request: a batch on a host without a GPU
    pause: float = 30  # after a failure: a search does not wait for a dead host again and again


class HostedModel(WrapperEmbeddingModel):
    """A model at a host. A text that the host refuses even in parts gets an empty vector.

    One layer of retries: the provider SDK's own (OpenAI's: two), all within `waits`. Beyond that a query
    is answered by words, and the background job comes again anyway.
    """

    def __init__(
        self,
        wrapped: EmbeddingModel,
        waits: Waits,
        *,
        other: Callable[[str], EmbeddingModel],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(wrapped)
        self._waits = waits
        self._clock = clock
        self._other = other
        self._others: dict[str, HostedModel] = {}
        # Queries and documents apart: a host that is busy with a batch may be late with a query.
        self._again: dict[EmbedInputType, float] = {}  # not asked before this time
        self._said: dict[EmbedInputType, str] = {}  # the last failure, until the host answers

    @property
    def host(self) -> str:
        """Host and port of its address, without user or path; the provider's name where there is none."""
        address = urlsplit(self.base_url or "")
        port = f":{address.port}" if address.port else ""
        return f"{address.hostname}{port}" if address.hostname else self.system

    def other(self, model_name: str) -> "HostedModel":
        """Another model at the same host, always the same object: it knows whether the host is left alone."""
        if model_name not in self._others:
            self._others[model_name] = HostedModel(
                self._other(model_name), self._waits, other=self._other, clock=self._clock
            )
        return self._others[model_name]

    async def embed(
        self,
        inputs: str | Sequence[str],
        *,
        input_type: EmbedInputType,
        settings: EmbeddingSettings | None = None,
    ) -> EmbeddingResult:
        """As PydanticAI has it. `provider_details["refused"]` is the host's reason for empty vectors.

        Raises EmbeddingError, or EmbeddingPause while the host is left alone.
        """
        texts, settings = self.prepare_embed(inputs, settings)
        if self._clock() < self._again.get(input_type, 0):
            raise EmbeddingPause(self._said.get(input_type, ""))

        async def ask(some: Sequence[str]) -> EmbeddingResult:
            async with asyncio.timeout(seconds):
                result = await self.wrapped.embed(some, input_type=input_type, settings=settings)
            if len(result.embeddings) != len(some):
                raise ValueError(f"{len(result.embeddings)} vectors for {len(some)} texts")
            return result

        is_query = input_type == "query"
        seconds = self._waits.query if is_query else self._waits.documents
        try:
            async with asyncio.timeout(seconds if is_query else None):
                result = await self._ask_apart(ask, texts)
        except Exception as error:  # any provider's, with errors of its own
            sentence = _sentence(error, self.host, self.model_name, seconds)
            self._again[input_type] = self._clock() + self._waits.pause
            if self._said.get(input_type) == sentence:
                raise EmbeddingPause(sentence) from error
            self._said[input_type] = sentence
            raise EmbeddingError(sentence) from error
        if self._said.pop(input_type, None):
            logger.info("%s gives embeddings again (%s).", self.host, input_type)
        return result

    async def _ask_apart(
        self, ask: Callable[[Sequence[str]], Awaitable[EmbeddingResult]], texts: Sequence[str]
    ) -> EmbeddingResult:
        """Ask at once; where one text makes the host refuse all of them, ask for the others without it."""
        try:
            return await ask(texts)
        except ModelHTTPError as error:
            if not _may_be_the_text(error):
                raise
            reason = _reason(error)
        sample = await ask(
            [_HARMLESS]
        )  # a host that refuses this too refuses everything: its error is raised
        vectors = await _apart(ask, texts)
        refused = {"refused": reason} if not all(map(len, vectors)) else None
        return replace(sample, embeddings=vectors, inputs=list(texts), provider_details=refused)


async def _apart(
    ask: Callable[[Sequence[str]], Awaitable[EmbeddingResult]], texts: Sequence[str]
) -> list[Sequence[float]]:
    """A vector for each text, found by halving; an empty one for a text that is refused in any size."""
    if len(texts) == 1:
        return [await _in_parts(ask, texts[0])]
    vectors: list[Sequence[float]] = []
    middle = len(texts) // 2
    for half in (texts[:middle], texts[middle:]):
        try:
            vectors += (await ask(half)).embeddings
        except ModelHTTPError as error:
            if not _may_be_the_text(error):
                raise
            vectors += await _apart(ask, half)
    return vectors


async def _in_parts(ask: Callable[[Sequence[str]], Awaitable[EmbeddingResult]], text: str) -> Sequence[float]:
    """The average of the vectors of a text's parts, or an empty vector."""
    for number in _PARTS:
        step = -(-len(text) // number)
        parts = [text[start : start + step] for start in range(0, len(text), step)]
        parts = [part for part in parts if part.strip()]
        try:
            vectors = (await ask(parts)).embeddings
        except ModelHTTPError as error:
            if not _may_be_the_text(error):
                raise
        else:
            mean: list[float] = np.average(vectors, axis=0, weights=[len(part) for part in parts]).tolist()
            return mean
    return []


def _may_be_the_text(error: ModelHTTPError) -> bool:
    """Whether it may be for what a text is: too long, mostly, and with it too large a batch.

    OpenAI and Ollama say 400 then, TEI 413 and 422, llama.cpp 500.
    """
    return error.status_code in (400, 413, 422, 500) and not isinstance(
        error, ModelQuotaExceededError | ModelRateLimitError | ModelAuthenticationError
    )


def _reason(error: ModelHTTPError) -> str:
    """The host's own words, without what may be a key."""
    body = error.body
    words = body.get("message") or body.get("error") if isinstance(body, dict) else body
    said = " ".join(re.sub(r"[\w-]{20,}", "…", str(words or "no reason given")).split())
    return f"{error.status_code}: {said[:_LONGEST_REASON]}"


def _sentence(error: Exception, host: str, model: str, seconds: float) -> str:
    """What happened and what to do. Nothing that the host said: it may repeat the key."""
    match error:
        case ModelAuthenticationError():
            what = (
                f"{host} refused the key for embeddings: set COPYDESK_EMBEDDING_API_KEY (unset, the chat "
                "provider's key is sent)."
            )
        case ModelQuotaExceededError():
            what = f"{host} gives no embeddings: the account has no credit left."
        case ModelNotFoundError():
            what = (
                f"{host} has no embedding model {model} at this address: check COPYDESK_EMBEDDING_MODEL, and "
                "that COPYDESK_EMBEDDING_BASE_URL ends where the API begins, mostly in /v1."
            )
        case ModelRateLimitError() | ModelUnavailableError():
            what = f"{host} has too much to do to give embeddings; they are asked for again."
        case TimeoutError() | ModelTimeoutError():
            what = (
                f"{host} gave no embeddings within {seconds:g} s: check COPYDESK_EMBEDDING_BASE_URL, and "
                "whether the host is well."
            )
        case ModelConnectionError():
            what = f"{host} cannot be reached for embeddings: check COPYDESK_EMBEDDING_BASE_URL."
        case ModelHTTPError(status_code=status):
            what = (
                f"{host} answered {status} when asked for embeddings by {model}: check "
                "COPYDESK_EMBEDDING_MODEL, and whether the host is well."
            )
        case _:
            what = (
                f"{host} answered with something else than embeddings, such as a web page: check "
                "COPYDESK_EMBEDDING_BASE_URL; it mostly ends in /v1."
            )
    return f"{what} Until then search goes by words."
