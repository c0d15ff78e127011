"""What Google's host says when it refuses: `google.rpc` bodies, with its words where people quote them.

What was not found quoted is marked "unquoted".
"""

from collections.abc import Sequence
from typing import Any

from tests.scripted_openai.errors import Refusal

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
LIMITS_PAGE = "https://ai.google.dev/gemini-api/docs/rate-limits"
BAD_KEY = "API key not valid. Please pass a valid API key."


def envelope(message: str, status: int, details: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The body of an error."""
    error: dict[str, Any] = {
        "code": status,
        "message": message,
        "status": STATUSES.get(status, "UNKNOWN"),
    }
    if details:
        error["details"] = list(details)
    return {"error": error}


def refuse(message: str, status: int = 400, details: Sequence[dict[str, Any]] = ()) -> Refusal:
    """A refusal. Its `code` in the record is the status of google.rpc."""
    raw = envelope(message, status, details)
    return Refusal(message, code=raw["error"]["status"], status=status, raw=raw)


def violations(found: Sequence[tuple[str, str]]) -> Refusal:
    """400: fields that do not exist or hold what they cannot, and where (zed-industries/zed#44875)."""
    listed = [
        {"field": place, "description": problem} if place else {"description": problem}
        for place, problem in found
    ]
    details = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": listed}
    return refuse("\n".join(problem for _, problem in found), details=[details])


def invalid(place: str, problem: str) -> Refusal:
    """400: a field whose value is wrong, in the form of the host's own checks."""
    return refuse(f"* GenerateContentRequest.{place}: {problem}\n")


def no_key() -> Refusal:
    """403: no key at all (PublicAffairs/openai-gemini#92)."""
    return refuse(
        "Method doesn't allow unregistered callers (callers without established identity). Please use API "
        "Key "
        "or other form of API consumer identity to call this API.",
        403,
    )


def wrong_key_details() -> list[dict[str, Any]]:
    """What stands beside a bad key (can1357/oh-my-pi#449)."""
    return [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        },
        {
            "@type": "type.googleapis.com/google.rpc.LocalizedMessage",
            "locale": "en-US",
            "message": BAD_KEY,
        },
    ]


def wrong_key() -> Refusal:
    """400, not 401: a key nobody knows."""
    return refuse(BAD_KEY, details=wrong_key_details())


def unknown_model(model: str) -> Refusal:
    """404 (google-gemini/gemini-api-quickstart#20)."""
    return refuse(
        f"models/{model} is not found for API version v1beta, or is not supported for generateContent. Call "
        "ListModels to see the list of available models and their supported methods.",
        404,
    )


def over_quota(model: str, seconds: float, *, daily: bool) -> dict[str, Any]:
    """429: too many requests a minute, or a day (googleapis/python-genai#2044, continuedev/continue#9570)."""
    metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
    span = "Day" if daily else "Minute"
    limit = 0 if daily else 10
    message = (
        "You exceeded your current quota, please check your plan and billing details. For more information "
        "on "
        f"this error, head to: {LIMITS_PAGE}. To monitor your current usage, head to: "
        f"https://ai.dev/rate-limit. \n* Quota exceeded for metric: {metric}, limit: {limit}, model: "
        f"{model}\n"
        f"Please retry in {seconds:g}s."
    )
    return envelope(
        message,
        429,
        [
            {
                "@type": "type.googleapis.com/google.rpc.Help",
                "links": [{"description": "Learn more about Gemini API quotas", "url": LIMITS_PAGE}],
            },
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [
                    {
                        "quotaMetric": metric,
                        "quotaId": f"GenerateRequestsPer{span}PerProjectPerModel-FreeTier",
                        "quotaDimensions": {"location": "global", "model": model},
                        "quotaValue": str(limit),
                    }
                ],
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds:g}s"},
        ],
    )


def not_scripted(field: str) -> Refusal:
    """501: Google documents it, this host does not serve it. Better loud than a wrong answer."""
    return refuse(
        f"The scripted host does not serve '{field}'. Leave it out, or teach tests/scripted_google to serve "
        "it.",
        501,
    )
