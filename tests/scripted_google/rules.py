"""What a generateContent request has to be beyond its fields: what goes together, and the order of turns."""

import re

from tests.scripted_google.errors import invalid, not_scripted, refuse
from tests.scripted_google.shape import Content, FunctionDeclaration, GenerateRequest, Schema
from tests.scripted_openai.strict_schema import SchemaProblem, check_well_formed

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
ROLES = ("user", "model", "function", "")
JSON = "application/json"
SIGNATURES = "https://ai.google.dev/gemini-api/docs/thought-signatures"


def is_older(model: str) -> bool:
    """Gemini before 3: no tools beside JSON, no thinking levels, no thought signatures to bring back."""
    return model.startswith(("gemini-1", "gemini-2"))


def check_rules(asked: GenerateRequest, model: str) -> None:
    """Refuses what is wrong in a request whose fields are each right."""
    check_contents(asked)
    check_functions(asked)
    check_format(asked, model)
    check_thinking(asked, model)
    check_settings(asked)
    check_turns(asked.contents)
    if not is_older(model):
        check_signatures(asked.contents)


def check_contents(asked: GenerateRequest) -> None:
    """Turns with something in them, of roles that exist."""
    if not asked.contents:
        raise invalid("contents", "contents is not specified")
    for index, content in enumerate(asked.contents):
        if content.role not in ROLES:
            raise refuse("Please use a valid role: user, model.")
        if not content.parts:
            raise invalid(f"contents[{index}].parts", "contents.parts must not be empty.")
        for place, part in enumerate(content.parts):
            held = (part.text, part.function_call, part.function_response, part.inline_data)
            if sum(one is not None for one in held) != 1:
                raise invalid(
                    f"contents[{index}].parts[{place}].data",
                    "required oneof field 'data' must have one initialized field",
                )


def functions_of(asked: GenerateRequest) -> list[FunctionDeclaration]:
    """All functions on offer."""
    return [function for tool in asked.tools for function in tool.function_declarations]


def check_functions(asked: GenerateRequest) -> None:
    """Names and parameters, and a choice among them."""
    names: list[str] = []
    for index, tool in enumerate(asked.tools):
        for number, function in enumerate(tool.function_declarations):
            place = f"tools[{index}].function_declarations[{number}]"
            if not NAME.fullmatch(function.name):
                raise invalid(
                    f"{place}.name",
                    "Invalid function name. Must start with a letter or an underscore. Must be alphameric "
                    "(a-z, "
                    "A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length "
                    "of "
                    "64.",
                )
            if function.name in names:
                raise refuse(f"Duplicate function declaration found: {function.name}")
            names.append(function.name)
            if function.parameters is not None and function.parameters_json_schema is not None:  # unquoted
                raise invalid(place, "only one of parameters and parameters_json_schema can be set")
            if function.parameters_json_schema is not None:
                check_json_schema(function.parameters_json_schema, f"{place}.parameters_json_schema")
            if function.parameters is not None:
                check_schema(function.parameters, f"{place}.parameters")
    config = asked.tool_config.function_calling_config
    for name in config.allowed_function_names:  # both unquoted
        if config.mode not in ("ANY", "VALIDATED"):
            raise refuse("`allowed_function_names` can only be set with the function calling mode ANY.")
        if name not in names:
            raise refuse(f"Allowed function name {name} is not one of the declared functions.")
    if config.mode == "ANY" and not names:  # unquoted
        raise refuse("Function calling config is set without function_declarations.")


def check_schema(schema: Schema, place: str) -> None:
    """Objects have properties, arrays have items (of the OpenAPI kind of schema)."""
    if schema.type == "OBJECT" and not schema.properties:
        raise invalid(f"{place}.properties", "should be non-empty for OBJECT type")
    if schema.type == "ARRAY" and schema.items is None:
        raise invalid(f"{place}.items", "missing field.")
    for name in schema.required or ():
        if name not in (schema.properties or {}):
            raise invalid(f"{place}.required[0]", "property is not defined")
    for name, inner in (schema.properties or {}).items():
        check_schema(inner, f"{place}.properties[{name}]")
    if schema.items is not None:
        check_schema(schema.items, f"{place}.items")
    for index, branch in enumerate(schema.any_of or ()):
        check_schema(branch, f"{place}.any_of[{index}]")


def check_json_schema(schema: object, place: str) -> None:
    """It is a JSON Schema at all; what the model cannot keep to, it ignores. Unquoted."""
    try:
        check_well_formed(schema)
    except SchemaProblem as problem:
        raise invalid(place, f"is not a valid JSON Schema: {problem}") from None


