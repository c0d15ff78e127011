"""What the app's manifest asks Slack for."""

from pathlib import Path
from typing import Any

import yaml

MANIFEST = Path(__file__).parent.parent / "manifest.yml"


def bot_scopes() -> list[str]:
    """What the bot token may do."""
    return list(_manifest()["oauth_config"]["scopes"]["bot"])


def bot_events() -> list[str]:
    """What Slack tells the bot of."""
    return list(_manifest()["settings"]["event_subscriptions"]["bot_events"])


def _manifest() -> Any:
    return yaml.safe_load(MANIFEST.read_text())
