"""An OpenAI-compatible host on this machine that keeps what it is asked and gives what it is told."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from openai import AsyncOpenAI
from pydantic_ai.models import override_allow_model_requests
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

Answer = Callable[[dict[str, Any]], "web.Response | dict[str, Any]"]
"""From the body of a request to the assistant's message, or to a whole response."""


class ScriptedHost:
    """`requests` are the bodies as they came over the wire."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answer = answer

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        answer = self._answer(body)
        if isinstance(answer, web.Response):
            return answer
        return web.json_response(
            {
                "id": "chat-1",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "tool_calls" if "tool_calls" in answer else "stop",
                        "message": {"role": "assistant", "content": None, **answer},
                    }
                ],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            }
        )


@asynccontextmanager
async def scripted_host(answer: Answer) -> AsyncIterator[tuple[ScriptedHost, OpenAIChatModel]]:
    """The host, and a model that speaks to it as to any OpenAI-compatible one."""
    host = ScriptedHost(answer)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", host.chat)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        async with AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="k", max_retries=0) as client:
            with override_allow_model_requests(True):
                yield host, OpenAIChatModel("gpt-4.1-mini", provider=OpenAIProvider(openai_client=client))
    finally:
        await runner.cleanup()


def calls(*named: tuple[str, object]) -> dict[str, Any]:
    """An assistant's message that calls tools with arguments."""
    return {
        "tool_calls": [
            {
                "id": f"call-{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                },
            }
            for number, (name, arguments) in enumerate(named)
        ]
    }


def said(text: str) -> dict[str, Any]:
    """An assistant's message in words."""
    return {"content": text}
