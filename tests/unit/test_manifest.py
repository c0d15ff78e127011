"""The Slack app's manifest: Slack takes it, and it asks for what the code uses and for nothing else."""

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack.app import SHORTCUTS

EVERY_CHANNEL_READ = frozenset({"channels:read", "groups:read", "im:read", "mpim:read"})
EVERY_CHANNEL_HISTORY = frozenset({"channels:history", "groups:history", "im:history", "mpim:history"})

# Bot scopes by method, from the reference of the Web API; an empty set is a method that needs none.
SCOPES_OF_METHODS: dict[str, frozenset[str]] = {
    "apps_connections_open": frozenset(),  # the app-level token's own connections:write
    "auth_test": frozenset(),
    "chat_delete": frozenset({"chat:write"}),
    "chat_getPermalink": frozenset(),
    "chat_postEphemeral": frozenset({"chat:write"}),
    "chat_postMessage": frozenset({"chat:write"}),
    "chat_update": frozenset({"chat:write"}),
    "conversations_history": EVERY_CHANNEL_HISTORY,
    "conversations_info": EVERY_CHANNEL_READ,
    "conversations_members": EVERY_CHANNEL_READ,
    "conversations_open": frozenset({"im:write"}),
    "conversations_replies": EVERY_CHANNEL_HISTORY,
    "files_completeUploadExternal": frozenset({"files:write"}),
    "files_getUploadURLExternal": frozenset({"files:write"}),
    "files_info": frozenset({"files:read"}),
    "reactions_add": frozenset({"reactions:write"}),
    "usergroups_list": frozenset({"usergroups:read"}),
    "usergroups_users_list": frozenset({"usergroups:read"}),
    "users_info": frozenset({"users:read"}),
    "views_open": frozenset(),
    "views_update": frozenset(),
}
SCOPE_OF_EVENTS = {
    "app_mention": "app_mentions:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
}


@pytest.fixture
def manifest(pytestconfig: pytest.Config) -> dict[str, Any]:
    parsed = yaml.safe_load((pytestconfig.rootpath / "manifest.yml").read_text())
    assert isinstance(parsed, dict)
    return parsed


@pytest.fixture
def code(pytestconfig: pytest.Config) -> list[ast.AST]:
    """Every node of `bot`, but for the local Slack, which is the other side of the wire."""
    bot = pytestconfig.rootpath / "bot"
    files = [file for file in bot.rglob("*.py") if "local_slack" not in file.parts]
    return [node for file in files for node in ast.walk(ast.parse(file.read_text(), str(file)))]


def methods_called(code: list[ast.AST]) -> set[str]:
    """Web API methods: called on the client (`views_open`) or named for `api_call` ("chat.update")."""
    names = set()
    for node in code:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names.add(node.func.attr)
        elif isinstance(node, ast.Constant) and re.fullmatch(r"[a-z]+(\.[a-zA-Z]+)+", str(node.value)):
            names.add(str(node.value).replace(".", "_"))
    return {name for name in names if "_" in name.strip("_") and hasattr(AsyncWebClient, name)} - {"api_call"}


