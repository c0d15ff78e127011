"""An outline on the offline model's table: what people can have changed in it without any writing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.offline.clusters import ids_of, outline_of, section_of
from agents.offline.parts import SEPARATOR, Part, Section, owner
from agents.offline.phrases import phrase
from agents.offline.places import means_itself, place_of, subject_of
from agents.offline.relevance import likeness, share, terms, weights
from agents.offline.wishes import Drop, More, Move, Rename, Shorten, Swap, Wish, Words
from knowledge.language import Language

_MOST_SECTIONS = 8
_JOINS = 0.3  # likeness of new evidence to a section
_ABOUT = 0.67  # of the words that people say, in what is about them


@dataclass
class Outline:
    """An outline on the table, and what was done to it."""

    language: Language
    topic: str
    parts: list[Part]
    sections: list[Section]
    notes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)  # ids of sources that people have dropped with a section

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

    def named(self) -> set[str]:
        """The ids of the sources that the sections name."""
        return {source_id for section in self.sections for source_id in section.source_ids}

    def find(self, what: str) -> int | None:
        return place_of(
            what, self.headings(), [section.description for section in self.sections], self.bodies()
        )

    def did(self, key: str, **parts: str | int) -> None:
        self.notes.append(phrase("done", self.language, what=phrase(key, self.language, **parts)))

    def could_not(self, what: str) -> None:
        self.notes.append(phrase("not_done", self.language, what=what))


def take_in_new_evidence(table: Outline) -> None:
    """Sources that no section names yet: they join the section that they are most like, or make a new one.

    Not those of sections that people have dropped, nor those that an outline made anew would not name either.
    """
    known = table.named() | table.dropped
    anew = outline_of(table.parts, table.topic, table.language)
    wanted = {source_id for section in anew for source_id in section.source_ids} - known
    homeless: list[Part] = []
    for part in table.parts:
        if part.source_id not in wanted:
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


def _add_section(table: Outline, parts: Sequence[Part], *, quiet: bool = False) -> None:
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


def carry_out(table: Outline, wish: Wish, only: int | None) -> None:
    """Change the outline and note what was done. `only` is the number of the section that is meant."""
    match wish:
        case Drop(what):
            # "drop it", not "drop the numbers": that would take a writer.
            if only is None or means_itself(what) or table.find(what) == only - 1:
                _drop(table, _meant(what, only))
            else:
                table.could_not(what)
        case Move(what, to, beside):
            _move(table, _meant(what, only), to, beside)
        case Swap(one, other):
            _swap(table, one, other)
        case Rename(what, heading):
            _rename(table, _meant(what, only), heading)
        case Shorten(what):
            _shorten(table, _meant(what, only))
        case More(about):
            _more(table, about)
        case Words(text):
            _prefer(table, text)


def _meant(what: str, only: int | None) -> str:
    return what if only is None else str(only)


def _ids(section: Section) -> str:
    return ", ".join(section.source_ids)


def _drop(table: Outline, what: str) -> None:
    at = table.find(what)
    if at is None or len(table.sections) == 1:
        table.could_not(what)
        return
    gone = table.sections.pop(at)
    table.dropped.update(gone.source_ids)
    table.did("dropped", number=at + 1, heading=gone.heading, ids=_ids(gone))


def _move(table: Outline, what: str, to: str, beside: str) -> None:
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


def _swap(table: Outline, one: str, other: str) -> None:
    a, b = table.find(one), table.find(other)
    if a is None or b is None or a == b:
        table.could_not(f"{one} ↔ {other}")
        return
    table.sections[a], table.sections[b] = table.sections[b], table.sections[a]
    table.did("moved", heading=table.sections[a].heading, number=a + 1)


def _rename(table: Outline, what: str, heading: str) -> None:
    at = table.find(what)
    if at is None or heading in table.headings():
        table.could_not(f"{what} → {heading}")
        return
    old = table.sections[at]
    # The documents' own heading stays named, so that its parts are found again.
    description = SEPARATOR.join(filter(None, [old.heading, old.description]))
    table.sections[at] = replace(old, heading=heading, description=description)
    table.did("renamed", number=at + 1, heading=heading)


def _shorten(table: Outline, what: str) -> None:
    """A section of an outline gets shorter by its lesser parts; the whole by its least section."""
    at = table.find(what) if what else None
    if at is None and what:
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


def _more(table: Outline, about: str) -> None:
    """More of what a section names, or a section for it, from the evidence at hand; else it is a gap."""
    subject = subject_of(about)
    wanted = terms(subject)
    gone = table.dropped - table.named()
    fitting = [
        part
        for part in table.parts
        if wanted and len(wanted & part.bag) / len(wanted) >= _ABOUT and part.source_id not in gone
    ]
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


def _prefer(table: Outline, words: str) -> None:
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