def check_format(asked: GenerateRequest, model: str) -> None:
    """JSON for the text: not beside functions on older models, not with a forced call on any."""
    settings = asked.generation_config
    schemas = [one for one in (settings.response_schema, settings.response_json_schema) if one is not None]
    if settings.response_mime_type not in ("", "text/plain", JSON, "text/x.enum"):
        raise invalid(
            "generation_config.response_mime_type",
            "allowed mimetypes are `text/plain`, `application/json`, `application/xml`, `application/yaml` "
            "and "
            "`text/x.enum`.",
        )
    if settings.response_mime_type == "text/x.enum":
        raise not_scripted("generationConfig.responseMimeType text/x.enum")
    if len(schemas) == 2:  # unquoted
        raise invalid("generation_config", "only one of response_schema and response_json_schema can be set")
    if schemas and settings.response_mime_type != JSON:  # unquoted
        raise invalid(
            "generation_config.response_schema", "only allowed with response_mime_type `application/json`."
        )
    if settings.response_json_schema is not None:
        check_json_schema(settings.response_json_schema, "generation_config.response_json_schema")
    if settings.response_schema is not None:
        check_schema(settings.response_schema, "generation_config.response_schema")
    if settings.response_mime_type != JSON or not functions_of(asked):
        return
    if is_older(model):  # googleapis/python-genai#867; 3 takes them together: python-genai#706, last comment
        raise refuse("Function calling with a response mime type: 'application/json' is unsupported")
    if asked.tool_config.function_calling_config.mode == "ANY":  # vercel/ai#16540
        raise refuse(
            "Forced function calling (ANY mode) with a response mime type: 'application/json' is unsupported"
        )


def check_thinking(asked: GenerateRequest, model: str) -> None:
    """A budget or a level, whichever the model has."""
    thinking = asked.generation_config.thinking_config
    if thinking.thinking_level is not None and thinking.thinking_budget is not None:
        raise refuse("You can only set only one of thinking budget and thinking level.")
    if thinking.thinking_level is not None and is_older(model):
        raise refuse("Thinking level is not supported for this model.")


def check_settings(asked: GenerateRequest) -> None:
    """Ranges. Unquoted."""
    settings = asked.generation_config
    if settings.temperature is not None and not 0 <= settings.temperature <= 2:
        raise invalid("generation_config.temperature", "temperature must be in the range [0.0, 2.0].")
    if settings.top_p is not None and not 0 <= settings.top_p <= 1:
        raise invalid("generation_config.top_p", "top_p must be in the range [0.0, 1.0].")
    if settings.max_output_tokens is not None and settings.max_output_tokens < 1:
        raise invalid("generation_config.max_output_tokens", "max_output_tokens must be positive.")
    if len(settings.stop_sequences) > 5:
        raise invalid("generation_config.stop_sequences", "at most 5 stop sequences are allowed.")
    if settings.candidate_count not in (None, 1):
        raise not_scripted("generationConfig.candidateCount")
    if any(modality != "TEXT" for modality in settings.response_modalities):
        raise not_scripted("generationConfig.responseModalities")


def calls_in(content: Content) -> int:
    """How many calls a turn makes."""
    return sum(part.function_call is not None for part in content.parts)


def results_in(content: Content) -> int:
    """How many results a turn brings."""
    return sum(part.function_response is not None for part in content.parts)


def check_turns(contents: list[Content]) -> None:
    """Calls follow a user or results; as many results as calls follow them (microsoft/vscode#299295)."""
    before: Content | None = None
    for content in [*contents, Content()]:
        if calls_in(content) and (before is None or before.role == "model"):
            raise refuse(
                "Please ensure that function call turn comes immediately after a user turn or after a "
                "function "
                "response turn."
            )
        calls = calls_in(before) if before is not None else 0
        if results_in(content) and not calls:
            raise refuse(
                "Please ensure that function response turn comes immediately after a function call turn."
            )
        if calls != results_in(content):
            raise refuse(
                "Please ensure that the number of function response parts is equal to the number of function "
                "call parts of the function call turn."
            )
        before = content


def check_signatures(contents: list[Content]) -> None:
    """The first call of each step since the user last spoke brings its signature (thClaws/thClaws#65)."""
    spoken = [
        index for index, content in enumerate(contents) if content.role != "model" and not results_in(content)
    ]
    start = spoken[-1] if spoken else 0
    for index, content in enumerate(contents):
        calls = [part for part in content.parts if part.function_call is not None]
        if index > start and calls and not calls[0].thought_signature and calls[0].function_call is not None:
            raise refuse(
                "Function call is missing a thought_signature in functionCall parts. This is required for "
                "tools "
                "to work correctly, and missing thought_signature may lead to degraded model performance. "
                f"Additional data, function call `default_api:{calls[0].function_call.name}` , position "
                f"{index + 1}. Please refer to {SIGNATURES} for more details."
            )
