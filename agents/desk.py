"""What the agents of one leg work with, what people have asked for, and what was published before."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from agents.account import Account
from agents.models import Models
from agents.web_search import WebSearch
from knowledge.journal import Journal
from knowledge.model_record import Conduct
from knowledge.pages import Pages
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
class PublishedBefore:
    """An article of the team on a similar topic: pointed out, never evidence."""

    title: str
    description: str


@dataclass(frozen=True)
class SectionInWork:
    """A section that is being written: its number in the article, from 1, and its heading."""

    number: int
    heading: str


@dataclass(frozen=True)
class AgentProgress:
    """How far the agents are; counts are 0 until known. `queries` are a model's, headings may be."""

    searches: int = 0
    passages: int = 0
    sources: int = 0
    queries: tuple[str, ...] = ()  # of the latest search
    sections_done: int = 0
    sections: int = 0
    writing: tuple[SectionInWork, ...] = ()


@dataclass(frozen=True)
class Trimmed:
    """A model could not read all the evidence at once: the best `share` of it (0 to 1) had to do."""

    model: str
    share: float


@dataclass(frozen=True)
class Web:
    """What one article may use of the web. Pages that it reads are kept as its own sources."""

    search: WebSearch
    pages: Pages
    article_id: int


@dataclass
class Desk:
    """One leg's models and search, and the account that all calls of an article share.

    `conducts` collects how the models kept to the shape of answers in this leg, `trimmed` what had to be
    left out of their requests. With a `journal`, calls that this leg has finished before are not made again.
    `web` is where research may look beside the knowledge base; None where the settings do not allow it.
    """

    models: Models
    search: Search
    account: Account
    progress: Callable[[AgentProgress], None]
    conducts: list[Conduct] = field(default_factory=list)
    trimmed: list[Trimmed] = field(default_factory=list)
    journal: Journal | None = None
    web: Web | None = None
