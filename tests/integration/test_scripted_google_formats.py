"""Which JSON the scripted Google host holds a text to, and when it refuses functions beside it."""

from typing import Any

import pytest
from google.genai import errors, types
from pydantic import BaseModel, Field

from tests.integration.google_clients import SEARCH, client_of, config
from tests.scripted_google.server import ScriptedGoogle
from tests.scripted_openai.replies import Text

NEW, OLD = "gemini-3.5-flash", "gemini-2.5-flash"


class Article(BaseModel):
    """An article, with what Pydantic makes of bounds and unions."""

    title: str = Field(max_length=30)
    marks: list[int] = Field(max_length=3)
    note: str | None


ARTICLE = Article(title="港の規則", marks=[1], note=None)


@pytest.mark.parametrize("as_json_schema", [False, True])
async def test_both_kinds_of_schema_are_kept_to(as_json_schema: bool) -> None:
    schema: dict[str, Any] = (
        {"response_json_schema": Article.model_json_schema()}
        if as_json_schema
        else {"response_schema": Article}
    )
    settings = config(response_mime_type="application/json", **schema)
    async with ScriptedGoogle(lambda _: Text(ARTICLE.model_dump_json())) as host, client_of(host) as client:
        answer = await client.models.generate_content(model=OLD, contents="写", config=settings)
    assert Article.model_validate_json(answer.text or "") == ARTICLE
    wanted = host.requests[0].response_format
    assert (wanted.type, wanted.held) == ("json_schema", True)
    assert wanted.schema is not None
    assert wanted.schema["properties"]["marks"]["maxItems"] == 3


async def test_json_beside_functions_is_refused_before_gemini_3_and_taken_from_it_on() -> None:
    both: dict[str, Any] = {
        "response_mime_type": "application/json",
        "response_json_schema": Article.model_json_schema(),
        "tools": [SEARCH],
    }
    forced = types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY)
    )
    async with ScriptedGoogle(lambda _: Text(ARTICLE.model_dump_json())) as host, client_of(host) as client:
        ask = client.models.generate_content
        with pytest.raises(errors.ClientError) as caught:
            await ask(model=OLD, contents="写", config=config(**both))
        await ask(model=NEW, contents="写", config=config(**both))
        with pytest.raises(errors.ClientError, match=r"Forced function calling \(ANY mode\) with a response"):
            await ask(model=NEW, contents="写", config=config(**both, tool_config=forced))
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert (
        caught.value.message
        == "Function calling with a response mime type: 'application/json' is unsupported"
    )
    assert [(request.model, request.tools_work) for request in host.requests] == [(NEW, True)]
