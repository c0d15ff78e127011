"""How the offline model makes an outline, and how it changes one as people ask."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.offline.clusters import ids_of, outline_of, section_of
from agents.offline.parts import SEPARATOR, Part, Section, owner, parts_of, sections_of
from agents.offline.phrases import phrase
from agents.offline.relevance import likeness, share, terms, weights
from agents.offline.tagged import Element, language_of_request
from agents.offline.wishes import (
    Drop,
    More,
    Move,
    Rename,
    Shorten,
    Swap,
    Wish,
    Words,
    place_of,
    subject_of,
    wishes,
)
from agents.wire import AnalysisAnswer, KeyPointAnswer, OutlineSectionAnswer, RiskAnswer
from knowledge.language import Language

_KEY_POINTS = 6
_MOST_SECTIONS = 8
_ENOUGH = 6  # parts in the article's language
_JOINS = 0.3  # likeness of new evidence to a section
_ABOUT = 0.67  # of the words that people say, in what is about them


@dataclass
class _Outline:
    """An outline on the table, and what was done to it."""

    language: Language
    topic: str
    parts: list[Part]
    sections: list[Section]
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def headings(self) -> list[str]:
        return [section.heading for section in self.sections]

    def bodies(self) -> list[str]:
        """What the sections say, as far as an outline knows."""
        return [
            " ".join([section.description, *(claim for p in self.of(section) for claim in p.claims)])
            for section in self.sections
        ]

    def of(self, section: Section) -> list[Part]:
        return [part for part in self.parts if owner(part, self.sections) is section]

    def find(self, what: str) -> int | None:
        return place_of(
            what, self.headings(), [section.description for section in self.sections], self.bodies()
        )

    def did(self, key: str, **parts: str | int) -> None:
        self.notes.append(phrase("done", self.language, what=phrase(key, self.language, **parts)))

    def could_not(self, what: str) -> None:
        self.notes.append(phrase("not_done", self.language, what=what))


def analysis(request: Element) -> AnalysisAnswer:
    """The outline that the evidence gives, or the previous one with what was asked of it now."""
    language = language_of_request(request)
    topic = request.text("topic")
    parts = [part for part in parts_of(request.one("evidence")) if part.claims]
    before = sections_of(request.one("previous").one("outline"))
    asked = [
        (element.attributes.get("state") == "now", wish, element.attributes.get("section", "all"))
        for element in request.all("request")
        for wish in wishes(element.text("text"))
    ]
    table = _Outline(language, topic, parts, before or outline_of(parts, topic, language))
    table.missing = [gap.body.strip() for gap in request.all("gap")]
    if before:
        _take_in_new_evidence(table, _dropped_sources(request))
    for now, wish, section in asked:
        if now:
            _carry_out(table, wish, section)

    singles = [section for section in table.sections if len(section.source_ids) == 1]
    ids = {source_id for section in table.sections for source_id in section.source_ids}
    return AnalysisAnswer(
        key_points=_key_points(table),
        outline=[
            OutlineSectionAnswer(
                heading=section.heading[:300],
                description=section.description[:1_200],
                source_ids=[*section.source_ids][:20],
            )
            for section in table.sections[:12]
        ],
        risks=[
            RiskAnswer(
                description=phrase(
                    "single_source", language, heading=section.heading, ids=section.source_ids[0]
                ),
                source_ids=[*section.source_ids],
            )
            for section in singles[:10]
        ],
        missing_evidence=[gap[:1_200] for gap in table.missing[:10]],
        needs_more_research=bool(table.missing) and len(ids) < 2,
        summary=request.text("summary")[:3_000],
        notes=[note[:1_200] for note in [phrase("no_model", language), *table.notes][:10]]
        if table.notes
        else [],
    )


def _dropped_sources(request: Element) -> set[str]:
    """The sources of sections that people have dropped before, as the outcomes name them."""
    return {
        source_id
        for element in request.all("request")
        if any(isinstance(wish, Drop) for wish in wishes(element.text("text")))
        for source_id in re.findall(r"\bS[1-9][0-9]*\b", element.text("outcome"))
    }


def _key_points(table: _Outline) -> list[KeyPointAnswer]:
    weighed = weights(terms(table.topic), [part.bag for part in table.parts])
    claims = [
        (share(weighed, terms(claim)) + 0.2 * (part.lang == table.language), claim, part.source_id)
        for part in table.parts
        for claim in part.claims
    ]
    claims.sort(key=lambda item: -item[0])
    return [
        KeyPointAnswer(point=claim, source_ids=[source_id], importance="high" if place < 3 else "medium")
        for place, (_, claim, source_id) in enumerate(claims[:_KEY_POINTS])
    ]


def _take_in_new_evidence(table: _Outline, dropped: set[str]) -> None:
    """Sources that no section names yet: they join the section that they are most like, or make a new one.

    Not those of sections that people have dropped, nor other languages where the article's own says enough.
    """
    named = {source_id for section in table.sections for source_id in section.source_ids} | dropped
    own_is_enough = sum(part.lang == table.language for part in table.parts) >= _ENOUGH
    homeless: list[Part] = []
    for part in table.parts:
        if part.source_id in named or (own_is_enough and part.lang != table.language):
            continue
        likest = max(table.sections, key=lambda section: likeness(part.bag, section.bag))
        if likeness(part.bag, likest.bag) < _JOINS:
            homeless.append(part)
            continue
        at = table.sections.index(likest)
        description = SEPARATOR.join(dict.fromkeys([likest.description, part.label]))
        table.sections[at] = replace(likest, description=description).with_sources([part.source_id])
    if homeless and len(table.sections) < _MOST_SECTIONS:
        _add_section(table, homeless, quiet=True)


def _add_section(table: _Outline, parts: Sequence[Part], *, quiet: bool = False) -> None:
    weighed = weights(terms(table.topic), [part.bag for part in table.parts])
    section = section_of(parts, table.language, weighed, taken=table.headings())
    # What the new section says, no other says too.
    moved = {part.label.casefold() for part in parts}
    table.sections = [
        replace(
            other,
            description=SEPARATOR.join(
                label for label in other.description.split(SEPARATOR) if label.casefold() not in moved
            )
            or other.description,
        )
        for other in table.sections
    ]
    table.sections.append(section)
    if not quiet:
        table.did("section_added", number=len(table.sections), heading=section.heading)


def _carry_out(table: _Outline, wish: Wish, section: str) -> None:
    match wish:
        case Drop(what):
            _drop(table, what)
        case Move(what, to, beside):
            _move(table, what, to, beside)
        case Swap(one, other):
            _swap(table, one, other)
        case Rename(what, heading):
            _rename(table, what, heading)
        case Shorten(what):
            _shorten(table, what or section)
        case More(about):
            _more(table, about)
        case Words(text):
            _prefer(table, text)


def _ids(section: Section) -> str:
    return ", ".join(section.source_ids)


def _drop(table: _Outline, what: str) -> None:
    at = table.find(what)
    if at is None or len(table.sections) == 1:
        table.could_not(what)
        return
    gone = table.sections.pop(at)
    table.did("dropped", number=at + 1, heading=gone.heading, ids=_ids(gone))


def _move(table: _Outline, what: str, to: str, beside: str) -> None:
    at = table.find(what)
    other = table.find(beside) if beside else None
    if at is None or (beside and other is None) or at == other:
        table.could_not(f"{what} → {beside or to}")
        return
    section = table.sections[at]
    neighbour = None if other is None else table.sections[other]
    table.sections.pop(at)
    if neighbour is not None:
        place = table.sections.index(neighbour) + (to == "after")
    else:
        place = 0 if to == "first" else len(table.sections)
    table.sections.insert(place, section)
    table.did("moved", heading=section.heading, number=place + 1)


def _swap(table: _Outline, one: str, other: str) -> None:
    a, b = table.find(one), table.find(other)
    if a is None or b is None or a == b:
        table.could_not(f"{one} ↔ {other}")
        return
    table.sections[a], table.sections[b] = table.sections[b], table.sections[a]
    table.did("moved", heading=table.sections[a].heading, number=a + 1)


def _rename(table: _Outline, what: str, heading: str) -> None:
    at = table.find(what)
    if at is None or heading in table.headings():
        table.could_not(f"{what} → {heading}")
        return
    old = table.sections[at]
    # The documents' own heading stays named, so that its parts are found again.
    description = SEPARATOR.join(filter(None, [old.heading, old.description]))
    table.sections[at] = replace(old, heading=heading, description=description)
    table.did("renamed", number=at + 1, heading=heading)


def _shorten(table: _Outline, what: str) -> None:
    """A section of an outline gets shorter by its lesser parts; the whole by its least section."""
    at = None if what == "all" else table.find(what)
    if at is None and what != "all":
        table.could_not(what)
    elif at is None:
        if len(table.sections) > 1:
            least = min(table.sections, key=lambda section: sum(len(p.claims) for p in table.of(section)))
            number = table.sections.index(least) + 1
            table.sections.remove(least)
            table.did("dropped", number=number, heading=least.heading, ids=_ids(least))
    else:
        section = table.sections[at]
        labels = section.description.split(SEPARATOR)
        table.sections[at] = replace(section, description=SEPARATOR.join(labels[: len(labels) // 2]))
        table.did("shortened", number=at + 1)


def _more(table: _Outline, about: str) -> None:
    """More of what a section names, or a section for it, from the evidence at hand; else it is a gap."""
    subject = subject_of(about)
    wanted = terms(subject)
    fitting = [part for part in table.parts if wanted and len(wanted & part.bag) / len(wanted) >= _ABOUT]
    if not fitting:
        table.notes.append(phrase("nothing_about", table.language, what=subject))
        table.missing.insert(0, phrase("gap", table.language, what=subject))
        return
    headings = [f"{section.heading} {section.description}" for section in table.sections]
    shares = [len(wanted & terms(heading)) / len(wanted) for heading in headings]
    if max(shares, default=0.0) < _ABOUT:
        _add_section(table, fitting)
        return
    at = shares.index(max(shares))
    section = table.sections[at]
    labels = [part.label for part in fitting if part.label.casefold() not in section.names]
    table.sections[at] = replace(
        section, description=SEPARATOR.join(dict.fromkeys([section.description, *labels]))
    ).with_sources(ids_of(fitting))
    table.did("extended", number=at + 1, what=subject)


def _prefer(table: _Outline, words: str) -> None:
    """Words that ask for nothing known are a preference: what says most about them comes first."""
    wanted = terms(words)
    bodies = table.bodies()
    weighed = weights(wanted, [terms(body) for body in bodies])
    scores = [
        share(weighed, terms(f"{heading} {body}"))
        for heading, body in zip(table.headings(), bodies, strict=True)
    ]
    best = scores.index(max(scores)) if scores else 0
    if not scores or scores[best] < 0.3:
        table.could_not(words)
        return
    section = table.sections.pop(best)
    table.sections.insert(0, section)
    table.did("reordered", what=words)
    table.could_not(words)
