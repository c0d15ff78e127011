"""Every message the bot puts into Slack, as data: the workflow makes them, `blocks` draws them.

They are stored as JSON in the outbox, in the transaction of the move that caused them, and drawn only when
they are sent. User ids are Slack's (`U…`); texts of people, models and documents are raw Markdown or plain
text, made harmless by `blocks` and `render`, nowhere else.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agents.contracts import OutlineSection, ReviewResult, Source
from knowledge.article import Action, Mode, Status
from knowledge.language import Language


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    article_id: int
    language: Language


class Progress(BaseModel):
    """How far the agents are; counts are 0 until known."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    searches: int = 0
    passages: int = 0
    sources: int = 0
    sections_done: int = 0
    sections: int = 0


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


class OutlineMessage(Message):
    """An outline for decision. `asks` is false where nobody is asked (auto mode): no buttons then."""

    kind: Literal["outline"] = "outline"
    version: int
    sections: list[OutlineSection]
    missing_evidence: list[str]
    sources: list[Source]
    notes: list[str]
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
    review: ReviewResult
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


AnyMessage = Annotated[
    StatusMessage | OutlineMessage | DraftMessage | FileMessage | NoteMessage, Field(discriminator="kind")
]
MESSAGE: TypeAdapter[AnyMessage] = TypeAdapter(AnyMessage)
