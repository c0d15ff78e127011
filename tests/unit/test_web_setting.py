"""COPYDESK_WEB_SEARCH: what it may be, what is missing, and who is told that something leaves the machine."""

import pytest

from agents.web_searxng import SearXNG
from agents.web_tavily import Tavily
from bot.app import StartError, web_search_of
from bot.doctor import on_web
from bot.settings import Settings, SettingsError, read_settings

KEY = "tvly-dev-0123456789"


def settings(monkeypatch: pytest.MonkeyPatch, **environment: str) -> Settings:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return read_settings(env_file=None)


def test_unset_it_is_off_and_nobody_needs_to_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for off in (settings(monkeypatch), settings(monkeypatch, COPYDESK_WEB_SEARCH="", TAVILY_API_KEY=KEY)):
        assert web_search_of(off) is None
        assert on_web(off) is None


def test_with_tavily_the_key_is_wanted_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    keyless = settings(monkeypatch, COPYDESK_WEB_SEARCH="tavily")
    with pytest.raises(StartError, match="needs TAVILY_API_KEY"):
        web_search_of(keyless)
    said = on_web(keyless)
    assert said is not None
    assert said.mark == "✗"

    given = settings(monkeypatch, COPYDESK_WEB_SEARCH="tavily", TAVILY_API_KEY=KEY)
    assert isinstance(web_search_of(given), Tavily)
    said = on_web(given)
    assert said is not None
    assert said.mark == "!"
    assert "leaves this machine, to api.tavily.com" in said.text
    assert KEY not in said.text


def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="TAVILY_API_KEY") as refused:
        settings(monkeypatch, TAVILY_API_KEY=f"{KEY}\nx")
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["https://searx.example.org", "http://127.0.0.1:8888/searx", "http://检索.example"]
)
def test_an_address_is_a_searxng(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    given = settings(monkeypatch, COPYDESK_WEB_SEARCH=url)
    assert isinstance(web_search_of(given), SearXNG)
    said = on_web(given)
    assert said is not None
    assert url.split("/")[2] in said.text


@pytest.mark.parametrize(
    "wrong",
    [
        "duckduckgo",
        "Tavily ",
        "searx.example.org",
        "ftp://example.org",
        "https://",
        "https://a b",
        "検索",
        "on",
    ],
)
def test_what_is_neither_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"COPYDESK_WEB_SEARCH=.*`tavily`, or the address") as refused:
        settings(monkeypatch, COPYDESK_WEB_SEARCH=wrong)
    assert "\n" not in str(refused.value)


def test_an_address_with_a_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="COPYDESK_WEB_SEARCH"):
        settings(monkeypatch, COPYDESK_WEB_SEARCH="https://me:secret@example.org")
