"""What went wrong at a model's host, in words for people: what to set, and when to try again."""

import math
import os
import re
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
)
from pydantic_ai.models import Model

from agents.errors import AgentError, Code
from agents.patience import ASK_AGAIN, NotAnAnswer, causes, distrust, is_too_long, sent_too_much

_LONGEST_QUOTE = 200  # characters of what a host said

# Of providers whose variables do not follow from their names (pydantic_ai.providers).
_KEY_SETTINGS = {
    "azure": "AZURE_OPENAI_API_KEY",
    "bedrock": "AWS_BEARER_TOKEN_BEDROCK",
    "cohere": "CO_API_KEY",
    "heroku": "HEROKU_INFERENCE_KEY",
    "huggingface": "HF_TOKEN",
    # PydanticAI's provider reads no key; the same proxy takes one under the other name.
    "litellm": "OPENAI_API_KEY, and openai-chat: in place of litellm:,",
    "snowflake": "SNOWFLAKE_TOKEN",
    "vercel": "VERCEL_AI_GATEWAY_API_KEY",
}
_ADDRESS_SETTINGS = {
    "azure": "AZURE_OPENAI_ENDPOINT",
    "heroku": "HEROKU_INFERENCE_URL",
    "litellm": "OPENAI_BASE_URL",
    **{
        name: f"{name.upper()}_BASE_URL"
        for name in ("anthropic", "groq", "moonshotai", "ollama", "openai", "sambanova", "vllm")
    },
}
_KEYS_IN_TEXT = re.compile(r"\b(?:sk|pk|key|xox\w)-[\w*.\-]{6,}|\bBearer\s+\S+", re.IGNORECASE)
_SECRET_SETTINGS = re.compile(r"_(?:KEY|TOKEN|SECRET|PASSWORD)$")


def key_setting(system: str) -> str:
    """The environment variable with the key of a provider (`Model.system`)."""
    return _KEY_SETTINGS.get(system, f"{system.upper().replace('-', '_')}_API_KEY")


def address_setting(system: str) -> str | None:
    """The environment variable with the base URL of a provider; None where there is none."""
    return _ADDRESS_SETTINGS.get(system)


def key_of(model: Model) -> str | None:
    """The key that a model's library sends, where it can be known."""
    key: object = getattr(getattr(model.provider, "client", None), "api_key", None)
    return key if isinstance(key, str) else None


def host_of(model: Model) -> str:
    """Whom a model asks, for people: a host, or the provider where there is no address."""
    try:
        return urlsplit(model.base_url or "").hostname or model.system
    except ValueError:
        return model.system


def failure(model: Model, error: ModelAPIError) -> AgentError:
    """The failure of a call as an AgentError, for people.

    Raise it `from None`: a host may repeat the key that it was sent, and its answer is part of the libraries'
    errors, and so of a traceback.
    """
    facts = {"host": host_of(model), "model": model.model_name, "key_setting": key_setting(model.system)}
    answered = f"{facts['host']} answered"
    if (address := address_setting(model.system)) is not None:
        facts["address_setting"] = address
    if isinstance(error, ModelHTTPError):
        facts["status"] = str(error.status_code)
        answered += f" {error.status_code}"
    code = _code(error)
    if code == "model_unreachable":
        facts["reason"] = _why_not_connected(error)
    if code == "model_rejected":
        facts["said"] = quoted(error, model)
    if code == "model_busy" and error.retry_after:
        facts["wait"] = _duration(error.retry_after)
    placed = {"address_setting": "the base URL", "wait": "a while", **facts}
    return AgentError(code, _SENTENCES[code].format(**placed, answered=answered, what=_what(error)), facts)


