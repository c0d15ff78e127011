"""The tools of research: one schema for what the model is told, what is validated and what the code gets."""

import logging
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_ai import ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from agents.answer_text import json_in_string
from agents.errors import AgentError
from agents.explain import explain
from agents.reading import Missed, Passages, Read, Reading
from agents.repair import repair
from knowledge.changes import Moved

log = logging.getLogger(__name__)

STEPS = 8  # model calls of one research, the report among them
MOST_QUERIES = 4
LONGEST_QUERY = 300  # characters
MOST_PASSAGES = 10
PASSAGES = 5
MOST_NEIGHBOURS = 3
NEIGHBOURS = 1

LAST_WORD = "Write the report now, from what you have."


class Arguments(BaseModel):
    # No docstrings here: they would go over the wire a second time, below the tool's own description. Strict
    # numbers, since `true` is 1 otherwise; "5" and 5.0 are put right before.
    model_config = ConfigDict(extra="forbid", frozen=True)


Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_QUERY),
    Field(description=f"A question or key words, 1 to {LONGEST_QUERY} characters, any language."),
]
Neighbours = Annotated[int, Field(strict=True, ge=0, le=MOST_NEIGHBOURS)]


class SearchArguments(Arguments):
    queries: list[Query] = Field(
        min_length=1,
        max_length=MOST_QUERIES,
        description=f"1 to {MOST_QUERIES} queries, searched at once; ask in other languages too.",
    )
    k: int = Field(
        PASSAGES,
        strict=True,
        ge=1,
        le=MOST_PASSAGES,
        description=f"How many passages, 1 to {MOST_PASSAGES}; {PASSAGES} if left out.",
    )


class ReadArguments(Arguments):
    passage_id: str = Field(
        pattern=r"^P[0-9]{1,12}$", description="The id of a passage that you have read, such as P12."
    )
    before: Neighbours = Field(
        NEIGHBOURS, description=f"Passages before it, 0 to {MOST_NEIGHBOURS}; {NEIGHBOURS} if left out."
    )
    after: Neighbours = Field(
        NEIGHBOURS, description=f"Passages after it, 0 to {MOST_NEIGHBOURS}; {NEIGHBOURS} if left out."
    )


async def knowledge_search(ctx: RunContext[Reading], asked: SearchArguments) -> Read:
    """Search the team's knowledge base by words and by meaning.

    Several queries give one list, the best passages of all. Use it more than once. `ok` is false with a code:
    `nothing_found` when nothing has to do with the queries, `failed` when the search could not be done,
    `no_steps_left` when the report is due.
    """
    reading = ctx.deps
    if missed := _no_steps_left(ctx):
        return missed
    reading.searches_for(asked.queries)
    try:
        found = await reading.search.search_many(asked.queries, k=asked.k)
    except Moved:
        raise  # the article has: nobody waits for this research any more
    except Exception as fault:
        return _told_once(reading, fault)
    if not found:
        return Missed(code="nothing_found", advice="Try other words, single key terms, or another language.")
    return _read(reading.record(found))


async def read_source(ctx: RunContext[Reading], asked: ReadArguments) -> Read:
    """Read on around a passage: its neighbours in the same document, in reading order.

    Use it when a passage breaks off, refers to what stands before it, or answers only in part. `ok` is false
    with a code: `unknown_passage` for an id that stands neither in a result nor in `<known>`, `failed` when
    the passages could not be read, `no_steps_left` when the report is due.
    """
    reading = ctx.deps
    if missed := _no_steps_left(ctx):
        return missed
    chunk_id = int(asked.passage_id[1:])
    try:
        found = (
            await reading.search.around(chunk_id, before=asked.before, after=asked.after)
            if chunk_id in reading.passages
            else []
        )
    except Moved:
        raise  # the article has: nobody waits for this research any more
    except Exception as fault:
        return _told_once(reading, fault)
    if not found:
        return Missed(
            code="unknown_passage", advice="Name the passage_id of a passage that a search has given you."
        )
    reading.read_on = True
    return _read(reading.record_neighbours(found))


