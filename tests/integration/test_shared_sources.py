"""What was shared in threads, in a real database: read once, moved to the base without a copy, removed."""

import asyncio

import pytest

from knowledge.article import Mode
from knowledge.articles import Articles
from knowledge.changes import NewArticle
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.search import Search
from knowledge.shared_sources import SharedSources
from knowledge.sources import Added, Provenance

TEXTS = {
    "en": "A pepper is a key on the server that no dump of the table shows.",
    "zh": "胡椒是只保存在服务器上的密钥，泄露的表里看不到它。",
    "ja": "ペッパーはサーバーだけが持つ鍵で、流出した表からは分からない。",
}
each_language = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


class Shelf:
    """Two articles, and files that are shared in their threads."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.documents, self.shared, self.search = Documents(pool), SharedSources(pool), Search(pool, None)
        self._articles = Articles(pool)

    async def article(self) -> int:
        new = NewArticle("Pepper", "en", Mode.SUPERVISED, "T1", "C1", "U1")
        return (await self._articles.add(new, first_messages=lambda article: [])).id

    async def share(self, article_id: int, text: str, *, origin: str = "slack://file/F1") -> int:
        added = await self.documents.add_file(
            "notes.md",
            f"# Notes\n\n{text}\n".encode(),
            origin=origin,
            url=None,
            provenance=Provenance(added_by="U1", article_id=article_id),
        )
        await self.shared.share(article_id, added.document_id, changed=added.written == "updated")
        return added.document_id

    async def finds(self, text: str, article_id: int | None = None) -> list[int]:
        search = self.search if article_id is None else self.search.for_article(article_id)
        return [passage.document_id for passage in await search.search(text)]


@pytest.fixture
def shelf(pool: Pool) -> Shelf:
    return Shelf(pool)


@each_language
async def test_what_was_shared_is_unread_until_a_research_has_ended(shelf: Shelf, text: str) -> None:
    first, second = await shelf.article(), await shelf.article()
    document_id = await shelf.share(first, text)
    [unread] = await shelf.shared.unread(first)
    assert (unread.document_id, unread.title) == (document_id, "Notes")
    assert await shelf.shared.unread(second) == []
    later = await shelf.share(first, f"{text}{text}", origin="slack://file/F2")
    await shelf.shared.have_been_read(first, [unread])
    assert [one.document_id for one in await shelf.shared.unread(first)] == [later]
    assert await shelf.shared.of_article(first) == [later, document_id]


async def test_the_same_again_stays_read_and_what_has_changed_is_read_again(shelf: Shelf) -> None:
    article_id = await shelf.article()
    document_id = await shelf.share(article_id, TEXTS["en"])
    await shelf.shared.have_been_read(article_id, await shelf.shared.unread(article_id))
    assert await shelf.share(article_id, TEXTS["en"]) == document_id
    assert await shelf.shared.unread(article_id) == []
    assert await shelf.share(article_id, TEXTS["zh"]) == document_id
    assert len(await shelf.shared.unread(article_id)) == 1


@each_language
async def test_an_articles_own_source_moves_to_the_base_with_its_passages(shelf: Shelf, text: str) -> None:
    article_id, other = await shelf.article(), await shelf.article()
    document_id = await shelf.share(article_id, text)
    assert (await shelf.finds(text), await shelf.finds(text, other)) == ([], [])
    assert await shelf.finds(text, article_id) == [document_id]
    assert await shelf.shared.to_base(document_id) == document_id
    assert await shelf.finds(text) == await shelf.finds(text, other) == [document_id]
    assert len(await shelf.shared.unread(article_id)) == 1
    # Once more, by a second click: it is there.
    assert await shelf.shared.to_base(document_id) == document_id


@each_language
async def test_a_copy_of_what_the_base_has_gives_way_to_it(shelf: Shelf, text: str) -> None:
    first, second = await shelf.article(), await shelf.article()
    ours, theirs = await shelf.share(first, text), await shelf.share(second, text)
    assert ours != theirs
    both = await asyncio.gather(shelf.shared.to_base(ours), shelf.shared.to_base(theirs))
    [kept] = set(both)
    assert kept in (ours, theirs)
    assert await shelf.finds(text) == [kept]
    assert await shelf.shared.of_article(first) == await shelf.shared.of_article(second) == [kept]
    assert await shelf.pool.fetchval("select count(*) from documents") == 1


async def test_what_is_gone_goes_to_no_base_and_whoever_removed_it_is_known(shelf: Shelf) -> None:
    article_id = await shelf.article()
    document_id = await shelf.share(article_id, TEXTS["ja"])
    assert await shelf.shared.removed(document_id) is None
    await shelf.documents.remove(document_id, by="U2", from_where="https://local.slack.com/archives/C1")
    removed = await shelf.shared.removed(document_id)
    assert removed is not None
    assert (removed.title, removed.by) == ("Notes", "U2")
    assert await shelf.shared.to_base(document_id) is None
    assert await shelf.shared.unread(article_id) == []


async def learn_before_it_is_written(shelf: Shelf) -> Added:
    """The base reads the file that `Shelf.share` shares, as it was before."""
    return await shelf.documents.add_file(
        "notes.md",
        b"# Notes\n\nTo be written.\n",
        origin="slack://file/F1",
        url=None,
        provenance=Provenance(),
    )


@each_language
async def test_a_file_that_was_changed_since_the_base_read_it_is_the_bases_as_it_is_now(
    shelf: Shelf, text: str
) -> None:
    learnt = await learn_before_it_is_written(shelf)
    article_id = await shelf.article()
    own = await shelf.share(article_id, text)
    assert own != learnt.document_id
    assert await shelf.shared.to_base(own) == learnt.document_id
    assert await shelf.finds(text) == [learnt.document_id]
    assert await shelf.finds("to be written") == []
    assert [one.document_id for one in await shelf.shared.unread(article_id)] == [learnt.document_id]
    chunks = await shelf.pool.fetchval("select count(*) from chunks")
    assert await shelf.pool.fetchval("select chunks from terms where term = -1") == chunks


@each_language
async def test_a_file_that_changed_since_it_was_read_is_still_unread_in_the_base(
    shelf: Shelf, text: str
) -> None:
    learnt = await learn_before_it_is_written(shelf)
    article_id = await shelf.article()
    await shelf.shared.share(article_id, learnt.document_id, changed=False)
    await shelf.shared.have_been_read(article_id, await shelf.shared.unread(article_id))
    own = await shelf.share(article_id, text)
    assert await shelf.shared.to_base(own) == learnt.document_id
    assert [one.document_id for one in await shelf.shared.unread(article_id)] == [learnt.document_id]
