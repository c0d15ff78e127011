"""What a message request has to be beyond its fields: what goes together, and the order of turns."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from tests.scripted_anthropic.errors import THINKING_PAGE, refuse
from tests.scripted_anthropic.models import Ways, ways_of
from tests.scripted_anthropic.schema import check_draft, check_schema
from tests.scripted_anthropic.shape import ChooseAny, ChooseTool, MessageRequest, ThinkingEnabled
from tests.scripted_openai.errors import Refusal

# The beta of November 2025, in which the format was a field of its own; later it moved to output_config.
STRUCTURED_OUTPUTS = "structured-outputs-2025-11-13"
# The version of the API that has no sampling settings any more, and is what the package sends since 2.0
# (https://platform.claude.com/docs/en/api/versioning; the sentence: ttlequals0/MinusPod 2.101.10).
NEW_VERSION = "2026-10-21"
SAMPLING = ("temperature", "top_p", "top_k")

Turn = tuple[str, list[Any], int]  # role, blocks, number of its first message


def check_rules(asked: MessageRequest, body: dict[str, Any], headers: Mapping[str, str]) -> None:
    """Refuses what is wrong in a request whose fields are each right."""
    ways = ways_of(asked.model)
    check_sampling(body, ways, headers.get("anthropic-version"))
    check_format(asked, body, headers)
    check_tools(asked, ways)
    check_thinking(asked, ways)
    if asked.max_tokens > ways.most_output:
        raise refuse(
            f"max_tokens: {asked.max_tokens} > {ways.most_output}, which is the maximum allowed number of "
            f"output tokens for {asked.model}"
        )
    check_texts(asked)
    turns = turns_of(asked)
    check_last_turn(asked, turns, ways)
    check_results(turns)
    check_thoughts(asked, turns)


def check_sampling(body: dict[str, Any], ways: Ways, version: str | None) -> None:
    """Temperature and its kin, which have gone with a version of the API, and before that with each model."""
    for setting in SAMPLING:
        if body.get(setting) is None:
            continue
        if version == NEW_VERSION:
            raise refuse(f"{setting}: Extra inputs are not permitted")
        if not ways.sampling:  # BerriAI/litellm#26444
            raise refuse(f"`{setting}` is deprecated for this model.")
    if body.get("temperature") is not None and body.get("top_p") is not None:  # infiniflow/ragflow#11815
        raise refuse(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        )


def check_format(asked: MessageRequest, body: dict[str, Any], headers: Mapping[str, str]) -> None:
    """The schema of the text, in either place."""
    if asked.output_format is not None:
        if STRUCTURED_OUTPUTS not in headers.get("anthropic-beta", ""):
            raise refuse("output_format: Extra inputs are not permitted")
        check_schema(body["output_format"]["schema"], "output_format.schema")
    if asked.output_config.format is not None:
        check_schema(body["output_config"]["format"]["schema"], "output_config.format.schema")


def check_tools(asked: MessageRequest, ways: Ways) -> None:
    """Names once each, schemas of strict tools, and a choice among what there is. Unquoted but the first."""
    names = [tool.name for tool in asked.tools]
    if len(set(names)) < len(names):
        raise refuse("tools: Tool names must be unique.")
    for index, tool in enumerate(asked.tools):
        check_draft(tool.input_schema.model_dump(exclude_unset=True), f"tools.{index}.custom.input_schema")
        if tool.strict:
            check_schema(
                tool.input_schema.model_dump(exclude_unset=True), f"tools.{index}.custom.input_schema"
            )
    if asked.tool_choice is None:
        return
    if isinstance(asked.tool_choice, ChooseAny | ChooseTool) and not ways.forced_calls:
        # https://platform.claude.com/docs/en/models/opus-5-5/migration-guide
        raise refuse('tool_choice: type "tool" and "any" are not supported for this model.')
    if not names:
        raise refuse("tool_choice may only be specified while providing tools")
    if isinstance(asked.tool_choice, ChooseTool) and asked.tool_choice.name not in names:
        raise refuse(f"Tool '{asked.tool_choice.name}' not found in provided tools")


def check_thinking(asked: MessageRequest, ways: Ways) -> None:
    """How this model may be told to think, and what does not go with it."""
    if asked.thinking is None:
        return
    check_kind_of_thinking(asked.thinking.type, ways)
    if not isinstance(asked.thinking, ThinkingEnabled):
        return
    # Adaptive thinking gives way to a forced call; a budget does not (defog-ai/defog#236).
    if isinstance(asked.tool_choice, ChooseAny | ChooseTool):
        raise refuse("Thinking may not be enabled when tool_choice forces tool use.")
    if asked.thinking.budget_tokens >= asked.max_tokens:
        raise refuse(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
            f"{THINKING_PAGE}#max-tokens-and-context-window-size"
        )
    if asked.temperature not in (None, 1):
        raise refuse(
            "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation "
            f"at {THINKING_PAGE}#important-considerations-when-using-extended-thinking"
        )
    if asked.top_k is not None:
        raise refuse(
            "`top_k` must be unset when thinking is enabled. Please consult our documentation at "
            f"{THINKING_PAGE}#important-considerations-when-using-extended-thinking"
        )


def check_kind_of_thinking(kind: str, ways: Ways) -> None:
    """The sentences are those of "What's new in Claude Opus 5.5"; the first and the last are unquoted."""
    if kind == "adaptive" and not ways.adaptive:
        raise refuse("adaptive thinking is not supported on this model")
    instead = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    if kind == "enabled" and not ways.budgets:
        raise refuse(f'"thinking.type.enabled" is not supported for this model. {instead}')
    if kind == "disabled" and not ways.disabled:
        if ways.between_tools:
            instead = 'To turn thinking off on this model, send "thinking": {"type": "between_tools"}.'
        raise refuse(f'"thinking.type.disabled" is not supported for this model. {instead}')
    if kind == "between_tools" and not ways.between_tools:
        raise refuse(f'"thinking.type.between_tools" is not supported for this model. {instead}')


def check_texts(asked: MessageRequest) -> None:
    """No text is empty (anthropics/claude-code#59812), nor is content, but of a last assistant message."""
    if isinstance(asked.system, list) and any(not block.text for block in asked.system):
        raise refuse("system: text content blocks must be non-empty")
    for index, message in enumerate(asked.messages):
        last = index == len(asked.messages) - 1 and message.role == "assistant"
        if not message.content and not last:
            raise refuse(
                f"messages.{index}: all messages must have non-empty content except for the optional final "
                "assistant message"
            )
        for block in message.blocks:
            if block.type == "text" and not block.text and isinstance(message.content, list):
                raise refuse("messages: text content blocks must be non-empty")


def turns_of(asked: MessageRequest) -> list[Turn]:
    """The messages, those of one role that follow each other made one turn, as the host does."""
    turns: list[Turn] = []
    for index, message in enumerate(asked.messages):
        if turns and turns[-1][0] == message.role:
            turns[-1][1].extend(message.blocks)
        else:
            turns.append((message.role, list(message.blocks), index))
    return turns


def check_last_turn(asked: MessageRequest, turns: list[Turn], ways: Ways) -> None:
    """An assistant message at the end would be continued, where that is possible."""
    role, blocks, _ = turns[-1]
    if role != "assistant":
        return
    if any(block.type == "tool_use" for block in blocks):
        return  # said by check_results
    if asked.output_format is not None or asked.output_config.format is not None:  # agentjido/req_llm#642
        raise refuse(
            "Your API request included an `assistant` message in the final position, which would pre-fill "
            "the `assistant` response. When using output format, pre-filling the `assistant` response is not "
            "supported."
        )
    if not ways.prefill:  # llm-exe/llm-exe#503
        raise refuse(
            "This model does not support assistant message prefill. The conversation must end with a user "
            "message."
        )


def check_results(turns: list[Turn]) -> None:
    """Each call is answered at the start of the next turn, and nothing else is."""
    asked: list[str] = []
    called_at = 0
    for role, blocks, number in [*turns, ("end", [], 0)]:
        if role == "assistant":
            asked, called_at = [block.id for block in blocks if block.type == "tool_use"], number
            continue
        answered: list[str] = []
        leading = True
        for place, block in enumerate(blocks):
            if block.type != "tool_result":
                leading = False
                continue
            if block.tool_use_id not in asked:
                raise refuse(
                    f"messages.{number}.content.{place}: unexpected `tool_use_id` found in `tool_result` "
                    f"blocks: {block.tool_use_id}. Each `tool_result` block must have a corresponding "
                    "`tool_use` block in the previous message."
                )
            if block.tool_use_id in answered:
                raise refuse(
                    f"messages.{number}.content.{place}: each tool_use must have a single result. Found "
                    f"multiple `tool_result` blocks with id: {block.tool_use_id}"
                )
            if leading:
                answered.append(block.tool_use_id)
        if left := [one for one in asked if one not in answered]:
            raise refuse(
                f"messages.{called_at}: `tool_use` ids were found without `tool_result` blocks immediately "
                f"after: {', '.join(left)}. Each `tool_use` block must have a corresponding `tool_result` "
                "block in the next message."
            )
        asked = []


def check_thoughts(asked: MessageRequest, turns: list[Turn]) -> None:
    """Thoughts come back as they were, and with the calls that they led to."""
    for _, blocks, number in turns:
        for place, block in enumerate(blocks):
            if block.type == "thinking" and block.signature != signature_of(block.thinking):
                raise refuse(f"messages.{number}.content.{place}: Invalid `signature` in `thinking` block")
    if not isinstance(asked.thinking, ThinkingEnabled) or len(turns) < 2:
        return
    role, blocks, number = turns[-2]
    calls = any(block.type == "tool_use" for block in blocks)
    if role == "assistant" and calls and blocks[0].type not in ("thinking", "redacted_thinking"):
        raise thought_missing(number, blocks[0].type)


def thought_missing(number: int, found: str) -> Refusal:
    """A turn with calls has to begin with what was thought, while thinking is enabled."""
    return refuse(
        f"messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block "
        "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include "
        "thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult "
        f"our documentation at {THINKING_PAGE}"
    )


def signature_of(thought: str) -> str:
    """What shows that a thought is the model's own."""
    return base64.b64encode(hashlib.sha256(f"signed {thought}".encode()).digest()).decode()
