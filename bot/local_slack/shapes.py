"""A small language to say which JSON is allowed, with Slack's words for what is wrong and where."""

from collections.abc import Callable, Mapping
from typing import Any

Problem = str
Check = Callable[[Any, str], list[Problem]]  # (value, json pointer) -> problems


def problem(what: str, where: str) -> Problem:
    """One message as Slack words it in `response_metadata.messages`, without its `[ERROR] `."""
    return f"{what} [json-pointer:{where or '/'}]"


def string(longest: int | None = None, shortest: int = 0) -> Check:
    """Text; lengths count characters, as Slack does, not bytes."""

    def check(value: Any, where: str) -> list[Problem]:
        if not isinstance(value, str):
            return [problem("must provide a string", where)]
        if len(value) < shortest:
            return [problem(f"must be more than {shortest - 1} characters", where)]
        if longest is not None and len(value) > longest:
            return [problem(f"must be less than {longest + 1} characters", where)]
        return []

    return check


def boolean(value: Any, where: str) -> list[Problem]:
    return [] if isinstance(value, bool) else [problem("must provide a boolean", where)]


def integer(lowest: int, highest: int) -> Check:
    def check(value: Any, where: str) -> list[Problem]:
        if isinstance(value, bool) or not isinstance(value, int):
            return [problem("must provide an integer", where)]
        if not lowest <= value <= highest:
            return [problem(f"must be between {lowest} and {highest}", where)]
        return []

    return check


def word(*allowed: str) -> Check:
    def check(value: Any, where: str) -> list[Problem]:
        return [] if value in allowed else [problem(f"must be one of: {', '.join(allowed)}", where)]

    return check


def link(longest: int = 3000) -> Check:
    """An address that Slack opens. Others are refused, so that no `javascript:` reaches a reader."""

    def check(value: Any, where: str) -> list[Problem]:
        problems = string(longest, 1)(value, where)
        if not problems and not value.lower().startswith(("http://", "https://", "mailto:", "slack://")):
            problems = [problem("invalid URL", where)]
        return problems

    return check


def items(of: Check, most: int, fewest: int = 1) -> Check:
    def check(value: Any, where: str) -> list[Problem]:
        if not isinstance(value, list):
            return [problem("must provide an array", where)]
        if len(value) > most:
            return [problem(f"no more than {most} items allowed", where)]
        if len(value) < fewest:
            return [problem(f"no fewer than {fewest} items allowed", where)]
        return [found for i, item in enumerate(value) for found in of(item, f"{where}/{i}")]

    return check


def thing(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these keys and no other. `type` is checked by `one_of`, which chose the shape."""
    known = {**required, **(optional or {})}

    def check(value: Any, where: str) -> list[Problem]:
        if not isinstance(value, dict):
            return [problem("must provide an object", where)]
        problems = [problem(f"missing required field: {key}", where) for key in required if key not in value]
        for key, part in value.items():
            if key in known:
                problems += known[key](part, f"{where}/{key}")
            elif key != "type":
                problems.append(problem(f"invalid additional property: {key}", where))
        return problems

    return check


def one_of(shapes: Mapping[str, Check]) -> Check:
    """An object whose `type` names its shape."""

    def check(value: Any, where: str) -> list[Problem]:
        if not isinstance(value, dict):
            return [problem("must provide an object", where)]
        kind = value.get("type")
        if kind is None:
            return [problem("missing required field: type", where)]
        if not isinstance(kind, str) or kind not in shapes:
            return [problem(f"unsupported type: {kind}", where)]
        return shapes[kind](value, where)

    return check


def all_of(*checks: Check) -> Check:
    def check(value: Any, where: str) -> list[Problem]:
        return [found for one in checks for found in one(value, where)]

    return check
