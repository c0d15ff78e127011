"""Every message the bot puts into Slack, as data: the workflow makes them, `blocks` draws them.

They are stored as JSON in the outbox, in the transaction of the move that caused them, and drawn only when
they are sent. User ids are Slack's (`U…`); texts of people, models and documents are raw Markdown or plain
text, made harmless by `blocks` and `render`, nowhere else.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agents.contracts import OutlineSection, ReviewResult, Source
from knowledge.article import Action, Mode, On, Status
from knowledge.language import Language


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    article_id: int
    language: Language


class InWork(BaseModel):
    """A section that is being written: its number from 1, and its heading as Markdown."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    number: int
    heading: str


class Progress(BaseModel):
    """How far the agents are; counts are 0 until known. `queries` are those of the latest search."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    searches: int = 0
    passages: int = 0
    sources: int = 0
    queries: tuple[str, ...] = ()
    sections_done: int = 0
    sections: int = 0
    writing: tuple[InWork, ...] = ()


class StatusMessage(Message):
    """The one message of an article in its channel, edited in place; the thread hangs below it."""

    kind: Literal["status"] = "status"
    topic: str
    requested_by: str
    mode: Mode
    status: Status
    moves: int
    outline_version: int
    version: int
    progress: Progress
    elapsed_seconds: int
    review_number: int
    max_reviews: int
    review_decision: str | None
    review_score: int | None
    link_to: str | None  # outbox key of the message that waits for a decision, or of the published file
    link: str | None = None  # filled in by the sender, who knows where `link_to` was posted
    words: int
    sources: int
    tokens: int
    cost_usd: float | None
    approved_by: str | None
    error: str | None


class Decided(BaseModel):
    """What was decided on an outline or draft: it takes the place of the buttons."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    action: Action
    by: str


class Related(BaseModel):
    """An article that was published on a similar topic."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    link: str


class OutlineMessage(Message):
    """An outline for decision. `asks` is false where nobody is asked (auto mode): no buttons then."""

    kind: Literal["outline"] = "outline"
    version: int
    sections: list[OutlineSection]
    missing_evidence: list[str]
    sources: list[Source]
    notes: list[str]
    published: list[Related] = []
    asks: bool
    decided: Decided | None


class SectionSummary(BaseModel):
    """One line of the draft's table: added and removed words are against the version before."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    heading: str
    words: int
    source_ids: list[str]
    added: int = 0
    removed: int = 0


class DraftMessage(Message):
    """A draft with its review, for decision. The text itself is the file posted before it."""

    kind: Literal["draft"] = "draft"
    version: int
    title: str
    description: str
    words: int
    sections: list[SectionSummary]
    changed_since: int | None  # the version before, or None for the first
    rearranged: bool = False  # sections were dropped, added or moved since then
    notes: list[str]
    review: ReviewResult | None  # None: the budget was used up before there was one
    asks: bool
    decided: Decided | None
    stopped_by: str | None


class FileMessage(Message):
    """An article's Markdown as a file in the thread."""

    kind: Literal["file"] = "file"
    version: int
    filename: str
    title: str
    content: str


class NoteMessage(Message):
    """A sentence of the bot's own, by its key in the texts; `to` = that person alone."""

    kind: Literal["note"] = "note"
    key: str
    params: dict[str, str | int]
    to: str | None


class SourceMessage(Message):
    """A file that somebody shared in the thread, and what became of it: whose source it is now."""

    kind: Literal["source"] = "source"
    document_id: int
    title: str
    link: str
    shared_by: str
    state: Literal["own", "base", "removed"]
    by: str | None = None  # who put it into the base, or took it out; None: it was in the base before


class DigestArticle(BaseModel):
    """A published article as a digest lists it: title and description are Markdown."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    description: str
    words: int
    sources: int
    drafts: int
    requested_by: str
    approved_by: str | None
    thread: str | None
    file: str | None


class DigestWaiting(BaseModel):
    """An article that waits for a decision."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    topic: str
    on: On
    version: int
    since: datetime
    requested_by: str
    link: str | None


class DigestMessage(BaseModel):
    """What happened between two digests. Times have the offset of the digest's zone; `at` is "now"."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Literal["digest"] = "digest"
    language: Language
    start: datetime
    end: datetime
    at: datetime
    articles: list[DigestArticle]
    waiting: list[DigestWaiting]
    failed: int
    cancelled: int
    tokens: int
    cost_usd: float | None


AnyMessage = Annotated[
    StatusMessage | OutlineMessage | DraftMessage | FileMessage | NoteMessage | SourceMessage | DigestMessage,
    Field(discriminator="kind"),
]
MESSAGE: TypeAdapter[AnyMessage] = TypeAdapter(AnyMessage)
