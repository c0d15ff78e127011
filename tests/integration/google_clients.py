"""Clients of the scripted Google host by the `google-genai` package, and what they ask with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from google import genai
from google.genai import types

from tests.scripted_google.server import ScriptedGoogle

SEARCH = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="search",
            description="Look something up.",
            parameters_json_schema={
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
                "additionalProperties": False,
            },
        )
    ]
)


@asynccontextmanager
async def client_of(host: ScriptedGoogle) -> AsyncIterator[genai.client.AsyncClient]:
    """The package over httpx: with aiohttp it warns of itself."""
    async with httpx.AsyncClient(timeout=20) as http:
        options = types.HttpOptions(base_url=host.base_url, httpx_async_client=http)
        made = genai.Client(api_key=host.api_key, http_options=options)
        yield made.aio
        made.close()


def config(**settings: Any) -> types.GenerateContentConfig:
    """Settings, and no functions called behind the test's back."""
    quiet = types.AutomaticFunctionCallingConfig(disable=True)
    return types.GenerateContentConfig(automatic_function_calling=quiet, **settings)
