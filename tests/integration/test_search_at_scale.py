"""What makes search fast in a large base finds what looking at each chunk finds."""

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray
from pgvector import HalfVector

from bench.large_base import Real, fill
from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.backlog import Backlog
from knowledge.changes import NewArticle
from knowledge.database import Pool
from knowledge.filters import Filters, Scope, scope_of
from knowledge.language import LANGUAGES, Language
from knowledge.means import Means, read_means, refresh_means
from knowledge.search import Search
from knowledge.vector_index import index_name, index_vectors, nearest, nearest_sql
from knowledge.word_lists import extend_lists
from knowledge.word_search import by_words

SENTENCES: dict[Language, list[str]] = {
    "en": [
        "A salt is a random value for each password.",
        "The dough rests for twelve hours before it is baked.",
        "Rollback returns to the release before, in one step.",
        "Trains to the airport leave from platform four.",
        "Keys are changed once a year and kept for reading.",
        "Wheat is sown in autumn and cut in July.",
    ],
    "zh": [
        "盐是每个密码各自的随机值。",
        "面团静置十二小时之后再烘烤。",
        "回滚只需一步就能回到上一个版本。",
        "开往机场的列车从四号站台发车。",
        "密钥每年更换一次，旧的只用来读取。",
        "小麦在秋天播种，七月收割。",
    ],
    "ja": [
        "ソルトはパスワードごとの乱数である。",
        "生地は焼く前に十二時間休ませる。",
        "ロールバックは一つ前の版に戻す。",
        "空港行きの電車は四番線から出る。",
        "鍵は一年ごとに交換し、古い鍵は読むためだけに使う。",
        "小麦は秋にまき、七月に刈り取る。",
    ],
}
QUERIES = ["random value for a password", "面团静置多久", "電車は何番線から出ますか", "七月", "key 密钥 鍵"]
CHUNKS, DIMENSIONS = 600, 16
MODEL = "test:test"


async def fill_with(pool: Pool, chunks: int) -> None:
    """Chunks with vectors in clusters."""
    random = np.random.default_rng(5)
    vectors = random.normal(size=(18, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [(text, lang) for lang, sentences in SENTENCES.items() for text in sentences]
    real = [
        Real(text, lang, vector.astype(np.float32))
        for (text, lang), vector in zip(texts, vectors, strict=True)
    ]
    await fill(pool, real, MODEL, chunks=chunks)
    await refresh_means(pool, 1)


@pytest.fixture
async def large(pool: Pool) -> Pool:
    """A base of some hundred chunks."""
    await fill_with(pool, CHUNKS)
    return pool


async def found(pool: Pool) -> list[list[tuple[int, float]]]:
    """What each query finds by words."""
    each = [await Search(pool, None).search(query, k=50) for query in QUERIES]
    assert all(each)
    return [[(passage.chunk_id, passage.score) for passage in passages] for passages in each]


async def test_lists_of_words_find_what_a_look_at_each_chunk_finds(large: Pool) -> None:
    before = await found(large)
    made = [await extend_lists(large, segment=128) for _ in range(6)]
    assert made == [128, 128, 128, 128, 0, 0]  # the last 88 are looked at one by one
    assert await found(large) == before
    assert await large.fetchval("select count(distinct segment_id) from word_lists") == 4


async def test_lists_of_words_know_what_is_gone_and_what_is_new(large: Pool) -> None:
    while await extend_lists(large, segment=128):
        pass
    best = [passages[0][0] for passages in await found(large)]
    await large.execute(
        "delete from documents where id in (select document_id from chunks where id = any($1::int[]))", best
    )
    with_lists = await found(large)
    assert not {chunk_id for passages in with_lists for chunk_id, _ in passages} & set(best)
    await large.execute("delete from word_segments")
    assert await found(large) == with_lists


@pytest.mark.parametrize("share", [2, 75])
async def test_behind_a_filter_lists_find_what_a_look_at_each_chunk_finds(large: Pool, share: int) -> None:
    await large.execute("update documents set collection = 'some' where id % $1 = 0", share)
    scope = scope_of(None, Filters(collections=["some"]))
    before = [await by_words(large, query, scope, most=2) for query in QUERIES]
    while await extend_lists(large, segment=128):
        pass
    assert [await by_words(large, query, scope, most=2) for query in QUERIES] == before
    assert all(len(words.scores) == 2 for words in before)


async def test_lists_of_which_much_is_gone_are_made_anew(large: Pool) -> None:
    while await extend_lists(large, segment=128):
        pass
    await large.execute("delete from documents where id % 2 = 0")
    left = await large.fetchval("select count(*) from chunks")
    before = await found(large)
    made = [await extend_lists(large, segment=128) for _ in range(4)]
    assert sum(made) == left // 128 * 128
    assert await large.fetchval("select sum(chunks) from word_segments") == sum(made)
    assert await found(large) == before


async def test_the_background_makes_lists_without_an_embedding_model_too(pool: Pool) -> None:
    await fill_with(pool, 4200)
    backlog = Backlog(pool, None)
    done = [await backlog.work_off_some() for _ in range(3)]
    assert done == [4096, 0, 0]


async def test_an_empty_base_has_no_lists_and_no_index(pool: Pool) -> None:
    assert await extend_lists(pool, segment=1) == 0
    assert await index_vectors(pool, above=0, few=0) is None


async def means_of(pool: Pool) -> Means:
    means = await read_means(pool, MODEL)
    assert means is not None
    return means


def some_vector(seed: int) -> NDArray[np.float32]:
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))


