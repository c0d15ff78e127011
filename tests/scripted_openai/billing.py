"""How many tokens a request takes on a wire that is not OpenAI's chat: what its view says, counted alike."""

from typing import Any

from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.tokens import prompt_tokens


def tokens_of(request: ChatRequest) -> int:
    """Tokens of messages, tools and the schema of the answer, by the estimate of tokens.py."""
    body: dict[str, Any] = {
        "messages": [
            {
                "role": message.role,
                "content": message.text,
                "tool_calls": [
                    {"function": {"name": call.name, "arguments": call.arguments}}
                    for call in message.tool_calls
                ],
            }
            for message in request.messages
        ],
        "tools": [
            {
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                }
            }
            for tool in request.tools
        ],
    }
    wanted = request.response_format
    if wanted.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": wanted.name or "", "schema": wanted.schema},
        }
    return prompt_tokens(body)
