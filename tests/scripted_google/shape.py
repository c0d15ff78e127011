"""Which fields a generateContent request has, and of what type, as Google's protocol buffers have it.

From `GenerateContentRequest` (https://ai.google.dev/api/generate-content) and the `google-genai` package.
Names are camelCase or snake_case, as the host takes both. The sentences are those of its JSON parser.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from tests.scripted_google.errors import not_scripted, violations
from tests.scripted_openai.errors import Refusal

UNSERVED = ("cachedContent", "labels", "continuationToken")
UNSERVED_SETTINGS = ("speechConfig", "imageConfig", "responseLogprobs", "logprobs", "mediaResolution")
UNSERVED_TOOLS = (
    *("googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "fileSearch", "googleMaps"),
    *("computerUse", "mcpServers"),
)
KINDS = {
    "string": "TYPE_STRING",
    "int": "TYPE_INT32",
    "float": "TYPE_FLOAT",
    "bool": "TYPE_BOOL",
    "literal": "TYPE_ENUM",
}


def upper(value: Any) -> Any:
    """Enums are taken in small letters too."""
    return value.upper() if isinstance(value, str) else value


def number(value: Any) -> Any:
    """A 64-bit integer, which protocol buffers write as a string."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


Int64 = Annotated[int, BeforeValidator(number)]
TypeName = Annotated[
    Literal["TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"],
    BeforeValidator(upper),
]


class Proto(BaseModel):
    """A message of protocol buffers: these fields and no other, nothing made of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


class Schema(Proto):
    """A schema of the OpenAPI subset: no const, no $ref, no additionalProperties, one type."""

    type: TypeName | None = None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    nullable: bool | None = None
    enum: list[str] | None = None
    properties: dict[str, "Schema"] | None = None
    required: list[str] | None = None
    items: "Schema | None" = None
    any_of: "list[Schema] | None" = None
    property_ordering: list[str] | None = None
    min_items: Int64 | None = None
    max_items: Int64 | None = None
    min_properties: Int64 | None = None
    max_properties: Int64 | None = None
    min_length: Int64 | None = None
    max_length: Int64 | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    default: Any = None
    example: Any = None


class FunctionCall(Proto):
    """A call that the model has made."""

    id: str | None = None
    name: str = ""
    args: dict[str, Any] | None = None


class FunctionResponse(Proto):
    """What a call brought: an object."""

    id: str | None = None
    name: str = ""
    response: dict[str, Any] | None = None


class Blob(Proto):
    """A picture or a file, which is not looked at."""

    mime_type: str
    data: str
    display_name: str | None = None


class Part(Proto):
    """A text, a call, a result or a file."""

    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    inline_data: Blob | None = None


class Content(Proto):
    """A turn."""

    role: str = ""
    parts: list[Part] = []


class FunctionDeclaration(Proto):
    """A function on offer, its parameters in either kind of schema."""

    name: str = ""
    description: str = ""
    parameters: Schema | None = None
    parameters_json_schema: Any = None
    response: Schema | None = None
    response_json_schema: Any = None
    behavior: str | None = None


class Tool(Proto):
    """Functions on offer; Google's own tools are not served."""

    function_declarations: list[FunctionDeclaration] = []


class FunctionCallingConfig(Proto):
    """What the model may call."""

    mode: Annotated[
        Literal["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"], BeforeValidator(upper)
    ] = "AUTO"
    allowed_function_names: list[str] = []


class ToolConfig(Proto):
    """How tools are used."""

    function_calling_config: FunctionCallingConfig = FunctionCallingConfig()
    include_server_side_tool_invocations: bool | None = None


class ThinkingConfig(Proto):
    """How much thought, and whether it is shown."""

    include_thoughts: bool = False
    thinking_budget: int | None = None
    thinking_level: Annotated[
        Literal["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"] | None,
        BeforeValidator(upper),
    ] = None


class GenerationConfig(Proto):
    """How the answer is made."""

    stop_sequences: list[str] = []
    response_mime_type: str = ""
    response_schema: Schema | None = None
    response_json_schema: Any = None
    response_modalities: list[str] = []
    candidate_count: int | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    thinking_config: ThinkingConfig = ThinkingConfig()


class GenerateRequest(Proto):
    """The body of POST /v1beta/models/{model}:generateContent. The model may stand in it too."""

    contents: list[Content] = []
    system_instruction: Content | None = None
    tools: list[Tool] = []
    tool_config: ToolConfig = ToolConfig()
    generation_config: GenerationConfig = GenerationConfig()
    safety_settings: list[dict[str, Any]] = []
    service_tier: str | None = None
    store: bool | None = None
    model: str | None = None


def read_request(body: dict[str, Any]) -> GenerateRequest:
    """The body, checked. Raises Refusal with all that is wrong in its fields."""
    for field in UNSERVED:
        if field in body:
            raise not_scripted(field)
    settings = body.get("generationConfig")
    for field in UNSERVED_SETTINGS:
        if isinstance(settings, dict) and field in settings:
            raise not_scripted(f"generationConfig.{field}")
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        for field in UNSERVED_TOOLS:
            if isinstance(tool, dict) and field in tool:
                raise not_scripted(f"tools.{field}")
    try:
        return GenerateRequest.model_validate(body)
    except ValidationError as error:
        raise refusal_of(error, body) from None


def refusal_of(error: ValidationError, body: dict[str, Any]) -> Refusal:
    """Pydantic's findings in the words of Google's parser."""
    found: list[tuple[str, str]] = []
    for one in error.errors():
        *above, last = one["loc"]
        place, parent = place_of([*above, last], body), place_of(above, body)
        kind = one["type"].split("_")[0]
        at = f" at '{parent}'" if parent else ""
        if one["type"] == "extra_forbidden":
            found.append(
                (parent, f'Invalid JSON payload received. Unknown name "{last}"{at}: Cannot find field.')
            )
        elif isinstance(one["input"], list):
            found.append(
                (
                    parent,
                    f'Invalid JSON payload received. Unknown name "{last}"{at}: Proto field is not '
                    "repeating, "
                    "cannot start list.",
                )
            )
        else:
            name = KINDS.get(kind, "type.googleapis.com/google.ai.generativelanguage.v1beta.Message")
            shown = f'"{one["input"]}"' if isinstance(one["input"], str) else one["input"]
            found.append((place, f"Invalid value at '{place}' ({name}), {shown}"))
    return violations(found)


def place_of(steps: list[int | str], body: Any) -> str:
    """`tools[0].function_declarations[1].parameters.properties[2].value`: maps count their entries."""
    place, before = "", ""
    for step in steps:
        if isinstance(step, int):
            place += f"[{step}]"
            body = body[step]
        elif before == "properties":
            place += f"[{list(body).index(step)}].value"
            body = body[step]
        else:
            snake = "".join(f"_{one.lower()}" if one.isupper() else one for one in step)
            place += f".{snake}" if place else snake
            body = body.get(step, body.get(snake)) if isinstance(body, dict) else None
        before = str(step)
    return place
