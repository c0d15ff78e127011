"""The small article on which models are tried: read from `trial_example.toml`, half made."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.contracts import (
    AnalysisResult,
    DraftResult,
    DraftSection,
    Finding,
    OutlineSection,
    ResearchResult,
    Source,
    SourcePassage,
)
from agents.desk import StandingRequest
from knowledge.filters import Filters
from knowledge.language import Language
from knowledge.search import Passage, Search

_FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Example:
    """One source, an outline and a draft of two sections, and a request for each of the two."""

    language: Language
    research: ResearchResult
    analysis: AnalysisResult
    draft: DraftResult
    outline_request: StandingRequest
    draft_request: StandingRequest

    @property
    def topic(self) -> str:
        return self.research.topic


class ExampleSearch(Search):
    """The example's source in place of the knowledge base, whatever is asked."""

    def __init__(self, example: Example) -> None:
        self._example = example
        self.searches = 0

    async def search_many(
        self, queries: Sequence[str], *, k: int = 5, filters: Filters | None = None
    ) -> list[Passage]:
        self.searches += 1
        return self._passages_of_example()[:k]

    async def around(self, chunk_id: int, *, before: int = 1, after: int = 1) -> list[Passage]:
        return self._passages_of_example()

    def _passages_of_example(self) -> list[Passage]:
        [source] = self._example.research.sources
        return [
            Passage(
                rank=rank,
                score=1.0,
                text=passage.text,
                title=source.title,
                url=None,
                path=None,
                heading=passage.heading,
                document_id=source.document_id,
                chunk_id=passage.chunk_id,
                lang=self._example.language,
            )
            for rank, passage in enumerate(self._example.research.passages, start=1)
        ]


def example(language: Language) -> Example:
    """The article in a language."""
    told = tomllib.loads(_FILE.read_text(encoding="utf-8"))[language]
    source = Source(id="S1", title=told["title"], url=None, path=None, document_id=1, verified=True)
    passages = [
        SourcePassage(
            source_id="S1", chunk_id=number, heading=heading, text="\n\n".join(sentences), lang=language
        )
        for number, (heading, sentences) in enumerate(
            zip(told["headings"], told["passages"], strict=True), start=1
        )
    ]
    research = ResearchResult(
        topic=told["topic"],
        findings=[
            Finding(claim=sentence, source_id="S1", confidence="high", quote=sentence, chunk_id=number)
            for number, sentences in enumerate(told["passages"], start=1)
            for sentence in sentences
        ],
        sources=[source],
        gaps=[],
        summary="",
        passages=passages,
        searches=1,
    )
    sections = [
        DraftSection(heading=heading, content=f"{sentences[0]} [S1]")
        for heading, sentences in zip(told["headings"], told["passages"], strict=True)
    ]
    return Example(
        language=language,
        research=research,
        analysis=AnalysisResult(
            topic=told["topic"],
            key_points=[],
            # One section, so that a draft is one call and a title page.
            outline=[
                OutlineSection(
                    heading=told["headings"][0], description=told["passages"][0][0], source_ids=["S1"]
                )
            ],
            risks=[],
            missing_evidence=[],
            needs_more_research=False,
            summary="",
            notes=[],
        ),
        draft=DraftResult(
            title=told["title"],
            description=told["topic"],
            tags=[],
            categories=[],
            sections=sections,
            content="\n\n".join(f"## {section.heading}\n\n{section.content}" for section in sections),
            used_source_ids=["S1"],
            notes=[],
        ),
        outline_request=StandingRequest(told["outline_request"], None, "outline", "U1", 1, None),
        draft_request=StandingRequest(told["draft_request"], None, "draft", "U1", 1, None),
    )
