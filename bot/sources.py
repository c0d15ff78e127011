"""The sources of the knowledge base and of articles: listed, put into the base, removed."""

from dataclasses import dataclass
from typing import Literal

from bot import announcements
from bot.brief import draft_of, research_of
from bot.dates import day
from bot.decisions import Approvers, Person, is_approver
from bot.elements import Block
from bot.fitting import shorten
from bot.messages import SourceMessage
from bot.people import groups_among
from bot.slack import SlackChannel
from bot.source_blocks import TITLE_CHARACTERS, forget_question, list_of_sources, titled
from bot.texts import say
from knowledge.article import Article
from knowledge.articles import Articles
from knowledge.documents import Documents
from knowledge.language import Language
from knowledge.shared_sources import SharedSources
from knowledge.sources import Source

LISTED = 10

Shown = tuple[str, list[Block]]  # mrkdwn for notifications, and what is seen ([]: the text)


@dataclass(frozen=True, slots=True)
class OfSource:
    """A button of a source, pressed: put it into the base too, or take it out."""

    document_id: int
    wish: Literal["to_base", "forget"]
    user_id: str
    channel_id: str
    language: Language
    respond_to: str
    key: str
    kind: Literal["of_source"] = "of_source"


class Sources:
    """What people see of sources, and do to them."""

    def __init__(
        self,
        documents: Documents,
        shared: SharedSources,
        articles: Articles,
        slack: SlackChannel,
        *,
        approvers: Approvers,
    ) -> None:
        self._documents = documents
        self._shared = shared
        self._articles = articles
        self._slack = slack
        self._approvers = approvers

    async def of_base(self, language: Language) -> Shown:
        """The newest of the base."""
        newest = await self._documents.sources_of_base(LISTED + 1)
        if not newest:
            return say(language, "sources_none"), []
        listed = [(source, "") for source in newest[:LISTED]]
        more = len(newest) > LISTED
        return list_of_sources(language, say(language, "sources_of_base"), listed, more=more)

    async def of_article(self, language: Language, article_id: int, *, team_id: str, user_id: str) -> Shown:
        """Those that an article cites, then those of its research, then its own."""
        article = await self._articles.get(article_id)
        if article is None or article.team_id != team_id or not article.is_open_to(user_id):
            return say(language, "unknown_article", id=article_id), []
        marks = _marks(article)
        own = await self._documents.sources_of_article(article_id)
        ids = [*marks, *await self._shared.of_article(article_id), *(one.document_id for one in own)]
        found = [await self._documents.of(document_id) for document_id in dict.fromkeys(ids)]
        listed = [(source, marks.get(source.document_id, "")) for source in found if source is not None]
        if not listed:
            return say(language, "sources_none_of_article", id=article_id), []
        heading = say(
            language,
            "sources_of_article",
            id=article_id,
            topic=shorten(article.topic, TITLE_CHARACTERS),
            link=article.permalink or "",
        )
        return list_of_sources(language, heading, listed, more=False)

    async def ask_to_forget(self, language: Language, document_id: int, *, user_id: str) -> Shown:
        """`/article forget ID`: the question, or why there is none."""
        source = await self._documents.of(document_id)
        if source is None or await self._is_hidden(source.article_id, user_id):
            return await self._gone(language, document_id, user_id), []
        if (refusal := await self._why_not_forget(source, user_id)) is not None:
            return say(language, refusal), []
        return forget_question(language, source)

    async def carry_out(self, asked: OfSource) -> str:
        """What a button asks for; the answer to who pressed it, as mrkdwn."""
        source = await self._documents.of(asked.document_id)
        if source is None or await self._is_hidden(source.article_id, asked.user_id):
            return await self._gone(asked.language, asked.document_id, asked.user_id)
        if asked.wish == "to_base":
            return await self._to_base(asked, source)
        return await self._forget(asked, source)

    async def _to_base(self, asked: OfSource, source: Source) -> str:
        person = await self._slack.person(asked.user_id, groups=frozenset())
        if not person.full_member:
            return say(asked.language, "guest_adds_nothing")
        if await self._shared.to_base(asked.document_id) is None:
            return await self._gone(asked.language, asked.document_id, asked.user_id)
        await self._tell_threads(asked.document_id, state="base", by=asked.user_id)
        return say(asked.language, "source_to_base", **titled(source.title, source.url))

    async def _forget(self, asked: OfSource, source: Source) -> str:
        if (refusal := await self._why_not_forget(source, asked.user_id)) is not None:
            return say(asked.language, refusal)
        where = self._slack.where(asked.channel_id)
        await self._documents.remove(asked.document_id, by=asked.user_id, from_where=where)
        await self._tell_threads(asked.document_id, state="removed", by=asked.user_id)
        return await self._gone(asked.language, asked.document_id, asked.user_id)

    async def _is_hidden(self, article_id: int | None, user_id: str) -> bool:
        """Whether it is of an article that this person does not see; None is the base."""
        article = None if article_id is None else await self._articles.get(article_id)
        return article is not None and not article.is_open_to(user_id)

    async def _why_not_forget(self, source: Source, user_id: str) -> str | None:
        """The text key of why somebody may not remove a source: who may cancel, or has added it, may."""
        person = await self._slack.person(user_id, groups=groups_among(self._approvers))
        article = None if source.article_id is None else await self._articles.get(source.article_id)
        return why_not_forget(person, source, article, self._approvers)

    async def _tell_threads(self, document_id: int, *, state: Literal["base", "removed"], by: str) -> None:
        """The notes of the threads in which it was shared say what became of it."""
        for article_id, stored in await self._shared.notes(document_id):
            article = await self._articles.get(article_id)
            note = SourceMessage.model_validate(stored)
            if article is not None and note.state != "removed":
                now = note.model_copy(update={"state": state, "by": by})
                await self._articles.tell(article, announcements.source(now))

    async def _gone(self, language: Language, document_id: int, user_id: str) -> str:
        """Who removed it, however often that is asked; or that there never was one."""
        removed = await self._shared.removed(document_id)
        if removed is None or (removed.by != user_id and await self._is_hidden(removed.article_id, user_id)):
            return say(language, "unknown_source", id=document_id)
        told: dict[str, str | int] = {
            "id": document_id,
            "title": shorten(removed.title, TITLE_CHARACTERS),
            "day": day(language, removed.at, with_year=True),
        }
        if removed.by is None:
            return say(language, "source_forgotten_server", **told)
        return say(language, "source_forgotten", **told, by=removed.by)


def why_not_forget(
    person: Person, source: Source, article: Article | None, approvers: Approvers
) -> str | None:
    """The rule of `may` for cancelling, where `source` stands for what was asked for: None = they may.

    An article's own source can be removed by who asked for the article too.
    """
    if not person.full_member:
        return "not_full_member"
    asked_by = {source.added_by, None if article is None else article.requested_by}
    if person.id in asked_by or is_approver(person, source.added_by, approvers):
        return None
    return "not_remover"


def _marks(article: Article) -> dict[int, str]:
    """Documents of its research by id, those that the draft cites first, with their mark if it does."""
    research, draft = research_of(article), draft_of(article)
    if research is None:
        return {}
    cited = [] if draft is None else draft.used_source_ids
    by_id = {source.id: source.document_id for source in research.sources}
    marks = {by_id[source_id]: f"[{source_id}]" for source_id in cited if source_id in by_id}
    return marks | {each: marks.get(each, "") for each in by_id.values()}
