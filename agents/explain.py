"""What is wrong with an answer, in sentences for the model that gave it."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

_MOST = 10  # sentences: a model mends no more at once, and each is paid again with every retry
_LONGEST = 80  # characters of a value


def explain(error: ValidationError) -> str:
    """One line for each error, at most 10: the field, what was expected, what came (cut to 80 characters)."""
    # Context may hold exceptions and the link leads to a page for programmers.
    errors = error.errors(include_url=False)
    lines = [_sentence(one) for one in errors[:_MOST]]
    if len(errors) > _MOST:
        lines[-1] += f" There are {len(errors) - _MOST} errors more."
    return "\n".join(lines)


def _sentence(error: Mapping[str, Any]) -> str:
    path, context = _path(error["loc"]), error.get("ctx", {})
    got = f"; got {_got(error['input'])}"
    match error["type"]:
        case "missing":
            return f"{path} is missing."
        case "extra_forbidden":
            return f"{path} is not asked for: leave it out, or put what it says where it belongs{got}."
        case "literal_error" | "enum":
            return f"{path} must be {context['expected']}{got}."
        case "string_too_long":
            return (
                f"{path} may have at most {context['max_length']} characters; it has {len(error['input'])}."
            )
        case "too_long":
            return (
                f"{path} may have at most {context['max_length']} entries; it has {context['actual_length']}."
            )
        case "json_invalid":
            return f"{path} is not valid JSON: {_short(str(context['error']))}."
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{path} must be an object{got}."
    message = _short(str(error["msg"]).removeprefix("Input "))
    return f"{path} {message}{got}." if message.startswith("should") else f"{path}: {message}{got}."


def _path(location: tuple[int | str, ...]) -> str:
    """`issues[0].severity`; an unknown name may be as long as a text."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{_short(part)}"
    return f"`{path.removeprefix('.')}`" if path else "The answer"


def _got(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, int) and abs(value) >= 10**_LONGEST:
        return "a number that is too long"
    return f'"{_short(value)}"' if isinstance(value, str) else _short(json.dumps(value, default=str))


def _short(text: str) -> str:
    """On one line, cut; half a surrogate pair becomes a question mark, since no host takes it."""
    line = " ".join(text[: 2 * _LONGEST].split())
    return (line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…").encode(errors="replace").decode()
