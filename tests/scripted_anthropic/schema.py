"""Which JSON Schemas Anthropic's structured outputs take, for the text and for strict tools.

From https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations and the
`anthropic` package's `transform_schema`, which rewrites what the host would refuse. The sentences on objects
and arrays are quoted (ax-llm/ax#458, BerriAI/litellm#35808, agentjido/req_llm#707,
ghostlobster/memorize-everything#93); the others have the same form.
"""

from typing import Any

from tests.scripted_anthropic.errors import refuse
from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.strict_schema import SchemaProblem, check_well_formed, resolve

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
FORMATS = (*("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"),)
UNSUPPORTED: dict[str, tuple[str, ...]] = {
    "object": ("minProperties", "maxProperties", "patternProperties", "propertyNames"),
    "array": ("maxItems", "uniqueItems", "prefixItems", "contains"),
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def check_schema(schema: dict[str, Any], place: str) -> None:
    """Refuses a schema that cannot be kept to. `place` is where it stands in the request."""
    check_draft(schema, place)
    check_node(schema, schema, place, ())


def check_draft(schema: dict[str, Any], place: str) -> None:
    """Refuses what is no JSON Schema at all (agentjido/req_llm#155)."""
    try:
        check_well_formed(schema)
    except SchemaProblem:
        raise refuse(
            f"{place}: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12). Learn more about tool use at "
            "https://docs.claude.com/en/docs/tool-use."
        ) from None


def check_node(schema: Any, root: dict[str, Any], place: str, around: tuple[str, ...]) -> None:
    """One schema and those in it. `around` are the references that led here."""
    if not isinstance(schema, dict):
        raise refuse(f"{place}: Boolean schemas are not supported")
    if "$ref" in schema:
        check_reference(schema["$ref"], root, place, around)
        return
    if "oneOf" in schema:
        raise refuse(f"{place}: Schema type 'oneOf' is not supported")
    branches = (*schema.get("anyOf", ()), *schema.get("allOf", ()))
    for branch in branches:
        check_node(branch, root, place, around)
    kinds = schema.get("type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    if kinds is None and not branches and "enum" not in schema and "const" not in schema:
        raise refuse(f"{place}: Schema must have a 'type', 'enum', 'const', 'anyOf', 'allOf' or '$ref'")
    for kind in listed:
        if kind is not None:
            check_type(kind, schema, place)
    for inner in schema.get("properties", {}).values():
        check_node(inner, root, place, around)
    if "items" in schema:
        check_node(schema["items"], root, place, around)


def check_type(kind: Any, schema: dict[str, Any], place: str) -> None:
    """What a type does not go with."""
    if kind not in TYPES:
        raise refuse(f"{place}: Unsupported schema type: {kind!r}")
    found = sorted(keyword for keyword in UNSUPPORTED.get(kind, ()) if keyword in schema)
    if len(found) == 1:
        raise refuse(f"{place}: For '{kind}' type, property '{found[0]}' is not supported")
    if found:
        raise refuse(f"{place}: For '{kind}' type, properties {', '.join(found)} are not supported")
    if kind == "object":
        check_closed(schema, place)
    elif kind == "array" and schema.get("minItems", 0) not in (0, 1):
        raise refuse(f"{place}: For 'array' type, 'minItems' values other than 0 or 1 are not supported")
    elif kind == "string" and schema.get("format", FORMATS[0]) not in FORMATS:
        raise refuse(f"{place}: For 'string' type, format '{schema['format']}' is not supported")


def check_closed(schema: dict[str, Any], place: str) -> None:
    """An object lists all its properties."""
    if "additionalProperties" not in schema:
        raise refuse(f"{place}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    if schema["additionalProperties"] is not False:
        value = (
            str(schema["additionalProperties"]).lower()
            if schema["additionalProperties"] is True
            else "object"
        )
        raise refuse(
            f"{place}: For 'object' type, 'additionalProperties: {value}' is not supported. Please set "
            "'additionalProperties' to false"
        )


def check_reference(reference: str, root: dict[str, Any], place: str, around: tuple[str, ...]) -> None:
    """A definition that is there, and is not in itself. Both sentences are unquoted."""
    if reference in around:
        raise circular(reference, place)
    target = resolve(reference, root)
    if target is None:
        raise refuse(f"{place}: Could not resolve reference '{reference}'")
    check_node(target, root, place, (*around, reference))


def circular(reference: str, place: str) -> Refusal:
    """Recursive schemas are documented as unsupported."""
    return refuse(f"{place}: Circular reference detected: '{reference}'. Recursive schemas are not supported")
