"""Embedding requests: what is refused, and the answer. From OpenAI's `CreateEmbeddingRequest`."""

from collections.abc import Mapping
from typing import Any

from tests.scripted_openai.errors import Refusal
from tests.scripted_openai.request import EmbeddingRequest
from tests.scripted_openai.shapes import Check, anything, integer, missing, one_of, refuse_type, string
from tests.scripted_openai.tokens import count_tokens
from tests.scripted_openai.vectors import as_base64, embed

MOST_INPUTS = 2048
LONGEST_INPUT = 8192  # tokens, for all embedding models
LONGEST_REQUEST = 300_000  # tokens over all inputs
FIXED_SIZE = "text-embedding-ada-002"  # the one that takes no `dimensions`

FIELDS: dict[str, Check] = {
    "input": anything,  # see read_inputs
    "model": string(),
    "dimensions": integer(1),
    "encoding_format": one_of("float", "base64"),
    "user": string(),
}


def check_embedding_shape(body: dict[str, Any]) -> None:
    """Refuses fields that do not exist, are missing, or are of the wrong type."""
    if "model" not in body:
        raise Refusal("you must provide a model parameter")
    if "input" not in body:
        raise missing("input")
    if unknown := [field for field in body if field not in FIELDS]:
        plural = "s" if len(unknown) > 1 else ""
        raise Refusal(f"Unrecognized request argument{plural} supplied: {', '.join(unknown)}")
    for field, value in body.items():
        FIELDS[field](value, field)


def parse_embedding(
    body: dict[str, Any], size: int, number: int, headers: Mapping[str, str]
) -> EmbeddingRequest:
    """The view of a body whose shape is right. `size` is the dimensions of the model. Raises Refusal."""
    dimensions = body.get("dimensions", size)
    # Unquoted, both sentences on dimensions.
    if "dimensions" in body and body["model"] == FIXED_SIZE:
        raise Refusal("This model does not support specifying dimensions.")
    if dimensions > size:
        raise Refusal(f"Invalid value for 'dimensions' = {dimensions}. Must be less than or equal to {size}.")
    inputs, tokens = read_inputs(body["input"])
    for count in tokens:
        if count > LONGEST_INPUT:
            raise Refusal(
                f"This model's maximum context length is {LONGEST_INPUT} tokens, however you requested "
                f"{count} tokens ({count} in your prompt; 0 for the completion). Please reduce your prompt; "
                "or completion length."
            )
    if sum(tokens) > LONGEST_REQUEST:
        raise Refusal(
            f"Requested {sum(tokens)} tokens, max {LONGEST_REQUEST} tokens per request",
            code="max_tokens_per_request",
            kind="max_tokens_per_request",
        )
    return EmbeddingRequest(
        number=number,
        model=body["model"],
        body=body,
        headers=headers,
        inputs=tuple(inputs),
        dimensions=dimensions,
        encoding_format=body.get("encoding_format", "float"),
    )


def read_inputs(value: Any) -> tuple[list[str], list[int]]:
    """The inputs as texts, and how many tokens each has: a string, strings, token numbers, or lists of those.

    An empty string, an empty list and a list that is too long are all refused with the one sentence that the
    host has for it.
    """
    if not isinstance(value, str | list):
        raise refuse_type(value, "input", "one of a string or array of strings")
    items: list[Any] = [value] if isinstance(value, str) or (value and are_tokens(value)) else value
    kind_is_right = all(isinstance(item, str) for item in items) or all(are_tokens(item) for item in items)
    if not items or len(items) > MOST_INPUTS or not kind_is_right or not all(items):
        raise Refusal(
            "'$.input' is invalid. Please check the API reference: "
            "https://platform.openai.com/docs/api-reference."
        )
    texts = [item if isinstance(item, str) else " ".join(map(str, item)) for item in items]
    return texts, [count_tokens(item) if isinstance(item, str) else len(item) for item in items]


def are_tokens(value: Any) -> bool:
    """A list of token numbers."""
    return isinstance(value, list) and all(
        isinstance(one, int) and not isinstance(one, bool) for one in value
    )


def embedding_answer(request: EmbeddingRequest) -> dict[str, Any]:
    """The vectors of all inputs, in their order."""
    _, tokens = read_inputs(request.body["input"])
    data = []
    for index, text in enumerate(request.inputs):
        vector = embed(text, request.dimensions)
        encoded = as_base64(vector) if request.encoding_format == "base64" else vector
        data.append({"object": "embedding", "index": index, "embedding": encoded})
    return {
        "object": "list",
        "data": data,
        "model": request.model,
        "usage": {"prompt_tokens": sum(tokens), "total_tokens": sum(tokens)},
    }
