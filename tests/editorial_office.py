"""What a sensible model would answer to each of the agents, made from the request alone: for the wire.

It reads requests as any model does and knows nothing of the program: evidence in, quotes and citations out.
Tests say only what they are about: the reviewer's decisions, whether evidence is missing.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.scripted_openai.replies import Call, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest

HEADINGS = {
    "English": ["Why it fails", "What to use instead", "How to get there", "What it costs"],
    "Chinese (Simplified)": ["为什么不行", "改用什么", "如何迁移", "代价如何"],
    "Japanese": ["なぜ足りないか", "何に替えるか", "どう移行するか", "費用はどれほどか"],
}
MISSING = {
    "English": "How long does a login take?",
    "Chinese (Simplified)": "一次登录需要多长时间？",
    "Japanese": "ログインにはどれだけ時間がかかるか。",
}
# Of which a review that asks for research says what to look for.
WANTED = {
    "English": "The draft says nothing about salts and peppers.",
    "Chinese (Simplified)": "文中没有谈到盐和胡椒。",
    "Japanese": "ソルトとペッパーについて書かれていない。",
}


@dataclass
class Office:
    """Answers for one article at a time. `reviews`: the reviewer's decisions in turn, the last one stays."""

    reviews: Sequence[str] = ("approve",)
    lacks_evidence: Sequence[bool] = (False,)
    searches: int = 1  # turns in which the researcher searches, before it reports
    sections: int = 3
    reviewed: int = field(default=0, init=False)
    analysed: int = field(default=0, init=False)
    written: int = field(default=0, init=False)

    def __call__(self, request: ChatRequest) -> Reply:
        stage = stage_of(request)
        if stage == "knowledge_search":
            return self._research(request)
        text = request.last_user
        answer = {
            "return_findings": self._findings,
            "return_analysis": self._analysis,
            "return_front": self._front,
            "return_section": self._section,
            "return_plan": self._plan,
            "return_review": self._review,
        }[stage](text)
        if request.tools:
            return ToolCalls([Call(stage, answer)])
        return Text(json.dumps(answer, ensure_ascii=False))

    def _research(self, request: ChatRequest) -> Reply:
        text = request.users[0]
        in_words = not request.tools  # then a call is text, and so is what it gives
        results = re.findall(r"<result .*?>(.*?)</result>", request.text, re.S) if in_words else []
        results += [result.text for result in request.tool_results]
        results = [one for one in results if re.search('"passages"|"nothing_found"', one)]  # others are amiss
        if len(results) < self.searches:
            queries = elements(text, "question")[:4] or [one(text, "topic")]
            arguments = {"queries": queries, "k": 10}
            if in_words:
                call = json.dumps({"name": "knowledge_search", "arguments": arguments}, ensure_ascii=False)
                return Text(f"<tool_call>\n{call}\n</tool_call>")
            return ToolCalls([Call("knowledge_search", arguments)])
        lines = []
        for result in results:
            for passage in json.loads(result).get("passages", []):
                for sentence in sentences(passage["text"])[:2]:
                    lines.append(f'[{passage["source_id"]}] (high) {sentence} — "{sentence}"')
        return Text("\n".join(["Findings", *dict.fromkeys(lines), "Gaps", "Summary", "…"]))

    def _findings(self, text: str) -> dict[str, Any]:
        found = re.findall(r'^\[(S\d+)\] \(high\) (.*?) — "(.*)"$', one(text, "report"), re.M)
        return {
            "findings": [
                {"claim": claim, "source_id": source, "confidence": "high", "quote": quote}
                for source, claim, quote in found[:60]
            ],
            "gaps": [],
            "summary": "…",
        }

    def _analysis(self, text: str) -> dict[str, Any]:
        self.analysed += 1
        language = one(text, "language")
        lacks = self.lacks_evidence[min(self.analysed, len(self.lacks_evidence)) - 1]
        sources = re.findall(r'<source id="(S\d+)">', text)
        headings = HEADINGS[language][: self.sections]
        for wish in now(text):
            if wish.section is None:
                headings.append(wish.text[:60])
        return {
            "key_points": [],
            "outline": [
                {
                    "heading": heading,
                    "description": heading,
                    "source_ids": sources[at :: self.sections] or sources[:1],
                }
                for at, heading in enumerate(headings)
            ],
            "risks": [],
            "missing_evidence": [MISSING[language]] if lacks else [],
            "needs_more_research": lacks,
            "summary": "…",
            "notes": [f"✓ {wish.text}" for wish in now(text)],
        }

    def _front(self, text: str) -> dict[str, Any]:
        topic = one(text, "topic")
        return {"title": topic[:60], "description": topic, "tags": ["argon2id"], "categories": ["security"]}

    def _section(self, text: str) -> dict[str, Any]:
        """Quotes of its own evidence; what people want now stands in the text."""
        self.written += 1
        here = re.search(r'^<section number="(\d+)">$', text, re.M)
        assert here is not None
        number = int(here[1])
        cited = [f"{claim} [{source}]." for source, found in claims(text).items() for claim in found[:2]]
        asked = [wish.text for wish in now(text) if wish.section in (None, number)]
        said = [f"({self.written}) {what}" for what in asked] or [f"({self.written})"]
        return {"content": "\n\n".join([*said, *cited]), "notes": [f"✓ {what}" for what in asked]}

    def _plan(self, text: str) -> dict[str, Any]:
        headings = re.findall(r'<section number="(\d+)">\n<heading>(.*?)</heading>\n<content>', text)
        wishes = now(text)
        numbers = {wish.section for wish in wishes}
        issues = re.findall(r'<issue severity="\w+" section="(\w+)" state="now">', text)
        everywhere = None in numbers or "all" in issues or not (wishes or issues)
        sources = re.findall(r'<source id="(S\d+)">', text)
        change = "; ".join(wish.text for wish in wishes) or "Mend what the review found."
        return {
            "sections": [
                {
                    "number": int(number),
                    "heading": heading,
                    "change": change if everywhere or int(number) in numbers or number in issues else None,
                    "source_ids": sources,
                }
                for number, heading in headings
            ],
            "rewrite_title": False,
            "notes": [f"✓ {wish.text}" for wish in wishes],
        }

    def _review(self, text: str) -> dict[str, Any]:
        self.reviewed += 1
        decision = self.reviews[min(self.reviewed, len(self.reviews)) - 1]
        if decision == "approve":
            return {"decision": decision, "score": 92, "issues": [], "feedback": "Good."}
        language = one(text, "language")
        found = WANTED[language] if decision == "research" else f"Review {self.reviewed}."
        issue = {"severity": "high", "description": found, "suggested_fix": "→", "section": "1"}
        return {"decision": decision, "score": 60, "issues": [issue], "feedback": f"Round {self.reviewed}."}


