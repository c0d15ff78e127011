"""How the offline model makes a title page: the topic as it was asked, and the sentence that answers best."""

import re

from agents.offline.parts import parts_of
from agents.offline.relevance import key_phrases, share, terms, weights
from agents.offline.tagged import Element, language_of_request
from agents.wire import FrontAnswer

# With the verb in front an English question needs its mark; others read well without.
_NEEDS_MARK = re.compile(
    r"^(?:(?:why|how|when|where|what|which|who)\s+)?(?:should|do|does|did|is|are|was|were|can|could|will|would|must|has|have)\b",
    re.IGNORECASE,
)


def front(request: Element) -> FrontAnswer:
    """Title, description and tags."""
    language = language_of_request(request)
    topic = request.text("topic")
    parts = parts_of(request.one("evidence"))
    weighed = weights(terms(topic), [part.bag for part in parts])
    claims = [
        (share(weighed, terms(claim)) + 0.5 * (part.lang == language), claim)
        for part in parts
        for claim in part.claims
        if len(claim) <= 300
    ]
    description = max(claims, key=lambda item: item[0])[1] if claims else topic
    return FrontAnswer(
        title=_title(topic)[:300],
        description=description[:300],
        tags=_tags(topic, {term for part in parts for term in part.bag}),
        categories=[],
    )


def _title(topic: str) -> str:
    bare = " ".join(topic.split())
    if re.search(r"[A-Za-z]\s*\?+$", bare) and _NEEDS_MARK.match(bare):
        return bare
    return bare.rstrip("?？ ") or bare


def _tags(topic: str, known: set[str]) -> list[str]:
    latin = [word.lower() for word in re.findall(r"[A-Za-z][\w.+#-]*\d[\w.+#-]*|\b[A-Z][\w.+#-]*", topic)]
    phrases = [part.lower() for part in key_phrases(topic) if len(part.split()) <= 2 and len(part) <= 20]
    # "Why" at the beginning of a sentence is no name.
    tags = dict.fromkeys([*latin, *phrases])
    return [tag for tag in tags if terms(tag) and terms(tag) <= known][:5]
