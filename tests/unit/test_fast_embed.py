"""Models of fastembed, an extra: what is said where it, or a model of it, is not there."""

from importlib.util import find_spec

import pytest

from knowledge.embedding_models import open_embedder
from knowledge.embeddings import embed_query, embedding_name
from knowledge.hosted_model import EmbeddingError

installed = pytest.mark.skipif(find_spec("fastembed") is None, reason="fastembed, an extra, is not installed")


async def test_a_name_without_a_model_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="fastembed: has no model behind it, such as fastembed:intfloat"):
        async with open_embedder("fastembed:"):
            pass


@pytest.mark.skipif(find_spec("fastembed") is not None, reason="fastembed is installed")
async def test_what_is_not_installed_is_said_with_how_to_install_it() -> None:
    with pytest.raises(EmbeddingError, match="is not installed: pip install fastembed"):
        async with open_embedder("fastembed:intfloat/multilingual-e5-large"):
            pass


@installed
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("intfloat/multilingual-e5-large", "is not on this machine, or not whole. Download it with"),
        ("嵌入/模型", "fastembed has no model 嵌入/模型"),
        ("埋め込み", "fastembed has no model 埋め込み"),
    ],
)
async def test_a_model_that_is_not_there_is_not_downloaded_unasked(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path_factory.mktemp("models")))
    async with open_embedder(f"fastembed:{name}") as embedder:
        assert embedder is not None
        assert embedding_name(embedder) == f"fastembed:{name}"
        with pytest.raises(EmbeddingError, match=said):
            await embed_query(embedder, "salt 盐 ソルト")
