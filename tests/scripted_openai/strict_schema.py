"""Which JSON Schemas OpenAI takes: the subset of Structured Outputs, and the parameters of any function.

Supported keywords and limits are those of OpenAI's guide, "Structured Outputs: Supported schemas"
(https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas), as captured in
February 2026 by UnitVectorY-Labs/jsonschemaprofiles. Beyond it api.openai.com takes minLength and
maxLength, and keeps to them (pydantic/pydantic-ai#7315 and #7400, August 2026; until spring 2025 it said "not
permitted"), and `default` (openai/openai-agents-python#4390, August 2026). Patterns without lookarounds,
references to definitions only and nothing beside a `$ref`: so the `openai` and `pydantic_ai` packages
prepare their schemas.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SUPPORTED = frozenset(
    {
        *("type", "title", "description", "default", "enum", "const", "anyOf", "$ref", "$defs"),
        *("definitions", "properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
        *("minLength", "maxLength", "pattern", "format"),
        *("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
    }
)
DEFINITION = re.compile(r"#|#/(\$defs|definitions)/[^/]+")
LOOKAROUND = re.compile(r"(?<!\\)\(\?<?[=!]")
FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
TYPES = ("string", "number", "boolean", "integer", "object", "array", "null")
NOT_AT_THE_ROOT = ("oneOf", "anyOf", "allOf", "enum", "not")

MOST_PROPERTIES = 5000
DEEPEST = 10
MOST_CHARACTERS = 120_000
MOST_ENUM_VALUES = 1000
LONG_ENUM, LONG_ENUM_CHARACTERS = 250, 15_000

# What JSON Schema itself says of a keyword's value, with the host's name of the type.
WELL_FORMED: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("properties", "$defs", "definitions"), (dict, "object")),
    **dict.fromkeys(("required", "enum", "anyOf", "oneOf", "allOf"), (list, "array")),
    **dict.fromkeys(("title", "description", "pattern", "format", "$ref"), (str, "string")),
    **dict.fromkeys(("minItems", "maxItems", "minLength", "maxLength"), (int, "integer")),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), ((int, float), "number")
    ),
}

Context = tuple[str, ...]


class SchemaProblem(Exception):
    """What is wrong with a schema, as the host words it after `Invalid schema for …: `."""


def at(context: Context, problem: str) -> SchemaProblem:
    """A problem with its place: `In context=('properties', 'url'), 'uri' is not a valid format.`"""
    return SchemaProblem(f"In context={context}, {problem}")


def check_root(schema: dict[str, Any]) -> None:
    """What holds for the parameters of any function, strict or not, and for any schema of an answer."""
    check_well_formed(schema)
    if schema.get("type") != "object":
        raise SchemaProblem(
            f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
        )
    if any(keyword in schema for keyword in NOT_AT_THE_ROOT):
        listed = "/".join(f"'{keyword}'" for keyword in NOT_AT_THE_ROOT)
        raise SchemaProblem(f"schema must have type 'object' and not have {listed} at the top level.")


def check_well_formed(schema: Any) -> None:
    """It is a JSON Schema at all: `[] is not of type 'object', 'boolean'.`"""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise SchemaProblem(f"{schema!r} is not of type 'object', 'boolean'.")
    for keyword, (kinds, name) in WELL_FORMED.items():
        if keyword in schema and (
            not isinstance(schema[keyword], kinds) or isinstance(schema[keyword], bool)
        ):
            raise SchemaProblem(f"{schema[keyword]!r} is not of type '{name}'.")
    types = schema.get("type", ())
    for one in types if isinstance(types, list | tuple) else [types]:
        if one not in TYPES:
            raise SchemaProblem(f"{one!r} is not valid under any of the given schemas.")
    for name in schema.get("required", ()):
        if not isinstance(name, str):
            raise SchemaProblem(f"{name!r} is not of type 'string'.")
    if schema.get("multipleOf", 1) <= 0:
        raise SchemaProblem(f"{schema['multipleOf']} is less than or equal to the minimum of 0.")
    for keyword in ("properties", "$defs", "definitions"):
        for inner in schema.get(keyword, {}).values():
            check_well_formed(inner)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(keyword, ()):
            check_well_formed(inner)
    for keyword in ("items", "additionalProperties"):
        check_well_formed(schema.get(keyword, True))


def check_parameters(schema: dict[str, Any]) -> None:
    """The parameters of a function that is not strict: an object with properties, and arrays with items."""
    check_root(schema)
    if "properties" not in schema:
        raise at((), "object schema missing properties.")
    for context, inner in walk(schema, ()):
        if inner.get("type") == "array" and "items" not in inner:
            raise at(context, "array schema missing items.")


def check_strict(schema: dict[str, Any]) -> None:
    """A schema that the answer, or the arguments of a call, will follow to the letter."""
    check_root(schema)
    sizes = Sizes()
    check_node({key: value for key, value in schema.items() if key != "$schema"}, (), schema, 0, sizes)
    sizes.check()


def walk(schema: Any, context: Context) -> Iterator[tuple[Context, dict[str, Any]]]:
    """Every schema in a well-formed one, with its place."""
    if not isinstance(schema, dict):
        return
    yield context, schema
    for keyword in ("properties", "$defs", "definitions"):
        for name, inner in schema.get(keyword, {}).items():
            yield from walk(inner, (*context, keyword, name))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for index, inner in enumerate(schema.get(keyword, ())):
            yield from walk(inner, (*context, keyword, str(index)))
    for keyword in ("items", "additionalProperties"):
        yield from walk(schema.get(keyword), (*context, keyword))


@dataclass
class Sizes:
    """What the guide limits in a schema as a whole."""

    properties: int = 0
    enum_values: int = 0
    characters: int = 0
    deepest: int = field(default=0)

    def check(self) -> None:
        """Refuses a schema that is too large. Only the sentence on nesting is OpenAI's to the letter."""
        if self.deepest > DEEPEST:
            raise SchemaProblem(f"{self.deepest} levels of nesting exceeds limit of {DEEPEST}.")
        if self.properties > MOST_PROPERTIES:
            raise SchemaProblem(f"{self.properties} object properties exceeds limit of {MOST_PROPERTIES}.")
        if self.enum_values > MOST_ENUM_VALUES:
            raise SchemaProblem(f"{self.enum_values} enum values exceeds limit of {MOST_ENUM_VALUES}.")
        if self.characters > MOST_CHARACTERS:
            raise SchemaProblem(
                f"{self.characters} characters of names, enum values and const values exceeds limit of "
                f"{MOST_CHARACTERS}."
            )


