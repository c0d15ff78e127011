"""What tools found, cut to what a model can read at once."""

import math
from dataclasses import replace
from typing import Any

from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, ModelResponse, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agents.patience import is_too_long
from agents.reading import Passages

LEAST_SHARE = 1 / 8  # of the evidence; with less of it an article would be about something else


class FittingModel(WrapperModel):
    """A model for one run: where that has become longer than it can read, tool results keep their best.

    They keep half of their passages, then a quarter, then an eighth; so do later requests. `share` is what
    was kept. A model and no capability, since a capability may ask only once.
    """

    def __init__(self, wrapped: Model) -> None:
        super().__init__(wrapped)
        self.share = 1.0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Raises what the model raises; that a request is too long only when there is no less to say."""
        while True:
            fitting = _cut(messages, self.share)
            try:
                return await self.wrapped.request(fitting, model_settings, model_request_parameters)
            except ModelAPIError as error:
                shorter = _cut(messages, self.share / 2)
                if not is_too_long(error) or self.share <= LEAST_SHARE or shorter == fitting:
                    raise
                self.share /= 2


def _cut(messages: list[ModelMessage], share: float) -> list[ModelMessage]:
    return [
        replace(message, parts=[_cut_result(part, share) for part in message.parts])
        if isinstance(message, ModelRequest)
        else message
        for message in messages
    ]


def _cut_result(part: ModelRequestPart, share: float) -> ModelRequestPart:
    if not isinstance(part, ToolReturnPart) or not isinstance(part.content, Passages):
        return part
    result: ToolReturnPart[Any] = part
    passages = part.content.passages
    return replace(result, content=Passages(passages=passages[: math.ceil(len(passages) * share)]))
