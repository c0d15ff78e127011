"""The line of the status message that says where an article stands."""

from bot.elements import plain
from bot.fitting import is_blank, length, shorten
from bot.messages import StatusMessage
from bot.render import inline
from bot.texts import say, say_plain
from knowledge.article import Status
from knowledge.language import Language

GLYPHS: dict[Status, str] = {
    Status.RESEARCHING: "◔",
    Status.OUTLINING: "◔",
    Status.AWAITING_OUTLINE: "◑",
    Status.WRITING: "◑",
    Status.REVIEWING: "◕",
    Status.REVISING: "◕",
    Status.AWAITING_APPROVAL: "◕",
    Status.PUBLISHING: "◕",
    Status.PUBLISHED: "●",
    Status.CANCELLED: "✕",
    Status.FAILED: "✕",
}

PROGRESS_CHARACTERS = 80  # of what is searched or written: the line is to stay a line
ERROR_CHARACTERS = 400  # as mrkdwn up to five times as many, and a section takes 3,000


def status_line(message: StatusMessage) -> str:
    """mrkdwn: "◑ Writing draft 1 · 2 of 4 sections · now §3 Costs · 1:10"; at most 3,000 characters."""
    return f"{GLYPHS[message.status]} {' · '.join(_parts(message))}{_link(message)}"


def _parts(message: StatusMessage) -> list[str]:
    language = message.language
    match message.status:
        case Status.RESEARCHING:
            return [say(language, "line_researching"), *_searched(message), *_elapsed(message)]
        case Status.OUTLINING if message.version or message.words:
            return [say(language, "line_outlining_again"), *_elapsed(message)]
        case Status.OUTLINING:
            return [
                say(language, "line_outlining", version=message.outline_version + 1),
                *_elapsed(message),
            ]
        case Status.AWAITING_OUTLINE:
            return [say(language, "line_awaiting_outline", version=message.outline_version)]
        case Status.WRITING | Status.REVISING:
            line = say(language, f"line_{message.status}", version=message.version + 1)
            return [line, *_written(message), *_elapsed(message)]
        case Status.REVIEWING:
            return [
                say(language, "line_reviewing", version=message.version + 1),
                _review(message, message.review_number + 1),
                *_elapsed(message),
            ]
        case Status.AWAITING_APPROVAL:
            return [say(language, "line_awaiting_approval", version=message.version), *_reviewed(message)]
        case Status.PUBLISHING:
            return [say(language, "line_publishing", version=message.version)]
        case Status.PUBLISHED:
            return [say(language, "line_published"), *_facts(message)]
        case Status.CANCELLED:
            return [say(language, "line_cancelled")]
        case Status.FAILED:
            return [say(language, "line_failed", error=shorten(message.error or "?", ERROR_CHARACTERS))]


def _searched(message: StatusMessage) -> list[str]:
    """ "4 searches, 9 passages from 5 sources", and what was looked for last."""
    language, progress = message.language, message.progress
    if not progress.searches:
        return []
    if progress.passages:
        counts = {"passages": progress.passages, "sources": progress.sources}
        parts = [say(language, "part_found", searches=progress.searches, **counts)]
    else:
        parts = [say(language, "part_nothing_found", searches=progress.searches)]
    if queries := _queries(message):
        parts.append(say(language, "part_queries", queries=queries))
    return parts


def _queries(message: StatusMessage) -> str:
    """As many queries as there is room for; the first is shortened if it has none."""
    shown = ""
    for query in message.progress.queries:
        if words := _words(query):
            longer = f"{shown}{say_plain(message.language, 'between_queries')}{words}" if shown else words
            if shown and length(longer) > PROGRESS_CHARACTERS:
                break
            shown = shorten(longer, PROGRESS_CHARACTERS)
    return shown


def _written(message: StatusMessage) -> list[str]:
    """ "2 of 4 sections", and which are being written: with their headings if there is room for all."""
    language, progress = message.language, message.progress
    if not progress.sections:
        return []
    done = min(progress.sections_done, progress.sections)
    parts = [say(language, "part_sections", done=done, count=progress.sections)]
    if progress.writing:
        between = say_plain(language, "between_sections")
        headings = [f"§{section.number} {_words(section.heading)}".strip() for section in progress.writing]
        sections = between.join(headings)
        if length(sections) > PROGRESS_CHARACTERS:
            numbers = between.join(f"§{section.number}" for section in progress.writing)
            sections = shorten(numbers, PROGRESS_CHARACTERS)
        parts.append(say(language, "part_writing", sections=sections))
    return parts


def _words(markdown: str) -> str:
    """A model's text on one line, without Markdown's marks; "" where there is nothing to see."""
    words = " ".join(plain(inline(markdown)).split())
    return "" if is_blank(words) else words


def _review(message: StatusMessage, number: int) -> str:
    """ "review 2 of 3"; people may ask for more reviews than the cap, then it counts without "of"."""
    if number <= message.max_reviews:
        return say(message.language, "part_review_of", number=number, most=message.max_reviews)
    return say(message.language, "part_review", number=number)


def _reviewed(message: StatusMessage) -> list[str]:
    if message.review_decision is None:
        return []
    review = say(
        message.language,
        "part_reviewed",
        review=_review(message, message.review_number),
        decision=message.review_decision,
    )
    if message.review_score is None:
        return [review]
    return [say(message.language, "part_scored", review=review, score=message.review_score)]


def _facts(message: StatusMessage) -> list[str]:
    language = message.language
    facts = [
        say(language, "part_words", words=message.words),
        say(language, "part_sources", sources=message.sources),
        say(language, "part_drafts", drafts=message.version),
    ]
    if message.tokens:
        facts.append(spent(language, message.tokens, message.cost_usd))
    if message.approved_by is not None:
        facts.append(say(language, "part_approved_by", by=message.approved_by))
    return facts


def _link(message: StatusMessage) -> str:
    if not message.link:
        return ""
    key = "link_to_file" if message.status is Status.PUBLISHED else "link_to_decide"
    return f" {say(message.language, key, link=message.link)}"


def _elapsed(message: StatusMessage) -> list[str]:
    """ "0:24", "1:02:03"; nothing in the first second."""
    minutes, seconds = divmod(max(0, message.elapsed_seconds), 60)
    if not (minutes or seconds):
        return []
    hours, minutes = divmod(minutes, 60)
    return [f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"]


def spent(language: Language, tokens: int, cost_usd: float | None) -> str:
    """ "84k tokens, $0.19"; without a price that is not known."""
    said = say(language, "part_tokens", tokens=_rounded(tokens))
    return said if cost_usd is None else say(language, "part_cost", tokens=said, cost=_dollars(cost_usd))


def _dollars(cost: float) -> str:
    return f"${cost:,.2f}" if cost >= 0.01 or cost == 0 else "under $0.01"


def _rounded(tokens: int) -> str:
    """840, 21k, 1.2M."""
    if tokens < 1_000:
        return str(tokens)
    return f"{tokens / 1_000:.0f}k" if tokens < 999_500 else f"{tokens / 1_000_000:.1f}M"
