"""Vectors in the background: failures, another model, two models at once; and what the doctor says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pydantic_ai.models
import pytest
from pydantic_ai.embeddings import Embedder

from bot.doctor import Finding, examine
from bot.settings import Settings
from knowledge.backlog import Backlog, model_changed
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.embedding_models import bundled_embedder, open_embedder
from knowledge.embeddings import chunks_without_vector, embed_pending, embedding_name, embedding_state
from knowledge.hosted_model import HostedModel, Waits
from knowledge.search import Search
from tests.integration.embedding_host import SHORT, TEXTS, Answer, EmbeddingHost, all_pending, at, fill, timed


@pytest.fixture(autouse=True)
def _requests_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)


@pytest.fixture
async def host() -> AsyncIterator[EmbeddingHost]:
    async with EmbeddingHost() as opened:
        yield opened


@pytest.fixture
async def filled(pool: Pool, tmp_path: Path) -> Pool:
    """A base with a few documents in each language and no vectors."""
    return await fill(pool, tmp_path)


async def test_the_backlog_says_a_failure_once_and_waits(
    filled: Pool, host: EmbeddingHost, caplog: pytest.LogCaptureFixture
) -> None:
    host.answer = Answer(401)
    async with at(host) as opened:
        embedder, clock = timed(opened, SHORT)
        backlog = Backlog(filled, embedder, clock=clock)
        for _ in range(5):
            assert await backlog.work_off_some() == 0
        assert len(host.asked) == 1
        for _ in range(3):
            clock.now += 30
            assert await backlog.work_off_some() == 0
        assert len(host.asked) == 4
        assert len(caplog.records) == 1
        assert "refused the key" in caplog.text
        host.answer = None
        clock.now += 30
        assert await backlog.work_off_some() == len(TEXTS)


@pytest.mark.parametrize("size", [64, 32])
async def test_another_model_by_the_same_name_gets_vectors_anew(
    filled: Pool, host: EmbeddingHost, size: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with at(host) as opened:
        embedder, clock = timed(opened, SHORT)
        backlog = Backlog(filled, embedder, clock=clock)
        assert await backlog.work_off_some() == len(TEXTS)
        assert await backlog.work_off_some() == 0
        assert not await model_changed(filled, embedder)

        host.size, host.seed = size, "two"
        assert await model_changed(filled, embedder)
        if size != 64:  # vectors of two sizes are never compared
            assert (await Search(filled, embedder).search("带薪年假"))[0].path == str(tmp_path / "holiday.md")
        assert await backlog.work_off_some() == 0
        assert caplog.records == []
        clock.now += 3600
        assert await backlog.work_off_some() == len(TEXTS)
        assert "gives other vectors than before" in caplog.text
        state = await embedding_state(filled, embedder)
        assert (state.dimensions, state.vectors) == (size, len(TEXTS))
        found = await Search(filled, embedder).search("有給の日数")
        assert found[0].path == str(tmp_path / "holiday.md")


async def test_two_workers_that_get_two_sizes_of_one_name_never_mix_them(
    filled: Pool, tmp_path: Path
) -> None:
    # What is served by the name changes while both are at work: one has an answer of the model before.
    async with EmbeddingHost(size=64) as before, EmbeddingHost(size=48) as after, AsyncExitStack() as stack:
        embedders = []
        for host in (before, after):
            opened = await stack.enter_async_context(at(host))
            assert opened is not None
            model = opened.model
            assert isinstance(model, HostedModel)
            embedders.append(Embedder(OneName(model.wrapped, Waits(), other=model.other)))
        for _ in range(10):
            await asyncio.gather(*(embed_pending(filled, embedder, limit=2) for embedder in embedders))
            sizes = await filled.fetch(
                "select distinct vector_dims(vector::vector) as size, dimensions from chunk_vectors v "
                "join embedding_models m on m.id = v.model_id"
            )
            assert all(row["size"] == row["dimensions"] for row in sizes)
            assert len(sizes) == 1
            for embedder in embedders:
                assert (await Search(filled, embedder).search("带薪年假"))[0].path == str(
                    tmp_path / "holiday.md"
                )


class OneName(HostedModel):
    """Hosts behind one address."""

    @property
    def host(self) -> str:
        return "proxy.test"


async def test_two_hosts_are_two_models(filled: Pool, host: EmbeddingHost) -> None:
    async with EmbeddingHost(seed="two") as other, at(host) as one, at(other) as two:
        assert one is not None
        assert two is not None
        assert embedding_name(one) != embedding_name(two)
        await all_pending(filled, one)
        assert await Search(filled, two).search("vacation days for staff") == []  # by words: they are Chinese
        await all_pending(filled, two)
        assert await Search(filled, two).search("vacation days for staff")


@pytest.mark.parametrize("query", ["vacation days for staff", "带薪年假有几天", "有給の日数"])
async def test_the_old_vectors_serve_until_the_new_ones_are_complete(
    filled: Pool, host: EmbeddingHost, tmp_path: Path, query: str
) -> None:
    host.sizes = {"next": 32}
    async with at(host) as before, open_embedder("openai:next", base_url=host.base_url) as after:
        assert after is not None
        search = Search(filled, after)
        await all_pending(filled, before)
        for waiting in range(len(TEXTS), 0, -1):
            assert (await search.search(query))[0].path == str(tmp_path / "holiday.md")
            assert host.models[-1] == "bge-m3"
            assert await chunks_without_vector(filled, after) == waiting
            assert await embed_pending(filled, after, limit=1) == 1
        assert await embed_pending(filled, after) == 0
        assert (await search.search(query))[0].path == str(tmp_path / "holiday.md")
        assert host.models[-1] == "next"


async def test_the_bundled_vectors_serve_until_those_of_a_host_are_complete(
    filled: Pool, host: EmbeddingHost, tmp_path: Path
) -> None:
    async with at(host) as after:
        assert after is not None
        await all_pending(filled, bundled_embedder())
        asked = len(host.asked)
        passages = await Search(filled, after).search("vacation days for staff")
        assert passages[0].path == str(tmp_path / "holiday.md")
        assert len(host.asked) == asked


async def test_the_backlog_says_how_many_passages_wait(
    pool: Pool, host: EmbeddingHost, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(150):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\nBread number {number} was baked.")
    await Documents(pool).ingest([tmp_path])
    caplog.set_level("INFO", "knowledge.backlog")
    async with at(host) as opened:
        embedder, clock = timed(opened, SHORT)
        backlog = Backlog(pool, embedder, clock=clock)
        while await backlog.work_off_some():
            clock.now += 25
    name = embedding_name(embedder)
    assert caplog.messages == [
        f"118 passages wait for vectors of {name}.",
        f"22 passages wait for vectors of {name}.",
        f"All passages have vectors of {name}.",
    ]


async def test_vectors_of_a_model_that_nobody_uses_go_after_a_week(filled: Pool, host: EmbeddingHost) -> None:
    async with EmbeddingHost() as old, at(old) as before, at(host) as after:
        assert before is not None
        assert after is not None
        await all_pending(filled, before)
        await filled.execute("update embedding_models set used_at = now() - interval '8 days'")
        assert await embed_pending(filled, after, limit=1) == 1
        assert (await embedding_state(filled, before)).vectors == len(TEXTS)  # the new are not complete
        await all_pending(filled, after)
        assert (await embedding_state(filled, before)).vectors == 0
        assert (await embedding_state(filled, after)).vectors == len(TEXTS)


async def test_vectors_of_a_model_in_use_elsewhere_stay(filled: Pool, host: EmbeddingHost) -> None:
    async with EmbeddingHost() as elsewhere, at(elsewhere) as theirs, at(host) as ours:
        assert theirs is not None
        await all_pending(filled, theirs)
        await all_pending(filled, ours)
        assert (await embedding_state(filled, theirs)).vectors == len(TEXTS)


async def test_an_ingest_does_not_wait_for_a_host_and_leaves_no_vector_of_what_went(
    filled: Pool, host: EmbeddingHost, tmp_path: Path
) -> None:
    async with at(host) as embedder:
        assert embedder is not None
        host.held = asyncio.Event()
        embedding = asyncio.create_task(embed_pending(filled, embedder))
        await asyncio.wait_for(host.arrived.wait(), timeout=10)
        (tmp_path / "salt.md").write_text("# Peppers\n\nA pepper is a secret that all passwords share.")
        await asyncio.wait_for(Documents(filled).ingest([tmp_path / "salt.md"]), timeout=10)
        host.held.set()
        assert await embedding == len(TEXTS) - 1
        assert await embed_pending(filled, embedder) == 1
        assert (await embedding_state(filled, embedder)).vectors == len(TEXTS)


async def findings(settings: Settings) -> list[Finding]:
    return [finding async for finding in examine(settings)]


def settings_for(dsn: str, home: Path, **given: str | None) -> Settings:
    return Settings.model_validate({"database_url": dsn, "home": home, **given})


async def test_the_doctor_names_the_embedding_model_and_its_size(
    filled: Pool, dsn: str, host: EmbeddingHost, tmp_path: Path
) -> None:
    settings = settings_for(dsn, tmp_path, embedding_model="openai:bge-m3", embedding_base_url=host.base_url)
    name = f"openai:bge-m3@{host.base_url.removeprefix('http://').removesuffix('/v1')}"
    said = await findings(settings)
    assert Finding("✓", f"embedding model {name}, 64 dimensions") in said
    assert (
        Finding(
            "!", "knowledge: 4 documents, 4 passages, 0 with vectors; the rest follows while the bot runs"
        )
        in said
    )
    async with at(host) as embedder:
        await all_pending(filled, embedder)
    assert Finding("✓", "knowledge: 4 documents, 4 passages, 4 with vectors") in await findings(settings)
    host.seed = "two"
    assert any(f.mark == "!" and "makes them anew" in f.text for f in await findings(settings))
    host.answer = Answer(401)
    assert any(f.mark == "✗" and "COPYDESK_EMBEDDING_API_KEY" in f.text for f in await findings(settings))


@pytest.mark.parametrize(
    ("name", "mark", "text"),
    [
        ("none", "!", "COPYDESK_EMBEDDING_MODEL=none: search goes by words"),
        ("some-model", "✗", "COPYDESK_EMBEDDING_MODEL=some-model cannot be used"),
    ],
)
async def test_the_doctor_says_what_is_wrong_with_the_name(
    dsn: str, tmp_path: Path, name: str, mark: str, text: str
) -> None:
    said = await findings(settings_for(dsn, tmp_path, embedding_model=name))
    assert any(finding.mark == mark and text in finding.text for finding in said)


@pytest.mark.parametrize("setting", ["model", "writer_model"])
@pytest.mark.parametrize("name", ["some-model", "模型", "モデル:日本語"])
async def test_the_doctor_takes_no_model_for_good_that_cannot_be_used(
    dsn: str, tmp_path: Path, setting: str, name: str
) -> None:
    said = await findings(settings_for(dsn, tmp_path, embedding_model="none", **{setting: name}))
    assert any(finding.mark == "✗" and name in finding.text for finding in said)
    assert not any(finding.text == f"model {name}" for finding in said)
