"""What an article has used so far, what that cost, and the budget that stops the next call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.usage import RequestUsage

from agents.errors import AgentError
from agents.prices import Prices, cost
from agents.size import tokens_of


@dataclass(frozen=True)
class Budget:
    """The most that one article may use; None is no limit."""

    tokens: int | None = None
    usd: Decimal | None = None


@dataclass
class Account:
    """Tokens and cost of all calls of an article, counted as each answer comes.

    `usd` is what could be priced, None while nothing was. A call whose tokens have no price makes the cost
    unknown: the rest of the sum shown as the cost would be a lie.
    """

    budget: Budget = Budget()
    prices: Prices = field(default_factory=dict)
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: Decimal | None = None
    unpriced_requests: int = 0
    estimated_requests: int = 0  # of hosts that do not say what they used

    @classmethod
    def of(
        cls, stored: Mapping[str, Any], *, budget: Budget = Budget(), prices: Prices | None = None
    ) -> Self:
        """The account that `as_json` wrote; {} is a new one."""
        tokens = stored.get("input_tokens", 0) + stored.get("output_tokens", 0)
        usd = stored.get("priced_usd", stored.get("cost_usd"))
        # Before there were prices, tokens were counted without a cost.
        unpriced = stored.get("unpriced_requests", stored.get("requests", 0) if tokens and usd is None else 0)
        return cls(
            budget=budget,
            prices=prices or {},
            requests=stored.get("requests", 0),
            input_tokens=stored.get("input_tokens", 0),
            output_tokens=stored.get("output_tokens", 0),
            usd=None if usd is None else Decimal(str(usd)),
            unpriced_requests=unpriced,
            estimated_requests=stored.get("estimated_requests", 0),
        )

    @property
    def cost_usd(self) -> Decimal | None:
        """None if nothing was priced, or not everything."""
        return None if self.unpriced_requests else self.usd

    def as_json(self) -> dict[str, Any]:
        """For the article's row; US dollars rounded to a millionth."""
        return {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": _rounded(self.cost_usd),
            "priced_usd": _rounded(self.usd),
            "unpriced_requests": self.unpriced_requests,
            "estimated_requests": self.estimated_requests,
        }

    def check(self) -> None:
        """Raises AgentError (`budget`) once the budget is used; what is under way may still go over it."""
        used = self.input_tokens + self.output_tokens
        if self.budget.tokens is not None and used >= self.budget.tokens:
            raise _spent(f"{self.budget.tokens:,} tokens", str(self.budget.tokens), "tokens")
        if self.budget.usd is not None and self.usd is not None and self.usd >= self.budget.usd:
            raise _spent(f"${self.budget.usd:f}", f"{self.budget.usd:f}", "usd")

    def add(self, request: ModelRequestContext, response: ModelResponse) -> None:
        """Count an answer. Where the host does not say what it used, tokens are estimated."""
        usage = response.usage
        over_the_wire = response.provider_url is not None
        if usage.unmeasured_requests or (over_the_wire and not usage.total_tokens):
            usage = RequestUsage(
                input_tokens=_tokens_of_request(request.messages, request.model_request_parameters),
                output_tokens=tokens_of("".join(_texts_of_response(response))),
            )
            self.estimated_requests += 1
        self.requests += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        if not usage.total_tokens:
            return  # nothing was used, as of the offline model: nothing to price
        if (price := cost(request.model, response, usage, self.prices)) is None:
            self.unpriced_requests += 1
        else:
            self.usd = (self.usd or Decimal(0)) + price


class Metered(AbstractCapability[Any]):
    """Has every model call of an agent's run go through an account.

    It counts each answer that reaches it. Put it before a capability that replays answers if these are to be
    counted again, behind it if not.
    """

    def __init__(self, account: Account) -> None:
        self._account = account

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        # Before each request and never after: an answer that was paid for is used.
        self._account.check()
        response = await handler(request_context)
        self._account.add(request_context, response)
        return response


def _spent(limit: str, amount: str, unit: str) -> AgentError:
    setting = f"COPYDESK_BUDGET_{unit.upper()}"
    return AgentError(
        "budget",
        f"This article has used its {limit}. Raise {setting}, then retry.",
        {"limit": amount, "unit": unit, "setting": setting},
    )


def _rounded(usd: Decimal | None) -> float | None:
    return None if usd is None else round(float(usd), 6)


def _tokens_of_request(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
    tools = [*parameters.function_tools, *parameters.output_tools]
    texts = [json.dumps([tool.name, tool.description, tool.parameters_json_schema]) for tool in tools]
    instructions = ""
    for message in messages:
        if isinstance(message, ModelResponse):
            texts += _texts_of_response(message)
            continue
        instructions = message.instructions or instructions  # only the last go over the wire
        for part in message.parts:
            if isinstance(part, BaseToolReturnPart):
                texts.append(part.model_response_str())
            elif isinstance(content := getattr(part, "content", None), str):
                texts.append(content)
            else:
                texts.append(str(content))
    return tokens_of("".join([instructions, *texts]))


def _texts_of_response(response: ModelResponse) -> list[str]:
    return [
        part.content
        if isinstance(part, TextPart | ThinkingPart)
        else part.tool_name + part.args_as_json_str()
        for part in response.parts
        if isinstance(part, TextPart | ThinkingPart | BaseToolCallPart)
    ]
