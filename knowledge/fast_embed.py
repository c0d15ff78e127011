"""Embedding models on this machine by fastembed, an extra: ONNX models of many makers, without a host."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, EmbeddingSettings
from pydantic_ai.embeddings.result import EmbedInputType

from knowledge.hosted_model import EmbeddingError

_PREFIXES: dict[EmbedInputType, str] = {"query": "query: ", "document": "passage: "}


class FastEmbed(EmbeddingModel):
    """A model by its name in fastembed, loaded when it is first used, in a thread of its own.

    It is never downloaded by itself: nothing leaves the machine that nobody asked for.
    """

    def __init__(self, model_name: str) -> None:
        super().__init__()
        self._model_name = model_name
        self._loaded: Any = None  # fastembed.TextEmbedding: an extra, whose types are not at hand
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fastembed")

    @property
    def model_name(self) -> str:
        return self._model_name

    @property
    def system(self) -> str:
        return "fastembed"

    async def embed(
        self,
        inputs: str | Sequence[str],
        *,
        input_type: EmbedInputType,
        settings: EmbeddingSettings | None = None,
    ) -> EmbeddingResult:
        texts, _ = self.prepare_embed(inputs, settings)
        vectors = await asyncio.get_running_loop().run_in_executor(
            self._thread, self._encode, list(texts), input_type
        )
        return EmbeddingResult(
            embeddings=vectors,
            inputs=texts,
            input_type=input_type,
            model_name=self.model_name,
            provider_name=self.system,
        )

    def _encode(self, texts: list[str], input_type: EmbedInputType) -> list[Sequence[float]]:
        if self._loaded is None:
            self._loaded = self._load()
        # e5 was trained with prefixes, and fastembed leaves them to whoever calls it.
        prefix = _PREFIXES[input_type] if "e5" in self._model_name.lower().split("/")[-1].split("-") else ""
        return [vector.tolist() for vector in self._loaded.embed([prefix + text for text in texts])]

    def _load(self) -> Any:
        from fastembed import TextEmbedding  # here: it is not installed everywhere

        name = self._model_name
        known = {model["model"].lower() for model in TextEmbedding.list_supported_models()}
        if name.lower() not in known:
            raise EmbeddingError(
                f"fastembed has no model {name}: set COPYDESK_EMBEDDING_MODEL to one that it lists "
                "(fastembed.TextEmbedding.list_supported_models()). Until then search goes by words."
            )
        try:
            return TextEmbedding(name, local_files_only=True)
        except Exception as error:  # of a hub, of files, of ONNX: each has its own
            raise EmbeddingError(
                f"fastembed's model {name} is not on this machine, or not whole. Download it with "
                f"python -c \"from fastembed import TextEmbedding; TextEmbedding('{name}')\" (set "
                "FASTEMBED_CACHE_PATH for a folder that stays). Until then search goes by words."
            ) from error


def fast_embed(name: str) -> FastEmbed:
    """The model of `fastembed:NAME`. Raises EmbeddingError without a name, or where it is not installed."""
    model_name = name.partition(":")[2]
    if not model_name:
        raise EmbeddingError(
            "COPYDESK_EMBEDDING_MODEL=fastembed: has no model behind it, such as "
            "fastembed:intfloat/multilingual-e5-large."
        )
    if find_spec("fastembed") is None:
        raise EmbeddingError(
            f"COPYDESK_EMBEDDING_MODEL={name} needs a package that is not installed: pip install fastembed."
        )
    return FastEmbed(model_name)