async def plan(pool: Pool, means: Means, scope: Scope) -> str:
    """How the nearest are found, where an index is taken if there is one that fits."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("set local enable_seqscan = off; set local enable_sort = off")
        rows = await connection.fetch(
            f"explain {nearest_sql(means, scope)}", HalfVector(some_vector(0)), 10, *scope.arguments
        )
    return "\n".join(row[0] for row in rows)


async def test_a_large_model_gets_an_index_for_each_language_and_search_takes_it(large: Pool) -> None:
    everything = scope_of(None, None)
    means = await means_of(large)
    exact = [await nearest(large, means, some_vector(seed), everything, most=20) for seed in range(20)]
    built = [await index_vectors(large, above=100, few=50) for _ in range(4)]
    assert built == [*(f"built {index_name(1, lang)}" for lang in ("en", "ja", "zh")), None]
    how = await plan(large, means, everything)
    assert all(f"Index Scan using {index_name(1, lang)}" in how for lang in LANGUAGES)
    indexed = [await nearest(large, means, some_vector(seed), everything, most=20) for seed in range(20)]
    same = sum(len(one & other) for one, other in zip(exact, indexed, strict=True))
    assert same >= 0.97 * sum(map(len, exact))
    assert "nearest_" not in await plan(large, means, scope_of(None, Filters(kinds=["text"])))


async def test_behind_a_filter_the_nearest_of_what_it_leaves_are_found(large: Pool) -> None:
    means, query = await means_of(large), some_vector(7)
    near = await nearest(large, means, query, scope_of(None, None), most=20)
    await large.execute(
        """
        update documents set collection = 'far'
        where id not in (select document_id from chunks where id = any($1::int[]))
        """,
        [*near],
    )
    for built in (False, True):
        assert (await index_vectors(large, above=100, few=50) is not None) or not built
        far = await nearest(large, means, query, scope_of(None, Filters(collections=["far"])), most=5)
        assert len(far) == 5 * len(LANGUAGES)
        assert not far & near


async def test_search_does_not_wait_while_lists_are_made_anew(large: Pool) -> None:
    while await extend_lists(large, segment=128):
        pass
    await large.execute("delete from chunks where id % 2 = 0")
    before = await found(large)
    await large.execute(
        """
        create function dawdle() returns trigger language plpgsql
        as $$ begin perform pg_sleep(20); return new; end $$;
        create trigger dawdle before insert on word_segments for each row execute function dawdle();
        """
    )
    making = asyncio.create_task(extend_lists(large, segment=128))
    asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"
    async with asyncio.timeout(10):
        for _ in range(1_000):
            if await large.fetchval(asleep):
                break
            await asyncio.sleep(0.01)
        assert await found(large) == before
    making.cancel()
    await asyncio.gather(making, return_exceptions=True)


async def test_new_vectors_stand_in_the_index(large: Pool) -> None:
    while await index_vectors(large, above=100, few=50):
        pass
    means, new = await means_of(large), some_vector(77)
    chunk_id = await large.fetchval("select chunk_id from chunk_vectors where lang = 'ja' limit 1")
    await large.execute("update chunk_vectors set vector = $1 where chunk_id = $2", HalfVector(new), chunk_id)
    assert chunk_id in await nearest(large, means, new, scope_of(None, None), most=1)


async def test_a_small_model_and_a_language_with_few_vectors_get_no_index(large: Pool) -> None:
    assert await index_vectors(large, above=CHUNKS, few=50) is None
    assert await index_vectors(large, above=100, few=CHUNKS) is None


async def test_an_index_that_was_not_finished_or_whose_model_is_gone_is_removed(large: Pool) -> None:
    while await index_vectors(large, above=100, few=50):
        pass
    await large.execute(
        "update pg_index set indisvalid = false where indexrelid = $1::text::regclass", index_name(1, "zh")
    )
    assert await index_vectors(large, above=100, few=50) == f"removed {index_name(1, 'zh')}"
    assert await index_vectors(large, above=100, few=50) == f"built {index_name(1, 'zh')}"
    await large.execute("delete from embedding_models")
    removed = {await index_vectors(large, above=100, few=50) for _ in range(4)}
    assert removed == {*(f"removed {index_name(1, lang)}" for lang in LANGUAGES), None}


async def test_one_worker_builds_and_the_others_have_nothing_to_do(large: Pool) -> None:
    done = await asyncio.gather(
        *(extend_lists(large, segment=500) for _ in range(4)),
        *(index_vectors(large, above=100, few=400) for _ in range(2)),
    )
    assert sorted(each for each in done if isinstance(each, int)) in ([0, 0, 0, 500],)


async def test_sources_of_articles_that_are_nearest_do_not_hide_the_base(pool: Pool) -> None:
    """More of them than an index looks at in one go: it goes on until there are enough."""
    await fill_with(pool, 2_400)
    while await index_vectors(pool, above=100, few=50):
        pass
    new = NewArticle("Salts", "en", Mode.AUTO, "T1", "C1", "U1")
    article = await Articles(pool).add(new, first_messages=lambda article: [])
    means, query = await means_of(pool), some_vector(3)
    near = await nearest(pool, means, query, scope_of(None, Filters(kinds=["text", "markdown"])), most=600)
    await pool.execute("update documents set article_id = $1", article.id)
    await pool.execute(
        """
        with of_base as (
            insert into documents (origin, kind, title, lang, sha256, size, index_version, text)
            values ('/base.txt', 'text', 'Base', 'en', '', 0, 1, '') returning id
        )
        update chunks set document_id = of_base.id, position = chunks.id from of_base
        where chunks.id <> all($1::int[])
        """,
        [*near],
    )
    scope = scope_of(None, None)
    async with pool.acquire() as connection, connection.transaction():
        # So that an index is taken in a base as small as this.
        await connection.execute("set local enable_seqscan = off; set local enable_sort = off")
        rows = await connection.fetch(nearest_sql(means, scope), HalfVector(query), 20, *scope.arguments)
    found = {row["chunk_id"] for row in rows}
    assert (len(near), len(found)) == (1_800, 60)
    assert not found & near
