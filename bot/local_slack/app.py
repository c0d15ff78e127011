"""The app as this workspace has it installed: its tokens, scopes, events and commands, as in a manifest."""

from dataclasses import dataclass

BOT_SCOPES = (
    *("commands", "chat:write", "app_mentions:read", "channels:history", "groups:history", "im:history"),
    *("mpim:history", "channels:read", "groups:read", "im:write", "users:read", "usergroups:read"),
    *("reactions:write", "files:write", "files:read"),
)
EVENTS = (
    *("message.channels", "message.groups", "message.im", "message.mpim", "app_mention", "app_home_opened"),
    *("tokens_revoked", "app_uninstalled"),
)


@dataclass
class InstalledApp:
    user_id: str  # the bot user
    bot_id: str
    app_id: str
    name: str
    commands: tuple[str, ...]
    scopes: tuple[str, ...] = BOT_SCOPES
    events: tuple[str, ...] = EVENTS
    bot_token: str = "xoxb-local-bot"
    app_token: str = "xapp-local-app"
    verification_token: str = "local-verification"
    installed: bool = True
