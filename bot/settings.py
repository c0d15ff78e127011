"""Settings, read once from the environment and `.env`."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.decisions import Approvers, parse_approvers


class SettingsError(Exception):
    """A setting that cannot be used; the sentence names it and says what it may be."""


def default_home() -> Path:
    # A system folder as root (containers, services), the user's own data folder otherwise (XDG).
    return Path("/var/lib/copydesk") if os.geteuid() == 0 else Path("~/.local/share/copydesk").expanduser()


class Settings(BaseSettings):
    """Names are those of the environment; the README lists each, and a test compares the two."""

    model_config = SettingsConfigDict(
        env_prefix="COPYDESK_", env_file=".env", extra="ignore", populate_by_name=True
    )

    # Standard names, shared with other tools.
    slack_bot_token: str | None = Field(default=None, validation_alias="SLACK_BOT_TOKEN")
    slack_app_token: str | None = Field(default=None, validation_alias="SLACK_APP_TOKEN")
    slack_api_url: str = Field(default="https://slack.com/api/", validation_alias="SLACK_API_URL")
    database_url: str | None = Field(default=None, validation_alias="DATABASE_URL")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", validation_alias="LOG_LEVEL"
    )

    home: Path = Field(default_factory=default_home)
    model: str = "offline"
    embedding_model: Literal["bundled", "none"] = "bundled"
    max_reviews: int = Field(default=3, ge=1, le=20)
    max_research_rounds: int = Field(default=2, ge=0, le=20)
    mode: Literal["supervised", "auto"] = "supervised"
    approvers: str = "anyone"

    @model_validator(mode="before")
    @classmethod
    def _empty_is_unset(cls, given: dict[str, object]) -> dict[str, object]:
        """`NAME=` means not set; but an empty list of approvers is nobody, never everybody."""
        return {name: value for name, value in given.items() if value != "" or name == "approvers"}

    @field_validator("slack_api_url")
    @classmethod
    def _ends_with_slash(cls, url: str) -> str:
        return url if url.endswith("/") else url + "/"

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, level: object) -> object:
        return level.upper() if isinstance(level, str) else level

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    @field_validator("approvers")
    @classmethod
    def _known_approvers(cls, setting: str) -> str:
        parse_approvers(setting)
        return setting

    @property
    def who_approves(self) -> Approvers:
        return parse_approvers(self.approvers)


def read_settings(*, env_file: Path | None = Path(".env")) -> Settings:
    """The settings of this process; raises `SettingsError` with one sentence per wrong value."""
    try:
        return Settings(_env_file=env_file)
    except ValidationError as error:
        raise SettingsError("\n".join(_sentence(problem) for problem in error.errors())) from error


def _sentence(problem: object) -> str:
    assert isinstance(problem, dict)
    name = str(problem["loc"][0])
    field = Settings.model_fields.get(name)
    environment = name.upper() if field is None or field.validation_alias else f"COPYDESK_{name.upper()}"
    return f"{environment}={problem['input']!s}: {problem['msg'].removeprefix('Value error, ')}."
