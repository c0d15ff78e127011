"""How a digest is laid out, and cut to what one message holds."""

from collections.abc import Sequence
from datetime import timedelta

from bot import dates
from bot.elements import Block, Element, bold, fit, joined, plain, rich_text, section, text_element
from bot.fitting import CUT_MARK, clean, is_blank, shorten
from bot.layouts import Part, arranged, header, labelled
from bot.messages import DigestArticle, DigestMessage, DigestWaiting
from bot.render import inline
from bot.status_line import spent
from bot.texts import say, say_elements, say_plain
from knowledge.language import Language

# JSON characters of one text, and characters of it that are looked at.
TEXT, READ = 900, 1_200
TOPIC_CHARACTERS = 300
SUMMARY_CHARACTERS = 300  # of the titles in a notification


def digest_body(message: DigestMessage, room: int) -> list[Block]:
    """A digest in at most `room` JSON characters: what has no room is counted."""
    language = message.language
    if message.articles:
        what: Part | Block = Part([_article(article, language) for article in message.articles], _paragraphs)
        label = labelled(language, "label_waiting")
    else:
        what = rich_text(section([text_element(_quiet(message))]))
        label = labelled(language, "label_waiting_quiet", count=len(message.waiting))
    counts = _counts(message)
    return arranged(
        language,
        room,
        header(_header(message)),
        what,
        Part([_waiting(waiting, message) for waiting in message.waiting], label),
        *([_context(counts)] if counts else []),
    )


def digest_text(message: DigestMessage) -> str:
    """What a notification tells of it (mrkdwn)."""
    titles = say_plain(message.language, "between_headings").join(
        plain(_title(article)) for article in message.articles
    )
    told = shorten(" ".join(titles.split()), SUMMARY_CHARACTERS) or _quiet(message)
    return say(message.language, "text_digest", header=_header(message), told=told)


def _header(message: DigestMessage) -> str:
    language = message.language
    return say_plain(language, "header_digest", period=dates.period(language, message.start, message.end))


def _quiet(message: DigestMessage) -> str:
    length = message.end - message.start
    if length < timedelta(hours=36):
        return say_plain(message.language, "quiet_day")
    if timedelta(days=5) < length < timedelta(days=9):
        return say_plain(message.language, "quiet_week")
    return say_plain(message.language, "quiet_time")


def _article(article: DigestArticle, language: Language) -> list[Element]:
    """The title and what it is about; below them the facts and where to read it."""
    description = fit(inline(shorten(article.description, READ)), TEXT)
    people = {"by": article.requested_by}
    if article.approved_by is not None:
        people["approver"] = article.approved_by
    facts = [
        say_elements(language, "part_words", {"words": article.words}),
        say_elements(language, "part_sources", {"sources": article.sources}),
        say_elements(language, "part_drafts", {"drafts": article.drafts}),
        say_elements(language, "asked" if article.approved_by is None else "asked_and_approved", people),
        joined(
            " ",
            [
                say_elements(language, key, {"link": link})
                for key, link in (("link_thread", article.thread), ("link_article", article.file))
                if link
            ],
        ),
    ]
    head = joined(" — ", [bold(_title(article)), [] if is_blank(plain(description)) else description])
    return [*head, text_element("\n"), *joined(" · ", facts)]


def _title(article: DigestArticle) -> list[Element]:
    title = fit(inline(shorten(article.title, READ)), TEXT)
    return [text_element(CUT_MARK)] if is_blank(plain(title)) else title


def _waiting(waiting: DigestWaiting, message: DigestMessage) -> list[Element]:
    language = message.language
    topic = shorten(waiting.topic, TOPIC_CHARACTERS)
    where = {
        "on": waiting.on,
        "version": waiting.version,
        "since": dates.since(language, waiting.since, message.at),
        "by": waiting.requested_by,
    }
    link = say_elements(language, "link_to_decide", {"link": waiting.link}) if waiting.link else []
    return [
        text_element(CUT_MARK if is_blank(clean(topic)) else topic, bold=True),
        text_element(" — "),
        *joined(" ", [say_elements(language, "waits_for", where), link]),
    ]


def _counts(message: DigestMessage) -> str:
    """ "3 published, 1 waiting, 1 cancelled · 84k tokens, $0.19" (mrkdwn); nothing of what there was none."""
    language = message.language
    counts = {
        "count_published": len(message.articles),
        "count_waiting": len(message.waiting),
        "count_failed": message.failed,
        "count_cancelled": message.cancelled,
    }
    told = [say(language, key, count=count) for key, count in counts.items() if count]
    parts = [say_plain(language, "between_sections").join(told)] if told else []
    if message.tokens:
        parts.append(spent(language, message.tokens, message.cost_usd))
    return " · ".join(parts)


def _paragraphs(items: Sequence[list[Element]]) -> list[Element]:
    return [section(joined("\n\n", items))]


def _context(mrkdwn: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": mrkdwn, "verbatim": True}]}
