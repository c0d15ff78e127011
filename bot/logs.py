"""What a line of the log looks like: which article and leg it is about, and never a secret."""

import json
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TextIO
from urllib.parse import parse_qs, unquote, urlsplit

from opentelemetry import trace

# What the environment calls its secrets, ours and those of model providers alike.
_NAMES_OF_SECRETS = re.compile(r"(_KEY|_TOKEN|_SECRET|_PASSWORD|_HEADERS)$|^PGPASSWORD$")
# Shorter ones stand in too many words; no host gives out a key of that length.
_SHORTEST_SECRET = 8
# Also of secrets that are not in the environment: Slack's tokens, the addresses at which it takes answers
# without one, tickets of Socket Mode, keys of the usual shape, the password of an address.
_LOOKS_SECRET = re.compile(
    r"x(?:ox[a-z]|app)-[\w-]{4,}|(?<=hooks\.slack\.com/)[\w/-]+|(?<=ticket=)[\w-]+|\bsk-[\w-]{16,}"
    r"|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
)
# They tell of every request and job at INFO.
_TALKATIVE = ("httpx", "httpx2", "openai", "apscheduler", "procrastinate")


@dataclass(frozen=True, slots=True)
class _Leg:
    article_id: int
    name: str


_at_work_on: ContextVar[_Leg | None] = ContextVar("at_work_on", default=None)


@contextmanager
def about_leg(article_id: int, name: str) -> Iterator[None]:
    """All that is logged within, by us and by libraries, also in tasks and threads, names this leg."""
    token = _at_work_on.set(_Leg(article_id, name))
    try:
        yield
    finally:
        _at_work_on.reset(token)


def set_up_logs(level: str, shape: Literal["text", "json"], *, stream: TextIO = sys.stderr) -> None:
    """One line for each record on `stream`; as `json` always one line, also of a traceback."""
    secrets = secrets_of(os.environ)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(secrets) if shape == "json" else TextLines(secrets))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def secrets_of(environment: Mapping[str, str]) -> frozenset[str]:
    """The values that must not be seen: of settings with a secret's name, and the database's password."""
    named = [value for name, value in environment.items() if _NAMES_OF_SECRETS.search(name.upper())]
    # Headers, as OpenTelemetry writes them: `name=value,name=value`, percent-encoded.
    parts = [part.partition("=")[2] for value in named for part in value.split(",")]
    secrets = {*named, *parts, *(unquote(part) for part in parts)}
    try:
        address = urlsplit(environment.get("DATABASE_URL", ""))
        passwords = [address.password or "", *parse_qs(address.query).get("password", ())]
    except ValueError:  # it is refused elsewhere
        passwords = []
    secrets |= {*passwords, *(unquote(password) for password in passwords)}
    return frozenset(secret for secret in secrets if len(secret) >= _SHORTEST_SECRET)


class TextLines(logging.Formatter):
    """For people: `2026-11-30 09:00:00,000 INFO bot.legs: [article 12 writing] …`."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(leg)s%(message)s")
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        leg = _at_work_on.get()
        record.leg = "" if leg is None else f"[article {leg.article_id} {leg.name}] "
        return _without(self._secrets, super().format(record))


class JsonLines(logging.Formatter):
    """For programs: time (UTC), level, logger, message; where there are: article, leg, trace, exception."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str | int] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": _without(self._secrets, record.getMessage()),
        }
        if (leg := _at_work_on.get()) is not None:
            line |= {"article": leg.article_id, "leg": leg.name}
        if (span := trace.get_current_span().get_span_context()).is_valid:
            line["trace"] = trace.format_trace_id(span.trace_id)
        if record.exc_info:
            line["exception"] = _without(self._secrets, self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


def _without(secrets: Iterable[str], text: str) -> str:
    for secret in secrets:
        text = text.replace(secret, "…")
    return _LOOKS_SECRET.sub("…", text)
