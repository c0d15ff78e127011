"""How the offline model plans a revision: sections dropped, moved, renamed, or to be written again."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.citations import cited_ids
from agents.offline.parts import parts_of, sections_of
from agents.offline.phrases import phrase
from agents.offline.places import means_itself, place_of, subject_of
from agents.offline.relevance import terms
from agents.offline.tagged import Element, language_of_request
from agents.offline.wishes import Drop, More, Move, Rename, Shorten, Swap, Wish, Words, wishes
from agents.wire import PlanAnswer, PlannedSectionAnswer
from knowledge.language import Language

_ABOUT = 0.67  # of the words that people say, in what is about them


@dataclass
class _Section:
    number: int | None
    heading: str
    content: str
    change: list[str] = field(default_factory=list)
    source_ids: list[str] = field(default_factory=list)


@dataclass
class _Draft:
    language: Language
    sections: list[_Section]
    evidence: list[tuple[str, frozenset[str]]]  # source id and what it is about
    notes: list[str] = field(default_factory=list)

    def find(self, what: str) -> int | None:
        return place_of(
            what,
            [section.heading for section in self.sections],
            ["" for _ in self.sections],
            [section.content for section in self.sections],
        )

    def did(self, key: str, **parts: str | int) -> None:
        self.notes.append(phrase("done", self.language, what=phrase(key, self.language, **parts)))

    def could_not(self, what: str) -> None:
        self.notes.append(phrase("not_done", self.language, what=what))

    def sources_about(self, subject: str) -> list[str]:
        wanted = terms(subject)
        return list(
            dict.fromkeys(
                source_id
                for source_id, bag in self.evidence
                if wanted and len(wanted & bag) / len(wanted) >= _ABOUT
            )
        )


def plan(request: Element) -> PlanAnswer:
    """The next draft's sections. Without requests and issues: what has new evidence is written again."""
    draft = _Draft(
        language_of_request(request),
        [
            _Section(int(section.attributes["number"]), section.text("heading"), section.text("content"))
            for section in request.one("draft").all("section")
        ],
        [(part.source_id, part.bag) for part in parts_of(request.one("evidence"))],
    )
    now = [element for element in request.all("request") if element.attributes.get("state") == "now"]
    dropped = any(
        isinstance(wish, Drop) for element in request.all("request") for wish in wishes(element.text("text"))
    )
    for element in now:
        number = element.attributes["section"]
        for wish in wishes(element.text("text")):
            _plan(draft, wish, element.text("text"), None if number == "all" else int(number) - 1)
    if not now:
        _use_new_evidence(draft, request, add=not dropped)
    return PlanAnswer(
        sections=[
            PlannedSectionAnswer(
                number=section.number,
                heading=section.heading[:300],
                change="\n".join(section.change)[:1_200] or None,
                source_ids=section.source_ids[:20],
            )
            for section in draft.sections[:20]
        ],
        rewrite_title=False,
        notes=[note[:1_200] for note in [phrase("no_model", draft.language), *draft.notes][:10]]
        if draft.notes
        else [],
    )


def _plan(draft: _Draft, wish: Wish, text: str, only: int | None) -> None:
    """`only` is the place of the section that the request is for."""
    if only is not None and not 0 <= only < len(draft.sections):
        draft.could_not(text)
        return
    match wish:
        case Drop(what):
            _drop(draft, what, only)
        case Move(what, to, beside):
            _move(draft, what, to, beside, only)
        case Swap(one, other):
            a, b = draft.find(one), draft.find(other)
            if a is None or b is None or a == b:
                draft.could_not(text)
                return
            draft.sections[a], draft.sections[b] = draft.sections[b], draft.sections[a]
            draft.did("moved", heading=draft.sections[a].heading, number=a + 1)
        case Rename(what, heading):
            at = only if only is not None else draft.find(what)
            if at is None or any(section.heading == heading for section in draft.sections):
                draft.could_not(text)
                return
            draft.sections[at].heading = heading
            draft.did("renamed", number=at + 1, heading=heading)
        case Shorten(what):
            _shorten(draft, what, text, only)
        case More(about):
            _more(draft, subject_of(about), text, only)
        case Words(words):
            _more(draft, words, words, only)


def _drop(draft: _Draft, what: str, only: int | None) -> None:
    # "drop it", not "drop the numbers": that would take a writer.
    at = only if only is not None and means_itself(what) else draft.find(what)
    if at is None or len(draft.sections) == 1 or only not in (None, at):
        draft.could_not(what)
        return
    gone = draft.sections.pop(at)
    draft.did("dropped", number=at + 1, heading=gone.heading, ids=", ".join(cited_ids(gone.content)))


def _move(draft: _Draft, what: str, to: str, beside: str, only: int | None) -> None:
    at = only if only is not None else draft.find(what)
    other = draft.find(beside) if beside else None
    if at is None or (beside and other is None) or at == other:
        draft.could_not(f"{what} → {beside or to}")
        return
    neighbour = None if other is None else draft.sections[other]
    section = draft.sections.pop(at)
    if neighbour is not None:
        place = draft.sections.index(neighbour) + (to == "after")
    else:
        place = 0 if to == "first" else len(draft.sections)
    draft.sections.insert(place, section)
    draft.did("moved", heading=section.heading, number=place + 1)


def _shorten(draft: _Draft, what: str, text: str, only: int | None) -> None:
    at = only if only is not None else draft.find(what) if what else None
    if what and at is None:
        draft.could_not(text)
        return
    for section in draft.sections if at is None else [draft.sections[at]]:
        section.change.append(_SHORTEN[draft.language])


def _more(draft: _Draft, subject: str, text: str, only: int | None) -> None:
    """The section that it fits, if any evidence does; what it becomes, its writer says."""
    sources = draft.sources_about(subject)
    at = only if only is not None else draft.find(subject)
    if only is None and not sources:
        if subject == text:
            draft.could_not(text)
        else:
            draft.notes.append(phrase("nothing_about", draft.language, what=subject))
        return
    if at is None:
        at = _likest(draft, sources)
    draft.sections[at].change.append(text)
    draft.sections[at].source_ids += sources


def _likest(draft: _Draft, sources: Sequence[str]) -> int:
    """The section that cites most of the sources, else the last."""
    counts = [len(set(cited_ids(section.content)) & set(sources)) for section in draft.sections]
    return counts.index(max(counts)) if any(counts) else len(draft.sections) - 1


def _use_new_evidence(draft: _Draft, request: Element, *, add: bool) -> None:
    cited = {source_id for section in draft.sections for source_id in cited_ids(section.content)}
    by_heading = {section.heading: section for section in draft.sections}
    for place, section in enumerate(sections_of(request.one("outline"))):
        new = [source_id for source_id in section.source_ids if source_id not in cited]
        if section.heading in by_heading:
            if new:
                by_heading[section.heading].change.append(section.description or section.heading)
                by_heading[section.heading].source_ids += new
        elif add:
            draft.sections.insert(
                min(place, len(draft.sections)),
                _Section(
                    None, section.heading, "", [section.description or section.heading], [*section.source_ids]
                ),
            )


_SHORTEN: dict[Language, str] = {"en": "Shorten.", "zh": "精简。", "ja": "短く。"}
