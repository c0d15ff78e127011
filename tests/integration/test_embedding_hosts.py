"""Embedding models at hosts, over the wire: keys and addresses, limits, faults."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pydantic_ai.models
import pytest

from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.embedding_models import open_embedder
from knowledge.embeddings import embed_pending, embed_query, embedding_name, embedding_size, embedding_state
from knowledge.hosted_model import EmbeddingError, EmbeddingPause, Waits
from knowledge.search import Search
from tests.integration.embedding_host import SHORT, TEXTS, Answer, EmbeddingHost, all_pending, at, fill, timed
from tests.scripted_openai.replies import Text
from tests.scripted_openai.server import ScriptedOpenAI


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


async def test_chat_at_one_host_and_embeddings_at_another(
    filled: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with EmbeddingHost(key="sk-chat") as chat, EmbeddingHost(key="sk-vectors") as vectors:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-chat")
        async with at(vectors, key="sk-vectors") as embedder:
            assert await all_pending(filled, embedder) == len(TEXTS)
        assert set(vectors.keys) == {"sk-vectors"}
        assert chat.asked == []


async def test_openai_gets_chat_and_embeddings_as_it_wants_them(
    filled: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with (
        ScriptedOpenAI(lambda request: Text("Hello.")) as chat,
        ScriptedOpenAI(lambda request: Text("Hello.")) as vectors,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", chat.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", chat.api_key)
        name = "openai:text-embedding-3-small"
        async with (
            open_embedder(name, base_url=vectors.base_url, api_key=vectors.api_key) as embedder,
            open_embedder(name, base_url=vectors.base_url, api_key=chat.api_key) as wrong_key,
            open_embedder("openai:ada-9", base_url=vectors.base_url, api_key=vectors.api_key) as no_model,
        ):
            assert embedder is not None
            assert await all_pending(filled, embedder) == len(TEXTS)
            assert (await embedding_state(filled, embedder)).dimensions == 1536
            for query, path in (
                ("unique random value", "salt.md"),
                ("带薪年假", "holiday.md"),
                ("暗号鍵の交換", "rotation.md"),
            ):
                assert (await Search(filled, embedder).search(query))[0].path == str(tmp_path / path)
            assert vectors.refusals == []
            for broken, sentence in ((wrong_key, "refused the key"), (no_model, "no embedding model ada-9")):
                assert broken is not None
                with pytest.raises(EmbeddingError, match=sentence):
                    await embed_query(broken, "salt")
        assert vectors.embedding_requests
        assert chat.embedding_requests == []
        assert chat.refusals == []


async def test_without_an_address_and_key_of_their_own_embeddings_use_those_of_chat(
    filled: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with EmbeddingHost(key="sk-chat") as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-chat")
        async with open_embedder("openai:text-embedding-3-small") as embedder:
            assert await all_pending(filled, embedder) == len(TEXTS)
        assert set(chat.keys) == {"sk-chat"}


@pytest.mark.parametrize("empty", [True, False])
async def test_a_host_that_needs_no_key_works_without_one(
    filled: Pool, host: EmbeddingHost, empty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if empty:
        monkeypatch.setenv("OPENAI_API_KEY", "")
    async with at(host) as embedder:
        assert await all_pending(filled, embedder) == len(TEXTS)
    assert set(host.keys) == {"no-key"}


async def test_other_providers_of_the_same_api_take_the_address_too(filled: Pool) -> None:
    async with (
        EmbeddingHost(key="local") as host,
        open_embedder("ollama:bge-m3", base_url=host.base_url, api_key="local") as embedder,
    ):
        assert embedder is not None
        assert await all_pending(filled, embedder) == len(TEXTS)
        assert embedding_name(embedder).startswith("ollama:bge-m3@127.0.0.1:")


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("ソルトとは", "salt.md"),
        ("如何烤面包", "bread.md"),
        ("vacation days for staff", "holiday.md"),
        ("有給の日数", "holiday.md"),
        ("rotating keys", "rotation.md"),
        ("密钥轮换的周期", "rotation.md"),
    ],
)
@pytest.mark.parametrize("alike", [0, 4])
async def test_the_hosts_vectors_find_it_in_another_language(
    filled: Pool, host: EmbeddingHost, tmp_path: Path, query: str, path: str, alike: float
) -> None:
    host.alike = alike
    async with at(host) as embedder:
        await all_pending(filled, embedder)
        passages = await Search(filled, embedder).search(query)
    assert passages[0].path == str(tmp_path / path)


@pytest.mark.parametrize("query", ["quantum chromodynamics", "足球世界杯决赛", "恐竜の絶滅"])
async def test_what_the_base_does_not_know_is_not_found_though_all_vectors_are_alike(
    filled: Pool, host: EmbeddingHost, query: str
) -> None:
    host.alike = 4
    async with at(host) as embedder:
        await all_pending(filled, embedder)
        assert await Search(filled, embedder).search(query) == []


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (413, "Bread is baked here. "),
        (413, "面包在这里烤。"),
        (413, "パンはここで焼く。"),
        (400, "Bread is baked here. "),
        (422, "面包在这里烤。"),
        (500, "パンはここで焼く。"),
    ],
)
async def test_a_text_that_is_too_long_is_embedded_in_parts_and_holds_up_no_other(
    filled: Pool, tmp_path: Path, status: int, sentence: str
) -> None:
    long = tmp_path / "table.md"
    long.write_text("# Table\n\n| a | b |\n|---|---|\n" + f"| {sentence * 4} | x |\n" * 12)
    await Documents(filled).ingest([long])
    async with EmbeddingHost(longest=250, too_long_status=status) as host, at(host) as embedder:
        assert embedder is not None
        assert await embed_pending(filled, embedder, limit=50) == len(TEXTS) + 1
        assert await embed_pending(filled, embedder, limit=50) == 0
        assert (await embedding_state(filled, embedder)).refused == 0
        found = await Search(filled, embedder).search("dough")
    assert str(long) in {passage.path for passage in found}


async def test_a_host_that_takes_few_texts_at_once_gets_few(filled: Pool) -> None:
    async with EmbeddingHost(most=1) as host, at(host) as embedder:
        assert await all_pending(filled, embedder) == len(TEXTS)


async def test_a_refused_passage_is_left_out_and_said_once(
    filled: Pool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with EmbeddingHost(forbidden="假") as host, at(host) as embedder:
        assert embedder is not None
        assert await all_pending(filled, embedder) == len(TEXTS)
        state = await embedding_state(filled, embedder)
        assert (state.vectors, state.refused) == (len(TEXTS) - 1, 1)
        [warning] = [record for record in caplog.records if record.levelno >= logging.WARNING]
        assert "refused 1 passages" in warning.message
        assert "content filter" in warning.message
        asked = len(host.asked)
        assert await embed_pending(filled, embedder) == 0
        assert len(host.asked) == asked
        assert (await Search(filled, embedder).search("带薪年假"))[0].path == str(tmp_path / "holiday.md")
        # After a week it is tried again: the host may have learned.
        await filled.execute("update embedding_refusals set refused_at = now() - interval '8 days'")
        host.forbidden = None
        assert await embed_pending(filled, embedder) == 0
        assert await embed_pending(filled, embedder) == 1
        assert (await embedding_state(filled, embedder)).vectors == len(TEXTS)


async def test_a_host_that_refuses_everything_is_broken_and_not_the_passages(
    filled: Pool, host: EmbeddingHost
) -> None:
    host.answer = Answer(400)
    async with at(host) as embedder:
        assert embedder is not None
        with pytest.raises(EmbeddingError, match="answered 400 when asked for embeddings by bge-m3: check"):
            await embed_pending(filled, embedder)
        assert (await embedding_state(filled, embedder)).refused == 0
        assert len(host.asked) == 2


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (Answer(401), "refused the key for embeddings: set COPYDESK_EMBEDDING_API_KEY"),
        (Answer(403), "refused the key"),
        (Answer(404), "has no embedding model bge-m3 at this address: check COPYDESK_EMBEDDING_MODEL"),
        (Answer(404, "<html>nginx</html>", "text/html"), "mostly in /v1"),
        (Answer(200, "<html>Welcome</html>", "text/html"), "such as a web page: check"),
        (Answer(200, "", "application/json"), "something else than embeddings"),
        (Answer(200, '{"data": []}'), "something else than embeddings"),
        (Answer(200, '{"error": "busy"}'), "something else than embeddings"),
        (Answer(402), "no credit"),
        (
            Answer(429, '{"error": {"message": "m", "code": "insufficient_quota", "type": "t"}}'),
            "the account has no credit left",
        ),
        (Answer(429), "too much to do"),
        (Answer(503), "too much to do"),
        (Answer(500), "answered 500"),
        (Answer(200, seconds=30), "gave no embeddings within 3 s"),
    ],
)
async def test_each_failure_of_a_host_says_how_to_mend_it(
    host: EmbeddingHost, answer: Answer, sentence: str
) -> None:
    host.answer = answer
    waits = Waits(query=3 if answer.seconds else 20)
    async with at(host, key="sk-secret-0123456789", waits=waits) as embedder:
        assert embedder is not None
        with pytest.raises(EmbeddingError) as caught:
            await embed_query(embedder, "盐 salt ソルト")
    assert sentence in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert str(caught.value).endswith("Until then search goes by words.")


@pytest.mark.parametrize(
    "vector",
    ["[[0.1, 0.2], [0.3, 0.4]]", '["one", "两", "三つ"]', f"[{'0.1, ' * 16_000}0.1]", "[0, 0]", "[null]"],
)
async def test_what_is_no_vector_is_refused_and_search_goes_by_words(
    filled: Pool, host: EmbeddingHost, vector: str
) -> None:
    async with at(host) as embedder:
        assert embedder is not None
        await all_pending(filled, embedder)
        host.answer = Answer(
            200, f'{{"object": "list", "data": [{{"index": 0, "embedding": {vector}}}], "model": "m"}}'
        )
        with pytest.raises(EmbeddingError):
            await embed_query(embedder, "盐 salt ソルト")
        assert (await Search(filled, embedder).search("带薪年假"))[0].lang == "zh"


async def test_a_host_that_is_not_there_is_named(host: EmbeddingHost) -> None:
    async with at(host) as embedder:
        assert embedder is not None
        await host.__aexit__(None, None, None)
        with pytest.raises(EmbeddingError, match=r"127\.0\.0\.1:\d+ cannot be reached for embeddings: check"):
            await embed_query(embedder, "salt")


@pytest.mark.parametrize("query", ["rainbow tables", "带薪年假", "暗号鍵の交換"])
async def test_while_the_host_hangs_search_goes_by_words_and_asks_it_once(
    filled: Pool, host: EmbeddingHost, query: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "knowledge")
    async with at(host) as opened:
        embedder, clock = timed(opened, SHORT)
        await all_pending(filled, embedder)
        host.answer = Answer(200, seconds=30)
        asked = len(host.asked)
        search = Search(filled, embedder)
        by_words = await Search(filled, None).search(query)
        assert by_words
        assert await search.search_many([query, f"{query} 1", f"{query} 2", f"{query} 3"], k=1)
        assert len(host.asked) <= asked + 4  # all at once
        asked = len(host.asked)
        assert await search.search(query) == by_words
        assert len(host.asked) == asked
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert caplog.records[0].exc_info is None

        host.answer = None
        clock.now += SHORT.pause
        assert await search.search(query) != by_words  # scores of meaning are in it again
        assert len(host.asked) == asked + 1
        assert "gives embeddings again" in caplog.records[-1].message


async def test_a_host_that_is_late_with_queries_still_gets_documents(
    filled: Pool, host: EmbeddingHost
) -> None:
    async with at(host) as opened:
        embedder, _ = timed(opened, SHORT)
        host.answer = Answer(200, seconds=30)
        with pytest.raises(EmbeddingError):
            await embed_query(embedder, "salt")
        host.answer = None
        assert await all_pending(filled, embedder) == len(TEXTS)
        with pytest.raises(EmbeddingPause):
            await embed_query(embedder, "salt")


@pytest.mark.parametrize(
    ("query", "chunk"),
    [("Copydesk " * 120, "salt"), ("写作台" * 300, "盐"), ("コピーデスク" * 150, "ソルト")],
    ids=["en", "zh", "ja"],
)
async def test_a_long_query_is_embedded_in_parts_too(query: str, chunk: str) -> None:
    async with EmbeddingHost(longest=300) as host, at(host) as embedder:
        assert embedder is not None
        assert len(await embed_query(embedder, query[:1000] + chunk)) == 64
        assert await embedding_size(embedder) == 64
