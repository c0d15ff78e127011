"""A host of an embedding model on this machine, with the limits and the faults of those that people run.

The scripted OpenAI server stands for OpenAI; this one for what is set up at home: a small window, few texts
at once, and the ways in which text-embeddings-inference and llama.cpp say so.
"""

import asyncio
import hashlib
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from aiohttp import web
from pydantic_ai.embeddings import Embedder

from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.embedding_models import open_embedder
from knowledge.embeddings import embed_pending
from knowledge.hosted_model import HostedModel, Waits

TEXTS = {
    "salt.md": "# Salts\n\nA salt is a random value, unique for each password. It defeats rainbow tables.",
    "bread.md": "# Sourdough\n\nThe dough rests for twelve hours before the bread is baked at 250 degrees.",
    "holiday.md": "# 休假制度\n\n员工每年有十五天带薪年假，申请需要提前两周提交给主管。",
    "rotation.md": "# 鍵のローテーション\n\n暗号鍵は一年ごとに交換し、古い鍵は復号だけに使う。",
}
SHORT = Waits(query=0.2, documents=5, pause=30)

# What texts are about: words of one line mean the same, in any language. A text's vector is the sum of its
# subjects, so that another language or other words are found by meaning alone.
SUBJECTS = (
    ("salt", "盐", "ソルト"),
    ("bread", "dough", "baked", "面包", "パン"),
    ("annual leave", "vacation", "年假", "休假", "有給"),
    ("rotat", "轮换", "交換", "ローテーション"),
    ("bcrypt", "72 bytes"),
    ("argon2id", "内存参数"),
    ("release", "rollback", "发布", "リリース"),
)


@dataclass(frozen=True)
class Answer:
    """What it answers instead of vectors."""

    status: int
    body: str = '{"error": {"message": "no", "type": "x", "code": null, "param": null}}'
    content_type: str = "application/json"
    seconds: float = 0


@dataclass
class EmbeddingHost:
    """`async with EmbeddingHost() as host`: its address is `host.base_url`."""

    key: str | None = None  # None: it needs no key
    size: int = 64
    sizes: dict[str, int] = field(default_factory=dict)  # of models by name, where they differ from it
    seed: str = "one"  # another seed is another model
    alike: float = 0  # how much all vectors have in common, and those of a language: with 4 as those of e5
    longest: int = 100_000  # characters of a text
    most: int = 2048  # texts at once
    too_long_status: int = 413  # text-embeddings-inference; llama.cpp says 500, OpenAI and Ollama 400
    forbidden: str | None = None  # texts with this are refused in any size
    answer: Answer | None = None
    asked: list[list[str]] = field(default_factory=list)
    models: list[str] = field(default_factory=list)  # the name that each request asked for
    keys: list[str] = field(default_factory=list)
    base_url: str = ""
    held: asyncio.Event | None = None  # it answers when this is set
    arrived: asyncio.Event = field(default_factory=asyncio.Event)  # a request has come

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/v1/embeddings", self._embeddings)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _embeddings(self, request: web.Request) -> web.Response:
        given: dict[str, Any] = await request.json()
        texts = [given["input"]] if isinstance(given["input"], str) else given["input"]
        self.asked.append(texts)
        self.models.append(given["model"])
        size = self.sizes.get(given["model"], self.size)
        self.keys.append(request.headers.get("Authorization", "").removeprefix("Bearer "))
        self.arrived.set()
        if self.held is not None:
            await self.held.wait()
        if self.answer is not None:
            await asyncio.sleep(self.answer.seconds)
            return web.Response(
                status=self.answer.status, text=self.answer.body, content_type=self.answer.content_type
            )
        if self.key is not None and self.keys[-1] != self.key:
            return _refusal(401, f"Incorrect API key provided: {self.keys[-1]}.")
        if len(texts) > self.most:
            return _refusal(422, f"batch size {len(texts)} > maximum allowed batch size {self.most}")
        for text in texts:
            if len(text) > self.longest:
                return _refusal(
                    self.too_long_status, f"`inputs` must have less than {self.longest} characters"
                )
            if self.forbidden and self.forbidden in text:
                return _refusal(400, "the content filter was triggered")
        data = [
            {"object": "embedding", "index": index, "embedding": self.vector(text, size)}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return web.json_response({"object": "list", "data": data, "model": given["model"], "usage": usage})

    def vector(self, text: str, size: int) -> list[float]:
        low = text.lower()
        language = "ja" if re.search("[ぁ-ヿ]", text) else "zh" if re.search("[一-鿿]", text) else "en"
        vector = self.alike * (self._direction("all", size) + 0.4 * self._direction(language, size))
        vector += 0.1 * self._direction(text, size)
        for subject in SUBJECTS:
            if any(word in low for word in subject):
                vector += self._direction(subject[0], size)
        return [float(number) for number in vector]

    def _direction(self, name: str, size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        seed = int.from_bytes(hashlib.sha256(f"{self.seed} {name}".encode()).digest()[:8])
        direction = np.random.default_rng(seed).standard_normal(size)
        normal: np.ndarray[Any, np.dtype[np.float64]] = direction / np.linalg.norm(direction)
        return normal

    @property
    def texts(self) -> Sequence[str]:
        return [text for texts in self.asked for text in texts]


def _refusal(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "code": None, "param": None}
    return web.json_response({"error": error}, status=status)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def fill(pool: Pool, folder: Path) -> Pool:
    """A few documents in each language, without vectors."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    await Documents(pool).ingest([folder / name for name in TEXTS])
    return pool


def at(
    host: EmbeddingHost, *, key: str | None = None, waits: Waits | None = None
) -> AbstractAsyncContextManager[Embedder | None]:
    return open_embedder("openai:bge-m3", base_url=host.base_url, api_key=key, waits=waits)


def timed(embedder: Embedder | None, waits: Waits) -> tuple[Embedder, Clock]:
    """The embedder with a clock of the test's own."""
    assert embedder is not None
    hosted, clock = embedder.model, Clock()
    assert isinstance(hosted, HostedModel)
    model = HostedModel(hosted.wrapped, waits, other=lambda name: hosted.other(name).wrapped, clock=clock)
    return Embedder(model), clock


async def all_pending(pool: Pool, embedder: Embedder | None) -> int:
    assert embedder is not None
    done = 0
    while some := await embed_pending(pool, embedder):
        done += some
    return done
