"""What a digest holds, and when one is put out; no Slack import."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

from bot.messages import DigestArticle, DigestMessage, DigestWaiting
from bot.schedule import Schedule, Slots, at_start_and_when_due
from knowledge.digests import Digests, PublishedArticle, Record, Setup, WaitingArticle
from knowledge.language import Language

# The one digest there is. Its name is part of what tells posted slots apart.
NAME = "articles"


class Digest:
    """The digest as it is set up; without a channel it can only be looked at."""

    def __init__(
        self,
        digests: Digests,
        schedule: Schedule,
        *,
        channel_id: str | None,
        language: Language | None,
    ) -> None:
        """`language`: that of the digest; None is the one that most of its articles are in."""
        self._digests = digests
        self.schedule = schedule
        self.channel_id = channel_id
        self._language = language

    async def run(self) -> None:
        """Post what is due, at the start and at each slot; until cancelled, or until the database is away.

        What is due is looked up anew each time, so that starting it again makes up for a fault.
        """
        since = await self.set_up()

        async def post() -> str | None:
            return await self.post_due(since, datetime.now(UTC))

        await at_start_and_when_due(Slots(self.schedule), post)

    async def set_up(self) -> datetime:
        """Since when it is set up as it is: no slot before that is posted."""
        setup = Setup(NAME, self._channel(), self.schedule.cron, self.schedule.zone.key)
        return await self._digests.set_up(setup)

    async def post_due(self, since: datetime, now: datetime) -> str | None:
        """Post the latest slot, unless it was posted or is from before `since`; returns the message's key.

        Slots that were missed before it are in its period.
        """
        slot = self.schedule.latest(now)
        if slot.moment <= since:
            return None
        return await self._digests.post(
            NAME, self._channel(), slot, first=self._first_start, compose=self._compose
        )

    async def post_now(self) -> str | None:
        """Post what there is up to now; None when that was done less than a minute ago."""
        return await self._digests.post_now(
            NAME, self._channel(), self.schedule.zone, first=self._first_start, compose=self._compose
        )

    async def preview(self) -> Record:
        """What a digest posted now would tell."""
        return await self._digests.preview(NAME, self.channel_id, first=self._first_start)

    async def refused(self) -> tuple[datetime, str] | None:
        """When the newest digest was due and why Slack refused it; None where it did not."""
        return await self._digests.refused(NAME, self._channel())

    def message(self, record: Record) -> DigestMessage:
        return digest_message(record, self.schedule.zone, self._language or language_of(record))

    def json(self, record: Record) -> dict[str, Any]:
        """The shape of `digest --json`."""
        return {
            "name": NAME,
            "channel": self.channel_id,
            "period": {"from": record.start, "to": record.end, "timezone": self.schedule.zone.key},
            "articles": [_article_json(article) for article in record.published],
            "waiting": [_waiting_json(waiting) for waiting in record.waiting],
            "failed": record.failed,
            "cancelled": record.cancelled,
        }

    def _compose(self, record: Record) -> dict[str, Any]:
        return self.message(record).model_dump(mode="json")

    def _channel(self) -> str:
        assert self.channel_id is not None
        return self.channel_id

    def _first_start(self, end: datetime) -> datetime:
        """The first digest is as long as the others: a week, if it comes each week."""
        return end - self.schedule.interval(end)


def language_of(record: Record) -> Language:
    """The language of most published articles; where there are none, of those that wait; else English."""
    languages = [article.language for article in record.published or record.waiting]
    return Counter(languages).most_common(1)[0][0] if languages else "en"


def digest_message(record: Record, zone: tzinfo, language: Language) -> DigestMessage:
    return DigestMessage(
        language=language,
        start=record.start.astimezone(zone),
        end=record.end.astimezone(zone),
        at=record.at.astimezone(zone),
        articles=[
            DigestArticle(
                title=_title(article),
                description=str(article.draft.get("description") or ""),
                words=article.words,
                sources=_sources(article),
                drafts=article.version,
                requested_by=article.requested_by,
                approved_by=article.approved_by,
                thread=article.permalink,
                file=article.file,
            )
            for article in record.published
        ],
        waiting=[
            DigestWaiting(
                topic=waiting.topic,
                on=waiting.on,
                version=waiting.version,
                since=waiting.since.astimezone(zone),
                requested_by=waiting.requested_by,
                link=waiting.permalink,
            )
            for waiting in record.waiting
        ],
        failed=record.failed,
        cancelled=record.cancelled,
        tokens=sum(_tokens(article) for article in record.published),
        cost_usd=_cost(record.published),
    )


def _title(article: PublishedArticle) -> str:
    return str(article.draft.get("title") or article.topic)


def _sources(article: PublishedArticle) -> int:
    return len(article.draft.get("used_source_ids", ()))


def _tokens(article: PublishedArticle) -> int:
    return int(article.usage["input_tokens"] + article.usage["output_tokens"])


def _cost(articles: Sequence[PublishedArticle]) -> float | None:
    """What they cost together; None where one of them used tokens whose price is not known."""
    costs = [article.usage["cost_usd"] for article in articles if _tokens(article)]
    return None if None in costs else float(sum(costs))


def _article_json(article: PublishedArticle) -> dict[str, Any]:
    return {
        "id": article.article_id,
        "title": _title(article),
        "description": article.draft.get("description"),
        "topic": article.topic,
        "language": article.language,
        "version": article.version,
        "words": article.words,
        "sources": _sources(article),
        "drafts": article.version,
        "reviews": article.reviews,
        "research_rounds": article.research_rounds,
        "requested_by": article.requested_by,
        "approved_by": article.approved_by,
        "published_at": article.published_at,
        "permalink": article.permalink,
        "file": article.file,
        "tokens": _tokens(article),
        "cost_usd": article.usage["cost_usd"],
    }


def _waiting_json(waiting: WaitingArticle) -> dict[str, Any]:
    return {
        "id": waiting.article_id,
        "topic": waiting.topic,
        "language": waiting.language,
        "on": waiting.on,
        "version": waiting.version,
        "since": waiting.since,
        "requested_by": waiting.requested_by,
        "permalink": waiting.permalink,
    }
