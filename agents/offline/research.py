"""How the offline model researches: what it searches for, what it reads on, what it reports."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from agents.offline.phrases import phrase
from agents.offline.quotable import Sentence, quotable
from agents.offline.relevance import key_phrases, likeness, share, terms, weights
from agents.offline.report import Reported, written
from agents.offline.tagged import Element, language_of_request

Call = tuple[str, dict[str, object]]

_QUERIES_AT_ONCE = 4  # what the tool takes
_MOST_QUESTIONS = 8
_MOST_FINDINGS = 30
_MOST_OF_A_SOURCE = 7
_MOST_OF_A_PASSAGE = 3
_MOST_IN_OTHER_LANGUAGES = 10
_SAME = 0.7  # of the shorter sentence's terms are in the other
_ANSWERED = 0.5  # of a question's terms, by weight, stand in one passage
_LATIN = re.compile(r"[A-Za-z][\w./+#-]*")
# A sentence that says why or what to do is worth more than one that tells.
_ADVICE = re.compile(
    r"\b(?:must|should|recommend|because|therefore|never|at least|instead of|avoid)\b"
    "|必须|应当|应该|建议|推荐|因为|由于|至少|避免|不要|べき|必要|推奨|ため、|最低|避け",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Passage:
    id: str
    source_id: str
    title: str
    heading: str
    lang: str
    text: str


def next_step(request: Element, messages: Sequence[ModelMessage]) -> list[Call] | str:
    """The next calls of tools, or the report."""
    results = [_results(message) for message in messages if isinstance(message, ModelRequest)]
    rounds = [result for result in results if result]
    passages = _in_order(rounds)
    if not rounds:
        return _first_searches(request)
    if len(rounds) == 1:
        return _more_searches(request, passages)
    if len(rounds) == 2 and passages:
        return [("read_source", {"passage_id": passage.id}) for passage in _best_of_sources(passages, most=2)]
    return _report(request, passages)


def _first_searches(request: Element) -> list[Call]:
    topic = request.text("topic")
    questions = [element.body.strip()[:300] for element in request.all("question")][:_MOST_QUESTIONS]
    calls: list[Call] = []
    if not request.all("known") or not questions:
        queries = [topic[:300], *key_phrases(topic)]
        # The terms that all languages write alike find the documents of the other ones.
        if language_of_request(request) != "en" and (latin := _LATIN.findall(topic)):
            queries.insert(1, " ".join(latin))
        calls.append(_search(queries, 10))
    for start in range(0, len(questions), 2):
        asked = questions[start : start + 2]
        calls.append(_search([*asked, *(" ".join(key_phrases(question)) for question in asked)], 8))
    return calls


def _more_searches(request: Element, passages: Sequence[_Passage]) -> list[Call]:
    """By the headings of what was found: they name the subject's parts in each language."""
    if not passages:
        phrases = [term for part in key_phrases(request.text("topic")) for term in part.split()]
        return [_search(phrases or [request.text("topic")[:300]], 8)]
    headings = dict.fromkeys(_leaf(passage.heading) or passage.title for passage in passages)
    return [_search([*headings], 8)]


def _search(queries: Sequence[str], k: int) -> Call:
    wanted = [query for query in dict.fromkeys(query.strip()[:300] for query in queries) if query]
    return "knowledge_search", {"queries": wanted[:_QUERIES_AT_ONCE], "k": k}


def _best_of_sources(passages: Sequence[_Passage], *, most: int) -> list[_Passage]:
    best = {passage.source_id: passage for passage in reversed(passages)}
    return sorted(best.values(), key=passages.index)[:most]


def _results(message: ModelRequest) -> list[_Passage] | None:
    """What the tools gave in one round; [] if nothing, None if there was no round."""
    returns = [part for part in message.parts if isinstance(part, ToolReturnPart)]
    if not returns:
        return None
    found: list[_Passage] = [_Passage("", "", "", "", "", "")]  # a round without passages is still a round
    for part in returns:
        try:
            result = json.loads(part.model_response_str())
        except ValueError:
            continue
        for passage in result.get("passages", []) if isinstance(result, dict) else []:
            found.append(
                _Passage(
                    passage["passage_id"],
                    passage["source_id"],
                    passage["title"],
                    passage["heading"],
                    passage["lang"],
                    passage["text"],
                )
            )
    return found


