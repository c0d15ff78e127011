"""JSON with something set, added or removed somewhere in it: whatever a host may be sent."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Steps = list[tuple[int, str, str, Any]]
SCHEMA_KEYWORDS = ("type", "properties", "required", "additionalProperties", "$defs", "$ref", "pattern")

words = st.sampled_from(
    ["", "function", "object", "array", "string", "#", "#/$defs/part", "(", "鍵", "密码", "json"]
)
keys = st.sampled_from(
    [
        *SCHEMA_KEYWORDS,
        "items",
        "anyOf",
        "oneOf",
        "enum",
        "const",
        "format",
        "minItems",
        "role",
        "content",
        "x",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-2, 3) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=4,
)
# A place by its number, what happens there, and the value that it takes.
changes = st.lists(
    st.tuples(st.integers(0), st.sampled_from(["set", "add", "remove"]), keys, values), min_size=1, max_size=3
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys, from the outside in."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from places(inner)


def changed(body: dict[str, Any], steps: Steps) -> dict[str, Any]:
    """A copy with something set, added or removed."""
    body = copy.deepcopy(body)
    for number, step, new_key, value in steps:
        found = list(places(body))
        if not found:
            break
        container, key = found[number % len(found)]
        if step == "remove":
            del container[key]
        elif step == "add" and isinstance(container, dict):
            container[new_key] = value
        else:
            container[key] = value
    return body
