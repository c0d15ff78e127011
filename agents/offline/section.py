"""How the offline model writes a section: sentences of its sources in paragraphs, each with its citation."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.citations import without_citations
from agents.offline.parts import Part, owner, parts_of, sections_of
from agents.offline.phrases import phrase
from agents.offline.places import subject_of
from agents.offline.quotable import Sentence, code_blocks, quotable
from agents.offline.relevance import likeness, role, share, terms, weights
from agents.offline.tagged import Element, language_of_request
from agents.offline.wishes import More, Shorten, Words, wishes
from agents.wire import SectionAnswer
from knowledge.language import Language

_USUAL = 6  # sentences of a section
_OF_A_PART = 3
_ENOUGH = 3  # in the article's language; with fewer, other languages fill up
_SAME = 0.65  # of the shorter sentence's terms are in the other
_FITS = 0.6  # of the terms that people asked for are in a sentence
_LONGEST_CODE = 30  # lines
_CLOSERS = "\"'”’」』）)】》*_`"
_END_OF_SENTENCE = re.compile(rf"[.!。！]+([{_CLOSERS}]*)$")
_SENTENCE = re.compile(rf".+?(?:[.!。！]+[{_CLOSERS}]*(?=\s|$)|[。！]+[{_CLOSERS}]*|$)\s*", re.DOTALL)


@dataclass(frozen=True)
class _Candidate:
    part: Part
    sentence: Sentence
    score: float


@dataclass(frozen=True)
class _Task:
    """One section to write."""

    request: Element
    language: Language
    number: int
    heading: str
    description: str
    own: list[Part]  # of this section
    others: list[Part]  # of other sections, that stand in its evidence too


def section(request: Element) -> SectionAnswer:
    """One section, or the previous one with what is to change."""
    task = _task(request)
    notes = [phrase("no_model", task.language)]
    if previous := request.one("previous").text("content"):
        content, said = _changed(task, previous, request.text("change"))
        return SectionAnswer(content=content[:12_000], notes=[*notes, *said][:10])
    chosen = _chosen(task)
    if not chosen:
        return SectionAnswer(content=phrase("no_source", task.language), notes=notes)
    paragraphs = [*_paragraphs(chosen), *_code(task, chosen)]
    return SectionAnswer(content="\n\n".join(paragraphs)[:12_000], notes=notes)


def _task(request: Element) -> _Task:
    about = request.one("section")
    number = int(about.attributes.get("number", "1"))
    sections = sections_of(request.one("outline"))
    parts = [part for part in parts_of(request.one("evidence")) if part.text]
    owners = [owner(part, sections) for part in parts]
    own = [part for part, holder in zip(parts, owners, strict=True) if holder and holder.number == number]
    return _Task(
        request=request,
        language=language_of_request(request),
        number=number,
        heading=about.text("heading"),
        description=about.text("description"),
        own=own,
        others=[part for part in parts if part not in own],
    )


def _chosen(task: _Task) -> list[_Candidate]:
    """The best sentences, no two alike; other languages where the article's own has too little."""
    candidates = _candidates(task, task.own)
    own = [candidate for candidate in candidates if candidate.part.lang == task.language]
    foreign = [candidate for candidate in candidates if candidate.part.lang != task.language]
    chosen = _best(own, [], _USUAL)
    if len(chosen) < _ENOUGH:
        # English is read by most; then whatever there is.
        foreign.sort(key=lambda one: one.part.lang != "en")
        return _best(foreign, chosen, _ENOUGH + 1)
    sources = {candidate.part.source_id for candidate in chosen}
    if len(sources) == 1 and task.language != "en":
        # A second source is worth a sentence in its own language; English is what most can read.
        second = [one for one in foreign if one.part.source_id not in sources and one.part.lang == "en"]
        return _best(second, chosen, len(chosen) + 1)
    return chosen


def _candidates(task: _Task, parts: Sequence[Part]) -> list[_Candidate]:
    texts = [terms(part.text) for part in parts]
    topic = weights(terms(task.request.text("topic")), texts)
    subject = weights(terms(f"{task.heading} {task.description}"), texts)
    found = []
    for part in parts:
        for sentence in quotable(part.text):
            bag = terms(sentence.text)
            score = 0.6 * share(topic, bag) + share(subject, bag) - 0.02 * sentence.place
            score += 0.3 * (part.label == task.heading)
            score += 0.4 * (sentence.text in part.claims) - 0.15 * sentence.listed
            found.append(_Candidate(part, sentence, score))
    return sorted(found, key=lambda candidate: -candidate.score)