def _in_order(rounds: Sequence[Sequence[_Passage]]) -> list[_Passage]:
    """Each passage once; the best of all rounds first."""
    found: dict[str, _Passage] = {}
    for passages in rounds:
        for passage in passages:
            if passage.id:
                found.setdefault(passage.id, passage)
    return list(found.values())


def _report(request: Element, passages: Sequence[_Passage]) -> str:
    language = language_of_request(request)
    known = request.one("known")
    topic = request.text("topic")
    questions = [element.body.strip() for element in request.all("question")]
    candidates = [(passage, sentence) for passage in passages for sentence in quotable(passage.text)[0]]
    bags = [terms(passage.text) | terms(passage.heading) for passage in passages]
    asked = " ".join(questions) if known.body and questions else " ".join([topic, *questions])
    weighed = weights(terms(asked), bags)

    reported = _picked(candidates, passages, weighed, language, _known_claims(known))
    gaps = [gap.body.strip() for gap in known.all("gap")]
    if passages:
        wanted = questions if known.body else [*key_phrases(topic), *questions]
        gaps = [gap for gap in gaps if not _answered(gap, bags)]
        gaps += [phrase("gap", language, what=what) for what in wanted if not _answered(what, bags)]
    summary = " ".join(item.quote for item in reported[:2])
    return written(reported, list(dict.fromkeys(gaps)), known.text("summary") or summary)


def _picked(
    candidates: Sequence[tuple[_Passage, Sentence]],
    passages: Sequence[_Passage],
    weighed: dict[str, float],
    language: str,
    known: Sequence[str],
) -> list[Reported]:
    """The sentences that answer best, from several sources, none twice."""
    rank = {passage.id: place for place, passage in enumerate(passages)}
    scored = []
    for passage, sentence in candidates:
        if sentence.leans:
            continue
        covered = share(weighed, terms(sentence.text))
        around = share(weighed, terms(passage.heading))
        score = covered + 0.3 * around + 0.5 / (2 + rank[passage.id] / 3)
        score += 0.15 * (passage.lang == language) + 0.08 * bool(_ADVICE.search(sentence.text))
        if covered > 0 or rank[passage.id] < 6:
            scored.append((score, covered, passage, sentence))
    scored.sort(key=lambda item: -item[0])

    picked: list[Reported] = []
    bags = [terms(claim) for claim in known]
    of_source: dict[str, int] = {}
    of_passage: dict[str, int] = {}
    foreign = 0
    for _, covered, passage, sentence in scored:
        bag = terms(sentence.text)
        other = passage.lang != language
        if (
            len(picked) >= _MOST_FINDINGS
            or of_source.get(passage.source_id, 0) >= _MOST_OF_A_SOURCE
            or of_passage.get(passage.id, 0) >= _MOST_OF_A_PASSAGE
            or (other and foreign >= _MOST_IN_OTHER_LANGUAGES)
            or any(likeness(bag, before) >= _SAME for before in bags)
        ):
            continue
        of_source[passage.source_id] = of_source.get(passage.source_id, 0) + 1
        of_passage[passage.id] = of_passage.get(passage.id, 0) + 1
        foreign += other
        bags.append(bag)
        confidence = "high" if covered >= 0.5 else "medium" if covered >= 0.2 else "low"
        picked.append(Reported(passage.source_id, confidence, sentence.text))
    return picked


def _known_claims(known: Element) -> list[str]:
    return [
        finding.text("claim")
        for source in known.one("evidence").all("source")
        for passage in source.all("passage")
        for finding in passage.all("finding")
    ]


def _answered(question: str, bags: Sequence[frozenset[str]]) -> bool:
    """Whether one passage has most of what a question names. One that names nothing is no question."""
    weighed = weights(terms(question), bags)
    return not weighed or max((share(weighed, bag) for bag in bags), default=0.0) >= _ANSWERED


def _leaf(heading: str) -> str:
    return heading.rsplit(" > ", 1)[-1].strip()
