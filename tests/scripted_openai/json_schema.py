"""Whether a value follows a JSON Schema, and if not, what is wrong where.

All of the strict subset, and what other hosts take beside it; keywords it does not know demand nothing.
"""

import ipaddress
import json
import re
import uuid
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

from tests.scripted_openai.strict_schema import resolve

DURATION = re.compile(r"P(?=.)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)")
HOST_NAME = re.compile(r"(?=.{1,253}$)([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.?)+")
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def parses(reader: Callable[[str], object]) -> Callable[[str], bool]:
    """A test of a format from a function that raises ValueError on what is not one."""

    def fits(text: str) -> bool:
        try:
            reader(text)
        except ValueError:
            return False
        return True

    return fits


FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": parses(datetime.fromisoformat),
    "date": parses(date.fromisoformat),
    "time": parses(time.fromisoformat),
    "duration": lambda text: DURATION.fullmatch(text) is not None,
    "email": lambda text: EMAIL.fullmatch(text) is not None,
    "hostname": lambda text: HOST_NAME.fullmatch(text) is not None,
    "ipv4": parses(ipaddress.IPv4Address),
    "ipv6": parses(ipaddress.IPv6Address),
    "uuid": parses(uuid.UUID),
}


def problem_with(
    value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, path: str = "$"
) -> str | None:
    """The first thing wrong with a value, as `$.quotes[0]: …`; None if it follows the schema."""
    root = schema if root is None else root
    if "$ref" in schema:
        target = resolve(schema["$ref"], root)
        return (
            f"{path}: {schema['$ref']} is nowhere"
            if target is None
            else problem_with(value, target, root, path)
        )
    for part in schema.get("allOf", ()):
        if problem := problem_with(value, part, root, path):
            return problem
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        problems = [problem_with(value, branch, root, path) for branch in branches]
        if None not in problems:
            return f"{path}: no branch of anyOf fits ({'; '.join(filter(None, problems))})"
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(is_of(value, one) for one in types):
            return f"{path}: {shown(value)} is not of type {' or '.join(types)}"
    if "enum" in schema and not any(same(value, one) for one in schema["enum"]):
        return f"{path}: {shown(value)} is not one of {shown(schema['enum'])}"
    if "const" in schema and not same(value, schema["const"]):
        return f"{path}: {shown(value)} is not {shown(schema['const'])}"
    if isinstance(value, dict):
        return problem_with_object(value, schema, root, path)
    if isinstance(value, list):
        return problem_with_array(value, schema, root, path)
    if isinstance(value, str):
        return problem_with_string(value, schema, path)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return problem_with_number(value, schema, path)
    return None


def is_of(value: Any, type_name: str) -> bool:
    """Whether a value has a type of JSON Schema: 1.0 is an integer, true is not."""
    match type_name:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, bool) and isinstance(value, int | float) and value == int(value)
        case "number":
            return not isinstance(value, bool) and isinstance(value, int | float)
        case _:
            return isinstance(value, {"string": str, "array": list, "object": dict}[type_name])


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is not true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def shown(value: Any) -> str:
    """A value as JSON, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"


def problem_with_object(
    value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], path: str
) -> str | None:
    """Missing, unknown and wrong properties."""
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{path}: '{name}' is missing"
    for name, inner in value.items():
        expected = properties.get(name, schema.get("additionalProperties", True))
        if expected is False:
            return f"{path}: '{name}' is not a property"
        if isinstance(expected, dict) and (problem := problem_with(inner, expected, root, f"{path}.{name}")):
            return problem
    return None


def problem_with_array(
    value: list[Any], schema: dict[str, Any], root: dict[str, Any], path: str
) -> str | None:
    """Too few or too many items, and wrong ones."""
    if len(value) < schema.get("minItems", 0):
        return f"{path}: {len(value)} items are fewer than {schema['minItems']}"
    if len(value) > schema.get("maxItems", len(value)):
        return f"{path}: {len(value)} items are more than {schema['maxItems']}"
    if "items" in schema:
        for index, one in enumerate(value):
            if problem := problem_with(one, schema["items"], root, f"{path}[{index}]"):
                return problem
    return None


def problem_with_string(value: str, schema: dict[str, Any], path: str) -> str | None:
    """Length, pattern and format."""
    if len(value) < schema.get("minLength", 0):
        return f"{path}: {shown(value)} is shorter than {schema['minLength']} characters"
    if len(value) > schema.get("maxLength", len(value)):
        return f"{path}: {shown(value)} is longer than {schema['maxLength']} characters"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return f"{path}: {shown(value)} does not match {schema['pattern']}"
    fits = FORMATS.get(schema.get("format", ""))
    if fits is not None and not fits(value):
        return f"{path}: {shown(value)} is not a {schema['format']}"
    return None


def problem_with_number(value: float, schema: dict[str, Any], path: str) -> str | None:
    """Bounds and multiples."""
    if "minimum" in schema and value < schema["minimum"]:
        return f"{path}: {value} is less than {schema['minimum']}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return f"{path}: {value} is not more than {schema['exclusiveMinimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"{path}: {value} is more than {schema['maximum']}"
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        return f"{path}: {value} is not less than {schema['exclusiveMaximum']}"
    if "multipleOf" in schema:
        times = value / schema["multipleOf"]
        if abs(times - round(times)) > 1e-9:
            return f"{path}: {value} is not a multiple of {schema['multipleOf']}"
    return None