def _best(candidates: Sequence[_Candidate], chosen: Sequence[_Candidate], most: int) -> list[_Candidate]:
    """The chosen ones and the best of the candidates; one that leans brings the sentence before it."""
    result = list(chosen)
    places = {(candidate.part.key, candidate.sentence.place): candidate for candidate in candidates}
    for candidate in candidates:
        wanted = [candidate]
        while wanted[0].sentence.leans:
            before = places.get((candidate.part.key, wanted[0].sentence.place - 1))
            if before is None:
                break
            wanted.insert(0, before)
        new = [one for one in wanted if one not in result]
        of_part = sum(one.part.key == candidate.part.key for one in result)
        if (
            not wanted[0].sentence.leans
            and new
            and len(result) + len(new) <= most
            and of_part + len(new) <= _OF_A_PART
            and not any(_alike(one.sentence.text, other.sentence.text) for one in new for other in result)
        ):
            result += new
    return result


def _paragraphs(chosen: Sequence[_Candidate]) -> list[str]:
    """One for each source, its sentences in the document's order; the one with the best sentence first."""
    by_score = sorted(chosen, key=lambda one: -one.score)
    sources = list(dict.fromkeys(one.part.source_id for one in by_score))
    ordered = sorted(
        chosen, key=lambda one: (sources.index(one.part.source_id), one.part.key, one.sentence.place)
    )
    paragraphs: dict[str, list[_Candidate]] = {}
    for candidate in ordered:
        paragraphs.setdefault(candidate.part.source_id, []).append(candidate)
    return [
        ("" if together[0].part.lang in ("zh", "ja") else " ").join(
            _cited(one.sentence.text, one.part) for one in together
        )
        for together in paragraphs.values()
    ]


def _cited(sentence: str, part: Part) -> str:
    """The sentence with its source in front of the mark that ends it, or behind it where it is enclosed."""
    end = _END_OF_SENTENCE.search(sentence)
    at = end.start() if end and not end[1] else len(sentence)
    gap = "" if part.lang in ("zh", "ja") else " "
    return f"{sentence[:at]}{gap}[{part.source_id}]{sentence[at:]}"


def _code(task: _Task, chosen: Sequence[_Candidate]) -> list[str]:
    """A code block of a part that is quoted, where the section is about doing."""
    if role(task.heading) not in ("doing", "settings"):
        return []
    quoted = {candidate.part.key for candidate in chosen}
    for part in task.own:
        for block in code_blocks(part.text) if part.key in quoted else []:
            if block.count("\n") <= _LONGEST_CODE:
                return [block, f"[{part.source_id}]"]
    return []


def _changed(task: _Task, previous: str, change: str) -> tuple[str, list[str]]:
    """The previous text with what was asked, and what became of it."""
    content = previous
    notes: list[str] = []
    for wish in wishes(change):
        done = None
        match wish:
            case Shorten():
                done = phrase("shortened", task.language, number=task.number)
                shorter = _shorter(content)
            case More(what) | Words(what):
                subject = subject_of(what)
                done = phrase("extended", task.language, number=task.number, what=subject)
                shorter = _extended(task, content, subject)
            case _:
                shorter = content
        if shorter == content:
            notes.append(phrase("not_done", task.language, what=change))
        elif done:
            notes.append(phrase("done", task.language, what=done))
        content = shorter
    return content, notes


def _extended(task: _Task, content: str, subject: str) -> str:
    """Up to three more sentences about something, of its own parts or of others."""
    wanted = terms(subject)
    said = [*_sentences(without_citations(content))]
    found = []
    for candidate in _candidates(task, [*task.own, *task.others]):
        text = candidate.sentence.text
        fits = len(wanted & terms(text)) / len(wanted) if wanted else 0.0
        if fits >= _FITS and not any(_alike(text, other) for other in said):
            preferred = 0.5 * (candidate.part.lang == task.language) + 0.5 * (candidate.part in task.own)
            found.append(
                _Candidate(candidate.part, candidate.sentence, 2 * fits + preferred + candidate.score)
            )
    more = _best(sorted(found, key=lambda one: -one.score), [], 3)
    kept = [] if content == phrase("no_source", task.language) else [content]
    return "\n\n".join([*kept, *_paragraphs(more)]) if more else content


def _shorter(content: str) -> str:
    """Half of it: the first paragraphs, or the first sentences of an only one."""
    paragraphs = [paragraph for paragraph in content.split("\n\n") if paragraph.strip()]
    if len(paragraphs) > 1:
        return "\n\n".join(paragraphs[: (len(paragraphs) + 1) // 2])
    sentences = [*_sentences(content)]
    return "".join(sentences[: max(1, len(sentences) // 2)]).strip()


def _sentences(text: str) -> Iterable[str]:
    return (found[0] for found in _SENTENCE.finditer(text) if found[0].strip())


def _alike(one: str, other: str) -> bool:
    return likeness(terms(one), terms(other)) >= _SAME
