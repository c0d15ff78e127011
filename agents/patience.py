"""The one retry layer between the agents and a model's host."""

import asyncio
import random
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
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

# Besides 5xx: what a host answers when it wants to be asked again (the openai SDK retries the same).
ASK_AGAIN = frozenset({408, 409, 425, 429})
# Tokens. Anthropic's API wants a limit; without one PydanticAI streams, and a stream is not asked again.
_LONGEST_ANSWER = 16_384
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
    total: float = 420.0  # for one answer with all tries and waits: bounds a host that trickles, too
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

    def __init__(self, wrapped: Model, patience: Patience) -> None:
        super().__init__(wrapped)
        self._patience = patience

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
        waits = self._waits()
        timeouts = 0
        try:
            async with asyncio.timeout(self._patience.total):
                while True:
                    try:
                        return await self._ask(messages, settings, model_request_parameters)
                    except ModelAPIError as error:
                        timeouts += isinstance(error, ModelTimeoutError) and error.phase != "connect"
                        wait = next(waits, None)
                        if wait is None or timeouts >= self._patience.timeouts or not _may_pass(error):
                            raise
                        if error.retry_after is not None:
                            if error.retry_after > self._patience.longest_wait:
                                raise
                            wait += error.retry_after
                    await asyncio.sleep(wait)
        except TimeoutError as error:
            raise ModelRequestTimeout(self.model_name, self._patience.total) from error

    def _waits(self) -> Iterator[float]:
        """Between the tries. Random, so that parallel sections do not come back all at once."""
        for number in range(self._patience.tries - 1):
            yield self._patience.first_wait * 2**number * random.uniform(0.5, 1)

    async def _ask(
        self, messages: list[ModelMessage], settings: ModelSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        try:
            return await self.wrapped.request(messages, settings, parameters)
        except (UnexpectedModelBehavior, LookupError, TypeError, ValueError, AttributeError) as error:
            # What a library stumbles over when the answer lacks a part: `choices: []` is a bare IndexError.
            lacking = NotAnAnswer(self.model_name, f"{type(error).__name__}: {error}")
            lacking.may_pass = isinstance(error, LookupError | UnexpectedModelBehavior) and not _is_page(
                error
            )
            raise lacking from error
        except ModelAPIError as error:
            if type(error) is ModelAPIError:  # no status, no kind: the body could not be read as JSON
                raise NotAnAnswer(self.model_name, error.message) from error
            raise


def _is_page(error: Exception) -> bool:
    """Text where JSON was due: the address is wrong, and will be in a moment."""
    return "expected JSON data" in str(error)


def _may_pass(error: ModelAPIError) -> bool:
    """Whether the same request may succeed in a moment."""
    if isinstance(error, ModelHTTPError):
        if isinstance(error, ModelQuotaExceededError):
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


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it came from, the nearest first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
