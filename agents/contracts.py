"""What one agent hands the next, and what is stored and shown: the fields of the design."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Level = Literal["high", "medium", "low"]


class Contract(BaseModel):
    """Base of all contracts: closed, so that a misspelt field is noticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Contract):
    """A document that this program read. `verified` = retrieved and read here, never a model's word."""

    id: str = Field(pattern=r"^S[1-9][0-9]*$")
    title: str
    url: str | None
    path: str | None
    document_id: int
    verified: bool


class SourcePassage(Contract):
    """A passage of a source as the agent saw it: the text in which quotes are looked for."""

    source_id: str
    chunk_id: int
    heading: str
    text: str
    lang: str


class Finding(Contract):
    """A claim with its verbatim quote; `chunk_id` is the passage in which this program found the quote."""

    claim: str
    source_id: str
    confidence: Level
    quote: str
    chunk_id: int


class ResearchResult(Contract):
    topic: str
    findings: list[Finding]
    sources: list[Source]
    gaps: list[str]
    summary: str
    passages: list[SourcePassage]
    searches: int


class KeyPoint(Contract):
    point: str
    source_ids: list[str]
    importance: Level


class OutlineSection(Contract):
    heading: str
    description: str
    source_ids: list[str]


class Risk(Contract):
    description: str
    source_ids: list[str]


class AnalysisResult(Contract):
    """The outline and what it rests on. `notes`: what became of people's requests, for the thread."""

    topic: str
    key_points: list[KeyPoint]
    outline: list[OutlineSection]
    risks: list[Risk]
    missing_evidence: list[str]
    needs_more_research: bool
    summary: str
    notes: list[str]


class DraftSection(Contract):
    """One section as its writer returned it: `content` is Markdown without the heading line."""

    heading: str
    content: str


class DraftResult(Contract):
    """A draft. `content` is joined from `sections` by code; `used_source_ids` are computed from it."""

    title: str
    description: str
    tags: list[str]
    categories: list[str]
    sections: list[DraftSection]
    content: str
    used_source_ids: list[str]
    notes: list[str]


class ReviewIssue(Contract):
    """`section` names a heading of the draft, or is null for the whole."""

    severity: Level
    description: str
    suggested_fix: str
    section: str | None


class ReviewResult(Contract):
    decision: Literal["approve", "revise", "research"]
    score: int | None = Field(ge=0, le=100)
    issues: list[ReviewIssue]
    feedback: str
