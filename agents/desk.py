"""What the agents of one leg work with, and what people have asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.usage import RunUsage

from agents.models import Models
from knowledge.search import Search


@dataclass(frozen=True)
class StandingRequest:
    """A `revise:` of a person. `outcome` says what became of it; None = to be carried out now."""

    text: str  # "" for a bare `revise`: the reviewer's issues are meant
    section: int | None  # counted from 1; None = not said
    on: Literal["outline", "draft"]
    by: str
    version: int  # of the outline or draft that its author saw
    outcome: str | None


@dataclass(frozen=True)
class AgentProgress:
    """How far the agents are; counts are 0 until known."""

    searches: int = 0
    passages: int = 0
    sources: int = 0
    sections_done: int = 0
    sections: int = 0


@dataclass
class Desk:
    """One leg's models, search and account. `usage` is shared by all calls of an article."""

    models: Models
    search: Search
    usage: RunUsage
    progress: Callable[[AgentProgress], None]
