"""What the team has published already: pointed out for a similar topic, never evidence."""

from dataclasses import dataclass

from knowledge.article import Article
from knowledge.database import Pool
from knowledge.tokens import content_terms

# Of the terms of the shorter topic, how many the other has to share, and how many that are at least. Of pairs
# like "… from MD5 to Argon2id" / "… from bcrypt to Argon2id" 0.57 are shared, of "PostgreSQL connection
# pools" / "schema changes in PostgreSQL" 0.5. Across languages only names are.
_SHARED = 0.5
_FEWEST = 3

_LOOKED_AT = 500  # published articles, the newest


@dataclass(frozen=True, slots=True)
class SimilarArticle:
    """`permalink` is where its thread is, None if Slack has not said."""

    id: int
    topic: str
    title: str
    description: str
    permalink: str | None


class SimilarArticles:
    """What a workspace has published that is like a new topic."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def published(self, article: Article, *, limit: int = 3) -> list[SimilarArticle]:
        """Those whose topic or title shares most of its words with the article's topic, the nearest first.

        One made in direct messages is nobody else's business: it is pointed out only there.
        """
        rows = await self._pool.fetch(
            """
            select id, topic, draft->>'title' as title, draft->>'description' as description, permalink
            from articles
            where team_id = $1 and status = 'published' and id <> $2
              and (channel_id not like 'D%' or channel_id = $3)
            order by id desc limit $4
            """,
            article.team_id,
            article.id,
            article.channel_id,
            _LOOKED_AT,
        )
        wanted = content_terms(article.topic)
        ranked = []
        for row in rows:
            near = max(_likeness(wanted, row["topic"]), _likeness(wanted, row["title"]))
            if near > _SHARED:
                ranked.append((near, row["id"], SimilarArticle(**row)))
        ranked.sort(key=lambda item: item[:2], reverse=True)
        return [published for _, _, published in ranked[:limit]]


def _likeness(wanted: frozenset[str], text: str) -> float:
    terms = content_terms(text)
    shared = len(wanted & terms)
    return shared / min(len(wanted), len(terms)) if shared >= _FEWEST else 0.0
