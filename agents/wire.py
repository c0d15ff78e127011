"""What models are asked to answer with: strict, so all fields are required, nothing is open, all is bounded.

Apart from the contracts: a model names ids and writes text; what the program knows it adds itself. The
descriptions are read by models.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from agents.contracts import Level

SourceId = Annotated[str, Field(max_length=8, description="An id of a source, such as S2.")]
SourceIds = Annotated[list[SourceId], Field(max_length=20)]
Line = Annotated[str, Field(max_length=300)]
Sentences = Annotated[str, Field(max_length=1_200)]
Notes = Annotated[
    list[Sentences],
    Field(
        max_length=10,
        description="For the people who asked: what is done of each request, what cannot be done and why. "
        "Empty if there is nothing to say.",
    ),
]


class Wire(BaseModel):
    """Base of all answers: closed."""

    model_config = ConfigDict(extra="forbid")


class FindingAnswer(Wire):
    claim: Annotated[Sentences, Field(description="The finding's statement, as the report gives it.")]
    source_id: SourceId
    confidence: Annotated[Level, Field(description="As in the report.")]
    quote: Annotated[
        str, Field(max_length=1_200, description="Copied from the report, character for character.")
    ]


class FindingsAnswer(Wire):
    findings: Annotated[list[FindingAnswer], Field(max_length=60)]
    gaps: Annotated[list[Sentences], Field(max_length=20, description="Each line under Gaps.")]
    summary: Annotated[str, Field(max_length=3_000)]


class KeyPointAnswer(Wire):
    point: Sentences
    source_ids: SourceIds
    importance: Level


class OutlineSectionAnswer(Wire):
    heading: Annotated[Line, Field(description="Without number and without #.")]
    description: Annotated[Sentences, Field(description="In one or two lines, what the section says.")]
    source_ids: Annotated[SourceIds, Field(description="What it rests on; empty if there is no source.")]


class RiskAnswer(Wire):
    description: Sentences
    source_ids: SourceIds


class AnalysisAnswer(Wire):
    key_points: Annotated[list[KeyPointAnswer], Field(max_length=20)]
    outline: Annotated[list[OutlineSectionAnswer], Field(max_length=12)]
    risks: Annotated[list[RiskAnswer], Field(max_length=10)]
    missing_evidence: Annotated[
        list[Sentences],
        Field(max_length=10, description="What the article needs and the evidence lacks, to search for."),
    ]
    needs_more_research: bool
    summary: Annotated[str, Field(max_length=3_000)]
    notes: Notes


_LONGEST_TAG = 40
_MOST_TAGS = {"tags": 8, "categories": 3}
Tag = Annotated[str, Field(max_length=_LONGEST_TAG)]


class FrontAnswer(Wire):
    title: Line
    description: Annotated[Line, Field(description="One sentence: what a reader gets.")]
    tags: Annotated[list[Tag], Field(max_length=_MOST_TAGS["tags"])]
    categories: Annotated[list[Tag], Field(max_length=_MOST_TAGS["categories"])]

    @field_validator("tags", "categories", mode="before")
    @classmethod
    def _those_that_can_be_used(cls, value: Any, info: ValidationInfo) -> list[str]:
        """No article waits, and no call is paid again, for the sake of a tag: the others stay."""
        if isinstance(value, str):
            value = re.split(r"[,;，；、|\n]", value)
        entries = value if isinstance(value, list) else []
        usable = [one for one in entries if isinstance(one, str) and 0 < len(one.strip()) <= _LONGEST_TAG]
        return usable[: _MOST_TAGS[str(info.field_name)]]


class SectionAnswer(Wire):
    content: Annotated[
        str, Field(max_length=12_000, description="Markdown with citations, without the section's heading.")
    ]
    notes: Notes


class PlannedSectionAnswer(Wire):
    number: Annotated[
        int | None, Field(description="Of the section as it is in the draft; null for a new one.")
    ]
    heading: Line
    change: Annotated[
        Sentences | None, Field(description="What its writer is to change; null = it stays as it is.")
    ]
    source_ids: Annotated[
        SourceIds, Field(description="For a new or changed section: what it should use and does not yet.")
    ]


class PlanAnswer(Wire):
    sections: Annotated[
        list[PlannedSectionAnswer],
        Field(max_length=20, description="The next draft's sections in order. One left out is dropped."),
    ]
    rewrite_title: Annotated[
        bool, Field(description="Whether title, description, tags or categories change.")
    ]
    notes: Notes


class IssueAnswer(Wire):
    severity: Level
    description: Sentences
    suggested_fix: Sentences
    section: Annotated[
        Line | None,
        Field(description="The number of the section, such as 2; null for the whole article, its title too."),
    ]


class ReviewAnswer(Wire):
    # Models write fields in this order: who has decided first finds issues to fit.
    issues: Annotated[list[IssueAnswer], Field(max_length=30)]
    decision: Literal["approve", "revise", "research"]
    score: Annotated[int | None, Field(ge=0, le=100)]
    feedback: Annotated[Sentences, Field(description="Two or three sentences for the people who decide.")]
