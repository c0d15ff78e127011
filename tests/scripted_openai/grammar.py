"""Which JSON Schemas llama.cpp's server can make a grammar of, and what it says of the others.

From ggml-org/llama.cpp, common/json-schema-to-grammar.cpp and src/llama-grammar.cpp, as of the first half of
2026, builds of which many still run. Keywords that the converter does not know it skips. Recursion and
references to definitions are fine. Later builds take more: an untyped schema as any value, and from #26613
(August 2026) a maximum of more than 2000 as no maximum.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.strict_schema import resolve

TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")
# Refused from this number on: 1999 is the most that works (ggml-org/llama.cpp#27087).
MOST_REPETITIONS = 2000


def check_format(schema: dict[str, Any]) -> None:
    """A schema of the answer. The envelope is browseros-ai/BrowserOS#255's."""
    if found := problems(schema):
        raise refusal(f"JSON schema conversion failed:\n{found}")
    check_repetitions(schema)


def check_arguments(schema: dict[str, Any]) -> None:
    """The parameters of a tool. The envelope is Kilo-Org/kilocode#12408's."""
    if found := problems(schema):
        raise refusal(
            "Unable to generate parser for this template. Automatic parser generation failed: JSON schema "
            f"conversion failed:\n{found}"
        )
    check_repetitions(schema)


def refusal(message: str) -> Refusal:
    """400 since November 2025 (ggml-org/llama.cpp#17572), 500 before."""
    return Refusal(message, raw={"error": {"code": 400, "message": message, "type": "invalid_request_error"}})


def problems(schema: dict[str, Any]) -> str:
    """What is wrong with a schema, a line each; empty if nothing is."""
    bad_references = [
        problem for one in references(schema) if (problem := reference_problem(one, schema)) is not None
    ]
    found = bad_references or conversion_problems(schema, schema, set())
    return "\n".join(dict.fromkeys(found))


def conversion_problems(schema: Any, root: dict[str, Any], seen: set[str]) -> Iterator[str]:
    """What the converter refuses: the first keyword that it knows decides, the others are skipped."""
    if not isinstance(schema, dict):
        yield f"Unrecognized schema: {compact(schema)}"
        return
    kind = schema.get("type")
    inside: list[Any] = []
    if "$ref" in schema:
        if schema["$ref"] not in seen:
            seen.add(schema["$ref"])
            inside = [resolve(schema["$ref"], root)]
    elif "oneOf" in schema or "anyOf" in schema:
        inside = list(schema.get("oneOf") or schema.get("anyOf") or ())
    elif isinstance(kind, list):
        inside = [{**schema, "type": one} for one in kind]
    elif "const" in schema or "enum" in schema or "allOf" in schema:
        pass
    elif kind in (None, "object") and ("properties" in schema or "additionalProperties" in schema):
        inside = list(schema.get("properties", {}).values())
        if isinstance(schema.get("additionalProperties"), dict):
            inside.append(schema["additionalProperties"])
    elif kind in (None, "array") and "items" in schema:
        inside = schema["items"] if isinstance(schema["items"], list) else [schema["items"]]
    elif kind in (None, "string") and "pattern" in schema:
        if not (schema["pattern"].startswith("^") and schema["pattern"].endswith("$")):
            yield "Pattern must start with '^' and end with '$'"
    elif schema and kind not in TYPES:
        yield f"Unrecognized schema: {compact(schema)}"
    for one in inside:
        yield from conversion_problems(one, root, seen)


def references(schema: Any) -> Iterator[str]:
    """Every `$ref` in a schema."""
    if isinstance(schema, list):
        for one in schema:
            yield from references(one)
    elif isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        else:
            for one in schema.values():
                yield from references(one)


def reference_problem(reference: str, root: dict[str, Any]) -> str | None:
    """References are pointers into the schema; `#` alone is none. Fetching one is not served here."""
    if not reference.startswith("#/"):
        return f"Unsupported ref: {reference}"
    found: Any = root
    for step in reference[2:].split("/"):
        if not isinstance(found, dict) or step not in found:
            return f"Error resolving ref {reference}: {step} not in {compact(found)}"
        found = found[step]
    return None


def check_repetitions(schema: dict[str, Any]) -> None:
    """The grammar is parsed when the model is about to answer (ggml-org/llama.cpp#25746 has the sentence)."""
    if any(count >= MOST_REPETITIONS for count in repetitions(schema)):
        raise refusal("Failed to initialize samplers: failed to parse grammar")


def repetitions(schema: Any) -> Iterator[int]:
    """How often characters and items may or must repeat, everywhere in a schema."""
    if isinstance(schema, list):
        for one in schema:
            yield from repetitions(one)
    elif isinstance(schema, dict):
        for keyword in ("minLength", "maxLength", "minItems", "maxItems"):
            if isinstance(schema.get(keyword), int):
                yield schema[keyword]
        for one in schema.values():
            yield from repetitions(one)


def compact(value: Any) -> str:
    """JSON without blanks, as the server dumps it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
