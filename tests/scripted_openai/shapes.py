"""A small language to say which JSON is allowed, with OpenAI's words for what is wrong and where.

A check takes a value and its path (`messages[0].content`) and raises Refusal. Its sentences and codes are
those of api.openai.com.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.scripted_openai.errors import Refusal

Check = Callable[[Any, str], None]


def refuse_type(value: object, path: str, expected: str) -> Refusal:
    """`Invalid type for 'temperature': expected a decimal, but got a string instead.`"""
    return Refusal(
        f"Invalid type for '{path}': expected {expected}, but got {name_of_type(value)} instead.",
        path,
        "invalid_type",
    )


def name_of_type(value: object) -> str:
    """A JSON type as the host's sentences name it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", int: "an integer", float: "a decimal", list: "an array", dict: "an object"}
    return names[type(value)]


def missing(path: str) -> Refusal:
    """A field that has to be there is not."""
    return Refusal(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def string(longest: int | None = None, pattern: str | None = None) -> Check:
    """A string of at most so many characters, which the pattern matches as a whole."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise refuse_type(value, path, "a string")
        if longest is not None and len(value) > longest:
            raise Refusal(
                f"Invalid '{path}': string too long. Expected a string with maximum length {longest}, but "
                f"got a string with length {len(value)} instead.",
                path,
                "string_above_max_length",
            )
        if pattern is not None and not re.fullmatch(pattern, value):
            raise Refusal(
                f"Invalid '{path}': string does not match pattern. Expected a string that matches the "
                f"pattern '{pattern}'.",
                path,
                "invalid_value",
            )

    return check


def integer(lowest: int | None = None, highest: int | None = None) -> Check:
    """A whole number within bounds; a boolean is none."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise refuse_type(value, path, "an integer")
        check_bounds(value, path, "integer", lowest, highest)

    return check


def decimal(lowest: float | None = None, highest: float | None = None) -> Check:
    """A number within bounds; a boolean is none."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise refuse_type(value, path, "a decimal")
        check_bounds(value, path, "decimal", lowest, highest)

    return check


def check_bounds(value: float, path: str, kind: str, lowest: float | None, highest: float | None) -> None:
    """`Invalid 'n': integer above maximum value. Expected a value <= 128, but got 130 instead.`

    Unquoted for decimals, which have the same form.
    """
    if lowest is not None and value < lowest:
        raise Refusal(
            f"Invalid '{path}': {kind} below minimum value. Expected a value >= {lowest}, but got {value} "
            "instead.",
            path,
            f"{kind}_below_min_value",
        )
    if highest is not None and value > highest:
        raise Refusal(
            f"Invalid '{path}': {kind} above maximum value. Expected a value <= {highest}, but got {value} "
            "instead.",
            path,
            f"{kind}_above_max_value",
        )


def boolean(value: Any, path: str) -> None:
    """true or false."""
    if not isinstance(value, bool):
        raise refuse_type(value, path, "a boolean")


def one_of(*values: str) -> Check:
    """One of these strings."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise refuse_type(value, path, f"one of {listed(values)}")
        if value not in values:
            raise Refusal(
                f"Invalid value: '{value}'. Supported values are: {listed(values)}.", path, "invalid_value"
            )

    return check


def listed(values: tuple[str, ...]) -> str:
    """`'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`."""
    quoted = [f"'{value}'" for value in values]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def array(item: Check, *, most: int | None = None, empty: bool = False, of: str = "objects") -> Check:
    """A list of such items: not empty unless it may be, not longer than `most`."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, list):
            raise refuse_type(value, path, f"an array of {of}")
        if not value and not empty:
            raise Refusal(
                f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty "
                "array instead.",
                path,
                "empty_array",
            )
        if most is not None and len(value) > most:
            raise Refusal(
                f"Invalid '{path}': array too long. Expected an array with maximum length {most}, but got an "
                f"array with length {len(value)} instead.",
                path,
                "array_above_max_length",
            )
        for index, one in enumerate(value):
            item(one, f"{path}[{index}]")

    return check


def fields(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these fields and no other."""
    known = {**required, **(optional or {})}

    def check(value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise refuse_type(value, path, "an object")
        for name in required:
            if name not in value:
                raise missing(f"{path}.{name}")
        for name, inner in value.items():
            inner_path = f"{path}.{name}"
            if name not in known:
                raise Refusal(f"Unknown parameter: '{inner_path}'.", inner_path, "unknown_parameter")
            known[name](inner, inner_path)

    return check


def by(key: str, variants: Mapping[str, Check]) -> Check:
    """An object whose field `key` says which of these shapes it has."""
    known = one_of(*variants)

    def check(value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise refuse_type(value, path, "an object")
        if key not in value:
            raise missing(f"{path}.{key}")
        known(value[key], f"{path}.{key}")
        variants[value[key]](value, path)

    return check


def string_or(other: Check, kind: type, words: str) -> Check:
    """A string, or what `other` allows (a `kind`). `words` names both in a sentence."""

    def check(value: Any, path: str) -> None:
        if isinstance(value, kind):
            other(value, path)
        elif not isinstance(value, str):
            raise refuse_type(value, path, words)

    return check


def nullable(inner: Check) -> Check:
    """Null, or what `inner` allows."""

    def check(value: Any, path: str) -> None:
        if value is not None:
            inner(value, path)

    return check


def mapping(item: Check, most: int | None = None) -> Check:
    """An object with any keys, whose values are such items."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise refuse_type(value, path, "an object")
        if most is not None and len(value) > most:
            raise Refusal(
                f"Invalid '{path}': too many properties. Expected an object with at most {most} properties, "
                f"but got an object with {len(value)} properties instead.",
                path,
                "object_above_max_properties",
            )
        for name, one in value.items():
            item(one, f"{path}.{name}")

    return check


def json_object(value: Any, path: str) -> None:
    """Any object: a JSON Schema is checked elsewhere."""
    if not isinstance(value, dict):
        raise refuse_type(value, path, "an object")


def anything(value: Any, path: str) -> None:
    """Whatever it is."""
