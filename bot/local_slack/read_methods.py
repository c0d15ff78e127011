"""auth, team, conversations, users and usergroups: what the bot asks about the workspace."""

from bot.local_slack.limits import Refusal
from bot.local_slack.methods import (
    READ_SCOPES,
    Kind,
    Method,
    Parts,
    need_scope,
    own_channel,
    page,
    visible_channel,
)
from bot.local_slack.payloads import channel_json, message_json, user_json, usergroup_json
from bot.local_slack.workspace import Channel, Json, Member, Message

HISTORY_SCOPES = {kind: scope.replace(":read", ":history") for kind, scope in READ_SCOPES.items()}
CHANNEL_KINDS = {"public_channel": "public", "private_channel": "private", "im": "im", "mpim": "mpim"}


def auth_test(parts: Parts, a: Json) -> Json:
    return {
        "url": f"https://{parts.workspace.domain}.slack.com/",
        "team": parts.workspace.name,
        "user": parts.app.name.lower(),
        "team_id": parts.workspace.team,
        "user_id": parts.app.user_id,
        "bot_id": parts.app.bot_id,
        "is_enterprise_install": False,
    }


def open_connection(parts: Parts, a: Json) -> Json:
    return {"url": parts.socket.ticket_url()}


def team_info(parts: Parts, a: Json) -> Json:
    workspace = parts.workspace
    return {"team": {"id": workspace.team, "name": workspace.name, "domain": workspace.domain}}


def readable(parts: Parts, channel_id: str, scopes: dict[str, str]) -> Channel:
    channel = visible_channel(parts, channel_id)
    need_scope(parts, scopes[channel.kind])
    return channel


def info(parts: Parts, a: Json) -> Json:
    channel = readable(parts, a["channel"], READ_SCOPES)
    json = channel_json(parts.workspace, parts.app, channel)
    return {"channel": json | ({"num_members": len(channel.members)} if a.get("include_num_members") else {})}


def list_channels(parts: Parts, a: Json) -> Json:
    names = [name.strip() for name in (a.get("types") or "public_channel").split(",")]
    if any(name not in CHANNEL_KINDS for name in names):
        raise Refusal("invalid_types")
    kinds = [CHANNEL_KINDS[name] for name in names]
    for kind in kinds:
        need_scope(parts, READ_SCOPES[kind])
    found = [
        channel
        for channel in parts.workspace.channels.values()
        if channel.kind in kinds
        and (channel.kind == "public" or parts.app.user_id in channel.members)
        and not (a.get("exclude_archived") and channel.is_archived)
    ]
    shown, following = page(found, a)
    return {"channels": [channel_json(parts.workspace, parts.app, c) for c in shown], **following}


def members(parts: Parts, a: Json) -> Json:
    shown, following = page(readable(parts, a["channel"], READ_SCOPES).members, a)
    return {"members": shown, **following}


def between(messages: list[Message], a: Json) -> list[Message]:
    """Messages after `oldest` and before `latest`; `inclusive` takes those that are exactly then."""
    oldest, latest = moment(a, "oldest", 0.0), moment(a, "latest", float("inf"))
    if a.get("inclusive"):
        return [m for m in messages if oldest <= float(m.ts) <= latest]
    return [m for m in messages if oldest < float(m.ts) < latest]


def moment(a: Json, name: str, default: float) -> float:
    try:
        return float(a.get(name) or default)
    except ValueError:
        raise Refusal(f"invalid_ts_{name}") from None


def history(parts: Parts, a: Json) -> Json:
    channel = own_channel(parts, readable(parts, a["channel"], HISTORY_SCOPES).id)
    newest_first = between(parts.workspace.history(channel.id), a)[::-1]
    return read_page(parts, newest_first, a)


def replies(parts: Parts, a: Json) -> Json:
    """The parent first, whatever the range, then replies, oldest first. `ts` may be a reply's, too."""
    channel = own_channel(parts, readable(parts, a["channel"], HISTORY_SCOPES).id)
    message = parts.workspace.message(channel.id, a["ts"])
    parent_ts = (message.thread_ts or message.ts) if message else a["ts"]
    thread = parts.workspace.thread(channel.id, parent_ts)
    if not thread:
        raise Refusal("thread_not_found")
    first = [m for m in thread if m.ts == parent_ts]
    return read_page(parts, first + between([m for m in thread if m.ts != parent_ts], a), a)


