"""A host's answer, held to what PydanticAI's types promise: the libraries take any JSON for it, unchecked."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ThinkingPart
from pydantic_ai.usage import RequestUsage

from agents.json_strings import whole_characters

_ANSWER = TypeAdapter(ModelResponse)
_MOST_TOKENS = 10_000_000  # of one call: as much as the largest context windows hold


def sound(answer: ModelResponse) -> ModelResponse:
    """The answer, with whole characters, and without what cannot be true of its usage, which then counts as
    not reported.

    Raises ValueError if a part is not what its type says, such as a text that is a number: whoever joins
    texts would fail with it.
    """
    name = answer.model_name if isinstance(answer.model_name, str) else None
    checked = replace(answer, usage=_believable(answer.usage), model_name=name)
    _ANSWER.validate_python(_ANSWER.dump_python(checked, warnings=False))
    return replace(checked, parts=_with_its_tags([_whole(part) for part in checked.parts]))


def _with_its_tags(parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
    """Texts whose `<think>` PydanticAI took out, though it did not stand first: an article may speak of it.

    Thoughts that a host sends apart are named or signed.
    """
    whole: list[ModelResponsePart] = []
    for part in parts:
        last = whole[-1] if whole else None
        if not isinstance(last, TextPart) or not isinstance(part, TextPart | ThinkingPart):
            whole.append(part)
        elif isinstance(part, TextPart):
            whole[-1] = replace(last, content=last.content + part.content)
        elif part.signature is None and part.id in (None, "content"):
            whole[-1] = replace(last, content=f"{last.content}<think>{part.content}</think>")
        else:
            whole.append(part)
    return whole


def _whole(part: ModelResponsePart) -> ModelResponsePart:
    """JSON can hold half a surrogate pair, and no later request could carry that."""
    if isinstance(part, TextPart | ThinkingPart):
        return replace(part, content=whole_characters(part.content))
    return part


def _believable(usage: RequestUsage) -> RequestUsage:
    counts = (
        usage.input_tokens,
        usage.output_tokens,
        usage.output_reasoning_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )
    if not all(type(count) is int and 0 <= count <= _MOST_TOKENS for count in counts):
        return RequestUsage()
    cost = usage.cost
    if cost is not None and not (cost.is_finite() and cost >= 0):
        return replace(usage, cost=None)
    return usage
