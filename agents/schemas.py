"""Forms of a JSON Schema for hosts that cannot take it as it is."""

from typing import Any

from pydantic_ai.profiles import InlineDefsJsonSchemaTransformer
from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer

JsonSchema = dict[str, Any]

# llama.cpp refuses a grammar with 2000 repetitions or more; 1999 work (ggml-org/llama.cpp#27087). From August
# 2026 on it takes more than 2000 for no bound (#26613), but builds without that are around.
MOST_REPETITIONS = 1_999
_BOUNDS = {"maxLength": "characters", "maxItems": "items"}


class GrammarSchema(InlineDefsJsonSchemaTransformer):
    """For hosts that make a grammar of a schema: llama.cpp, Ollama, vLLM.

    Definitions stand where they are used, and bounds stay: without them a small model never ends its string.
    A bound that would break the grammar is said in the description instead.
    """

    def transform(self, schema: JsonSchema) -> JsonSchema:
        for keyword, unit in _BOUNDS.items():
            bound = schema.get(keyword)
            if isinstance(bound, int) and bound > MOST_REPETITIONS:
                _say_instead(schema, keyword, unit)
        return schema


class GeminiSchema(GoogleJsonSchemaTransformer):
    """For Gemini, which adds up the bounds of all lists and refuses the request when they come to too much.

    Its own list of keywords has none for the length of a string. Both are said in the description instead.
    """

    def transform(self, schema: JsonSchema) -> JsonSchema:
        schema = super().transform(schema)
        for keyword, unit in _BOUNDS.items():
            if isinstance(schema.get(keyword), int):
                _say_instead(schema, keyword, unit)
        return schema


def _say_instead(schema: JsonSchema, keyword: str, unit: str) -> None:
    said = f"At most {schema.pop(keyword)} {unit}."
    description = schema.get("description")
    schema["description"] = f"{description} {said}" if description else said
