"""What people do to articles, step by step: request, reply, click. No Slack import; `Channel` is the port."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, replace
from typing import Protocol

from bot import announcements
from bot.brief import reading_first
from bot.conclusions import failed
from bot.decisions import (
    Approvers,
    Keep,
    Limits,
    Move,
    Person,
    Reply,
    Seen,
    decide,
    may,
    near_miss,
)
from bot.messages import MESSAGE, Decided, DraftMessage, OutlineMessage
from bot.people import groups_among
from bot.replies import NearMiss, Talk, Word, read_reply
from bot.slack_codes import CHANNEL_CLOSED, TOKEN_REFUSED
from bot.texts import say
from knowledge.article import Action, Article, Mode, Status
from knowledge.articles import Articles
from knowledge.changes import AlreadyHeard, Change, Moved, NewArticle, NewDecision, Outgoing
from knowledge.documents import Documents
from knowledge.language import Language
from knowledge.shared_sources import SharedSources

log = logging.getLogger(__name__)

# A word is read once the messages on their way to its channel have arrived there, or after this long.
POSTING_SECONDS = 5.0
POSTING_LOOK_SECONDS = 0.05


class Channel(Protocol):
    """What the workflow asks of Slack before it acts."""

    async def person(self, user_id: str, *, groups: frozenset[str]) -> Person:
        """Who this is, and in which of `groups`."""

    async def why_not_post(self, channel_id: str) -> str | None:
        """The text key of what keeps the bot from posting there, None if nothing does."""


@dataclass(frozen=True, slots=True)
class Requested:
    """`/article TOPIC`; `claim` is the inbox key of this very command."""

    topic: str
    language: Language
    mode: Mode
    anyway: bool  # although an article on the same topic exists
    team_id: str
    channel_id: str
    user_id: str
    command: str  # as typed, to be typed again
    claim: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message in a thread; `claims` are its inbox keys: the event's id, and (team, channel, ts)."""

    channel_id: str
    thread_ts: str
    ts: str
    user_id: str
    text: str
    bot_user_id: str
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence for one person alone; `offer_anyway` adds a button that starts the article all the same."""

    text: str
    offer_anyway: bool = False


class NotKnownYet(Exception):
    """Which article a word is about shows only once a message that may be in Slack has been looked for."""


class Workflow:
    """The people's side of an article. Whoever calls has acknowledged to Slack already."""

    def __init__(
        self,
        articles: Articles,
        documents: Documents,
        shared: SharedSources,
        channel: Channel,
        *,
        approvers: Approvers,
        limits: Limits,
    ) -> None:
        self._articles = articles
        self._documents = documents
        self._shared = shared
        self._channel = channel
        self._approvers = approvers
        self._limits = limits

    async def request(self, requested: Requested) -> Answer | None:
        """Start an article, or say why not; None when the thread itself is the answer."""
        language = requested.language
        if (problem := await self._channel.why_not_post(requested.channel_id)) is not None:
            return Answer(say(language, problem, command=requested.command))
        person = await self._person(requested.user_id)
        if not person.full_member:
            return Answer(say(language, "not_full_member"))
        if (await self._documents.count()).chunks == 0:
            return Answer(say(language, "knowledge_empty"))
        if not requested.anyway:
            same = await self._articles.on_topic(
                requested.topic, team_id=requested.team_id, user_id=requested.user_id
            )
            if same is not None:
                text = say(
                    language,
                    "already_exists",
                    id=same.id,
                    topic=same.topic,
                    status=same.status,
                    link=same.permalink or "",
                )
                return Answer(text, offer_anyway=True)
        new = NewArticle(
            topic=requested.topic,
            language=language,
            mode=requested.mode,
            team_id=requested.team_id,
            channel_id=requested.channel_id,
            requested_by=requested.user_id,
        )
        try:
            await self._articles.add(
                new, first_messages=lambda article: [self._status(article)], claims=[requested.claim]
            )
        except AlreadyHeard:
            log.info("the same command came twice: %s", requested.claim)
        return None

    async def hear(self, said: Said) -> None:
        """A message in a thread: a word moves its article, a near miss is answered, talk is left alone."""
        reading = read_reply(said.text, bot_user_id=said.bot_user_id)
        if isinstance(reading, Talk):
            return
        article = await self.article_of(said)
        if article is None:
            if await self._articles.posting_in(said.channel_id, articles_only=True):
                raise NotKnownYet  # the thread may be one whose first message is in Slack, and nobody knows
            return
        key = f"{said.channel_id}:{said.ts}"
        if isinstance(reading, NearMiss):
            if (reply := near_miss(article, reading)) is not None:
                with contextlib.suppress(AlreadyHeard):
                    await self._answer(article, reply, said.user_id, key, said.claims)
        else:
            above = await self._articles.asked_above(article.id, said.ts)
            seen = Seen(None, 0) if above is None else Seen(*above)
            await self.act(article.id, reading, seen, user_id=said.user_id, key=key, claims=said.claims)

    async def article_of(self, said: Said) -> Article | None:
        """The article in whose thread something was said."""
        await self._all_posted(said.channel_id)
        return await self._articles.in_thread(said.channel_id, said.thread_ts)

    async def act(
        self,
        article_id: int,
        word: Word,
        seen: Seen,
        *,
        user_id: str,
        key: str,
        claims: tuple[str, ...],
    ) -> None:
        """Carry out a word, wherever it came from: thread, button or modal end in the same decision row.

        `key` names this very word, for the key of its answer. Events that were claimed before do nothing.
        """
        person = await self._person(user_id)
        while (article := await self._articles.get(article_id)) is not None:
            try:
                if (refusal := may(word.action, person, article, self._approvers)) is not None:
                    await self._answer(article, refusal, user_id, key, claims)
                    return
                match decide(article, word, seen):
                    case Reply() as reply:
                        await self._answer(article, reply, user_id, key, claims)
                    case Keep() as keep:
                        await self._keep(article, word, keep, user_id, key, claims)
                    case Move() as move:
                        await self._move(article, word, move, user_id, key, claims)
                return
            except Moved:
                continue  # somebody was faster: decide again on what is there now
            except AlreadyHeard:
                log.info("article %s: the same event came twice: %s", article_id, key)
                return

    async def cancel_by_command(
        self, article_id: int, *, language: Language, user_id: str, team_id: str, claim: str
    ) -> Answer:
        """`/article cancel ID`, answered where it was typed: the thread may be in another channel."""
        article = await self._articles.get(article_id)
        if article is None or article.team_id != team_id or not article.is_open_to(user_id):
            return Answer(say(language, "unknown_article", id=article_id))
        word, seen = Word(Action.CANCEL, "", None), Seen(None, 0)
        reply = may(word.action, await self._person(user_id), article, self._approvers)
        if reply is None and isinstance(outcome := decide(article, word, seen), Reply):
            reply = outcome
        if reply is not None:
            return Answer(say(article.language, reply.key, **reply.params))
        await self.act(article_id, word, seen, user_id=user_id, key=claim, claims=(claim,))
        return Answer(say(article.language, "cancelled_kept"))

    async def slack_refused(self, article_id: int, code: str) -> None:
        """Slack will never take a message that people need: the article fails and keeps what it has.

        Where its channel is the reason, whoever asked for it is told directly.
        """
        while (article := await self._articles.get(article_id)) is not None:
            if article.status in (Status.PUBLISHED, Status.CANCELLED, Status.FAILED):
                return
            reason = "slack_token" if code in TOKEN_REFUSED else "slack"
            if code in CHANNEL_CLOSED:
                reason = "slack_channel"
            change = failed(article, reason, {"code": code})
            messages = [*change.messages, self._status(change.after)]
            if reason == "slack_channel":
                messages.append(_told_directly(change.after))
            try:
                await self._articles.save(article, replace(change, messages=messages))
                return
            except Moved:
                continue

    async def _all_posted(self, channel_id: str) -> None:
        """Until it is known what stands above a word: somebody may be quicker than Slack's answer to us."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POSTING_SECONDS):
                while await self._articles.posting_in(channel_id):
                    await asyncio.sleep(POSTING_LOOK_SECONDS)

    async def _answer(
        self, article: Article, reply: Reply, user_id: str, key: str, claims: tuple[str, ...]
    ) -> None:
        """Tell one person alone; nothing of the article changes."""
        if reply.params.get("by") == user_id:
            return  # a second click of the same person: what the first one did is there to see
        params = dict(reply.params)
        if params.get("link") == "":
            params["link"] = await self._link(article)
        await self._articles.tell(
            article,
            announcements.note(article, f"to:{user_id}:{key}", reply.key, params, to=user_id),
            claims=claims,
        )

    async def _keep(
        self,
        article: Article,
        word: Word,
        keep: Keep,
        user_id: str,
        key: str,
        claims: tuple[str, ...],
    ) -> None:
        """Agents are at work: the request waits for the next gate, and the thread is told so."""
        decision = NewDecision(
            on=keep.on,
            action=word.action,
            text=word.text,
            section=word.section,
            by=user_id,
            version=keep.version,
            kept=True,
        )
        note = announcements.note(article, f"kept:{key}", keep.key, dict(keep.params))
        await self._articles.save(
            article,
            Change(article, why="kept", decision=decision, messages=[note], claims=claims),
        )

    async def _move(
        self,
        article: Article,
        word: Word,
        move: Move,
        user_id: str,
        key: str,
        claims: tuple[str, ...],
    ) -> None:
        to = move.to
        if word.action is Action.REVISE:
            to = reading_first(to, await self._shared.unread(article.id))
        after = replace(article, status=to)
        if word.action is Action.APPROVE and move.on == "draft":
            after = replace(after, approved_by=user_id)
        # What stopped the article is over; that an approved draft had been stopped stays in the record.
        after = replace(after, error=None)
        if word.action in (Action.REVISE, Action.RESEARCH, Action.RETRY):
            after = replace(after, stopped_by=None)
        if article.status is Status.PUBLISHED:  # of the new version nobody has approved anything
            after = replace(after, approved_by=None)
        decision = NewDecision(
            on=move.on,
            action=word.action,
            text=word.text,
            section=word.section,
            by=user_id,
            version=move.version,
        )
        at_gate = article.status in (Status.AWAITING_OUTLINE, Status.AWAITING_APPROVAL)
        messages = [self._status(after)]
        if move.key is not None:
            messages.insert(0, announcements.note(after, f"moved:{key}", move.key, dict(move.params)))
        if at_gate:
            messages.append(await self._decided_gate(article, Decided(action=word.action, by=user_id)))
        await self._articles.save(
            article,
            Change(
                after,
                why=f"{word.action} by {user_id}",
                decision=decision,
                # What was kept when the budget was used up is carried out with it, as one request.
                take=at_gate and bool(article.waiting) and word.action in (Action.REVISE, Action.RESEARCH),
                messages=messages,
                claims=claims,
            ),
        )

    async def _decided_gate(self, article: Article, by: Decided) -> Outgoing:
        """The message that asked, edited: who decided takes the place of its buttons."""
        on, version = announcements.waits_for(article)
        key = announcements.gate_key(article, on, version)
        stored = await self._articles.message(key)
        assert stored is not None, key  # a gate is reached in the transaction that writes its message
        message = MESSAGE.validate_python(stored[0])
        assert isinstance(message, OutlineMessage | DraftMessage)
        return Outgoing(
            key, announcements.decided(message, by).model_dump(mode="json"), on=on, version=version
        )

    async def _link(self, article: Article) -> str:
        """Where the current outline or draft stands in the thread; the article's own message before that."""
        key = (
            announcements.gate_key(article, "draft", article.version)
            if article.version
            else announcements.gate_key(article, "outline", article.outline_version)
        )
        stored = await self._articles.message(key)
        return (stored[1] if stored else None) or article.permalink or ""

    async def _person(self, user_id: str) -> Person:
        return await self._channel.person(user_id, groups=groups_among(self._approvers))

    def _status(self, article: Article) -> Outgoing:
        return announcements.status(article, max_reviews=self._limits.max_reviews)


def _told_directly(article: Article) -> Outgoing:
    """Why an article has stopped, to whoever asked for it: its thread cannot be written to."""
    assert article.error is not None
    params: dict[str, str | int] = {
        "id": article.id,
        "topic": article.topic,
        "message": article.error.message,
    }
    if article.thread_ts is None:
        note = announcements.note(article, f"direct:{article.moves}", "direct_not_begun", params)
    else:
        params["link"] = article.permalink or ""
        note = announcements.note(article, f"direct:{article.moves}", "direct_stopped", params)
    return replace(note, to=article.requested_by)