ARGUMENTS: Mapping[str, type[Arguments]] = {"knowledge_search": SearchArguments, "read_source": ReadArguments}
# One after the other: so ids do not depend on which search was faster. Not strict, since that would demand
# what may be left out.
TOOLS: list[Tool[Reading]] = [
    Tool(knowledge_search, takes_ctx=True, sequential=True, strict=False),
    Tool(read_source, takes_ctx=True, sequential=True, strict=False),
]


class CheckedArguments(AbstractCapability[Reading]):
    """What models often get wrong and what has one meaning is put right; all else goes back to them.

    Goes with every run that has `TOOLS`; `more` are the arguments of its other tools. A tool that is called
    wrongly once too often ends the run, with UnexpectedModelBehavior that says what was wrong.
    """

    def __init__(self, more: Mapping[str, type[Arguments]] | None = None) -> None:
        self._arguments = {**ARGUMENTS, **(more or {})}

    async def before_tool_validate(
        self,
        ctx: RunContext[Reading],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: str | dict[str, Any],
    ) -> str | dict[str, Any]:
        return mended(args, self._arguments[tool_def.name])

    async def on_tool_validate_error(
        self,
        ctx: RunContext[Reading],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: str | dict[str, Any],
        error: ValidationError | ModelRetry,
    ) -> dict[str, Any]:
        wrong = " ".join((explain(error) if isinstance(error, ValidationError) else error.message).split())
        if ctx.retry < ctx.max_retries:
            raise ModelRetry(f"{tool_def.name} was not carried out. {wrong}") from error
        # In place of PydanticAI's own sentence, which tells a programmer what to raise.
        raise UnexpectedModelBehavior(
            f"it called {tool_def.name} wrongly again and again. {wrong.removesuffix('.')}"
        ) from error


def mended(args: str | dict[str, Any], schema: type[BaseModel]) -> str | dict[str, Any]:
    """Arguments as a model sent them, put right as far as they have one meaning: see `agents.repair`.

    Beyond that, null for what may be left out is left out. Arguments that are right stay as they came: `none`
    and `str` may be looked for.
    """
    if isinstance(args, str) and (inside := json_in_string(args)) and isinstance(inside[0], dict):
        args = inside[0]
    if isinstance(args, dict) and _fits(args, schema):
        return args
    value = repair(args, schema).value
    if isinstance(value, str):
        return value
    optional = {name for name, field in schema.model_fields.items() if not field.is_required()}
    return {name: each for name, each in value.items() if each is not None or name not in optional}


def _fits(args: dict[str, Any], schema: type[BaseModel]) -> bool:
    try:
        schema.model_validate(args)
    except ValidationError:
        return False
    return True


def _read(passages: Passages) -> Read:
    if passages.passages:
        return passages
    return Missed(code="failed", advice="What was found cannot be read. Search for something else.")


def is_due(ctx: RunContext[Reading]) -> bool:
    """Whether the report is due, so that tools give nothing any more.

    They stay and say so: some providers refuse a history with tool calls when no tool is declared.
    """
    return ctx.run_step >= STEPS - 1


def _no_steps_left(ctx: RunContext[Reading]) -> Missed | None:
    return Missed(code="no_steps_left", advice=LAST_WORD) if is_due(ctx) else None


def _told_once(reading: Reading, fault: Exception) -> Missed:
    """An unforeseen fault: the model may try again once, the second one ends the run."""
    reading.faults += 1
    log.warning("a research tool failed", exc_info=fault)
    if reading.faults > 1:
        raise AgentError(
            "search_failed",
            "The knowledge base could not be searched, twice in this research. The log has the reason; "
            "check the database (`python -m bot doctor`), then retry.",
        ) from fault
    return Missed(code="failed", advice="The search failed. Try once more.")