def stage_of(request: ChatRequest) -> str:
    """What is asked for, by the name under which it is returned; of the researcher the name of its search.

    The name is that of a tool, of a schema, or stands in the instructions.
    """
    if "knowledge_search" in request.tool_names or "## knowledge_search" in request.system:
        return "knowledge_search"
    if request.tools:
        [name] = request.tool_names
        return name
    name = request.response_format.name or ""  # some wires have none, or one of their own
    return name if name.startswith("return_") else re.findall(r"return_[a-z]+", request.system)[0]


@dataclass(frozen=True)
class Wish:
    """A request of people that is to be carried out now; `section` None = the whole."""

    text: str
    section: int | None


def now(text: str) -> list[Wish]:
    found = re.findall(
        r'<request number="\d+" on="\w+" section="(\w+)" state="now">\s*<text>(.*?)</text>', text, re.S
    )
    return [Wish(said, None if section == "all" else int(section)) for section, said in found]


def one(text: str, name: str) -> str:
    """The body of the first such element."""
    return elements(text, name)[0]


def elements(text: str, name: str) -> list[str]:
    return [body.strip() for body in re.findall(rf"^<{name}>(.*?)</{name}>$", text, re.M | re.S)]


def claims(text: str) -> dict[str, list[str]]:
    """What the evidence of a request says, by source id."""
    return {
        source: re.findall(r"<claim>(.*?)</claim>", body)
        for source, body in re.findall(r'<source id="(S\d+)">(.*?)</source>', text, re.S)
    }


def sentences(text: str) -> list[str]:
    """Sentences of one line that can be quoted as they are."""
    found = re.findall(r"(?:^|(?<=[.。！!] ))[^\n.。|#`*\[\]_<>\"“”]{20,200}[.。]", text, re.M)
    return [sentence.strip() for sentence in found]
