"""Answers put right on their way from the model to validation, and what a model is told of the others."""

import json
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_ai import ModelRetry, RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.exceptions import OutputTokenLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.output import OutputContext

from agents.call import arguments_of
from agents.explain import explain
from agents.repair import looks_cut_off, repair

_LONGEST_RETOLD = 20_000  # characters of an answer that goes back to its model with what is wrong with it
_SEVERAL = "There were several answers, and they differ. Answer once, with everything in it."
_TOO_MUCH = (
    "The answer was cut off: it is longer than you may write. Give the whole answer in far fewer words, with "
    "shorter texts and only the most important entries."
)


class Mending(AbstractCapability[Any]):
    """Puts answers right before they are validated, and says in plain words what is wrong with the others."""

    def __init__(self, schema: type[BaseModel], tool: str | None) -> None:
        """`tool` is the one that answers, None where the answer is text."""
        self.requests = 0
        self.repaired = 0  # answers
        self._schema = schema
        self._tool = tool
        self._cut_off = False  # the last answer was, at the limit of what its model may write
        self._said_so = False
        self._differ = False  # several calls gave answers, and not the same

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        messages = [_without_long_answers(message) for message in request_context.messages]
        response = await handler(replace(request_context, messages=messages))
        self.requests += 1
        self._cut_off = response.finish_reason == "length" and looks_cut_off(_said(response), at_limit=True)
        self._differ = len({arguments_of(call) for call in self._answers(response)}) > 1
        return self._in_the_form_asked_for(response)

    async def before_output_validate(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: str | dict[str, Any]
    ) -> str | dict[str, Any]:
        if self._differ:
            raise ModelRetry(_SEVERAL)
        mended = repair(output, self._schema)
        self.repaired += bool(mended.repairs)
        if isinstance(mended.value, str) and not (said := mended.value.strip()).startswith("{"):
            # PydanticAI would take the first fenced object of any text, also one that was no answer.
            return said.replace("```", "~~~")
        return mended.value

    async def on_output_validate_error(
        self,
        ctx: RunContext[Any],
        *,
        output_context: OutputContext,
        output: str | dict[str, Any],
        error: ValidationError | ModelRetry,
    ) -> Any:
        if self._cut_off and self._said_so:  # a third one would be paid for and end the same way
            raise OutputTokenLimitExceeded("it was cut off twice at the limit of the model") from error
        if self._cut_off:
            self._said_so = True
            raise ModelRetry(_TOO_MUCH) from error
        if isinstance(error, ValidationError):
            raise ModelRetry(explain(error)) from error
        raise error

    def _answers(self, response: ModelResponse) -> list[ToolCallPart]:
        return [
            part for part in response.parts if isinstance(part, ToolCallPart) and part.tool_name == self._tool
        ]

    def _in_the_form_asked_for(self, response: ModelResponse) -> ModelResponse:
        """An answer that came as text and not as a call, as another call, or the other way round."""
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        if any(call.tool_name == self._tool for call in calls) or len(set(map(arguments_of, calls))) > 1:
            return response
        if self._tool is None and not calls:
            return response
        said = _said(response)
        if looks_cut_off(said) or (mended := mended_json(said, self._schema)) is None:
            return response
        self.repaired += 1
        kept = [part for part in response.parts if not isinstance(part, TextPart | ToolCallPart)]
        answer = TextPart(mended) if self._tool is None else ToolCallPart(self._tool, mended)
        return replace(response, parts=[*kept, answer])


def mended_json(said: str, schema: type[BaseModel]) -> str | None:
    """An answer put right as far as code can, as JSON; None if it has not the shape then."""
    mended = repair(said, schema).value
    text = mended if isinstance(mended, str) else json.dumps(mended, ensure_ascii=False)
    try:
        schema.model_validate_json(text)
    except ValidationError:
        return None
    return text


def _said(response: ModelResponse) -> str:
    """The arguments of its first call, else its text."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if calls:
        return arguments_of(calls[0])
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _without_long_answers(message: ModelMessage) -> ModelMessage:
    """A message of the history; of a very long answer its model gets back the beginning."""
    if not isinstance(message, ModelResponse):
        return message
    return replace(message, parts=[_shortened(part) for part in message.parts])


def _shortened(part: ModelResponsePart) -> ModelResponsePart:
    if isinstance(part, TextPart) and len(part.content) > _LONGEST_RETOLD:
        return replace(part, content=f"{part.content[:_LONGEST_RETOLD]}…")
    if isinstance(part, ToolCallPart) and len(said := arguments_of(part)) > _LONGEST_RETOLD:
        call: ToolCallPart[Any] = part
        return replace(call, args={"cut": f"{said[:_LONGEST_RETOLD]}…"})  # arguments have to be an object
    return part
