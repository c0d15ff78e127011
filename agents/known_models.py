"""What PydanticAI's profiles do not say, or say otherwise than hosts do: the table of known exceptions.

A line is a partial PydanticAI profile for the models that its pattern matches, with its reason, where that
can be read, and when it was. Lines apply from top to bottom. Take one out when PydanticAI or the host has
mended it.
"""

import re
from dataclasses import dataclass, field

from pydantic_ai.profiles.openai import OpenAIModelProfile

from agents.schemas import GeminiSchema, GrammarSchema


@dataclass(frozen=True, kw_only=True)
class Known:
    """One line. `models` matches the whole of `provider:model` in lower case (`Model.system`, so `openai:` is
    both of OpenAI's APIs). `why` is a sentence for people, who may have to act on it."""

    models: str
    why: str
    evidence: str
    date: str
    profile: OpenAIModelProfile = field(default_factory=OpenAIModelProfile)
    any_model: bool = False  # the host does this with every model: a name need not stand in any list
    grammar: bool = False  # the host makes a grammar of a schema
    prompted: bool = False  # whatever it says it takes, only the prompt is to be relied on
    require_parameters: bool = False  # OpenRouter's setting for "only hosts that take all of the request"

    def matches(self, name: str) -> bool:
        return re.fullmatch(self.models, name.lower()) is not None


KNOWN: tuple[Known, ...] = (
    # OpenAI's models from before structured outputs. PydanticAI says "native" for every name and leaves the
    # error to the API (the comment in its profiles/openai.py).
    Known(
        models=r"(openai|azure):(gpt-4(?![.o]).*|gpt-3\.5.*|gpt-4o-2024-05-13)",
        why="It is from before json_schema formats; functions can be strict.",
        evidence="https://github.com/crewAIInc/crewAI/pull/6357",
        date="2026-06-26",
        profile=OpenAIModelProfile(supports_json_schema_output=False),
    ),
    Known(
        models=r"(openai|azure):gpt-4(-0314|-0613|-32k.*|-vision-preview|-1106-vision-preview)?",
        why="It is from before JSON mode.",
        evidence="https://github.com/openai/openai-node/issues/439",
        date="2023-11-07",
        profile=OpenAIModelProfile(supports_json_object_output=False),
    ),
    Known(
        models=r"(openai|azure):chatgpt-4o-latest",
        why="OpenAI refuses json_schema formats for it.",
        evidence="https://github.com/web-infra-dev/midscene/issues/259",
        date="2025-01-09",
        profile=OpenAIModelProfile(supports_json_schema_output=False, supports_json_object_output=False),
        prompted=True,
    ),
    Known(
        models=r"(openai|azure):o1-(mini|preview).*",
        why="It takes neither tools nor formats.",
        evidence="https://github.com/567-labs/instructor/issues/1311",
        date="2025-01-18",
        profile=OpenAIModelProfile(
            supports_tools=False, supports_json_schema_output=False, supports_json_object_output=False
        ),
    ),
    # PydanticAI turns thinking off by `reasoning_effort: none`, which DeepSeek does not document.
    Known(
        models=r"deepseek:(deepseek-flash|deepseek-v4-.*)",
        why="Its thinking is turned off by a field of DeepSeek's own.",
        evidence="https://api-docs.deepseek.com/guides/thinking_mode",
        date="2026-11-30",
        profile=OpenAIModelProfile(openai_chat_thinking_false_body={"thinking": {"type": "disabled"}}),
    ),
    Known(
        models=r"(google|google-cloud):gemini-.*",
        why="Gemini refuses schemas whose list bounds add up to too much, so it gets them in words.",
        evidence="https://github.com/googleapis/python-genai/issues/2170, "
        "https://github.com/vercel/ai/issues/21192",
        date="2026-09-20",
        profile=OpenAIModelProfile(json_schema_transformer=GeminiSchema),
    ),
    # Ollama holds any model to a schema since 0.5 (https://ollama.com/blog/structured-outputs), but not all
    # of its engines do at all times (ollama/ollama#15540, #8063), and the model does not see the schema. Of
    # OpenAI's fields it lacks tool_choice (https://docs.ollama.com/api/openai-compatibility).
    Known(
        models=r"ollama:.*",
        why="Ollama makes a grammar of the schema and does not show it: the prompt has it, too. It reads "
        "4,096 tokens unless told otherwise and cuts the rest without a word: set "
        "OLLAMA_CONTEXT_LENGTH=32768 there.",
        evidence="https://docs.ollama.com/capabilities/structured-outputs, "
        "https://github.com/ollama/ollama/issues/15540, https://github.com/ollama/ollama/issues/17889",
        date="2026-06-11",
        profile=OpenAIModelProfile(
            native_output_requires_schema_in_instructions=True,
            supports_forced_tool_choice=False,
            json_schema_transformer=GrammarSchema,
        ),
        any_model=True,
        grammar=True,
    ),
    Known(
        models=r"ollama:(deepseek-r1|gemma3)(:.*)?",
        why="Its template in Ollama has no tools.",
        evidence="https://github.com/ollama/ollama/issues/15023, "
        "https://github.com/louisho5/picobot/issues/6",
        date="2026-03-23",
        profile=OpenAIModelProfile(supports_tools=False),
    ),
    Known(
        models=r"vllm:(?!(.*/)?gpt-oss).*",
        why="vLLM holds any model to a schema, of which it makes a grammar.",
        evidence="https://docs.vllm.ai/en/latest/features/structured_outputs.html",
        date="2026-11-30",
        profile=OpenAIModelProfile(json_schema_transformer=GrammarSchema),
        any_model=True,
        grammar=True,
    ),
    Known(
        models=r"vllm:(.*/)?gpt-oss.*",
        why="vLLM does not hold gpt-oss to a schema.",
        evidence="https://github.com/vllm-project/vllm/issues/23120, "
        "https://github.com/vllm-project/vllm/issues/44216",
        date="2026-11-30",
        profile=OpenAIModelProfile(supports_json_object_output=False),
        any_model=True,
        prompted=True,
    ),
    # OpenRouter passes on what a host takes and drops the rest, so a schema may be lost without a word.
    Known(
        models=r"openrouter:.*",
        why="OpenRouter is asked to choose only among hosts that take the whole request.",
        evidence="https://openrouter.ai/docs/guides/features/structured-outputs",
        date="2026-11-30",
        require_parameters=True,
    ),
)

