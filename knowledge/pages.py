"""Pages of the web that one article reads: kept as its own sources, and read for what is asked of them."""

import math
from collections import Counter
from collections.abc import Sequence

from knowledge.addresses import checked_url
from knowledge.database import Pool
from knowledge.documents import Documents
from knowledge.search import Passage
from knowledge.sources import Provenance
from knowledge.tokens import content_terms

COLLECTION = "web"


class Pages:
    """What an article has from the web."""

    def __init__(self, pool: Pool, documents: Documents) -> None:
        self._pool = pool
        self._documents = documents

    async def read(self, url: str, question: str, *, most: int, article_id: int) -> list[Passage]:
        """The passages of a page that say most about a question, at most `most`, in reading order.

        The page is fetched and kept as a source of that article alone. One that the base has is read there:
        two of the same address would look like two sources that agree. Raises LoadError, its message a reason
        for people.
        """
        document_id = await self._pool.fetchval(
            "select id from documents where article_id is null and origin = $1", str(checked_url(url))
        )
        if document_id is None:
            provenance = Provenance(article_id=article_id, collection=COLLECTION)
            document_id = (await self._documents.add_page(url, provenance=provenance)).document_id
        rows = await self._pool.fetch(
            """
            select c.id as chunk_id, c.text, c.heading, c.lang, c.document_id, d.title, d.url, d.path
            from chunks c join documents d on d.id = c.document_id
            where d.id = $1 order by c.position
            """,
            document_id,
        )
        chosen = nearest(question, [f"{row['heading']}\n{row['text']}" for row in rows], most=most)
        return [
            Passage(rank=rank, score=0.0, **rows[place]) for rank, place in enumerate(sorted(chosen), start=1)
        ]


def nearest(question: str, texts: Sequence[str], *, most: int) -> list[int]:
    """The places of the texts that have most of the question's words, by how rare these are in the texts.

    By words alone: vectors follow later, in the background. A text without any of them comes in by its place,
    so that a question in another language than the page's gets its beginning.
    """
    bags = [frozenset(content_terms(text)) for text in texts]
    have = Counter(term for bag in bags for term in bag)
    weights = {term: math.log(1 + len(texts) / have[term]) for term in content_terms(question) if have[term]}
    scores = [sum(weight for term, weight in weights.items() if term in bag) for bag in bags]
    return sorted(range(len(texts)), key=lambda place: (-scores[place], place))[:most]
