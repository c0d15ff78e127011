"""views.*: modals and the home tab, as the app opens and changes them."""

from dataclasses import replace

from bot.local_slack.limits import Refusal, check_view
from bot.local_slack.methods import Kind, Method, Parts
from bot.local_slack.payloads import view_json
from bot.local_slack.workspace import Json, View

MOST_PUSHED = 3


def new_view(parts: Parts, user: str, payload: Json) -> View:
    """A view that Slack has taken, with its ids."""
    workspace = parts.workspace
    view_id = workspace.next_id("V")
    payload = {**payload, "blocks": list(workspace.with_ids(payload["blocks"]))}
    return View(view_id, user, f"{workspace.next_ts()}.{view_id}", payload, root_id=view_id)


def opened(parts: Parts, view: View) -> Json:
    return {"view": view_json(parts.workspace, parts.app, view)}


def open_view(parts: Parts, a: Json) -> Json:
    payload = check_view(a["view"], "modal")
    user = parts.triggers.take(a["trigger_id"])
    view = new_view(parts, user, payload)
    parts.workspace.modals[user] = [view]
    parts.workspace.changed()
    return opened(parts, view)


def push_view(parts: Parts, a: Json) -> Json:
    payload = check_view(a["view"], "modal")
    user = parts.triggers.take(a["trigger_id"])
    return opened(parts, push(parts, user, payload))


def push(parts: Parts, user: str, payload: Json) -> View:
    """Lay a view over those the person has open."""
    stack = parts.workspace.modals.get(user, [])
    if not stack:
        raise Refusal("not_found")
    if len(stack) >= MOST_PUSHED:
        raise Refusal("push_limit_reached")
    view = replace(new_view(parts, user, payload), root_id=stack[0].id, previous_id=stack[-1].id)
    stack.append(view)
    parts.workspace.changed()
    return view


def update_view(parts: Parts, a: Json) -> Json:
    payload = check_view(a["view"], "modal")
    for stack in parts.workspace.modals.values():
        for view in stack:
            external = view.payload.get("external_id")
            if view.id == a.get("view_id") or (external and external == a.get("external_id")):
                if a.get("hash") and a["hash"] != view.hash:
                    raise Refusal("hash_conflict")
                return opened(parts, replace_view(parts, view, payload))
    raise Refusal("not_found")


def replace_view(parts: Parts, view: View, payload: Json) -> View:
    """The same view with other content; it keeps its id and gets a new hash."""
    stack = parts.workspace.modals[view.user]
    new = new_view(parts, view.user, payload)
    new = replace(new, id=view.id, root_id=view.root_id, previous_id=view.previous_id)
    stack[[one.id for one in stack].index(view.id)] = new
    parts.workspace.changed()
    return new


def publish(parts: Parts, a: Json) -> Json:
    payload = check_view(a["view"], "home")
    user = a["user_id"]
    if user not in parts.workspace.members:
        raise Refusal("invalid_arguments", ["user_id is not of this workspace [json-pointer:/user_id]"])
    before = parts.workspace.homes.get(user)
    if a.get("hash") and (before is None or before.hash != a["hash"]):
        raise Refusal("hash_conflict")
    view = new_view(parts, user, payload)
    if before:
        view = replace(view, id=before.id, root_id=before.id)
    parts.workspace.homes[user] = view
    parts.workspace.changed()
    return opened(parts, view)


OPEN: dict[str, Kind] = {"trigger_id": "text", "interactivity_pointer": "text", "view": "json"}

VIEW_METHODS = {
    "views.open": Method(open_view, OPEN, ("trigger_id", "view"), tier=4),
    "views.push": Method(push_view, OPEN, ("trigger_id", "view"), tier=4),
    "views.update": Method(
        update_view,
        {"view_id": "text", "external_id": "text", "hash": "text", "view": "json"},
        ("view",),
        tier=4,
    ),
    "views.publish": Method(
        publish,
        {"user_id": "text", "view": "json", "hash": "text", "interactivity_pointer": "text"},
        ("user_id", "view"),
        tier=4,
    ),
}