# At an address of one's own nobody knows what answers: a proxy of OpenAI, or a server that refuses what it
# does not know. LM Studio refuses json_object (lmstudio-ai/lmstudio-bug-tracker#189), servers with Mistral's
# tokenizer `strict` (run-llama/llama_index#19121), chat templates a second system message
# (pydantic/pydantic-ai#5812).
UNKNOWN_SERVER = OpenAIModelProfile(
    supports_json_object_output=False,
    openai_supports_strict_tool_definition=False,
    openai_chat_supports_allowed_tools=False,
    openai_chat_supports_multiple_system_messages=False,
    json_schema_transformer=GrammarSchema,
)

HELD_TO_SCHEMA = OpenAIModelProfile(openai_supports_strict_tool_definition=True)

# Addresses that PydanticAI's OpenAI models can be set to (`hosts.address_setting`), where OpenAI or the
# provider itself answers.
OWN_HOSTS = {
    "openai": r"([a-z]{2}\.)?api\.openai\.com",  # eu.api.openai.com: data residency
    "anthropic": r"api\.anthropic\.com",
    "groq": r"api\.groq\.com",
    "moonshotai": r"api\.moonshot\.(ai|cn)",
    "sambanova": r"api\.sambanova\.ai",
    "litellm": r"api\.openai\.com",  # PydanticAI's default for it; else a proxy of one's own
}

# Hosts that people reach by OPENAI_BASE_URL and that PydanticAI knows better under a name of their own.
BETTER_NAMES = {
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "api.moonshot.ai": "moonshotai",
    "api.moonshot.cn": "moonshotai",
    "dashscope-intl.aliyuncs.com": "alibaba",
    "dashscope.aliyuncs.com": "alibaba",
    "generativelanguage.googleapis.com": "google",
    "openrouter.ai": "openrouter",
}
