"""An embedding model that remembers: only the first run of a benchmark waits for vectors."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingResult, EmbeddingSettings, WrapperEmbeddingModel
from pydantic_ai.embeddings.result import EmbedInputType


class RememberingModel(WrapperEmbeddingModel):
    """The model that it wraps, under its name; what it gave once stands in `folder`, by the text's hash."""

    def __init__(self, wrapped: EmbeddingModel, folder: Path) -> None:
        super().__init__(wrapped)
        folder.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(folder / "vectors.sqlite", isolation_level=None)
        self._file.execute("pragma journal_mode = wal")
        self._file.execute("create table if not exists vectors (hash blob primary key, vector blob not null)")

    async def embed(
        self,
        inputs: str | Sequence[str],
        *,
        input_type: EmbedInputType,
        settings: EmbeddingSettings | None = None,
    ) -> EmbeddingResult:
        texts, settings = self.prepare_embed(inputs, settings)
        hashes = [self._hash(text, input_type) for text in texts]
        new = [at for at, each in enumerate(hashes) if self._known(each) is None]
        if new:
            result = await super().embed([texts[at] for at in new], input_type=input_type, settings=settings)
            self._file.executemany(
                "insert or ignore into vectors values (?, ?)",
                [
                    (hashes[at], np.asarray(vector, dtype=np.float32).tobytes())
                    for at, vector in zip(new, result.embeddings, strict=True)
                ],
            )
        return EmbeddingResult(
            embeddings=[
                np.frombuffer(self._known(each) or b"", dtype=np.float32).tolist() for each in hashes
            ],
            inputs=texts,
            input_type=input_type,
            model_name=self.model_name,
            provider_name=self.system,
        )

    def _hash(self, text: str, input_type: EmbedInputType) -> bytes:
        return hashlib.sha256(f"{self.system}:{self.model_name}:{input_type}:{text}".encode()).digest()

    def _known(self, key: bytes) -> bytes | None:
        row = self._file.execute("select vector from vectors where hash = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])