def read_page(parts: Parts, found: list[Message], a: Json) -> Json:
    shown, following = page(found, a)
    metadata = bool(a.get("include_all_metadata"))
    return {
        "messages": [message_json(parts.workspace, parts.app, m, metadata=metadata) for m in shown],
        "has_more": bool(following["response_metadata"]["next_cursor"]),
        **following,
    }


def open_conversation(parts: Parts, a: Json) -> Json:
    if a.get("channel"):
        return {"channel": {"id": visible_channel(parts, a["channel"]).id}}
    users = a.get("users") or []
    if not users:
        raise Refusal("users_list_not_supplied")
    if len(users) > 8:
        raise Refusal("too_many_users")
    need_scope(parts, "im:write" if len(users) == 1 else "mpim:write")
    for user in users:
        person(parts, user)
    channel = parts.workspace.direct_channel(*users, parts.app.user_id)
    full = channel_json(parts.workspace, parts.app, channel)
    return {"channel": full if a.get("return_im") else {"id": channel.id}}


def person(parts: Parts, user: str) -> Member:
    member = parts.workspace.members.get(user)
    if member is None:
        raise Refusal("user_not_found")
    return member


def user_info(parts: Parts, a: Json) -> Json:
    return {"user": user_json(parts.workspace, person(parts, a["user"]))}


def list_users(parts: Parts, a: Json) -> Json:
    shown, following = page(list(parts.workspace.members.values()), a)
    return {"members": [user_json(parts.workspace, m) for m in shown], **following}


def list_usergroups(parts: Parts, a: Json) -> Json:
    groups = parts.workspace.usergroups.values()
    users = bool(a.get("include_users"))
    return {"usergroups": [usergroup_json(parts.workspace, g, users=users) for g in groups]}


def usergroup_users(parts: Parts, a: Json) -> Json:
    group = parts.workspace.usergroups.get(a["usergroup"])
    if group is None:
        raise Refusal("no_such_subteam")
    return {"users": list(group.members)}


PAGES: dict[str, Kind] = {"cursor": "text", "limit": "number"}
READ: dict[str, Kind] = {
    **PAGES,
    "channel": "text",
    "latest": "text",
    "oldest": "text",
    "inclusive": "flag",
    "include_all_metadata": "flag",
}

READ_METHODS = {
    "auth.test": Method(auth_test, {"team_id": "text"}, tier=5),
    "apps.connections.open": Method(open_connection, token="app"),
    "team.info": Method(team_info, {"team": "text", "domain": "text"}, scopes=("team:read",)),
    "conversations.info": Method(
        info,
        {"channel": "text", "include_locale": "flag", "include_num_members": "flag"},
        ("channel",),
        takes_json=False,
    ),
    "conversations.list": Method(
        list_channels,
        {**PAGES, "exclude_archived": "flag", "team_id": "text", "types": "text"},
        tier=2,
        takes_json=False,
    ),
    "conversations.members": Method(
        members, {**PAGES, "channel": "text"}, ("channel",), tier=4, takes_json=False
    ),
    "conversations.history": Method(history, READ, ("channel",)),
    "conversations.replies": Method(replies, {**READ, "ts": "text"}, ("channel", "ts"), takes_json=False),
    "conversations.open": Method(
        open_conversation,
        {"channel": "text", "users": "list", "return_im": "flag", "prevent_creation": "flag"},
    ),
    "users.info": Method(
        user_info,
        {"user": "text", "include_locale": "flag"},
        ("user",),
        ("users:read",),
        tier=4,
        takes_json=False,
    ),
    "users.list": Method(
        list_users,
        {**PAGES, "include_locale": "flag", "team_id": "text"},
        scopes=("users:read",),
        tier=2,
        takes_json=False,
    ),
    "usergroups.list": Method(
        list_usergroups,
        {"include_count": "flag", "include_disabled": "flag", "include_users": "flag", "team_id": "text"},
        scopes=("usergroups:read",),
        tier=2,
        takes_json=False,
    ),
    "usergroups.users.list": Method(
        usergroup_users,
        {"usergroup": "text", "include_disabled": "flag", "team_id": "text"},
        ("usergroup",),
        ("usergroups:read",),
        tier=2,
        takes_json=False,
    ),
}
