"""An article on passwords half made, in English and Chinese: what the agents hand one another."""

from agents.contracts import (
    AnalysisResult,
    DraftResult,
    DraftSection,
    Finding,
    KeyPoint,
    OutlineSection,
    ResearchResult,
    ReviewIssue,
    ReviewResult,
    Risk,
    Source,
    SourcePassage,
)
from agents.desk import Desk, StandingRequest
from agents.models import Models
from asyncpg import create_pool
from knowledge.search import Search
from pydantic_ai.models import Model
from pydantic_ai.usage import RunUsage
