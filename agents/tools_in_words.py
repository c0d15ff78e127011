"""Tools for models that cannot call functions: said in the instructions, called in the text."""

import json
from dataclasses import replace

from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agents.prompt import instructions, tag


class ToolsInWords(WrapperModel):
    """A model that is asked without functions. Its calls come as text: `agents.written_calls` reads them."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Raises what the model raises."""
        tools = model_request_parameters.function_tools
        parts = model_request_parameters.instruction_parts or []
        said = InstructionPart(content="\n\n".join([instructions("tools_in_words"), *map(_in_words, tools)]))
        return await self.wrapped.request(
            [_without_calls(message) for message in messages],
            model_settings,
            replace(model_request_parameters, function_tools=[], instruction_parts=[*parts, said]),
        )


def _in_words(tool: ToolDefinition) -> str:
    schema = json.dumps(tool.parameters_json_schema, ensure_ascii=False)
    return f"## {tool.name}\n\n{tool.description}\n\n{schema}"


def _without_calls(message: ModelMessage) -> ModelMessage:
    if isinstance(message, ModelRequest):
        return replace(message, parts=[_request_part(part) for part in message.parts])
    return replace(message, parts=[_response_part(part) for part in message.parts])


def _request_part(part: ModelRequestPart) -> ModelRequestPart:
    if not isinstance(part, ToolReturnPart):
        return part
    return UserPromptPart(tag("result", part.model_response_str(), tool=part.tool_name))


def _response_part(part: ModelResponsePart) -> ModelResponsePart:
    if not isinstance(part, ToolCallPart):
        return part
    call = json.dumps({"name": part.tool_name, "arguments": part.args_as_dict()}, ensure_ascii=False)
    return TextPart(f"<tool_call>\n{call}\n</tool_call>")
