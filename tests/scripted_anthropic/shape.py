"""Which fields a message request has, and of what type: `MessageCreateParams` of the `anthropic` package.

Anthropic's own host checks with Pydantic, and its sentences are Pydantic's (`max_tokens: Field required`,
`messages.1.content.0.tool_use.text: Extra inputs are not permitted`): so are these.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StrictInt, Tag, ValidationError

from tests.scripted_anthropic.errors import not_scripted, refuse

NAME = "^[a-zA-Z0-9_-]{1,128}$"
UNSERVED = (
    "cache_control",
    "container",
    "context_management",
    "diagnostics",
    "fallbacks",
    "mcp_servers",
    "speed",
    "user_profile_id",
)
# Tags that are ours, not Anthropic's: they tell a string from a list.
OUR_TAGS = ("a string", "a list")


class Closed(BaseModel):
    """An object with these fields and no other; nothing is made of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CacheControl(Closed):
    """A breakpoint of the prompt cache. Nothing is cached here."""

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class TextBlock(Closed):
    """A text."""

    type: Literal["text"]
    text: str
    cache_control: CacheControl | None = None
    citations: list[Any] | None = None


class ImageBlock(Closed):
    """A picture, which is not looked at."""

    type: Literal["image"]
    source: dict[str, Any]
    cache_control: CacheControl | None = None


class ToolUseBlock(Closed):
    """A call that the model has made."""

    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern="^[a-zA-Z0-9_-]+$")]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    input: dict[str, Any]
    cache_control: CacheControl | None = None
    caller: dict[str, Any] | None = None
    toolset_name: str | None = None


def string_or_list(value: Any) -> str:
    """Which of the two it is; what is neither is taken for a list that is wrong."""
    return OUR_TAGS[0] if isinstance(value, str) else OUR_TAGS[1]


ResultBlock = Annotated[TextBlock | ImageBlock, Discriminator("type")]


class ToolResultBlock(Closed):
    """What a call brought."""

    type: Literal["tool_result"]
    tool_use_id: Annotated[str, Field(pattern="^[a-zA-Z0-9_-]+$")]
    content: Annotated[
        Annotated[str, Tag("a string")] | Annotated[list[ResultBlock], Tag("a list")],
        Discriminator(string_or_list),
    ] = ""
    is_error: bool = False
    cache_control: CacheControl | None = None
    toolset_name: str | None = None


class ThinkingBlock(Closed):
    """What the model thought, with the signature that says it did."""

    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinkingBlock(Closed):
    """What the model thought and nobody may read."""

    type: Literal["redacted_thinking"]
    data: str


Block = Annotated[
    TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock | RedactedThinkingBlock,
    Discriminator("type"),
]


class MessageParam(Closed):
    """A turn. `system` as a role is documented for some models, and not served here."""

    role: Literal["user", "assistant"]
    content: Annotated[
        Annotated[str, Tag("a string")] | Annotated[list[Block], Tag("a list")], Discriminator(string_or_list)
    ]

    @property
    def blocks(self) -> list[Any]:
        """The content as blocks: a string is one text."""
        if isinstance(self.content, str):
            return [TextBlock(type="text", text=self.content)]
        return self.content


class InputSchema(BaseModel):
    """A JSON Schema of an object, of which little is checked."""

    model_config = ConfigDict(extra="allow", strict=True)
    type: Literal["object"]
    properties: dict[str, Any] | None = None
    required: list[str] | None = None


class Tool(Closed):
    """A tool of the client's."""

    name: Annotated[str, Field(pattern=NAME)]
    input_schema: InputSchema
    type: Literal["custom"] | None = None
    description: str = ""
    strict: bool = False
    cache_control: CacheControl | None = None
    allowed_callers: list[str] | None = None
    defer_loading: bool = False
    eager_input_streaming: bool | None = None
    input_examples: list[dict[str, Any]] | None = None


class ChooseAuto(Closed):
    """The model decides."""

    type: Literal["auto"]
    disable_parallel_tool_use: bool = False


class ChooseAny(Closed):
    """A call of some tool."""

    type: Literal["any"]
    disable_parallel_tool_use: bool = False


class ChooseTool(Closed):
    """A call of this tool."""

    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool = False


class ChooseNone(Closed):
    """No call."""

    type: Literal["none"]


class ThinkingEnabled(Closed):
    """So many tokens of thought."""

    type: Literal["enabled"]
    budget_tokens: Annotated[StrictInt, Field(ge=1024)]
    display: Literal["summarized", "omitted"] | None = None


class ThinkingAdaptive(Closed):
    """As much thought as it takes."""

    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None


class ThinkingBetweenTools(Closed):
    """No thought up front."""

    type: Literal["between_tools"]


class ThinkingDisabled(Closed):
    """No thought."""

    type: Literal["disabled"]


class JSONFormat(Closed):
    """The text follows this schema."""

    type: Literal["json_schema"]
    schema_: Annotated[dict[str, Any], Field(alias="schema")]


class OutputConfig(Closed):
    """The form of the text, and how much effort goes into it."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: JSONFormat | None = None


class Metadata(Closed):
    """Who asks."""

    user_id: str | None = None


class MessageRequest(Closed):
    """The body of POST /v1/messages."""

    model: str
    max_tokens: Annotated[StrictInt, Field(ge=1)]
    messages: Annotated[list[MessageParam], Field(min_length=1)]
    system: Annotated[
        Annotated[str, Tag("a string")] | Annotated[list[TextBlock], Tag("a list")],
        Discriminator(string_or_list),
    ] = ""
    tools: list[Tool] = []
    tool_choice: Annotated[
        ChooseAuto | ChooseAny | ChooseTool | ChooseNone | None, Field(discriminator="type")
    ] = None
    thinking: Annotated[
        ThinkingEnabled | ThinkingAdaptive | ThinkingBetweenTools | ThinkingDisabled | None,
        Field(discriminator="type"),
    ] = None
    output_config: OutputConfig = OutputConfig()
    output_format: JSONFormat | None = None  # of the beta; see rules.py
    temperature: Annotated[float, Field(ge=0, le=1)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[StrictInt, Field(ge=0)] | None = None
    stop_sequences: list[str] = []
    stream: bool = False
    metadata: Metadata = Metadata()
    service_tier: Literal["auto", "standard_only"] = "auto"
    inference_geo: str | None = None


def read_request(body: dict[str, Any]) -> MessageRequest:
    """The body, checked. Raises Refusal with the first thing that is wrong."""
    for field in UNSERVED:
        if body.get(field) is not None:
            raise not_scripted(field)
    try:
        return MessageRequest.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        steps = [str(step) for step in first["loc"] if step not in OUR_TAGS]
        if steps[0] == "tools" and len(steps) > 2:
            steps.insert(2, "custom")  # the kind of tool, of which this host knows one
        raise refuse(f"{'.'.join(steps)}: {first['msg']}") from None
