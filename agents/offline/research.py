"""How the offline model researches: what it searches for, what it reads on, what it reports."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from agents.contracts import Level
from agents.offline.phrases import phrase
from agents.offline.quotable import Sentence, quotable
from agents.offline.relevance import key_phrases, likeness, share, terms, weights
from agents.offline.report import Reported, written
from agents.offline.tagged import Element, language_of_request
from knowledge.language import Language

Call = tuple[str, dict[str, object]]

_QUERIES_AT_ONCE = 4  # what the tool takes
_LONGEST_QUERY = 300  # characters, what the tools take
_MOST_WEB_SEARCHES = 2
_MOST_PAGES = 4
_MOST_QUESTIONS = 8
_MOST_PHRASES = 4
_MOST_HEADINGS = 8
_MOST_FINDINGS = 30
_MOST_OF_A_SOURCE = 6
_ONE_MORE_OF_A_SOURCE = 0.06  # what a sentence loses for each one that its source has already
# English is read by most who write in Chinese or Japanese; the other way round less.
_MOST_IN_OTHER_LANGUAGES = {"en": 5, "zh": 10, "ja": 10}
_SAME = 0.7  # of the shorter sentence's terms are in the other
_TELLING = 5  # passages in the article's language, so that a word that none has says something
_FAINT = 0.35  # of the best sentence's score
_NAMED = 0.5  # of the words of a part of the question stand in a passage that is about it
_NAMED_IN_SYLLABLES = 0.6
_ANSWERED = 0.5  # of a question's terms, by weight, stand in one passage
_ABOUT = 0.35  # of a question's terms, by weight, stand in a passage that is about it
_SEVERAL = 3  # passages in other languages that were found for the topic as it stands
_NAME = re.compile(r"\d|[A-Z]")
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


def next_step(request: Element, messages: Sequence[ModelMessage], *, web: bool) -> list[Call] | str:
    """The next calls of tools, or the report; with `web` it may look there too."""
    results = [_results(message) for message in messages if isinstance(message, ModelRequest)]
    rounds = [result for result in results if result]
    passages = _in_order(rounds)
    if not rounds:
        return _first_searches(request)
    if len(rounds) == 1:
        on_web: list[Call] = [("web_search", {"query": question}) for question in _for_web(request) if web]
        return [*_more_searches(request, passages), *on_web]
    if len(rounds) == 2:
        best = _best_of_sources(passages, most=2)
        around: list[Call] = [("read_source", {"passage_id": passage.id}) for passage in best]
        if calls := [*around, *_pages(request, messages[-1])]:
            return calls
    return _report(request, messages, passages)


def _first_searches(request: Element) -> list[Call]:
    topic = request.text("topic")
    questions = [element.body.strip()[:_LONGEST_QUERY] for element in request.all("question")][
        :_MOST_QUESTIONS
    ]
    calls: list[Call] = []
    if not request.all("known") or not questions:
        queries = [topic]
        # The terms that all languages write alike find the documents of the other ones.
        if language_of_request(request) != "en" and (latin := _LATIN.findall(topic)):
            queries.append(" ".join(latin))
        calls.append(_search(queries, 10))
        calls += [_search([part], 6) for part in key_phrases(topic)[:_MOST_PHRASES]]
    calls += [_search([question, " ".join(key_phrases(question))], 8) for question in questions]
    return calls


def _more_searches(request: Element, passages: Sequence[_Passage]) -> list[Call]:
    """By the headings of what was found: they name the subject's parts in each language."""
    if not passages:
        phrases = [term for part in key_phrases(request.text("topic")) for term in part.split()]
        return [_search(phrases or [request.text("topic")], 8)]
    language = language_of_request(request)
    own_first = sorted(passages, key=lambda passage: passage.lang != language)
    headings = dict.fromkeys(_leaf(passage.heading) or passage.title for passage in own_first)
    # Each by itself: together, the one that is met word for word would take all places.
    return [_search([heading], 4) for heading in [*headings][:_MOST_HEADINGS]]


def _for_web(request: Element) -> list[str]:
    """What is looked for there: the latest questions, or the topic where there is none."""
    questions = [element.body.strip()[:_LONGEST_QUERY] for element in request.all("question")]
    return questions[:_MOST_WEB_SEARCHES] or [request.text("topic")[:_LONGEST_QUERY]]


def _pages(request: Element, message: ModelMessage) -> list[Call]:
    """The first pages that each search on the web found."""
    results: list[list[str]] = []
    for part in message.parts:
        if isinstance(part, ToolReturnPart) and part.tool_name == "web_search":
            found = _json(part)
            results.append([result["result_id"] for result in found.get("results", [])])
    each = _MOST_PAGES // max(len(results), 1)
    questions = _for_web(request)
    wanted = {
        result: question for ids, question in zip(results, questions, strict=False) for result in ids[:each]
    }
    return [("read_page", {"result_id": result, "question": question}) for result, question in wanted.items()]


