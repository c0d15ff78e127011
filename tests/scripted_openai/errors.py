"""What the host says when it refuses: OpenAI's error bodies, word for word where they are known.

The wordings are those of api.openai.com as people quote them in public issue trackers. What was not found
there is marked "unquoted": status and code are OpenAI's, the sentence is near to theirs.
"""

from typing import Any

INVALID = "invalid_request_error"


class Refusal(Exception):
    """A request that the real host would refuse, with the body it would send."""

    def __init__(
        self,
        message: str,
        param: str | None = None,
        code: str | None = None,
        *,
        status: int = 400,
        kind: str = INVALID,
        raw: Any = None,
    ) -> None:
        """`raw` is a body that does not have OpenAI's shape: other hosts' errors."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.code = code
        self.kind = kind
        self.raw = raw

    def body(self) -> Any:
        """The JSON that goes out."""
        return (
            self.raw if self.raw is not None else error_body(self.message, self.kind, self.param, self.code)
        )


def error_body(message: str, kind: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """OpenAI's envelope of an error. All four keys are always there."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def no_key() -> Refusal:
    """401: no `Authorization: Bearer`."""
    return Refusal(
        "You didn't provide an API key. You need to provide your API key in an Authorization header using "
        "Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) "
        "if you're accessing the API from your browser and are prompted for a username and password. You can "
        "obtain an API key from https://platform.openai.com/account/api-keys.",
        status=401,
    )


def wrong_key(key: str) -> Refusal:
    """401: a key nobody knows. The host shows its first eight and last four characters."""
    shown = key if len(key) <= 8 else f"{key[:8]}{'*' * max(len(key) - 12, 3)}{key[-4:]}"
    return Refusal(
        f"Incorrect API key provided: {shown}. You can find your API key at "
        "https://platform.openai.com/account/api-keys.",
        code="invalid_api_key",
        status=401,
    )


def unknown_model(model: str) -> Refusal:
    """404: in the body of a request."""
    return Refusal(
        f"The model `{model}` does not exist or you do not have access to it.",
        code="model_not_found",
        status=404,
    )


def no_such_responses_model(model: str) -> Refusal:
    """400: in the body of a request of the Responses API."""
    return Refusal(f"The requested model '{model}' does not exist.", "model", "model_not_found")


def no_response_before(identity: str) -> Refusal:
    """400: previous_response_id is of no response that was kept."""
    return Refusal(
        f"Previous response with id '{identity}' not found.",
        "previous_response_id",
        "previous_response_not_found",
    )


def input_too_long() -> Refusal:
    """400: more than the model can read, in the Responses API."""
    return Refusal(
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "input",
        "context_length_exceeded",
    )


def no_such_model_page(model: str) -> Refusal:
    """404: GET /v1/models/{model}. Unquoted."""
    return Refusal(f"The model '{model}' does not exist", "model", "model_not_found", status=404)


def wrong_kind_of_model(verb: str) -> Refusal:
    """403: an embedding model is asked to chat, or a chat model to embed."""
    return Refusal(f"You are not allowed to {verb} from this model", status=403)


def unknown_url(method: str, path: str) -> Refusal:
    """404: no such address."""
    return Refusal(f"Invalid URL ({method} {path})", status=404)


def wrong_method(method: str, path: str) -> Refusal:
    """405. Unquoted."""
    return Refusal(
        f"Not allowed to {method} on {path} (HINT: Perhaps you meant to use a different HTTP method?)",
        code="method_not_supported",
        status=405,
    )


def wrong_content_type(content_type: str) -> Refusal:
    """400: the body is not said to be JSON."""
    return Refusal(
        f"Unsupported content type: '{content_type}'. This API method only accepts 'application/json' "
        f"requests, but you specified the header 'Content-Type: {content_type}'. Please try again with a "
        "supported content type.",
        code="unsupported_content_type",
    )


def not_json() -> Refusal:
    """400: the body is no JSON object in UTF-8."""
    return Refusal(
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your "
        "HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid "
        "JSON. If you have trouble figuring out how to fix this, please contact us through our help center "
        "at help.openai.com.)"
    )


def not_scripted(field: str) -> Refusal:
    """501: OpenAI documents it, this host does not serve it. Better loud than a wrong answer."""
    return Refusal(
        f"The scripted host does not serve '{field}'. Leave it out, or teach tests/scripted_openai to serve "
        "it.",
        field,
        "not_scripted",
        status=501,
    )
