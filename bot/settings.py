"""Settings, read once from the environment and `.env`."""

import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Literal

from dotenv import load_dotenv
from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from agents.prices import parse_prices
from bot.decisions import Approvers, parse_approvers
from bot.schedule import parse_cron, parse_timezone
from knowledge.language import Language

# Where Slack's own examples listen.
DEFAULT_PORT = 3000


class SettingsError(Exception):
    """A setting that cannot be used; the sentence names it and says what it may be."""


def default_home() -> Path:
    # A system folder as root (containers, services), the user's own data folder otherwise (XDG).
    return Path("/var/lib/copydesk") if os.geteuid() == 0 else Path("~/.local/share/copydesk").expanduser()


class Settings(BaseSettings):
    """Names are those of the environment; the README lists each, and a test compares the two."""

    model_config = SettingsConfigDict(env_prefix="COPYDESK_", extra="ignore", populate_by_name=True)

    # Standard names, shared with other tools.
    slack_bot_token: str | None = Field(default=None, validation_alias="SLACK_BOT_TOKEN")
    slack_app_token: str | None = Field(default=None, validation_alias="SLACK_APP_TOKEN")
    slack_signing_secret: str | None = Field(default=None, validation_alias="SLACK_SIGNING_SECRET")
    slack_api_url: str = Field(default="https://slack.com/api/", validation_alias="SLACK_API_URL")
    port: int | None = Field(default=None, ge=1, le=65535, validation_alias="PORT")
    database_url: str | None = Field(default=None, validation_alias="DATABASE_URL")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", validation_alias="LOG_LEVEL"
    )
    log_format: Literal["text", "json"] = Field(default="text", validation_alias="LOG_FORMAT")

    home: Path = Field(default_factory=default_home)
    # PydanticAI's names (`openai-chat:gpt-4.1-mini`); a task without a model of its own takes the first.
    model: str = "offline"
    research_model: str | None = None
    writer_model: str | None = None
    reviewer_model: str | None = None
    formatter_model: str | None = None
    fallback_model: str | None = None
    structured_output: Literal["auto", "native", "tool", "prompted"] = "auto"
    embedding_model: str = "bundled"
    embedding_base_url: str | None = None
    embedding_api_key: str | None = None
    # `tavily`, or the address of a SearXNG; unset = research never leaves the knowledge base.
    web_search: str | None = None
    tavily_api_key: str | None = Field(default=None, validation_alias="TAVILY_API_KEY")
    # Hosts of pages that may be inside a private network: the team's own wiki, say.
    fetch_private: str | None = None
    budget_tokens: int = Field(default=400_000, ge=1)
    budget_usd: Decimal | None = Field(default=None, gt=0)
    prices: str | None = None
    max_reviews: int = Field(default=3, ge=1, le=20)
    max_research_rounds: int = Field(default=2, ge=0, le=20)
    mode: Literal["supervised", "auto"] = "supervised"
    approvers: str = "anyone"
    language: Literal["auto", "en", "zh", "ja"] = "auto"
    digest_channel: str | None = None
    digest_cron: str = "0 9 * * mon"
    digest_timezone: str = "UTC"

    @model_validator(mode="before")
    @classmethod
    def _empty_is_unset(cls, given: dict[str, object]) -> dict[str, object]:
        """`NAME=` means not set; but an empty list of approvers is nobody, never everybody."""
        return {name: value for name, value in given.items() if value != "" or name == "approvers"}

    @field_validator("slack_bot_token", "slack_app_token", "slack_signing_secret", "tavily_api_key")
    @classmethod
    def _can_be_sent(cls, token: str | None) -> str | None:
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise ValueError("it has a space, a line break or a typographic character in it: copy it again")
        return token

    @field_validator("slack_api_url")
    @classmethod
    def _ends_with_slash(cls, url: str) -> str:
        return url if url.endswith("/") else url + "/"

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, level: object) -> object:
        return level.upper() if isinstance(level, str) else level

    @field_validator("log_format", mode="before")
    @classmethod
    def _in_small(cls, shape: object) -> object:
        return shape.lower() if isinstance(shape, str) else shape

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        try:
            return home.expanduser().absolute()
        except RuntimeError:
            raise ValueError("there is no user of this name here whose folder it could be in") from None

    @field_validator("approvers")
    @classmethod
    def _known_approvers(cls, setting: str) -> str:
        parse_approvers(setting)
        return setting

    @field_validator("web_search")
    @classmethod
    def _known_web_search(cls, setting: str | None) -> str | None:
        if (
            setting is None
            or setting == "tavily"
            or re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#@]*)?", setting)
        ):
            return setting
        raise ValueError("it has to be `tavily`, or the address of a SearXNG (https://…)")

    @field_validator("fetch_private")
    @classmethod
    def _names_of_hosts(cls, setting: str | None) -> str | None:
        for host in _listed(setting):
            if re.fullmatch(r"[\w.-]+|[0-9a-fA-F:]+", host) is None:
                raise ValueError(
                    f"{host!r} is no name of a host: names stand between commas, without https:// and path"
                )
        return setting

    @field_validator("prices")
    @classmethod
    def _readable_prices(cls, setting: str | None) -> str | None:
        parse_prices(setting)
        return setting

    @field_validator("digest_cron")
    @classmethod
    def _readable_cron(cls, setting: str) -> str:
        parse_cron(setting)
        return setting

    @field_validator("digest_timezone")
    @classmethod
    def _known_timezone(cls, setting: str) -> str:
        parse_timezone(setting)
        return setting

    @field_validator("digest_channel")
    @classmethod
    def _id_of_a_channel(cls, setting: str | None) -> str | None:
        if setting is not None and re.fullmatch("[CGD][A-Z0-9]+", setting) is None:
            raise ValueError(
                "it has to be the id of a channel (C…), which its details in Slack show at the end"
            )
        return setting

    @property
    def private_hosts(self) -> frozenset[str]:
        """Those that may be fetched from though they are inside a private network, in lower case."""
        return frozenset(_listed(self.fetch_private))

    @property
    def over_http(self) -> bool:
        """Whether Slack calls the bot, on `PORT`, rather than the bot Slack (Socket Mode)."""
        return self.slack_app_token is None

    @property
    def serves_on(self) -> int | None:
        """The port of `serve`; in Socket Mode none is needed, and there only health is told on it."""
        return self.port or (DEFAULT_PORT if self.over_http else None)

    @property
    def language_of_all(self) -> Language | None:
        """The one that is set; None = each article, and each digest, has its own."""
        return None if self.language == "auto" else self.language

    @property
    def who_approves(self) -> Approvers:
        return parse_approvers(self.approvers)


