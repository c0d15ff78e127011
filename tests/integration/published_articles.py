"""Articles that have come a long way, each move at a time of the test's choosing."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from knowledge.article import Action, Article, ArticleError, Mode, On, Status
from knowledge.articles import Articles
from knowledge.changes import Change, NewArticle, NewDecision, NewVersion, Outgoing
from knowledge.database import Pool
from knowledge.language import Language

# Tests tell of times before; what the database has dated itself is later.
NOT_DATED_YET = datetime(2025, 1, 1, tzinfo=UTC)

USAGE = {"requests": 7, "input_tokens": 20_000, "output_tokens": 1_000, "cost_usd": 0.05}


def draft_json(title: str, *, sources: int = 2) -> dict[str, Any]:
    return {
        "title": title,
        "description": f"What {title} is about.",
        "tags": [],
        "categories": [],
        "sections": [],
        "content": "",
        "used_source_ids": [f"S{number}" for number in range(1, sources + 1)],
        "notes": [],
    }


@dataclass
class Newsroom:
    """Walks articles through their states, by the moves that the bot itself makes."""

    pool: Pool

    @property
    def articles(self) -> Articles:
        return Articles(self.pool)

    async def at_outline(
        self, topic: str, language: Language, when: datetime, *, channel: str = "C1", by: str = "UANA"
    ) -> Article:
        new = NewArticle(topic, language, Mode.SUPERVISED, "T1", channel, by)
        article = await self.articles.add(new, first_messages=lambda _: [])
        article = await self._move(article, Status.OUTLINING)
        asked = replace(article, status=Status.AWAITING_OUTLINE, outline_version=1)
        article = await self._save(article, asked, messages=[gate(article, "outline", 1)])
        await self._date(article, when)
        return article

    async def at_draft(self, article: Article, title: str, when: datetime) -> Article:
        """The next draft, shown with its file."""
        working = Status.WRITING if article.status is Status.AWAITING_OUTLINE else Status.REVISING
        article = await self._move(article, working)
        article = await self._move(article, Status.REVIEWING)
        number, draft = article.version + 1, draft_json(title)
        shown = replace(
            article, status=Status.AWAITING_APPROVAL, version=number, draft=draft, usage=dict(USAGE)
        )
        file = Outgoing(f"article:{article.id}:file:{number}", {"kind": "file", "version": number})
        article = await self._save(
            article,
            shown,
            messages=[file, gate(article, "draft", number)],
            version=NewVersion(number, draft, "text", 1_240),
            review=(number, "offline", {"decision": "approve"}),
        )
        await self.pool.execute(
            "update outbox set permalink = 'https://x.test/' || key where article_id = $1", article.id
        )
        await self._date(article, when)
        return article

    async def publish(self, article: Article, when: datetime, *, by: str = "UBO") -> Article:
        approve = NewDecision("draft", Action.APPROVE, "", None, by, article.version)
        approved = replace(article, status=Status.PUBLISHING, approved_by=by)
        article = await self._save(article, approved, decision=approve)
        article = await self._move(article, Status.PUBLISHED)
        await self._date(article, when)
        return article

    async def published(
        self, title: str, language: Language, when: datetime, *, channel: str = "C1"
    ) -> Article:
        article = await self.at_outline(f"{title}?", language, when, channel=channel)
        return await self.publish(await self.at_draft(article, title, when), when)

    async def cancel(self, article: Article, when: datetime) -> None:
        await self._date(await self._move(article, Status.CANCELLED), when)

    async def fail(self, article: Article, when: datetime) -> Article:
        error = ArticleError(article.status, "unexpected", "…")
        failed = await self._save(article, replace(article, status=Status.FAILED, error=error))
        await self._date(failed, when)
        return failed

    async def retry(self, article: Article, when: datetime) -> None:
        assert article.error is not None
        again = replace(article, status=article.error.leg, error=None)
        await self._date(await self._save(article, again), when)

    async def _move(self, article: Article, to: Status) -> Article:
        return await self._save(article, replace(article, status=to))

    async def _save(self, before: Article, after: Article, **written: Any) -> Article:
        return await self.articles.save(before, Change(after, why="test", **written))

    async def _date(self, article: Article, when: datetime) -> None:
        """What is not dated yet happened then."""
        for table, column in (
            ("article_moves", "at"),
            ("decisions", "at"),
            ("article_reviews", "created_at"),
        ):
            await self.pool.execute(
                f"update {table} set {column} = $2 where article_id = $1 and {column} > $3",
                article.id,
                when,
                NOT_DATED_YET,
            )


def gate(article: Article, on: On, version: int) -> Outgoing:
    return Outgoing(f"article:{article.id}:{on}:{version}", {"kind": on}, on=on, version=version)
