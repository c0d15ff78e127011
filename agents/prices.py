"""What calls of models cost: by the settings, else by the list that comes with genai-prices."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    input: Decimal
    output: Decimal


Prices = Mapping[str, Price]
"""By the name of a model, with or without its provider."""


def parse_prices(setting: str | None) -> Prices:
    """`my-model=0.40/1.60, openai-chat:other=0/0` as prices for a million input and output tokens.

    Raises ValueError with a sentence.
    """
    prices = {}
    for entry in filter(None, (entry.strip() for entry in re.split("[,，、\n]", setting or ""))):
        name, _, price = entry.rpartition("=")
        try:
            amount, _, amount_out = price.partition("/")
            prices[name.strip()] = Price(_dollars(amount), _dollars(amount_out))
        except InvalidOperation:
            name = ""
        if not name.strip():
            raise ValueError(
                f"{entry!r} is no price; write MODEL=INPUT/OUTPUT in US dollars for a million tokens, such "
                "as my-model=0.40/1.60, with commas in between"
            )
    return prices


def _dollars(text: str) -> Decimal:
    amount = Decimal(text.strip().removeprefix("$"))
    if not amount.is_finite() or amount < 0:
        raise InvalidOperation
    return amount


def cost(model: Model, response: ModelResponse, usage: RequestUsage, prices: Prices) -> Decimal | None:
    """What an answer cost in US dollars; None if nobody knows.

    By the price in the settings, else as the provider said, else by the list, which is the one that was
    installed: nothing is fetched. `usage` may be an estimate where the response has none.
    """
    names = {model.model_name, response.model_name}
    for name, price in prices.items():
        if name in names or name.partition(":")[2] in names:
            return (usage.input_tokens * price.input + usage.output_tokens * price.output) / _MILLION
    if response.usage.cost is not None:
        return response.usage.cost
    if response.model_name is None:
        return None
    try:
        return replace(response, usage=usage).cost().total_price
    except Exception:  # no price for this model or usage; and no fault of a list may lose an answer
        return None


def unpriced(models: Iterable[Model], prices: Prices) -> list[str]:
    """The names of models whose calls nobody can price: a budget in US dollars does not bind them."""
    usage = RequestUsage(input_tokens=1, output_tokens=1)
    names = set()
    for model in models:
        example = ModelResponse(
            parts=[],
            usage=usage,
            model_name=model.model_name,
            provider_name=model.system,
            provider_url=model.base_url,
        )
        # A model without a host, as the offline one, costs nothing.
        if model.base_url is not None and cost(model, example, usage, prices) is None:
            names.add(model.model_name)
    return sorted(names)