def _listed(setting: str | None) -> list[str]:
    return [each.strip().lower() for each in (setting or "").split(",") if each.strip()]


def read_settings(*, env_file: Path | None = Path(".env")) -> Settings:
    """The settings of this process; raises `SettingsError` with one sentence per wrong value.

    What `env_file` says goes into the environment, behind what is there: keys of model providers
    (`OPENAI_API_KEY`) are read there by their own libraries.
    """
    if env_file is not None:
        try:
            load_dotenv(env_file)
        except (OSError, ValueError) as error:  # ValueError: other than UTF-8, or with NUL in it
            raise SettingsError(
                f"{env_file} cannot be read ({error}): it is a text in UTF-8, with NAME=value on each line."
            ) from error
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsError("\n".join(_sentence(problem) for problem in error.errors())) from error


def _sentence(problem: object) -> str:
    assert isinstance(problem, dict)
    name = str(problem["loc"][0])
    field = Settings.model_fields.get(name)
    environment = name.upper() if field is None or field.validation_alias else f"COPYDESK_{name.upper()}"
    # What is wrong with a secret is said without it: logs and screens are looked at by others.
    secret = environment.endswith(("_TOKEN", "_KEY", "_SECRET", "DATABASE_URL"))
    value = "…" if secret else problem["input"]
    return f"{environment}={value!s}: {problem['msg'].removeprefix('Value error, ')}."
