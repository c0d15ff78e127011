"""The evidence of a request as the offline model sees it: parts of documents, each under its heading."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agents.headings import parts, plain_heading
from agents.offline.quotable import one_line
from agents.offline.relevance import likeness, role, terms
from agents.offline.tagged import Element
from agents.quotes import find

SEPARATOR = " · "  # between the headings that make the description of a section

# Headings that say what part of a document it is, and nothing of its subject.
_GENERIC = re.compile(
    "introduction|background|overview|summary|conclusions?|notes|details|general|contents|abstract|context"
    "|decision|consequences|references|status|purpose|scope|objective|discussion|results|about|preface"
    "|history|pitfalls|stages|recommendations?|what follows|what to do|examples?|why|what|how|faq|questions"
    "|next steps|takeaways|key points|key takeaways"
    "|概述|简介|介绍|背景|总结|小结|结论|摘要|前言|引言|目的|范围|参考|说明|例子|示例|要点|建议|做法"
    "|はじめに|概要|まとめ|結論|範囲|例|おわりに",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Part:
    """What stands under one heading of a passage, and what research found there.

    `text` is empty where the request brings none.
    """

    passage: int
    place: int  # in the passage
    source_id: str
    title: str
    heading: str  # title > h1 > h2
    lang: str
    text: str
    claims: tuple[str, ...]

    @property
    def key(self) -> tuple[int, int]:
        return self.passage, self.place

    @cached_property
    def label(self) -> str:
        """What it is about in its document's own words: the nearest heading that says something."""
        for heading in reversed(self.heading.split(" > ")):
            bare = plain_heading(heading)
            if bare and not _GENERIC.fullmatch(bare):
                return bare
        return self.title

    @cached_property
    def role(self) -> str | None:
        return role(self.label) or role(self.title)

    @cached_property
    def bag(self) -> frozenset[str]:
        return terms(f"{self.heading} {' '.join(self.claims)}")


@dataclass(frozen=True)
class Section:
    """A section of an outline. `number` is its place where it was read, 0 for a new one."""

    number: int
    heading: str
    description: str
    source_ids: tuple[str, ...]

    @cached_property
    def bag(self) -> frozenset[str]:
        return terms(f"{self.heading} {self.description}")

    @cached_property
    def names(self) -> frozenset[str]:
        """The headings of documents that it names."""
        return frozenset(
            name.strip().casefold() for name in [self.heading, *self.description.split(SEPARATOR.strip())]
        )

    def with_sources(self, more: Sequence[str]) -> "Section":
        return replace(self, source_ids=in_order({*self.source_ids, *more}))


def parts_of(evidence: Element) -> list[Part]:
    """In the order of their sources."""
    found: list[Part] = []
    for source in evidence.all("source"):
        for passage in source.all("passage"):
            found += _parts_of_passage(source, passage)
    return found


def sections_of(outline: Element) -> list[Section]:
    return [
        Section(
            number=int(section.attributes["number"]),
            heading=section.text("heading"),
            description=section.text("description"),
            source_ids=tuple(section.ids("sources")),
        )
        for section in outline.all("section")
    ]


def owner(part: Part, sections: Sequence[Section]) -> Section | None:
    """The one section that a part belongs to, the same for whoever asks; None if its source is in none.

    Sections are written apart from each other: this keeps them from quoting the same.
    """
    candidates = [section for section in sections if part.source_id in section.source_ids]
    if not candidates:
        return None
    return max(
        candidates,
        key=lambda section: (
            part.label.casefold() in section.names,
            likeness(terms(part.heading), section.bag)
            + 0.3 * (part.role is not None and part.role == role(section.heading)),
            -section.number,
        ),
    )


def in_order(source_ids: set[str]) -> tuple[str, ...]:
    return tuple(sorted(source_ids, key=lambda source_id: int(source_id[1:])))


def _parts_of_passage(source: Element, passage: Element) -> list[Part]:
    above = passage.text("heading")
    findings = [(finding.text("heading"), finding.text("claim")) for finding in passage.all("finding")]
    text = passage.one("text").body
    # Without the text, its headings are known from the findings.
    cut = parts(text) if text else [(heading, "") for heading in dict.fromkeys(name for name, _ in findings)]
    found = []
    for place, (heading, below) in enumerate(cut):
        claims = tuple(
            claim
            for name, claim in findings
            if (find(claim, below) if text else name == heading or None) is not None
        )
        if below.strip() or claims:
            found.append(
                Part(
                    passage=int(passage.attributes["id"][1:]),
                    place=place,
                    source_id=source.attributes["id"],
                    title=source.text("title"),
                    heading=_joined(above, heading),
                    lang=passage.attributes["lang"],
                    text=below,
                    claims=tuple(one_line(claim) for claim in claims),
                )
            )
    return found


def _joined(above: str, heading: str) -> str:
    """The path of headings; one that it ends with already, and the document's title, are not said twice."""
    known = {plain_heading(part).casefold() for part in above.split(" > ")}
    return above if not heading or heading.casefold() in known else f"{above} > {heading}"
