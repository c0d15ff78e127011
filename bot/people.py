"""Who somebody is, read from what Slack says of them. Pure."""

from typing import Any

from bot.decisions import Approvers, Person
from knowledge.language import LANGUAGES, Language

_OUTSIDE = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")


def person_of(user: dict[str, Any], *, groups: frozenset[str], team_id: str | None) -> Person:
    """Guests, bots, strangers and people whose account is gone are no full members of `team_id`."""
    # People of another workspace (Slack Connect) are strangers even where Slack does not flag them.
    ours = team_id is None or user.get("team_id", team_id) == team_id
    return Person(
        user["id"],
        full_member=ours and not any(user.get(flag) for flag in _OUTSIDE),
        groups=groups,
        language=language_of_locale(user.get("locale", "")),
    )


def groups_among(approvers: Approvers) -> frozenset[str]:
    """The user groups that the setting names: Slack has to be asked who is in them."""
    return frozenset() if isinstance(approvers, str) else frozenset(n for n in approvers if n.startswith("S"))


def name_of(user: dict[str, Any]) -> str:
    """What people see somebody called."""
    profile = user.get("profile", {})
    return str(profile.get("display_name") or profile.get("real_name") or user.get("name") or user["id"])


def language_of_locale(locale: str) -> Language:
    """ "zh-CN", "ja-JP": English for all that the bot does not speak."""
    return next((language for language in LANGUAGES if locale.startswith(language)), "en")
