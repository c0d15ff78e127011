"""A PydanticAI model that needs no key: it searches, picks and orders sentences, and quotes them."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from agents.offline.analysis import analysis
from agents.offline.front import front
from agents.offline.plan import plan
from agents.offline.report import findings
from agents.offline.research import next_step
from agents.offline.review import review
from agents.offline.section import section
from agents.offline.tagged import Element, read

# What it can do, by the answer that is asked of it: all that a model is told of its task besides the prompt.
_ANSWERS: Mapping[str, Callable[[Element], BaseModel]] = {
    "return_findings": findings,
    "return_analysis": analysis,
    "return_front": front,
    "return_section": section,
    "return_plan": plan,
    "return_review": review,
}


class OfflineModel(Model):
    """Deterministic, and honest: it writes nothing of its own, and says in its notes what it cannot do.

    It gets what any model gets, messages and tools, and knows nothing else of the program.
    """

    @property
    def model_name(self) -> str:
        return "offline"

    @property
    def system(self) -> str:
        return "copydesk"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        _, parameters = self.prepare_request(model_settings, model_request_parameters)
        request = read(_request_text(messages))
        for tool in parameters.output_tools:
            # Nothing here understands the answer of another model, which is to be put into a shape.
            if tool.name in _ANSWERS and not request.all("answer"):
                answer: dict[str, Any] = _ANSWERS[tool.name](request).model_dump(mode="json")
                return self._response(ToolCallPart(tool.name, answer))
        tools = {tool.name for tool in parameters.function_tools}
        if "knowledge_search" in tools:
            step = next_step(request, messages, web="web_search" in tools)
            return self._response(
                *([TextPart(step)] if isinstance(step, str) else [ToolCallPart(*call) for call in step])
            )
        if request.all("answer"):
            return self._response(TextPart(""))
        raise UserError("The offline model knows the tasks of this program's agents only.")

    def _response(self, *parts: TextPart | ToolCallPart) -> ModelResponse:
        return ModelResponse(parts=[*parts], model_name=self.model_name, provider_name=self.system)


def _request_text(messages: list[ModelMessage]) -> str:
    """What the program asked: the first prompt; what follows are results of tools and refusals."""
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                    return part.content
    return ""
