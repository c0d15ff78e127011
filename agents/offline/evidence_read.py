"""The evidence of a request as the offline model sees it, and which section owns which passage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agents.offline.relevance import likeness, role, terms
from agents.offline.tagged import Element

SEPARATOR = " · "  # between the headings that make the description of a section

_GENERIC = frozenset(
    """
    introduction|background|overview|summary|conclusion|conclusions|notes|details|general|contents|abstract|context
    |decision|consequences|references|status|purpose|scope|objective|discussion|results|about|preface|history|example
    |examples|why|what|how|faq|questions|next steps|takeaways|key points|key takeaways|概述|简介|介绍|背景|总结|小结|结论
    |摘要|前言|引言|目的|范围|参考|说明|例子|示例|要点|はじめに|概要|背景|まとめ|結論|目的|範囲|参考|例|要点|おわりに
    """.replace("\n", "").replace("    ", "").split("|")
)


@dataclass(frozen=True)
class Passage:
    """A passage with what research found in it. `text` is empty where the request brings none."""

    id: str
    source_id: str
    title: str
    heading: str  # title > h1 > h2
    lang: str
    text: str
    claims: tuple[str, ...]
    confidences: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        return int(self.id[1:])

    @cached_property
    def label(self) -> str:
        """What it is about in its document's own words: the nearest heading that says something."""
        for part in reversed(self.heading.split(" > ")):
            bare = part.strip()
            if bare and bare.casefold() not in _GENERIC:
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


def passages_of(evidence: Element) -> list[Passage]:
    """In the order of their sources."""
    found = []
    for source in evidence.all("source"):
        for passage in source.all("passage"):
            findings = passage.all("finding")
            found.append(
                Passage(
                    id=passage.attributes["id"],
                    source_id=source.attributes["id"],
                    title=source.text("title"),
                    heading=passage.text("heading"),
                    lang=passage.attributes["lang"],
                    text=passage.one("text").body,
                    claims=tuple(finding.text("claim") for finding in findings),
                    confidences=tuple(finding.attributes["confidence"] for finding in findings),
                )
            )
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


def owner(passage: Passage, sections: Sequence[Section]) -> Section | None:
    """The one section that a passage belongs to, the same for whoever asks; None if its source is in none.

    Sections are written apart from each other: this keeps them from quoting the same.
    """
    candidates = [section for section in sections if passage.source_id in section.source_ids]
    if not candidates:
        return None
    return max(
        candidates,
        key=lambda section: (
            passage.label.casefold() in section.names,
            likeness(terms(passage.heading), section.bag)
            + 0.3 * (passage.role is not None and passage.role == role(section.heading)),
            -section.number,
        ),
    )


def renumbered(sections: Sequence[Section]) -> list[Section]:
    return [replace(section, number=number) for number, section in enumerate(sections, start=1)]
