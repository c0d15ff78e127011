"""What people give the bot to read, for the knowledge base or for one article."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from bot import announcements
from bot.dates import day
from bot.decisions import Person
from bot.fitting import length, shorten
from bot.messages import SourceMessage
from bot.reasons import reason_in
from bot.shared_message import SharedMessage, as_document, has_words, mentioned
from bot.slack import SlackChannel
from bot.slack_files import NotReadable, SharedFile, SlackFiles
from bot.source_blocks import titled
from bot.texts import say, say_plain
from bot.workflow import Said
from knowledge.article import Article, Status
from knowledge.articles import Articles
from knowledge.changes import AlreadyHeard, Outgoing
from knowledge.documents import Documents
from knowledge.files import LoadError
from knowledge.language import Language
from knowledge.shared_sources import SharedSources
from knowledge.sources import Added, Provenance, Source

MOST_AT_ONCE = 10  # links and files of one message
LONGEST_NAME = 200  # characters of an address or a file's name in an answer
ANSWER_CHARACTERS = 3_900  # over 4,000 Slack splits a text


@dataclass(frozen=True, slots=True)
class Learn:
    """`/article learn URL`, or the shortcut of a message: for the knowledge base.

    `language` is that of the answer, None = the one that the person has set in Slack.
    """

    user_id: str
    channel_id: str
    pages: tuple[str, ...]
    message: SharedMessage | None
    language: Language | None
    respond_to: str
    key: str
    kind: Literal["learn"] = "learn"


class Learning:
    """Each is done again after a crash: what is in the base already is told so, and changes nothing."""

    def __init__(
        self,
        documents: Documents,
        shared: SharedSources,
        articles: Articles,
        slack: SlackChannel,
        files: SlackFiles,
    ) -> None:
        self._documents = documents
        self._shared = shared
        self._articles = articles
        self._slack = slack
        self._files = files

    async def learn(self, asked: Learn) -> str:
        """Read it into the knowledge base; the answer (mrkdwn) says of each thing what became of it."""
        person = await self._slack.person(asked.user_id, groups=frozenset())
        language = asked.language or person.language
        if not person.full_member:
            return say(language, "guest_adds_nothing")
        message = asked.message
        where = self._slack.where(asked.channel_id)
        if message is not None:
            if message.is_own:
                return say(language, "own_message")
            where = self._slack.where(message.channel_id, message.ts, message.thread_ts)
        provenance = Provenance(added_by=person.id, added_from=where)
        pages, files = asked.pages, () if message is None else message.files
        if message is not None:
            pages = message.links
        if message is not None and not pages and not files:
            return await self._learn_text(message, where, provenance, language)
        answers = [await self._learn_page(page, provenance, language) for page in pages[:MOST_AT_ONCE]]
        for file in files[: MOST_AT_ONCE - len(answers)]:
            answers.append(await self._learn_file(file, provenance, language))
        if left := len(pages) + len(files) - len(answers):
            answers.append(say(language, "sources_left", count=left, limit=MOST_AT_ONCE))
        return "\n".join(_with_room(answers))

    async def share(self, article: Article, said: Said, files: Sequence[SharedFile]) -> None:
        """Files that were shared in an article's thread become its sources; the thread is told of each."""
        person = await self._slack.person(said.user_id, groups=frozenset())
        for file in files[:MOST_AT_ONCE]:
            told = await self._shared_in(article, said, file, person)
            claim = f"file:{said.channel_id}:{said.ts}:{file.id}"
            try:
                await self._articles.tell(article, told, claims=(claim,))
            except AlreadyHeard:
                continue
        if (left := len(files) - MOST_AT_ONCE) > 0:
            counts: dict[str, str | int] = {"count": left, "limit": MOST_AT_ONCE}
            key = f"files:{said.ts}"
            note = announcements.note(article, key, "sources_left", counts, to=said.user_id)
            with suppress(AlreadyHeard):
                await self._articles.tell(article, note, claims=(f"files:{said.channel_id}:{said.ts}",))

    async def _shared_in(self, article: Article, said: Said, file: SharedFile, person: Person) -> Outgoing:
        """Make a source of one file; what is to be told of it, in the thread or to its author alone."""
        language = article.language

        def alone(key: str, params: dict[str, str | int]) -> Outgoing:
            note = f"file:{said.ts}:{file.id}"
            return announcements.note(article, note, key, params, to=said.user_id)

        if not person.full_member:
            return alone("guest_adds_nothing", {})
        if article.status is Status.CANCELLED:
            return alone("file_of_cancelled", {"what": shorten(file.name, LONGEST_NAME)})
        where = self._slack.where(said.channel_id, said.ts, said.thread_ts)
        provenance = Provenance(added_by=person.id, added_from=where, article_id=article.id)
        try:
            added = await self._add_file(file, provenance)
        except (LoadError, NotReadable) as error:
            return alone(*_why_not(language, file.name, error))
        await self._shared.share(article.id, added.document_id, changed=added.written == "updated")
        source = await self._documents.of(added.document_id)
        before = await self._articles.message(announcements.source_key(article.id, added.document_id))
        if before is not None and before[0].get("state") != "removed":
            return alone("source_shared_already", titled(added.title, added.url))
        own = source is not None and source.article_id is not None
        return announcements.source(
            SourceMessage(
                article_id=article.id,
                language=language,
                document_id=added.document_id,
                title=added.title,
                link=added.url or "",
                shared_by=person.id,
                state="own" if own else "base",
            )
        )

    async def _learn_page(self, url: str, provenance: Provenance, language: Language) -> str:
        try:
            added = await self._documents.add_page(url, provenance=provenance)
        except LoadError as error:
            return _not_added(language, url, error)
        return await self._told(language, added)

    async def _learn_file(self, file: SharedFile, provenance: Provenance, language: Language) -> str:
        try:
            added = await self._add_file(file, provenance)
        except (LoadError, NotReadable) as error:
            return _not_added(language, file.name, error)
        return await self._told(language, added)

    async def _learn_text(
        self, message: SharedMessage, where: str, provenance: Provenance, language: Language
    ) -> str:
        if not has_words(message.text):
            return say(language, "message_without_words")
        names = {each: await self._slack.name_of(each) for each in mentioned(message.text)[:MOST_AT_ONCE]}
        author = message.name or say_plain(language, "message_by_bot")
        if message.author is not None:
            author = await self._slack.name_of(message.author)
        content = as_document(message, by=author, names=names)
        try:
            added = await self._documents.add_file(
                "message.md", content, origin=where, url=where, provenance=provenance
            )
        except LoadError as error:
            return _not_added(language, where, error)
        return await self._told(language, added)

    async def _add_file(self, file: SharedFile, provenance: Provenance) -> Added:
        """Raises LoadError or NotReadable."""
        read = await self._files.read(file)
        return await self._documents.add_file(
            read.name,
            read.content,
            origin=f"slack://file/{file.id}",
            url=read.permalink,
            provenance=provenance,
        )

    async def _told(self, language: Language, added: Added) -> str:
        """What became of something that was read, for who gave it."""
        named = titled(added.title, added.url)
        if added.written != "unchanged":
            return say(language, f"source_{added.written}", **named, chunks=added.chunks)
        source = await self._documents.of(added.document_id)
        if source is None:  # removed a moment ago: as if it had not been there
            return say(language, "source_added", **named, chunks=added.chunks)
        return _known(language, source)


def _known(language: Language, source: Source) -> str:
    named = titled(source.title, source.url) | {"day": day(language, source.added_at, with_year=True)}
    if source.added_by is None:
        return say(language, "source_known_server", **named)
    return say(language, "source_known", **named, by=source.added_by)


def _not_added(language: Language, what: str, error: LoadError | NotReadable) -> str:
    key, params = _why_not(language, what, error)
    return say(language, key, **params)


def _why_not(
    language: Language, what: str, error: LoadError | NotReadable
) -> tuple[str, dict[str, str | int]]:
    """The key and parameters of the sentence that says why something was not read."""
    named: dict[str, str | int] = {"what": shorten(what, LONGEST_NAME)}
    if isinstance(error, NotReadable):
        return error.key, named | error.params
    return "source_not_added", named | {"reason": reason_in(language, str(error))}


def _with_room(answers: Sequence[str]) -> Iterator[str]:
    """As many answers as a message of Slack holds: addresses can be long."""
    used = 0
    for answer in answers:
        used += length(answer) + 1
        if used > ANSWER_CHARACTERS:
            yield "…"
            return
        yield answer
