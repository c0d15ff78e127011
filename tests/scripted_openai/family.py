"""How hosts that say they speak OpenAI's chat completions depart from it, each as public evidence has it.

`Family` is what a host does; the ready-made ones are real hosts. Evidence is a page of the maker, its source,
or a public issue with the answer quoted, and stands beside each family.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Body = Mapping[str, Any]
Together = Literal["work", "dead", "dead unless forced", "refused"]
Manner = Literal["openai", "deepseek", "dashscope", "groq", "google", "vllm", "ollama", "llama.cpp"]


@dataclass(frozen=True)
class Sloppiness:
    """What gateways leave out, add and get wrong. The script is not asked for answers that are spoiled."""

    no_usage: bool = False
    empty_choices: int = 0  # so many answers have `choices: []`, first
    errors_as_200: int = 0  # then so many are errors with status 200
    extra_fields: bool = False  # fields that OpenAI does not know, in each answer


@dataclass(frozen=True)
class Family:
    """What a host takes and does. `manner` is whose words it refuses with."""

    name: str
    manner: Manner
    models: tuple[str, ...]
    json_schema: bool = True  # takes response_format json_schema
    schemas: Literal["openai", "grammar", "any"] = "openai"  # whose rules a schema has to follow
    format_held: Literal["strict", "always"] = "strict"  # when a text is held to its schema
    arguments_held: Literal["strict", "always", "never"] = "strict"  # when a call's arguments are
    tools: bool = True
    tools_with_format: Together = "work"
    strict: bool = True  # knows the field `strict`
    thinks: Literal["never", "unless told not to"] = "never"
    json_mode_while_thinking: bool = True
    thoughts_passed_back: bool = False  # after tool calls the host wants its reasoning_content back
    extra_fields: frozenset[str] = frozenset()  # of a request, beyond OpenAI's
    sloppiness: Sloppiness = Sloppiness()

    def thinks_about(self, body: Body) -> bool:
        """Whether the model thinks before it answers this request."""
        if self.thinks == "never":
            return False
        told = body.get("thinking")
        off = isinstance(told, dict) and told.get("type") == "disabled"
        return not off and body.get("enable_thinking") is not False

    def tools_work(self, response_format: str, choice: str) -> bool:
        """Whether the model can call the tools of a request that the host has taken."""
        if response_format == "text" or self.tools_with_format == "work":
            return True
        return self.tools_with_format == "dead unless forced" and choice == "required"

    @property
    def forced_call_drops_format(self) -> bool:
        """A demanded call is made, and response_format is forgotten."""
        return self.tools_with_format == "dead unless forced"

    def holds_format(self, *, strict: bool) -> bool:
        """Whether a text is held to its schema."""
        return strict or self.format_held == "always"

    def holds_arguments(self, *, strict: bool) -> bool:
        """Whether the arguments of a call are held to the parameters."""
        return self.arguments_held == "always" or (strict and self.arguments_held == "strict")


# api.openai.com.
FULL = Family("full", "openai", ("gpt-4.1-mini", "gpt-4.1"))

# DeepSeek without thinking. `json_schema`: 400, "This response_format type is unavailable now"
# (UKGovernmentBEIS/inspect_ai#4916, llm-exe/llm-exe#662, both 2026). `json_object` wants the word "json" in
# the prompt (browserbase/stagehand#1204). `strict` in a function is for base_url /beta only
# (https://api-docs.deepseek.com/guides/tool_calls); no report was found that it is refused elsewhere, so it
# is taken and does nothing.
JSON_OBJECT_ONLY = Family(
    "json object only",
    "deepseek",
    ("deepseek-chat",),
    json_schema=False,
    schemas="any",
    arguments_held="never",
    extra_fields=frozenset({"thinking"}),
)

# vLLM: tools and response_format are taken together, but the text is constrained from its first token, so a
# call is never made (vllm-project/vllm#39929, open in 2026), unless tool_choice demands one: then
# response_format is dropped (vllm-project/vllm#32006). Every schema is kept to, `strict` or not; arguments
# are only constrained where a call is demanded, which nothing here counts on.
TOOLS_DEAD_WITH_FORMAT = Family(
    "tools dead with format",
    "vllm",
    ("qwen3.5-27b",),
    schemas="any",
    format_held="always",
    arguments_held="never",
    tools_with_format="dead unless forced",
    extra_fields=frozenset({"chat_template_kwargs"}),
)

# Groq: 400, "json mode cannot be combined with tool/function calling" (vercel/ai#16540, 2026; in 2024 the
# sentence began with "response_format", agno-agi/agno#1065).
TOOLS_WITH_FORMAT_REFUSED = Family(
    "tools with format refused",
    "groq",
    ("openai/gpt-oss-120b",),
    schemas="openai",
    arguments_held="never",
    tools_with_format="refused",
)

# Gemini 2.5 behind Google's OpenAI endpoint: 400, and the body is a list
# (Simpleyyt/ai-manus#101, openai/openai-agents-python#656).
TOOLS_WITH_FORMAT_REFUSED_BY_GOOGLE = Family(
    "tools with format refused by Google",
    "google",
    ("gemini-2.5-flash",),
    schemas="any",
    format_held="always",
    arguments_held="never",
    tools_with_format="refused",
)

# DeepSeek V4, which thinks unless told not to: tool_choice "required" or a named function is refused, "auto"
# and "none" are taken (BerriAI/litellm#37470 measured it; deepseek-ai/DeepSeek-V3#1376). Answers have
# `reasoning_content`, and an assistant message with tool calls must bring it back, an empty one at least
# (https://api-docs.deepseek.com/guides/thinking_mode, anomalyco/opencode#24083, vectorize-io/hindsight#1253).
# Structured output is as without thinking.
NO_FORCED_TOOL_WHILE_THINKING = replace(
    JSON_OBJECT_ONLY,
    name="no forced tool while thinking",
    models=("deepseek-v4-flash",),
    thinks="unless told not to",
    thoughts_passed_back=True,
)

# Qwen on DashScope: the same in other words (cloudwego/eino#994), and no JSON mode while it thinks
# (presenton/presenton#184, bytedance/deer-flow#80: 2025; qwen3.8 of September 2026 takes it,
# QwenLM/Qwen#2329). What was thought need not come back.
NO_FORCED_TOOL_NOR_JSON_WHILE_THINKING = Family(
    "no forced tool nor JSON while thinking",
    "dashscope",
    ("qwen3-235b-a22b-thinking-2507",),
    schemas="any",
    format_held="always",
    arguments_held="never",
    thinks="unless told not to",
    json_mode_while_thinking=False,
    extra_fields=frozenset({"enable_thinking", "thinking_budget"}),
)

# vLLM 0.9.1 with Mistral's tokenizer: a function with `strict`, true or false, is refused by a model that
# forbids extra fields (run-llama/llama_index#19121). The same of json_schema.strict is unquoted.
NO_STRICT = Family(
    "no strict",
    "vllm",
    ("mistral-small-2506",),
    schemas="any",
    format_held="always",
    arguments_held="never",
    strict=False,
)

# Ollama with a model whose template has no tools (ollama/ollama#6027; the type is that of 2026,
# FerroxLabs/wayland#389). A schema is made a grammar there too, but its own one, with other gaps.
NO_TOOLS = Family("no tools", "ollama", ("gemma3:4b",), schemas="any", format_held="always", tools=False)

# llama.cpp's server: response_format and the parameters of tools become grammars, and nothing else is said
# (ggml-org/llama.cpp common/json-schema-to-grammar.cpp; what cannot be converted: grammar.py). With a schema
# for the answer the parser takes nothing but that, so tools are never called, demanded or not
# (ggml-org/llama.cpp#25454, open in 2026). The model does not see the schema (ggml-org/llama.cpp#18492).
GRAMMAR = Family(
    "grammar",
    "llama.cpp",
    ("qwen3-8b-q4_k_m.gguf",),
    schemas="grammar",
    format_held="always",
    arguments_held="always",
    tools_with_format="dead",
    extra_fields=frozenset({"chat_template_kwargs", "cache_prompt"}),
)

# A gateway with the faults of several: errors with status 200 (OpenRouter's "Errors and Debugging": once the
# upstream has begun, the status stays 200 and the body is an error), `choices: []`
# (pydantic/pydantic-ai#7909), no usage, unknown fields (`provider`, `native_finish_reason`: OpenRouter).
SLOPPY = replace(
    FULL,
    name="sloppy",
    sloppiness=Sloppiness(no_usage=True, empty_choices=1, errors_as_200=1, extra_fields=True),
)

FAMILIES = (
    FULL,
    JSON_OBJECT_ONLY,
    TOOLS_DEAD_WITH_FORMAT,
    TOOLS_WITH_FORMAT_REFUSED,
    TOOLS_WITH_FORMAT_REFUSED_BY_GOOGLE,
    NO_FORCED_TOOL_WHILE_THINKING,
    NO_FORCED_TOOL_NOR_JSON_WHILE_THINKING,
    NO_STRICT,
    NO_TOOLS,
    GRAMMAR,
    SLOPPY,
)
