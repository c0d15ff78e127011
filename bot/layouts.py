"""How an outline, and a draft with its review, are laid out and cut to what one message holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from agents.contracts import OutlineSection, ReviewIssue, ReviewResult, Source
from bot.elements import Block, Element, bold, fit, joined, link_element, rich_text, section, text_element
from bot.fitting import is_blank, shares, shorten, size
from bot.messages import DraftMessage, OutlineMessage, Related, SectionSummary
from bot.render import HEADER_CHARACTERS, inline, quoted
from bot.texts import TEXTS, say_elements, say_plain
from knowledge.language import Language

# JSON characters that one item, and one text in it, may take where there is not room for all.
ITEM, TEXT = 700, 600
FRAME = 400  # of the list or line around the items, and the words on how many are missing
READ = 4_000  # characters of a Markdown text that are looked at: more never have room in one message

SEVERITIES = {"high": "🔴", "medium": "🟠", "low": "⚪"}

# Words (characters of Chinese and Japanese) that people read in a minute.
READ_PER_MINUTE: dict[Language, int] = {"en": 200, "zh": 400, "ja": 500}


@dataclass(frozen=True)
class Part:
    """A part of a message that may be shown in part: its items, and how some of them are drawn."""

    items: Sequence[list[Element]]
    draw: Callable[[Sequence[list[Element]]], list[Element]]

    @property
    def wanted(self) -> int:
        return size(rich_text(*self.draw(self.items)))


def outline_body(message: OutlineMessage, room: int) -> list[Block]:
    """An outline above its buttons, in at most `room` JSON characters."""
    language = message.language
    return arranged(
        language,
        room,
        header(say_plain(language, "header_outline", version=message.version)),
        Part([_planned(planned, language) for planned in message.sections], _numbered),
        Part([_read(gap) for gap in message.missing_evidence], labelled(language, "label_missing")),
        Part([_source(source) for source in message.sources], _in_one_line(language, "label_sources")),
        Part([_read(note) for note in message.notes], labelled(language, "label_notes")),
        Part([_related(one) for one in message.published], _in_one_line(language, "label_published")),
    )


def draft_body(message: DraftMessage, room: int) -> list[Block]:
    """A draft's summary and its review above the buttons, in at most `room` JSON characters."""
    language, review = message.language, message.review
    issues = sorted(review.issues if review else [], key=lambda issue: list(SEVERITIES).index(issue.severity))
    headings = [summary.heading for summary in message.sections]
    return arranged(
        language,
        room,
        header(
            say_plain(
                language,
                "header_draft",
                version=message.version,
                words=message.words,
                minutes=max(1, round(message.words / READ_PER_MINUTE[language])),
            )
        ),
        Part([bold(fit(_read(message.title), TEXT)), _read(message.description)], _lines),
        Part([_written(summary, language) for summary in message.sections], _numbered),
        Part(_changes(message), _lines),
        Part([_read(note) for note in message.notes], labelled(language, "label_notes")),
        Part(_stopped(message), _lines),
        header(review_line(review, language)),
        Part([_issue(issue, headings) for issue in issues], _lines),
        Part([quoted(shorten(review.feedback, READ))] if review else [], _quote),
    )


def section_mark(heading: str | None, headings: Sequence[str]) -> str:
    """ "§2 ", or nothing where an issue is about the whole."""
    return f"§{headings.index(heading) + 1} " if heading in headings else ""


def review_line(review: ReviewResult | None, language: Language) -> str:
    """ "Review: revise · 71/100"."""
    if review is None:
        return say_plain(language, "header_not_reviewed")
    line = say_plain(language, "header_review", decision=review.decision)
    return line if review.score is None else f"{line} · {review.score}/100"


def header(text: str) -> Block:
    """A header of our own words."""
    text = shorten(text, HEADER_CHARACTERS)
    return {"type": "header", "text": {"type": "plain_text", "text": text, "emoji": False}}


def arranged(language: Language, room: int, *parts: Part | Block) -> list[Block]:
    """The parts that have something to show, each in its share of what the fixed blocks leave."""
    shown = [part for part in map(_without_blanks, parts) if part is not None]
    flexible = [part for part in shown if isinstance(part, Part)]
    fixed = size([part for part in shown if not isinstance(part, Part)]) + 2 * len(shown)
    given = iter(shares([part.wanted for part in flexible], room - fixed))
    return [_fitted(part, next(given), language) if isinstance(part, Part) else part for part in shown]


def _without_blanks(part: Part | Block) -> Part | Block | None:
    if not isinstance(part, Part):
        return part
    items = [item for item in part.items if not all(is_blank(e.get("text", "x")) for e in item)]
    return Part(items, part.draw) if items else None


