"""Requests to the scripted hosts as no client library would let them through."""

from collections.abc import Mapping
from typing import Any

import aiohttp

from tests.scripted_openai.server import ScriptedOpenAI


async def send(
    host: ScriptedOpenAI, path: str, body: Any, method: str = "POST", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an answer of an OpenAI host. Bytes are sent as they are."""
    sent = {"Authorization": f"Bearer {host.api_key}", "Content-Type": "application/json"}
    url = host.base_url.removesuffix("/v1") + path
    return await exchange(url, body, sent if headers is None else headers, method)


async def exchange(
    url: str, body: Any, headers: Mapping[str, str], method: str = "POST"
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an answer of any host. Bytes are sent as they are."""
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.request(
            method, url, **({"data": body} if isinstance(body, bytes) else {"json": body})
        ) as response,
    ):
        return response.status, await response.json()
