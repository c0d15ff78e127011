"""The app as this workspace has it installed: its tokens and what its manifest asks for."""

from collections.abc import Mapping
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

# What a message's menu offers -> callback_id.
SHORTCUTS = {"Add to knowledge base": "add_to_knowledge_base"}


@dataclass
class InstalledApp:
    user_id: str  # the bot user
    bot_id: str
    app_id: str
    name: str
    commands: tuple[str, ...]
    shortcuts: Mapping[str, str]  # of messages: what the menu says -> callback_id
    scopes: tuple[str, ...] = BOT_SCOPES
    events: tuple[str, ...] = EVENTS
    bot_token: str = "xoxb-local-bot"
    app_token: str = "xapp-local-app"
    verification_token: str = "local-verification"
    installed: bool = True
