"""Settings: read once, and what is said of those that cannot be used."""

import os
from pathlib import Path

import pytest

from bot.app import missing_for_slack, models_of
from bot.settings import SettingsError, read_settings


def test_without_any_setting_the_bot_has_its_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    settings = read_settings()
    assert (settings.model, settings.database_url, settings.mode) == ("offline", None, "supervised")
    assert settings.home == Path("/home/ana/.local/share/copydesk")


def test_root_keeps_its_data_where_services_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert read_settings().home == Path("/var/lib/copydesk")


def test_the_environment_goes_before_the_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = tmp_path / ".env"
    env.write_text("COPYDESK_APPROVERS=requester\nSLACK_BOT_TOKEN=xoxb-file\nOPENAI_API_KEY=sk-file\n")
    for name in ("COPYDESK_APPROVERS", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "")  # so that it is taken back afterwards
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-environment")
    settings = read_settings(env_file=env)
    assert (settings.approvers, settings.slack_bot_token) == ("requester", "xoxb-environment")
    assert os.environ["OPENAI_API_KEY"] == "sk-file"  # read by the provider's own library


def test_an_empty_setting_is_an_unset_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setenv("COPYDESK_MAX_REVIEWS", "")
    settings = read_settings()
    assert (settings.database_url, settings.max_reviews) == (None, 3)


def test_an_empty_list_of_approvers_is_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDESK_APPROVERS", "")
    assert read_settings().who_approves == frozenset()


def test_the_level_of_the_log_may_be_written_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "debug")
    assert read_settings().log_level == "DEBUG"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COPYDESK_MAX_REVIEWS", "0"),
        ("COPYDESK_MAX_REVIEWS", "three"),
        ("COPYDESK_MAX_RESEARCH_ROUNDS", "-1"),
        ("COPYDESK_MODE", "automatic"),
        ("COPYDESK_APPROVERS", "everyone"),
        ("COPYDESK_BUDGET_TOKENS", "unlimited"),
        ("COPYDESK_BUDGET_USD", "-1"),
        ("COPYDESK_LANGUAGE", "klingon"),
        ("COPYDESK_PRICES", "my-model: cheap"),
        ("COPYDESK_DIGEST_CHANNEL", "#articles"),
        ("COPYDESK_DIGEST_CRON", "0 9 * * 1"),
        ("COPYDESK_DIGEST_TIMEZONE", "Europe/Lutetia"),
        ("LOG_LEVEL", "LOUD"),
        ("LOG_FORMAT", "xml"),
        ("PORT", "http"),
        ("PORT", "0"),
        ("PORT", "70000"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_in_one_line(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        read_settings()
    sentence = str(caught.value)
    assert sentence.startswith(f"{name}={value}: ")
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_each_wrong_setting_has_its_own_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDESK_MODE", "x")
    monkeypatch.setenv("LOG_LEVEL", "x")
    with pytest.raises(SettingsError) as caught:
        read_settings()
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(
    "content", ["# café".encode("latin-1"), "# 设置".encode("gbk"), "# 設定".encode("shift_jis"), b"A=1\0"]
)
def test_an_env_file_that_is_no_text_is_named_in_one_line(tmp_path: Path, content: bytes) -> None:
    env = tmp_path / ".env"
    env.write_bytes(content)
    with pytest.raises(SettingsError, match=r"^\S+\.env cannot be read \(.*UTF-8.*\.$"):
        read_settings(env_file=env)


def test_a_home_of_nobody_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPYDESK_HOME", "~nobody-of-this-name/data")
    with pytest.raises(
        SettingsError, match=r"^COPYDESK_HOME=~nobody-of-this-name/data: there is no user .*\.$"
    ):
        read_settings()


@pytest.mark.parametrize("name", ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"])
@pytest.mark.parametrize("token", ["xoxb-1 2", "xoxb-1\n2", "xoxb–1", "令牌", "トークン"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_repeated(
    name: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, token)
    with pytest.raises(SettingsError, match=rf"^{name}=…: it has .* copy it again\.$") as caught:
        read_settings()
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "roles"),
    [
        ("COPYDESK_RESEARCH_MODEL", {"research", "analysis"}),
        ("COPYDESK_WRITER_MODEL", {"writer"}),
        ("COPYDESK_REVIEWER_MODEL", {"reviewer"}),
        ("COPYDESK_FORMATTER_MODEL", {"formatter"}),
        ("COPYDESK_FALLBACK_MODEL", {"fallback"}),
    ],
)
def test_each_task_has_the_model_that_its_setting_names(
    setting: str, roles: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting, "test")
    models = models_of(read_settings())
    named = {role for role, model in vars(models).items() if model is not None and model.model_name == "test"}
    assert named == roles


@pytest.mark.parametrize(
    ("settings", "over_http", "port"),
    [
        ({}, True, 3000),
        ({"PORT": "8080"}, True, 8080),
        ({"SLACK_APP_TOKEN": "xapp-1"}, False, None),
        ({"SLACK_APP_TOKEN": "xapp-1", "PORT": "8080"}, False, 8080),
        ({"SLACK_APP_TOKEN": "xapp-1", "SLACK_SIGNING_SECRET": "8f742231b10e8888"}, False, None),
        ({"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": "8f742231b10e8888"}, True, 3000),
    ],
)
def test_slack_is_heard_over_http_where_there_is_no_app_token(
    settings: dict[str, str], over_http: bool, port: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    read = read_settings()
    assert (read.over_http, read.serves_on) == (over_http, port)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ("SLACK_BOT_TOKEN", "manifest.yml")),
        ({"SLACK_SIGNING_SECRET": "8f742231b10e8888"}, ("SLACK_BOT_TOKEN",)),
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, ("SLACK_APP_TOKEN", "Socket Mode", "SLACK_SIGNING_SECRET", "HTTP")),
    ],
)
def test_what_is_missing_for_slack_is_said_for_both_ways(
    settings: dict[str, str], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    sentence = missing_for_slack(read_settings())
    assert sentence is not None
    assert sentence.endswith(".")
    for word in words:
        assert word in sentence


def test_a_bot_token_and_either_of_the_two_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    for name in ("SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"):
        with monkeypatch.context() as context:
            context.setenv(name, "secret-1")
            assert missing_for_slack(read_settings()) is None
