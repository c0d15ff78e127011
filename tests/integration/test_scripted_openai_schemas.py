"""Which schemas the scripted OpenAI host takes, what it finds wrong in a value, and how it counts tokens."""

from typing import Any, Literal

import openai
import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel, Field

from tests.scripted_openai.json_schema import problem_with
from tests.scripted_openai.replies import Call, Reply, Text, ToolCalls
from tests.scripted_openai.request import ChatRequest
from tests.scripted_openai.server import ScriptedOpenAI
from tests.scripted_openai.strict_schema import SchemaProblem, check_parameters, check_strict
from tests.scripted_openai.tokens import count_tokens


def closed(**properties: Any) -> dict[str, Any]:
    """An object as strict mode wants it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def nested(levels: int) -> dict[str, Any]:
    """Objects in objects."""
    return closed(inner=nested(levels - 1)) if levels > 1 else closed(inner={"type": "string"})


TEXT = {"type": "string"}
LONG_ENUM = [f"{number:064}" for number in range(251)]

TAKEN: list[dict[str, Any]] = [
    closed(),
    closed(a=TEXT, b={"type": ["integer", "null"], "description": "数", "title": "B", "default": 3}),
    closed(
        a={"type": "string", "pattern": r"^\(?[0-9]+$", "minLength": 1, "maxLength": 9},
        b={"type": "string", "format": "date-time"},
    ),
    closed(a={"type": "number", "minimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.1}),
    closed(
        a={"type": "array", "items": {"type": "string", "enum": ["密", "鍵"]}, "minItems": 1, "maxItems": 9}
    ),
    closed(a={"anyOf": [closed(x=TEXT), {"type": "null"}]}, b={"type": "string", "const": "b"}),
    {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": closed(b=TEXT)}},
    closed(title=TEXT, parts={"type": "array", "items": {"$ref": "#"}}),
    {**closed(a=TEXT), "$schema": "http://json-schema.org/draft-07/schema#"},
    nested(10),
]

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."),
    (
        {"type": "array", "items": TEXT},
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    ),
    (
        {**closed(), "anyOf": [closed()]},
        "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'",
    ),
    ({"type": "object", "properties": []}, "[] is not of type 'object'."),
    (closed(a="string"), "'string' is not of type 'object', 'boolean'."),
    (closed(a=TEXT) | {"required": None}, "None is not of type 'array'."),
    (
        {"type": "object", "properties": {}, "required": []},
        "In context=(), 'additionalProperties' is required to be supplied and to be false.",
    ),
    (
        closed(etymology={"type": "object", "properties": {}, "required": []}),
        "In context=('properties', 'etymology'), 'additionalProperties' is required to be supplied and to be "
        "false.",
    ),
    (
        closed(a=TEXT, roles=TEXT) | {"required": ["a"]},
        "In context=(), 'required' is required to be supplied and to be an array including every key in "
        "properties. Missing 'roles'.",
    ),
    (closed(a=TEXT) | {"required": ["a", "b"]}, "Extra required key 'b' supplied."),
    ({"type": "object", "additionalProperties": False}, "In context=(), object schema missing properties."),
    (closed(a={"type": "array"}), "In context=('properties', 'a'), array schema missing items."),
    (closed(a={"description": "?"}), "In context=('properties', 'a'), schema must have a 'type' key."),
    (closed(a={"type": "text"}), "'text' is not valid under any of the given schemas."),
    (
        closed(a={**TEXT, "contentEncoding": "x"}),
        "In context=('properties', 'a'), 'contentEncoding' is not permitted.",
    ),
    (closed(a={"type": "array", "prefixItems": [TEXT], "items": TEXT}), "'prefixItems' is not permitted."),
    (closed(a={"type": "array", "items": TEXT, "uniqueItems": True}), "'uniqueItems' is not permitted."),
    (closed(a={"oneOf": [TEXT]}), "In context=('properties', 'a'), 'oneOf' is not permitted."),
    (
        closed(a={"type": "array", "items": {"anyOf": [TEXT, {"allOf": [TEXT]}]}}),
        "In context=('properties', 'a', 'items', 'anyOf', '1'), 'allOf' is not permitted.",
    ),
    (closed(url={**TEXT, "format": "uri"}), "In context=('properties', 'url'), 'uri' is not a valid format."),
    (closed(a={**TEXT, "pattern": "("}), "'(' is not a valid regex."),
    (closed(a={**TEXT, "pattern": "^(?!鍵)"}), "lookarounds are not supported"),
    (closed(a={"$ref": "#/properties/b"}, b=TEXT), "which was not found in the schema."),
    (closed(a={**TEXT, "enum": []}), "[] should be non-empty."),
    (
        closed(a={"$ref": "#/$defs/A"}),
        "reference to component '#/$defs/A' which was not found in the schema.",
    ),
    (closed(a={"$ref": "https://example.com/a"}), "which was not found in the schema."),
    (
        closed(a={"$ref": "#", "description": "鍵"}),
        "context=('properties', 'a'), $ref cannot have keywords {'description'}.",
    ),
    ({**closed(), "$defs": {"A": {"type": "object"}}}, "In context=('$defs', 'A'), 'additionalProperties'"),
    (nested(11), "11 levels of nesting exceeds limit of 10."),
    (closed(**{f"p{n}": TEXT for n in range(5001)}), "5001 object properties exceeds limit of 5000."),
    (closed(a={**TEXT, "enum": [str(n) for n in range(1001)]}), "1001 enum values exceeds limit of 1000."),
    (closed(a={**TEXT, "enum": LONG_ENUM}), "16064 characters of enum values exceeds limit of 15000"),
    (closed(**{"长" * 60_001: TEXT, "名" * 60_000: TEXT}), "exceeds limit of 120000."),
]


@pytest.mark.parametrize("schema", TAKEN)
def test_a_schema_of_the_subset_is_taken(schema: dict[str, Any]) -> None:
    check_strict(schema)
    check_parameters(schema)


@pytest.mark.parametrize(("schema", "problem"), REFUSED)
def test_a_schema_beyond_the_subset_is_refused_in_openais_words(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(SchemaProblem) as caught:
        check_strict(schema)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "object"}, "In context=(), object schema missing properties."),
        ({"type": "string"}, "got 'type: \"string\"'."),
        (
            {"type": "object", "properties": {"a": {"type": "array"}}},
            "In context=('properties', 'a'), array schema missing items.",
        ),
    ],
)
def test_parameters_that_are_not_strict_have_rules_too(schema: dict[str, Any], problem: str) -> None:
    with pytest.raises(SchemaProblem) as caught:
        check_parameters(schema)
    assert problem in str(caught.value)


def test_parameters_that_are_not_strict_may_be_open() -> None:
    check_parameters({"type": "object", "properties": {"a": {"type": "string", "minLength": 1}, "b": {}}})


class Quote(BaseModel):
    """A quote as a model of Pydantic."""

    passage: int = Field(ge=1)
    text: str


class Article(BaseModel):
    """An article, with what Pydantic makes of references, unions, literals and bounds."""

    title: str
    language: Literal["en", "zh", "ja"]
    quotes: list[Quote] = Field(max_length=3)
    note: str | None


ARTICLE = Article(title="密码", language="zh", quotes=[Quote(passage=1, text="鍵は十二文字")], note=None)


async def test_the_packages_own_schemas_are_taken_and_its_parser_reads_the_answer() -> None:
    def answer(request: ChatRequest) -> Reply:
        if request.tools:
            return ToolCalls([Call("Article", ARTICLE.model_dump())])
        assert request.response_format.strict
        return Text(ARTICLE.model_dump_json())

    messages: list[Any] = [{"role": "user", "content": "Write."}]
    async with (
        ScriptedOpenAI(answer) as host,
        AsyncOpenAI(base_url=host.base_url, api_key=host.api_key, max_retries=0) as client,
    ):
        parse = client.chat.completions.parse
        text = await parse(model="gpt-4.1", messages=messages, response_format=Article)
        tool = openai.pydantic_function_tool(Article)
        call = await parse(model="gpt-4.1", messages=messages, tools=[tool])
    assert text.choices[0].message.parsed == ARTICLE
    assert call.choices[0].message.tool_calls is not None
    assert call.choices[0].message.tool_calls[0].function.parsed_arguments == ARTICLE


@pytest.mark.parametrize("strict", [True, False])
async def test_a_refused_schema_is_named_with_its_place_in_the_request(strict: bool) -> None:
    parameters: dict[str, object] = {"type": "object", "properties": {"q": {"type": "array"}}}
    messages: list[Any] = [{"role": "user", "content": "検索"}]
    async with (
        ScriptedOpenAI(lambda _: Text("{}")) as host,
        AsyncOpenAI(base_url=host.base_url, api_key=host.api_key, max_retries=0) as client,
    ):
        create = client.chat.completions.create
        with pytest.raises(openai.BadRequestError) as tool_error:
            await create(
                model="gpt-4.1",
                messages=messages,
                tools=[
                    {
                        "type": "function",
                        "function": {"name": "find", "strict": strict, "parameters": parameters},
                    }
                ],
            )
        with pytest.raises(openai.BadRequestError) as format_error:
            await create(
                model="gpt-4.1",
                messages=messages,
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "found", "strict": strict, "schema": {"type": "array"}},
                },
            )
    assert tool_error.value.code == "invalid_function_parameters"
    assert tool_error.value.param == "tools[0].function.parameters"
    assert "Invalid schema for function 'find': In context=(" in str(tool_error.value)
    assert (format_error.value.code, format_error.value.param) == (None, "response_format")
    assert "Invalid schema for response_format 'found': schema must be" in str(format_error.value)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string", "format": "date"}, "2026-11-30", "30.11.2026"),
        ({"type": "string", "format": "date-time"}, "2026-11-30T10:00:00+09:00", "gestern"),
        ({"type": "string", "format": "time"}, "10:00:00", "十点"),
        ({"type": "string", "format": "duration"}, "P1DT2H", "P"),
        ({"type": "string", "format": "email"}, "鍵@example.com", "example.com"),
        ({"type": "string", "format": "hostname"}, "docs.example.com", "a b"),
        ({"type": "string", "format": "ipv4"}, "127.0.0.1", "127.0.0.256"),
        ({"type": "string", "format": "ipv6"}, "::1", ":::1"),
        ({"type": "string", "format": "uuid"}, "12345678-1234-5678-1234-567812345678", "1234"),
        ({"type": "string", "pattern": "^密"}, "密码", "暗証番号"),
        ({"type": "string", "minLength": 2}, "密码", "鍵"),
        ({"type": "string", "maxLength": 2}, "🚢鍵", "鍵は長い"),
        ({"type": "integer", "exclusiveMinimum": 0}, 1.0, 0),
        ({"type": "number", "exclusiveMaximum": 1, "multipleOf": 0.1}, 0.3, 0.35),
        ({"type": "integer"}, 3, 3.5),
        ({"type": ["string", "null"]}, None, 0),
        ({"type": "integer", "enum": [1, 2]}, 1, True),
        ({"type": "string", "const": "鍵"}, "鍵", "钥"),
        ({"type": "array", "items": TEXT, "minItems": 1}, ["一"], []),
    ],
)
def test_a_value_is_held_to_its_schema(schema: dict[str, Any], good: Any, bad: Any) -> None:
    root = closed(value=schema)
    check_strict(root)
    assert problem_with({"value": good}, root) is None
    assert str(problem_with({"value": bad}, root)).startswith("$.value: ")


def test_a_recursive_schema_is_followed() -> None:
    schema = closed(title=TEXT, parts={"type": "array", "items": {"$ref": "#"}})
    tree = {"title": "一", "parts": [{"title": "二", "parts": []}]}
    assert problem_with(tree, schema) is None
    tree["parts"] = [{"title": "二", "parts": [{"title": "三"}]}]
    assert problem_with(tree, schema) == "$.parts[0].parts[0]: 'parts' is missing"


# What o200k_base makes of them.
COUNTED = [
    (
        "A password is at least twelve characters long, and it is changed every ninety days. Administrators "
        "may ask for more.",
        24,
    ),
    ("密码至少为十二个字符，并且每九十天更换一次。管理员可以提出更高的要求，例如使用双重验证。", 29),
    (
        "パスワードは十二文字以上とし、九十日ごとに変更します。管理者はさらに厳しい条件を求めることができます。",
        36,
    ),
    (
        '{"title": "Passwords", "quotes": [{"passage": 3, "text": "at least 12 characters"}], "done": true}',
        32,
    ),
    (
        "## Rules\n\n- **Length**: 12 characters or more\n- **Age**: at most 90 days, see [the "
        "policy](https://example.com/policy)\n",
        37,
    ),
]


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_tokens_are_estimated_near_to_their_number(text: str, tokens: int) -> None:
    assert 0.85 * tokens <= count_tokens(text) <= 1.15 * tokens
    assert count_tokens("") == 0
    assert count_tokens(text[:1]) == 1
