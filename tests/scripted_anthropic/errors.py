"""What Anthropic's host says when it refuses: its envelope, its types, its words where people quote them.

Types and statuses are those of https://platform.claude.com/docs/en/api/errors; what was not found quoted is
marked "unquoted".
"""

import hashlib
from typing import Any

from tests.scripted_openai.errors import Refusal

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
THINKING_PAGE = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


def type_of(status: int) -> str:
    """The type of an error with this status."""
    return TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")


def envelope(message: str, status: int, request_id: str, kind: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    return {
        "type": "error",
        "error": {"type": kind or type_of(status), "message": message},
        "request_id": request_id,
    }


def refuse(message: str, status: int = 400) -> Refusal:
    """A refusal. Its `code` in the record is the type of the error."""
    digest = hashlib.sha256(message.encode()).hexdigest()[:24]
    return Refusal(
        message,
        code=type_of(status),
        status=status,
        raw=envelope(message, status, f"req_011C{digest}"),
    )


def no_key() -> Refusal:
    """401: no x-api-key."""
    return refuse("x-api-key header is required", 401)


def wrong_key() -> Refusal:
    """401: a key nobody knows (eyaltoledano/claude-task-master#222)."""
    return refuse("invalid x-api-key", 401)


def wrong_bearer() -> Refusal:
    """401: the same, of a key that comes as `Authorization: Bearer`. Unquoted for keys."""
    return refuse("Invalid bearer token", 401)


def no_version() -> Refusal:
    """400: no anthropic-version."""
    return refuse("anthropic-version: header is required")


def wrong_version(version: str) -> Refusal:
    """400: a version that is none. Unquoted."""
    return refuse(f'anthropic-version: "{version}" is not a valid version')


def unknown_model(model: str) -> Refusal:
    """404: the message is the field and the name, nothing else."""
    return refuse(f"model: {model}", 404)


def not_json(problem: str) -> Refusal:
    """400: the body is no JSON object. Unquoted."""
    return refuse(f"The request body is not valid JSON: {problem}")


def not_scripted(field: str) -> Refusal:
    """501: Anthropic documents it, this host does not serve it. Better loud than a wrong answer."""
    return refuse(
        f"The scripted host does not serve '{field}'. Leave it out, or teach tests/scripted_anthropic to "
        "serve it.",
        501,
    )