def listened_for(code: list[ast.AST], kind: str) -> set[str]:
    """First arguments of `app.event("…")`, `app.command("…")`."""
    return {
        str(node.args[0].value)
        for node in code
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == kind
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def keys(value: object, path: str = "") -> Iterator[str]:
    """Dotted paths of the settings in a manifest; those of a list's items run together."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from keys(below, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from keys(item, f"{path}[]")
    else:
        yield path


def test_the_manifest_holds_these_settings_and_no_other(manifest: dict[str, Any]) -> None:
    # Slack refuses a manifest with a key that it does not know, and a request URL beside Socket Mode.
    assert sorted(keys(manifest)) == sorted(
        [
            "_metadata.major_version",
            "display_information.name",
            "display_information.description",
            "display_information.long_description",
            "display_information.background_color",
            "features.app_home.home_tab_enabled",
            "features.app_home.messages_tab_enabled",
            "features.app_home.messages_tab_read_only_enabled",
            "features.bot_user.display_name",
            "features.bot_user.always_online",
            "features.shortcuts[].name",
            "features.shortcuts[].type",
            "features.shortcuts[].callback_id",
            "features.shortcuts[].description",
            "features.slash_commands[].command",
            "features.slash_commands[].description",
            "features.slash_commands[].usage_hint",
            "features.slash_commands[].should_escape",
            "oauth_config.scopes.bot",
            "settings.event_subscriptions.bot_events",
            "settings.interactivity.is_enabled",
            "settings.org_deploy_enabled",
            "settings.socket_mode_enabled",
            "settings.token_rotation_enabled",
        ]
    )


def test_texts_keep_within_the_limits_of_slack(manifest: dict[str, Any]) -> None:
    display = manifest["display_information"]
    assert 1 <= len(display["name"]) <= 35
    assert 1 <= len(display["description"]) <= 140
    assert 175 <= len(display["long_description"]) <= 4000
    assert re.fullmatch(r"#[0-9a-f]{6}", display["background_color"])
    assert 1 <= len(manifest["features"]["bot_user"]["display_name"]) <= 80
    for command in manifest["features"]["slash_commands"]:
        assert re.fullmatch(r"/[a-z]{1,31}", command["command"])
        assert 1 <= len(command["description"]) <= 2000
        assert 1 <= len(command["usage_hint"]) <= 1000
    for shortcut in manifest["features"]["shortcuts"]:
        assert 1 <= len(shortcut["name"]) <= 24
        assert 1 <= len(shortcut["description"]) <= 150
        assert 1 <= len(shortcut["callback_id"]) <= 255


def test_the_app_works_over_socket_mode_with_buttons(manifest: dict[str, Any]) -> None:
    settings = manifest["settings"]
    assert settings["socket_mode_enabled"] is True
    assert settings["interactivity"]["is_enabled"] is True
    assert settings["token_rotation_enabled"] is False  # the bot does not refresh tokens


def test_every_method_that_the_code_calls_has_its_scopes_here(code: list[ast.AST]) -> None:
    called = methods_called(code)
    assert "chat_postMessage" in called  # what finds the calls does find them
    assert called <= set(SCOPES_OF_METHODS), "add its scopes to the table, from the Web API's reference"


def test_the_scopes_are_those_that_methods_events_and_commands_need(
    manifest: dict[str, Any], code: list[ast.AST]
) -> None:
    needed = set().union(*(SCOPES_OF_METHODS[method] for method in methods_called(code)))
    needed |= {SCOPE_OF_EVENTS[event] for event in manifest["settings"]["event_subscriptions"]["bot_events"]}
    needed |= {"commands"} if manifest["features"]["slash_commands"] else set()
    asked_for = manifest["oauth_config"]["scopes"]["bot"]
    assert set(asked_for) == needed
    assert asked_for == sorted(set(asked_for))


def test_the_events_are_those_that_a_listener_waits_for(
    manifest: dict[str, Any], code: list[ast.AST]
) -> None:
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert {event.split(".")[0] for event in events} == listened_for(code, "event")


def test_the_commands_are_those_that_a_listener_waits_for(
    manifest: dict[str, Any], code: list[ast.AST]
) -> None:
    commands = {command["command"] for command in manifest["features"]["slash_commands"]}
    assert commands == listened_for(code, "command")


def test_the_shortcuts_are_those_that_a_listener_waits_for(
    manifest: dict[str, Any], code: list[ast.AST]
) -> None:
    shortcuts = manifest["features"]["shortcuts"]
    assert {shortcut["type"] for shortcut in shortcuts} == {"message"}
    assert {shortcut["callback_id"] for shortcut in shortcuts} == listened_for(code, "message_shortcut")


def test_the_local_slack_has_the_shortcuts_of_the_manifest(manifest: dict[str, Any]) -> None:
    assert dict(SHORTCUTS) == {
        shortcut["name"]: shortcut["callback_id"] for shortcut in manifest["features"]["shortcuts"]
    }


@pytest.mark.parametrize(
    ("source", "methods"),
    [
        ("await client.views_open(trigger_id=t)", {"views_open"}),
        ("await self._call('usergroups.users.list', usergroup=g)", {"usergroups_users_list"}),
        ("await client.api_call('chat.update', json={})", {"chat_update"}),
        ("logging.getLogger('knowledge.search').info('chat')", set()),
    ],
)
def test_calls_of_the_web_api_are_found_in_code(source: str, methods: set[str]) -> None:
    assert methods_called(list(ast.walk(ast.parse(source)))) == methods
