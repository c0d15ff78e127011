"""The answers that a careful model gives at each stage of one article, in each language."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from agents.contracts import DraftResult, DraftSection
from knowledge.language import Language
from tests.host_kinds import TOPICS
from tests.scripted_openai.replies import Reply
from tests.unit.password_article import Example, chinese, english

Answer = dict[str, Any]
StageName = Literal["formatter", "analyst", "front", "section", "planner", "reviewer"]

STAGES: tuple[StageName, ...] = get_args(StageName)
LANGUAGES: tuple[Language, ...] = get_args(Language)
TOOLS: Mapping[StageName, str] = {
    "formatter": "return_findings",
    "analyst": "return_analysis",
    "front": "return_front",
    "section": "return_section",
    "planner": "return_plan",
    "reviewer": "return_review",
}

# Quotation marks, an apostrophe, two paragraphs: what bad JSON stumbles over.
SAID: dict[Language, str] = {
    "en": 'It\'s "slow by design", the handbook says.\n\nMD5 is not.',
    "zh": '手册说它"有意设计得慢"。\n\nMD5 却不是。',
    "ja": '手引きは "意図的に遅い" と述べる。\n\nMD5 はそうではない。',
}
_HEADINGS_JA = ["MD5 はなぜ危険か", "Argon2id の設定", "費用"]


def article(language: Language) -> Example:
    """The example in a language. The Japanese one is made from English sources."""
    if language != "ja":
        return chinese() if language == "zh" else english()
    example = english()
    outline = [
        replaced.model_copy(update={"heading": heading})
        for replaced, heading in zip(example.analysis.outline, _HEADINGS_JA, strict=True)
    ]
    sections = [
        DraftSection(heading=heading, content=f"{SAID['ja']} [{source}]")
        for heading, source in zip(_HEADINGS_JA, ("S1", "S2", "S1"), strict=True)
    ]
    draft = DraftResult(
        title="Go を Argon2id へ移行する",
        description="高速なハッシュがなぜ足りないか。",
        tags=["go"],
        categories=[],
        sections=sections,
        content="\n\n".join(f"## {section.heading}\n\n{section.content}" for section in sections),
        used_source_ids=["S1", "S2"],
        notes=[],
    )
    return replace(
        example,
        language="ja",
        research=example.research.model_copy(update={"topic": TOPICS["ja"]}),
        analysis=example.analysis.model_copy(update={"topic": TOPICS["ja"], "outline": outline}),
        draft=draft,
        review=example.review.model_copy(update={"issues": []}),
    )


def right_answer(stage: StageName, language: Language) -> Answer:
    """What a careful model says: with an empty list, a list of one, and a null where the schema has these."""
    example, said = article(language), SAID[language]
    answers: dict[StageName, Answer] = {
        "formatter": {
            "findings": [_finding(example, said)],
            "gaps": [],
            "summary": said,
        },
        "analyst": {
            "key_points": [{"point": said, "source_ids": ["S1"], "importance": "high"}],
            "outline": [
                {"heading": one.heading, "description": said, "source_ids": one.source_ids}
                for one in example.analysis.outline
            ],
            "risks": [{"description": said, "source_ids": []}],
            "missing_evidence": [said],
            "needs_more_research": False,
            "summary": said,
            "notes": [],
        },
        "front": {
            "title": example.draft.title,
            "description": said,
            "tags": ["argon2id"],
            "categories": [],
        },
        "section": {"content": f"{said} [S1]\n\n{said}", "notes": []},
        "planner": {
            "sections": [
                {
                    "number": number,
                    "heading": section.heading,
                    "change": said if number == 1 else None,
                    "source_ids": [],
                }
                for number, section in enumerate(example.draft.sections, start=1)
            ],
            "rewrite_title": False,
            "notes": [],
        },
        "reviewer": {
            "issues": [{"severity": "high", "description": said, "suggested_fix": said, "section": None}],
            "decision": "revise",
            "score": 71,
            "feedback": said,
        },
    }
    return answers[stage]


def _finding(example: Example, claim: str) -> Answer:
    """A quote that nobody has found before, so that it is added to what is known."""
    passage = example.research.passages[0]
    return {
        "claim": claim,
        "source_id": passage.source_id,
        "confidence": "high",
        "quote": passage.text.splitlines()[-1][2:-1],
    }


@dataclass(frozen=True)
class Case:
    """What a misbehaviour is made of: the answer that was meant, and where it is due."""

    stage: StageName
    language: Language
    answer: Answer

    @property
    def tool(self) -> str:
        return TOOLS[self.stage]


Came = str | Answer | Reply
"""A text (or the arguments of a call, where one is due), the object of one, or any reply."""