_SENTENCES: Mapping[Code, str] = {
    "not_a_model_host": "{answered} {what}: check {address_setting} (it often ends in /v1) and the "
    "model {model}, then retry.",
    "model_no_credit": "{answered} that the account has no credit left. Top it up, or set another "
    "{key_setting}, then retry.",
    "model_refused_key": "{answered} (key refused). Set {key_setting} on the server, then retry.",
    "unknown_model": "{answered} that it has no model {model}. Set another model, then retry.",
    "request_too_long": "{answered} that the request is longer than {model} can read. Set a model with a "
    "larger context window, then retry.",
    "model_timeout": "{host} did not answer in time. Retry, or set a faster model than {model}.",
    "model_unreachable": "{host} cannot be reached ({reason}). Check the network and {address_setting}, "
    "then retry.",
    "model_rejected": "{answered}: {said}. Set another model than {model}, then retry.",
    "model_busy": "{answered} (busy). Retry in {wait}.",
}
# The first that fits: a code of its own where a person does something else.
_CODES: tuple[tuple[type[ModelAPIError], Code], ...] = (
    (NotAnAnswer, "not_a_model_host"),
    (ModelQuotaExceededError, "model_no_credit"),
    (ModelAuthenticationError, "model_refused_key"),
    (ModelNotFoundError, "unknown_model"),
    (ModelRequestTimeout, "model_timeout"),
    (ModelConnectionError, "model_unreachable"),
    (ModelRequestRejectedError, "model_rejected"),
)


def _code(error: ModelAPIError) -> Code:
    if is_too_long(error):
        return "request_too_long"
    if _is_of_another_server(error):
        return "not_a_model_host"
    if isinstance(error, ModelTimeoutError) and error.phase not in ("connect", "pool"):
        return "model_timeout"
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    if isinstance(error, ModelHTTPError) and error.status_code < 500 and error.status_code not in ASK_AGAIN:
        return "model_rejected"
    return "model_busy"


def quoted(error: ModelAPIError, model: Model) -> str:
    """What a host said of an error: one line, short, and without anything of a key."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        body = inner.get("message") or inner.get("detail") if isinstance(inner, dict) else inner
    said = " ".join(str(body or error.provider_error_code or "no reason given").split())
    for secret in sorted({key_of(model) or "", *_secrets_of_the_environment()}, key=len, reverse=True):
        if len(secret) >= 4:
            said = said.replace(secret, "…")
    said = _KEYS_IN_TEXT.sub("…", said).rstrip(".")
    return said if len(said) <= _LONGEST_QUOTE else said[: _LONGEST_QUOTE - 1] + "…"


def _secrets_of_the_environment() -> set[str]:
    return {value for name, value in os.environ.items() if _SECRET_SETTINGS.search(name.upper())}


def _is_of_another_server(error: ModelAPIError) -> bool:
    """A refusal by a server that knows nothing of models: a web page, or a 404 that speaks of no model."""
    if not isinstance(error, ModelHTTPError) or error.status_code >= 500:
        return False
    speaks_of_it = error.provider_error_code == "model_not_found" or error.model_name in str(error.body)
    return _is_page(error) or (error.status_code in (404, 405) and not speaks_of_it)


def _is_page(error: ModelAPIError) -> bool:
    """Text where JSON was due. The openai models say so in their message and keep no body."""
    if isinstance(error.body, str):
        return error.body.lstrip().startswith("<")
    return isinstance(error, NotAnAnswer) and bool(re.search("expected JSON data|<html", error.message))


def _what(error: ModelAPIError) -> str:
    if sent_too_much(error):
        return "with more than any answer of a model is"
    return "with a web page, not with JSON" if _is_page(error) else "with something that is no model's answer"


def _why_not_connected(error: ModelAPIError) -> str:
    if (tls := distrust(error)) is not None:
        said = getattr(tls, "verify_message", None) or getattr(tls, "reason", None)
        return f"TLS: {said or 'no trust'}"
    for cause in causes(error):
        if isinstance(cause, socket.gaierror):
            return "no such host name"
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused"
        if isinstance(cause, ConnectionResetError):
            return "connection lost"
    if isinstance(error, ModelTimeoutError):
        return "no connection in time"
    return "connection lost" if getattr(error, "phase", None) in ("read", "write") else "no connection"


def _duration(seconds: float) -> str:
    """`40 s`, `10 min`, `3 h`: rounded up, the same in every language."""
    if seconds <= 90:
        return f"{math.ceil(seconds)} s"
    if seconds <= 90 * 60:
        return f"{math.ceil(seconds / 60)} min"
    return f"{math.ceil(seconds / 3600)} h"