def _fitted(part: Part, room: int, language: Language) -> Block:
    """The part whole, or its items cut, then the first of them and how many are missing."""
    if part.wanted <= room:
        return rich_text(*part.draw(part.items))
    longest = max(ITEM, (room - FRAME) // len(part.items))
    items: list[list[Element]] = []
    used = FRAME
    for item in part.items:
        items.append(fit(item, longest))
        used += size(items[-1])
        if used > room:
            break
    while True:
        missing = len(part.items) - len(items)
        more = [section(say_elements(language, "more", {"count": missing}))] if missing else []
        block = rich_text(*part.draw(items), *more)
        if len(items) == 1 or size(block) <= room:
            return block
        items.pop()


def _numbered(items: Sequence[list[Element]]) -> list[Element]:
    return [_list("ordered", items)]


def _lines(items: Sequence[list[Element]]) -> list[Element]:
    return [section(joined("\n", items))]


def _quote(items: Sequence[list[Element]]) -> list[Element]:
    return [{"type": "rich_text_quote", "elements": joined("\n", items)}]


def labelled(
    language: Language, key: str, **params: int
) -> Callable[[Sequence[list[Element]]], list[Element]]:
    """One item goes on behind the label, several stand below it."""
    label = text_element(say_plain(language, key, **params), bold=True)

    def draw(items: Sequence[list[Element]]) -> list[Element]:
        if len(items) == 1:
            return [section([label, *items[0]])]
        return [section([{**label, "text": label["text"].rstrip()}]), _list("bullet", items)]

    return draw


def _in_one_line(language: Language, key: str) -> Callable[[Sequence[list[Element]]], list[Element]]:
    label = text_element(say_plain(language, key), bold=True)
    return lambda items: [section([label, *joined(" · ", items)])]


def _list(style: str, items: Sequence[list[Element]]) -> Element:
    return {
        "type": "rich_text_list",
        "style": style,
        "indent": 0,
        "elements": [section(item) for item in items],
    }


def _read(markdown: str) -> list[Element]:
    return inline(shorten(markdown, READ))


def _planned(planned: OutlineSection, language: Language) -> list[Element]:
    description = fit(_read(planned.description), TEXT)
    below = joined(" · ", [description, _cited(planned.source_ids, language)])
    return [*bold(fit(_read(planned.heading), TEXT)), text_element("\n"), *below]


def _written(summary: SectionSummary, language: Language) -> list[Element]:
    heading = fit(_read(summary.heading), TEXT)
    words = say_elements(language, "part_words", {"words": summary.words})
    return joined(" · ", [heading, words, _cited(summary.source_ids, language)])


def _cited(source_ids: Sequence[str], language: Language) -> list[Element]:
    if not source_ids:
        return say_elements(language, "no_source", {})
    return [text_element(" ".join(f"[{source_id}]" for source_id in source_ids))]


def _source(source: Source) -> list[Element]:
    name = f"[{source.id}] {shorten(source.title, 120)}"
    if source.url:
        return [link_element(source.url, name)]
    # The name of the file is enough to know it by; the article's file has the whole path.
    file = shorten(PurePath(source.path).name, 60) if source.path else ""
    return [text_element(f"{name} ({file})" if file else name)]


def _related(published: Related) -> list[Element]:
    title = shorten(published.title, 120)
    return [link_element(published.link, title) if published.link else text_element(title)]


def _issue(issue: ReviewIssue, headings: Sequence[str]) -> list[Element]:
    """ "🔴 §2 What is wrong → what to do"."""
    mark = text_element(f"{SEVERITIES[issue.severity]} {section_mark(issue.section, headings)}")
    fix = fit(_read(issue.suggested_fix), TEXT)
    return [mark, *joined(" → ", [fit(_read(issue.description), TEXT), fix])]


def _changes(message: DraftMessage) -> list[list[Element]]:
    """What changed since the draft before, in one line; nothing for the first draft."""
    if message.changed_since is None:
        return []
    language, since = message.language, message.changed_since
    changed = [
        say_plain(language, "changed_section", number=number, added=summary.added, removed=summary.removed)
        for number, summary in enumerate(message.sections, 1)
        if summary.added or summary.removed
    ]
    rearranged = (
        [say_elements(language, "changed_sections", {"version": since})] if message.rearranged else []
    )
    if not changed:
        return rearranged or [say_elements(language, "changed_none", {"version": since})]
    key = "changed_all" if len(changed) == len(message.sections) else "changed"
    listed = say_plain(language, "between_sections").join(changed)
    return [*rearranged, say_elements(language, key, {"version": since, "sections": listed})]


def _stopped(message: DraftMessage) -> list[list[Element]]:
    if message.stopped_by is None:
        return []
    key = f"stopped_{message.stopped_by}"
    words = say_elements(message.language, key, {}) if key in TEXTS else [text_element(message.stopped_by)]
    return [[text_element("⚠ "), *words]]
