"""What the generations of Claude take: thinking, forced calls, sampling and prefill have changed with each.

From https://platform.claude.com/docs/en/build-with-claude/thinking and the pages "What's new" and "Migration
guide" of each model, and what pydantic_ai measured (profiles/anthropic.py in 2.68, November 2026).
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Ways:
    """What a model takes."""

    prefill: bool = False  # continues an assistant message
    sampling: bool = False  # temperature, top_p and top_k, where the API version has them
    budgets: bool = False  # thinking enabled, with a number of tokens
    adaptive: bool = True
    thinks_by_default: bool = True
    disabled: bool = True  # thinking can be turned off
    between_tools: bool = False  # … with this word instead
    forced_calls: bool = True  # tool_choice any or tool
    shows_thoughts: bool = False  # unless asked not to; else only if asked to
    most_output: int = 128_000  # tokens


GENERATION_5 = Ways()
GENERATION_4_7 = Ways(thinks_by_default=False)
GENERATION_4_6 = Ways(sampling=True, budgets=True, thinks_by_default=False, shows_thoughts=True)
GENERATION_4_5 = replace(GENERATION_4_6, prefill=True, adaptive=False, most_output=64_000)
ALWAYS_THINKING = Ways(disabled=False, forced_calls=False)
SONNET_5_5 = Ways(disabled=False, between_tools=True, forced_calls=False)

# The longest beginning of a model's name that is here decides.
BY_NAME = {
    **dict.fromkeys(("claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5"), GENERATION_4_5),
    **dict.fromkeys(("claude-sonnet-4-6", "claude-opus-4-6"), GENERATION_4_6),
    **dict.fromkeys(("claude-opus-4-7", "claude-opus-4-8"), GENERATION_4_7),
    **dict.fromkeys(("claude-sonnet-5", "claude-opus-5", "claude-haiku-5-5"), GENERATION_5),
    "claude-sonnet-5-5": SONNET_5_5,
    **dict.fromkeys(("claude-opus-5-5", "claude-fable-5-1", "claude-fable-5-2"), ALWAYS_THINKING),
}


def ways_of(model: str) -> Ways:
    """What a model takes; one that nobody knows is like the fifth generation."""
    known = [name for name in BY_NAME if model.startswith(name)]
    return BY_NAME[max(known, key=len)] if known else GENERATION_5
