"""The one retry layer between the agents and a model's host."""

import asyncio
import random
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings, merge_model_settings

from agents.sound import sound
from agents.transport import AnswerTooLong
from agents.turns import Turns, turns_at
from knowledge.counters import model_retries

# Besides 5xx: what a host answers when it wants to be asked again (the openai SDK retries the same).
ASK_AGAIN = frozenset({408, 409, 425, 429})
# Tokens. Anthropic's API wants a limit; without one PydanticAI streams, and a stream is not asked again.
_LONGEST_ANSWER = 16_384
# What hosts say that PydanticAI does not know: llama.cpp (older ones as a 500), LM Studio, SGLang, vLLM,
# text-generation-inference, Ollama, Moonshot, Zhipu, Qwen.
_TOO_LONG = re.compile(
    r"context[ _-]?(?:size|length|window|overflow)|(?:prompt|inputs?|messages?|request)\b.{0,40} too long"
    r"|longer than the (?:model|maximum)|too many (?:input )?tokens|exceeds? max(?:imum)? length"
    r"|exceeded model token limit|range of input length|max_new_tokens` must be <=",
    re.IGNORECASE,
)
# What a library stumbles over when an answer is not as it should be: `choices: []` is a bare IndexError, a
# part that is a number an AssertionError, a thousand brackets a RecursionError.
_STUMBLES = (
    UnexpectedModelBehavior,
    httpx2.DecodingError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    AssertionError,
    RecursionError,
)
_NEVER_AGAIN = frozenset({501, 505})  # the host cannot do it, today or in a minute


class NotAnAnswer(ModelAPIError):
    """A host answered, but with something that is no answer of a model: a web page, half of a JSON.

    `may_pass`: it speaks the language of models, so that the next answer may have what this one lacked.
    """

    may_pass = False


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a host is waited for, in seconds."""

    silence: float = 180.0  # of the host while it answers; connecting has PydanticAI's own 5 s
    # For one answer with all tries and waits: bounds a host that trickles, too. Not for the turn of others.
    total: float = 420.0
    tries: int = 4
    timeouts: int = 2  # tries that may end in silence: each costs minutes, and perhaps money
    first_wait: float = 1.0  # doubled from try to try
    longest_wait: float = 60.0  # a host that asks for more is not waited for


class PatientModel(WrapperModel):
    """A model that is asked again when its host had no answer this time.

    A layer above PydanticAI's models rather than below them in HTTP: it sees errors sorted by kind (an
    account without credit is a 429 at one provider and a 402 at another) and the wait that a provider asked
    for, wherever it says so; and it is the same for all libraries. Their own retries are switched off.
    """

    def __init__(self, wrapped: Model, patience: Patience, turns: Turns | None = None) -> None:
        """`turns` are shared by all models of a host; without, this one has turns of its own."""
        super().__init__(wrapped)
        self._patience = patience
        self._turns = turns or turns_at(wrapped)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Raises the `ModelAPIError` of the last try; `NotAnAnswer`; `ModelRequestTimeout` after `total`."""
        ours = ModelSettings(timeout=self._patience.silence, max_retries=0)
        if self.wrapped.system == "anthropic":
            ours["max_tokens"] = _LONGEST_ANSWER
        settings = merge_model_settings(ours, model_settings)
        tries = Tries(self._patience)
        try:
            async with asyncio.timeout(self._patience.total) as time_limit:
                while True:
                    async with self._turns.turn(time_limit):
                        while True:
                            try:
                                return await self._ask(messages, settings, model_request_parameters)
                            except ModelAPIError as error:
                                wait = tries.wait_after(error)
                                model_retries.add(1, {"model": self.model_name, "why": type(error).__name__})
                                if error.retry_after is None:
                                    break
                            # The place is kept: nobody is asked now, and who was refused goes first then.
                            await self._turns.pause(wait)
                    await asyncio.sleep(wait)
        except TimeoutError as error:
            raise ModelRequestTimeout(self.model_name, self._patience.total) from error

    async def _ask(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        try:
            return sound(await self.wrapped.request(messages, settings, parameters))
        except _STUMBLES as error:
            lacking = NotAnAnswer(self.model_name, f"{type(error).__name__}: {error}")
            lacking.may_pass = isinstance(error, LookupError | UnexpectedModelBehavior) and not _is_page(
                error
            )
            raise lacking from error
        except ModelAPIError as error:
            # No status, no kind: the body could not be read as JSON. Or it could not be unpacked, or held.
            if type(error) is ModelAPIError or _came_from(error, httpx2.DecodingError):
                # The message is what the host said, and so may be no text.
                raise NotAnAnswer(self.model_name, str(error.message)) from error
            raise


def is_too_long(error: ModelAPIError) -> bool:
    """Whether a request was longer than its model can read: by PydanticAI's word, or by the host's."""
    if isinstance(error, ModelContextWindowExceededError):
        return True
    if not isinstance(error, ModelHTTPError):
        return False
    return error.status_code == 413 or (
        error.status_code in (400, 422, 500) and _TOO_LONG.search(f"{error.body} {error.message}") is not None
    )


class Tries:
    """The tries of one request."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._failed = 0
        self._timeouts = 0

    def wait_after(self, error: ModelAPIError) -> float:
        """Seconds until the next try: what the host asks for, and some more, by chance, so that parallel
        sections do not come back all at once. Raises the error if it was the last try.
        """
        self._failed += 1
        self._timeouts += isinstance(error, ModelTimeoutError) and error.phase != "connect"
        asked_for = error.retry_after or 0
        if (
            self._failed >= self._patience.tries
            or self._timeouts >= self._patience.timeouts
            or asked_for > self._patience.longest_wait
            or not _may_pass(error)
        ):
            raise error
        return asked_for + self._patience.first_wait * 2.0 ** (self._failed - 1) * random.uniform(0.5, 1)


def _is_page(error: Exception) -> bool:
    """Text where JSON was due: the address is wrong, and will be in a moment."""
    return "expected JSON data" in str(error)


def _may_pass(error: ModelAPIError) -> bool:
    """Whether the same request may succeed in a moment."""
    if isinstance(error, ModelHTTPError):
        if isinstance(error, ModelQuotaExceededError) or is_too_long(error):
            return False
        if error.provider_retry_hint is not None:
            return error.provider_retry_hint
        status = error.status_code
        return status in ASK_AGAIN or (status >= 500 and status not in _NEVER_AGAIN)
    if isinstance(error, NotAnAnswer):
        return error.may_pass
    if isinstance(error, ModelConnectionError):
        return distrust(error) is None
    return isinstance(error, ModelRateLimitError | ModelUnavailableError | ModelServerError)


def distrust(error: BaseException) -> ssl.SSLError | None:
    """The fault of TLS behind an error of the connection, if it is one: waiting does not mend it."""
    return next((cause for cause in causes(error) if isinstance(cause, ssl.SSLError)), None)


def sent_too_much(error: BaseException) -> bool:
    """Whether a host sent more than any answer of a model is."""
    return _came_from(error, AnswerTooLong)


def _came_from(error: BaseException, kind: type[Exception]) -> bool:
    return any(isinstance(cause, kind) for cause in causes(error))


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it came from, the nearest first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
