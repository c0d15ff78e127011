"""Whose sources a search sees, what filters leave, what is folded, and when the newer comes first."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.embedding_models import bundled_embedder
from knowledge.embeddings import embed_pending
from knowledge.filters import Filters
from knowledge.search import Passage, Search

HANDBOOK = {
    "en": "The retention of access logs is ninety days. After that they are deleted by the nightly job.",
    "zh": "访问日志保留九十天，之后由夜间任务删除。需要更久的日志要向安全组申请。",
    "ja": "アクセスログは九十日間保存し、その後は夜間の処理で削除する。延長は安全チームに申請する。",
}
QUERIES = {"en": "retention of access logs", "zh": "访问日志保留多久", "ja": "アクセスログの保存期間"}


@pytest.fixture
async def base(pool: Pool, tmp_path: Path) -> Pool:
    """Forty documents that say nearly the same in three languages, each with a number of its own."""
    for lang, text in HANDBOOK.items():
        for number in range(40):
            (tmp_path / f"{lang}-{number}.md").write_text(f"# {lang} {number}\n\n{text} Team {number}.")
    await Documents(pool).ingest([tmp_path])
    await pool.execute("update documents set published = date '2020-01-01' + (title ~ '7$')::int * 1000")
    return pool


def titles(passages: Sequence[Passage]) -> list[str]:
    return [passage.title for passage in passages]


@pytest.mark.parametrize("lang", QUERIES)
async def test_a_filter_that_leaves_one_in_a_hundred_costs_nothing(base: Pool, lang: str) -> None:
    search = Search(base, None)
    wanted = f"{lang} 13"
    everything = titles(await search.search(QUERIES[lang], k=5))
    assert wanted not in everything
    await base.execute("update documents set collection = 'rare', kind = 'pdf' where title = $1", wanted)
    for filters in (Filters(collections=["rare"]), Filters(kinds=["pdf", "docx"])):
        assert titles(await search.search(QUERIES[lang], k=5, filters=filters)) == [wanted]


@pytest.mark.parametrize("lang", QUERIES)
async def test_filters_are_carried_out_together(base: Pool, lang: str) -> None:
    search = Search(base, None)
    sevens = [f"{lang} {number}" for number in (7, 17, 27, 37)]
    newer = Filters(published_from=date(2022, 9, 27), published_until=date(2022, 9, 27))
    assert sorted(titles(await search.search(QUERIES[lang], k=50, filters=newer))) == sorted(sevens)
    other = next(each for each in QUERIES if each != lang)
    assert titles(await search.search(QUERIES[lang], filters=Filters(languages=[other]))) == []  # type: ignore[list-item]
    assert await search.search(QUERIES[lang], filters=Filters(published_from=date(2022, 9, 28))) == []
    assert await search.search(QUERIES[lang], filters=Filters(collections=[])) == []
    assert len(await search.search(QUERIES[lang], k=50, filters=Filters())) == 40


async def test_a_document_without_a_date_is_in_no_period(base: Pool) -> None:
    await base.execute("update documents set published = null where title <> 'en 1'")
    filters = Filters(published_until=date(2030, 1, 1))
    assert titles(await Search(base, None).search(QUERIES["en"], filters=filters)) == ["en 1"]


@pytest.mark.parametrize("lang", QUERIES)
async def test_an_article_sees_its_own_sources_and_nobody_else_does(base: Pool, lang: str) -> None:
    articles = Articles(base)
    one, other = [
        await articles.add(
            NewArticle("Logs", "en", Mode.AUTO, f"T{number}", "C1", "U1"), first_messages=lambda article: []
        )
        for number in range(2)
    ]
    own = f"{lang} 13"
    await base.execute("update documents set article_id = $1 where title = $2", one.id, own)
    search = Search(base, None)
    assert own not in titles(await search.search(QUERIES[lang], k=50))
    assert own in titles(await search.for_article(one.id).search(QUERIES[lang], k=50))
    assert own not in titles(await search.for_article(other.id).search(QUERIES[lang], k=50))
    filters = Filters(kinds=["markdown"])
    assert own not in titles(await search.search(QUERIES[lang], k=50, filters=filters))
    assert own in titles(await search.for_article(one.id).search(QUERIES[lang], k=50, filters=filters))
    chunk_id = await base.fetchval(
        "select c.id from chunks c join documents d on d.id = c.document_id where d.title = $1", own
    )
    assert await search.around(chunk_id) == []
    assert await search.for_article(other.id).around(chunk_id) == []
    assert titles(await search.for_article(one.id).around(chunk_id)) == [own]


@pytest.mark.parametrize("narrow", [False, True])
async def test_nobody_else_finds_an_articles_own_source_by_its_meaning(
    pool: Pool, tmp_path: Path, narrow: bool
) -> None:
    """By vectors alone: question and answer have no word in common."""
    embedder = bundled_embedder()
    assert embedder is not None
    document = "# Payroll\n\nSalaries are transferred to the employees' bank accounts on the 25th."
    for name, text in {"own": document, **HANDBOOK}.items():
        (tmp_path / f"{name}.md").write_text(text)
    await Documents(pool).ingest([tmp_path])
    while await embed_pending(pool, embedder):
        pass
    articles = Articles(pool)
    one, other = [
        await articles.add(
            NewArticle("Pay", "zh", Mode.AUTO, f"T{number}", "C1", "U1"), first_messages=lambda article: []
        )
        for number in range(2)
    ]
    await pool.execute("update documents set article_id = $1 where title = 'Payroll'", one.id)
    filters = Filters(kinds=["markdown"]) if narrow else None
    search, query = Search(pool, embedder), "工资哪一天发到员工的银行账户？"
    assert "Payroll" in titles(await search.for_article(one.id).search(query, filters=filters))
    for without in (search, search.for_article(other.id)):
        assert "Payroll" not in titles(await without.search(query, k=100, filters=filters))


@pytest.mark.parametrize("lang", QUERIES)
async def test_what_says_the_same_is_shown_once_with_how_often(pool: Pool, tmp_path: Path, lang: str) -> None:
    for name, around in {"wiki": "Wiki\n\n{}", "mirror": "Mirror\n\n{}", "site": "{}\n\nShare"}.items():
        (tmp_path / f"{name}.txt").write_text(around.format(HANDBOOK[lang] * 2))
    (tmp_path / "other.txt").write_text(f"{QUERIES[lang]}: 30. {HANDBOOK[lang][:20]}")
    await Documents(pool).ingest([tmp_path])
    passages = await Search(pool, None).search(QUERIES[lang], k=5)
    assert sorted((passage.copies, passage.title == "other") for passage in passages) == [
        (0, True),
        (2, False),
    ]
    assert [passage.rank for passage in passages] == [1, 2]


async def test_the_same_words_under_another_heading_of_a_document_stay(pool: Pool, tmp_path: Path) -> None:
    parts = "\n\n".join(f"## {place}\n\n{HANDBOOK['en'] * 8}" for place in ("Staging", "Production"))
    (tmp_path / "logs.md").write_text(f"# Logs\n\n{parts}")
    await Documents(pool).ingest([tmp_path])
    passages = await Search(pool, None).search(QUERIES["en"])
    assert {passage.heading for passage in passages} == {"Logs > Staging", "Logs > Production"}


async def test_copies_do_not_take_the_places_of_others(pool: Pool, tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"copy-{number}.md").write_text(f"# Logs\n\n{HANDBOOK['en']}" + "\n\nEnd" * number)
    (tmp_path / "short.md").write_text("# Backup\n\nAccess to backups is logged, and logs are kept.")
    await Documents(pool).ingest([tmp_path])
    passages = await Search(pool, None).search("retention of access logs", k=2)
    assert titles(passages) == ["Logs", "Backup"]
    assert passages[0].copies > 50


@pytest.mark.parametrize("lang", QUERIES)
async def test_of_two_that_are_as_good_the_newer_is_first(pool: Pool, tmp_path: Path, lang: str) -> None:
    for number in (19, 46):
        (tmp_path / f"{number}.md").write_text(f"# Logs\n\n{HANDBOOK[lang]} {number} MiB.")
    await Documents(pool).ingest([tmp_path])
    for newer, older in ((19, 46), (46, 19)):
        for number, day in ((newer, date(2025, 1, 1)), (older, date(2019, 1, 1))):
            await pool.execute(
                "update documents set published = $1 where path like '%' || $2", day, f"{number}.md"
            )
        passages = await Search(pool, None).search(QUERIES[lang])
        assert [f"{newer} MiB" in passage.text for passage in passages] == [True, False]


async def test_a_better_passage_stays_before_a_newer_one(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text(f"# Logs\n\n{HANDBOOK['en']}")
    (tmp_path / "new.md").write_text("# News\n\nAccess to the building is by card; visits are in the logs.")
    await Documents(pool).ingest([tmp_path])
    await pool.execute("update documents set published = '1999-01-01' where title = 'Logs'")
    assert titles(await Search(pool, None).search("retention of access logs")) == ["Logs", "News"]