def check_node(schema: Any, context: Context, root: dict[str, Any], depth: int, sizes: Sizes) -> None:
    """One schema and those in it. `depth` counts the objects around it, without following references."""
    if not isinstance(schema, dict):
        raise SchemaProblem(f"{schema!r} is not of type 'object'.")
    if "$ref" in schema:
        check_reference(schema, context, root)
        return
    for keyword in schema:
        if keyword not in SUPPORTED:
            raise at(context, f"'{keyword}' is not permitted.")
    types = types_of(schema, context)
    for keyword in ("$defs", "definitions"):
        for name, inner in schema.get(keyword, {}).items():
            sizes.characters += len(name)
            check_node(inner, (*context, keyword, name), root, 0, sizes)
    for index, branch in enumerate(schema.get("anyOf", ())):
        check_node(branch, (*context, "anyOf", str(index)), root, depth, sizes)
    if "object" in types:
        check_object(schema, context, root, depth + 1, sizes)
    if "array" in types:
        if "items" not in schema:
            raise at(context, "array schema missing items.")
        check_node(schema["items"], (*context, "items"), root, depth, sizes)
    check_values(schema, context, sizes)


def check_reference(schema: dict[str, Any], context: Context, root: dict[str, Any]) -> None:
    """A reference within the schema, and nothing beside it."""
    if beside := set(schema) - {"$ref"}:
        raise SchemaProblem(f"context={context}, $ref cannot have keywords {beside}.")
    if not DEFINITION.fullmatch(schema["$ref"]) or resolve(schema["$ref"], root) is None:
        raise at(context, f"reference to component '{schema['$ref']}' which was not found in the schema.")


def resolve(reference: object, root: dict[str, Any]) -> dict[str, Any] | None:
    """What a reference like `#` or `#/$defs/Section` points at; None if nothing is there."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    found: Any = root
    for step in reference[2:].split("/") if reference != "#" else ():
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found if isinstance(found, dict) else None


def types_of(schema: dict[str, Any], context: Context) -> tuple[str, ...]:
    """The types a schema allows; none for a union, which says it by its branches."""
    if "type" not in schema:
        if "anyOf" not in schema:
            raise at(context, "schema must have a 'type' key.")
        return ()
    types = schema["type"]
    return tuple(types) if isinstance(types, list) else (types,)


def check_object(
    schema: dict[str, Any], context: Context, root: dict[str, Any], depth: int, sizes: Sizes
) -> None:
    """An object: closed, all its properties required."""
    sizes.deepest = max(sizes.deepest, depth)
    if schema.get("additionalProperties") is not False:
        raise at(context, "'additionalProperties' is required to be supplied and to be false.")
    if "properties" not in schema:
        raise at(context, "object schema missing properties.")
    properties = schema["properties"]
    required = schema.get("required", ())
    for name in properties:
        if name not in required:
            raise at(
                context,
                "'required' is required to be supplied and to be an array including every key in properties. "
                f"Missing '{name}'.",
            )
    for name in required:
        if name not in properties:
            raise at(
                context,
                "'required' must be an array that includes every key in `properties`. Extra required key "
                f"'{name}' supplied.",
            )
    for name, inner in properties.items():
        sizes.properties += 1
        sizes.characters += len(name)
        check_node(inner, (*context, "properties", name), root, depth, sizes)


def check_values(schema: dict[str, Any], context: Context, sizes: Sizes) -> None:
    """Formats, patterns, and how much is enumerated."""
    if "format" in schema and schema["format"] not in FORMATS:
        raise at(context, f"'{schema['format']}' is not a valid format.")
    if "pattern" in schema:
        check_pattern(schema["pattern"], context)
    if "const" in schema:
        sizes.characters += len(str(schema["const"]))
    if "enum" in schema:
        values = schema["enum"]
        if not values:
            raise SchemaProblem("[] should be non-empty.")
        characters = sum(len(value) for value in values if isinstance(value, str))
        sizes.enum_values += len(values)
        sizes.characters += characters
        if len(values) > LONG_ENUM and characters > LONG_ENUM_CHARACTERS:
            raise at(
                context,
                f"{characters} characters of enum values exceeds limit of {LONG_ENUM_CHARACTERS} for an enum "
                f"of more than {LONG_ENUM} values.",
            )


def check_pattern(pattern: str, context: Context) -> None:
    """A regular expression without lookarounds. Unquoted."""
    try:
        re.compile(pattern)
    except re.error:
        raise at(context, f"{pattern!r} is not a valid regex.") from None
    if LOOKAROUND.search(pattern):
        raise at(context, f"{pattern!r} is not a valid regex: lookarounds are not supported.")
