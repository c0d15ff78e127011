"""Answers that are right, for each wire model in each language, and how models write the same otherwise."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from agents.wire import (
    AnalysisAnswer,
    FindingsAnswer,
    FrontAnswer,
    PlanAnswer,
    ReviewAnswer,
    SectionAnswer,
)

Answer = dict[str, Any]

# Quotation marks, brackets, colons, line breaks and a fence: what readers of bad JSON stumble over.
TEXTS = {
    "en": 'Use "Argon2id", says [S2]: it\'s {slow}, "by design".\n\n```sh\nhtpasswd -B <file>\n```\n',
    "zh": '资料说"应使用 Argon2id"，【S2】：它{慢}，“有意如此”。\n\n```sh\nhtpasswd -B <file>\n```\n',
    "ja": '資料は「Argon2id を使う」と述べる、［S2］："意図的に"{遅い}。\n\n```sh\nhtpasswd -B <file>\n```\n',
}

SCHEMAS: dict[str, type[BaseModel]] = {
    "return_findings": FindingsAnswer,
    "return_analysis": AnalysisAnswer,
    "return_front": FrontAnswer,
    "return_section": SectionAnswer,
    "return_plan": PlanAnswer,
    "return_review": ReviewAnswer,
}


def right_answer(tool: str, text: str) -> Answer:
    """What a careful model would have sent, with `text` wherever a text may stand."""
    answers: dict[str, Answer] = {
        "return_findings": {
            "findings": [{"claim": text, "source_id": "S1", "confidence": "high", "quote": text}],
            "gaps": [text, text],
            "summary": text,
        },
        "return_analysis": {
            "key_points": [{"point": text, "source_ids": ["S1", "S12"], "importance": "low"}],
            "outline": [{"heading": text, "description": text, "source_ids": []}],
            "risks": [{"description": text, "source_ids": ["S3"]}],
            "missing_evidence": [text],
            "needs_more_research": True,
            "summary": text,
            "notes": [],
        },
        "return_front": {"title": text, "description": text, "tags": ["argon2", "密码"], "categories": []},
        "return_section": {"content": text, "notes": [text]},
        "return_plan": {
            "sections": [
                {"number": 2, "heading": text, "change": text, "source_ids": ["S4"]},
                {"number": None, "heading": "New", "change": None, "source_ids": []},
            ],
            "rewrite_title": False,
            "notes": [text],
        },
        "return_review": {
            "issues": [
                {"severity": "medium", "description": text, "suggested_fix": text, "section": "2"},
                {"severity": "low", "description": text, "suggested_fix": text, "section": None},
            ],
            "decision": "revise",
            "score": 71,
            "feedback": text,
        },
    }
    return answers[tool]


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def written(
    value: Any,
    *,
    string: Callable[[str], str] = as_json,
    name: Callable[[str], str] | None = None,
    word: Callable[[object], str] = as_json,
    comma: str = ",\n",
    colon: str = ": ",
    before_end: str = "",
) -> str:
    """A value as JSON with one thing or another written otherwise."""

    def write(each: Any) -> str:
        if isinstance(each, dict):
            fields = [f"{(name or string)(key)}{colon}{write(inside)}" for key, inside in each.items()]
            return f"{{{comma.join(fields)}{before_end if fields else ''}}}"
        if isinstance(each, list):
            entries = [write(inside) for inside in each]
            return f"[{comma.join(entries)}{before_end if entries else ''}]"
        return string(each) if isinstance(each, str) else word(each)

    return write(value)


def renamed(value: Any, change: Callable[[str], str]) -> Any:
    """A value with all names of fields changed."""
    if isinstance(value, dict):
        return {change(key): renamed(inside, change) for key, inside in value.items()}
    return [renamed(inside, change) for inside in value] if isinstance(value, list) else value
