"""The offline model's report: written by its researcher, read by its formatter."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.contracts import Level
from agents.offline.tagged import Element
from agents.wire import FindingAnswer, FindingsAnswer

_FINDING = re.compile(r'^\[(?P<source>S\d+)\] \((?P<confidence>high|medium|low)\) "(?P<quote>.+)"$')


@dataclass(frozen=True)
class Reported:
    """A sentence of a source; it is claim and quote at once, since nothing is put in other words."""

    source_id: str
    confidence: Level
    quote: str


def written(findings: Sequence[Reported], gaps: Sequence[str], summary: str) -> str:
    lines = [f'[{found.source_id}] ({found.confidence}) "{found.quote}"' for found in findings]
    return "\n".join(["Findings", *lines, "", "Gaps", *gaps, "", "Summary", summary])


def findings(request: Element) -> FindingsAnswer:
    """The findings of a report."""
    report = request.text("report")
    listed, _, rest = report.partition("\nGaps\n")
    gaps, _, summary = rest.partition("\nSummary")
    return FindingsAnswer(
        findings=[
            FindingAnswer(
                claim=found["quote"],
                source_id=found["source"],
                confidence=_level(found["confidence"]),
                quote=found["quote"],
            )
            for line in listed.splitlines()
            if (found := _FINDING.match(line))
        ],
        gaps=[gap.strip() for gap in gaps.splitlines() if gap.strip()][:20],
        summary=summary.strip()[:3_000],
    )


def _level(word: str) -> Level:
    return "high" if word == "high" else "medium" if word == "medium" else "low"