def _json(part: ToolReturnPart) -> dict[str, Any]:
    try:
        result = json.loads(part.model_response_str())
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}


def _search(queries: Sequence[str], k: int) -> Call:
    wanted = [query for query in dict.fromkeys(query.strip()[:_LONGEST_QUERY] for query in queries) if query]
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
        for passage in _json(part).get("passages", []):
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


def _report(request: Element, messages: Sequence[ModelMessage], passages: Sequence[_Passage]) -> str:
    language = language_of_request(request)
    known = request.one("known")
    topic = request.text("topic")
    questions = [element.body.strip() for element in request.all("question")]
    asked = questions if known.body and questions else [topic, *questions]
    if not any(_is_about(text, passages, language) for text in asked):
        # Words of it are met, in texts about something else. Other languages cannot have its words:
        # there the search is believed, which goes by meaning, once it found several for the whole topic.
        passages = [passage for passage in _of_first_search(messages) if passage.lang != language]
        passages = passages if len(passages) >= _SEVERAL else []
    candidates = [(passage, sentence) for passage in passages for sentence in quotable(passage.text)]
    bags = [terms(passage.text) | terms(passage.heading) for passage in passages]
    weighed = weights(terms(" ".join(asked)), bags)

    reported = _picked(candidates, passages, weighed, language, _known_claims(known))
    gaps = [gap.body.strip() for gap in known.all("gap")]
    if passages:
        open_questions = [question for question in questions if not _answered(question, bags)]
        unheard = [part for part in key_phrases(topic) if not any(terms(part) & bag for bag in bags)]
        if sum(passage.lang == language for passage in passages) < _TELLING:
            # Sources in other languages would not have its words, only names that all write alike.
            unheard = [part for part in unheard if _LATIN.search(part)]
        gaps = [gap for gap in gaps if not _answered(gap, bags)]
        gaps += [
            phrase("gap", language, what=what)
            for what in (open_questions if known.body else [*unheard, *open_questions])
        ]
    summary = " ".join(item.quote for item in reported[:2])
    return written(reported, list(dict.fromkeys(gaps)), known.text("summary") or summary)


def _is_about(question: str, passages: Sequence[_Passage], language: Language) -> bool:
    """Whether a passage in the article's language is about it, not only meets a word or a syllable of it.

    It has a good part of the question's words by weight, or most of one of its parts that says something by
    itself: several words, or a name such as MD5.
    """
    bags = [terms(f"{passage.heading} {passage.text}") for passage in passages if passage.lang == language]
    weighed = weights(terms(question), bags)
    if max((share(weighed, bag) for bag in bags), default=0.0) >= _ABOUT:
        return True
    for part in key_phrases(question):
        words = terms(part)
        # Syllables of Chinese and Japanese are met by chance more often than words are.
        enough = len(words) * (_NAMED if _LATIN.search(part) else _NAMED_IN_SYLLABLES)
        least = max(enough, 1 if _NAME.search(part) else 2)
        if any(len(words & bag) >= least for bag in bags):
            return True
    return False


def _of_first_search(messages: Sequence[ModelMessage]) -> list[_Passage]:
    """What the first search of all found, which was for the topic as it stands."""
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    return [passage for passage in _results(ModelRequest([part])) or [] if passage.id]
    return []


def _picked(
    candidates: Sequence[tuple[_Passage, Sentence]],
    passages: Sequence[_Passage],
    weighed: dict[str, float],
    language: Language,
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
    picked: list[Reported] = []
    bags = [terms(claim) for claim in known]
    of_source: Counter[str] = Counter()
    foreign = 0
    # By language: a question's words are not met in another one, so what it says scores lower altogether.
    faintest = {item[2].lang: _FAINT * item[0] for item in sorted(scored, key=lambda item: item[0])}
    while scored and len(picked) < _MOST_FINDINGS:
        best = max(scored, key=lambda item: item[0] - _ONE_MORE_OF_A_SOURCE * of_source[item[2].source_id])
        scored.remove(best)
        _, covered, passage, sentence = best
        bag = terms(sentence.text)
        other = passage.lang != language
        if best[0] < faintest[best[2].lang]:
            continue
        if (
            of_source[passage.source_id] >= _MOST_OF_A_SOURCE
            or (other and foreign >= _MOST_IN_OTHER_LANGUAGES[language])
            or any(likeness(bag, before) >= _SAME for before in bags)
        ):
            continue
        of_source[passage.source_id] += 1
        foreign += other
        bags.append(bag)
        confidence: Level = "high" if covered >= 0.5 else "medium" if covered >= 0.2 else "low"
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
