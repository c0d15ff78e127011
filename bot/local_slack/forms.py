"""Modals as a person fills them in: what Slack's client refuses, what is sent, what the answer does."""

from collections.abc import Iterator, Mapping
from typing import Any

from bot.local_slack.limits import Refusal, check_view
from bot.local_slack.methods import Parts
from bot.local_slack.plain_text import block_text
from bot.local_slack.view_methods import push, replace_view
from bot.local_slack.workspace import Json, NotPossible, View

LONGEST_TYPED = 3000
TYPED = ("plain_text_input", "email_text_input", "url_text_input", "number_input")
INITIAL = (
    *("initial_value", "initial_option", "initial_options", "initial_date", "initial_time", "initial_user"),
    *("initial_users", "initial_channel", "initial_channels", "initial_conversation"),
    *("initial_conversations", "initial_date_time"),
)
# type of element: the key of its state that holds what was chosen
CHOSEN = {
    "static_select": "selected_option",
    "external_select": "selected_option",
    "radio_buttons": "selected_option",
    "checkboxes": "selected_options",
    "multi_static_select": "selected_options",
    "users_select": "selected_user",
    "multi_users_select": "selected_users",
    "channels_select": "selected_channel",
    "multi_channels_select": "selected_channels",
    "conversations_select": "selected_conversation",
    "multi_conversations_select": "selected_conversations",
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
    "file_input": "files",
}


def fields(view: View) -> Iterator[tuple[Json, Json]]:
    """The input blocks of a view, each with its element."""
    for block in view.payload["blocks"]:
        if block["type"] == "input":
            yield block, block["element"]


def filled_in(view: View, values: Mapping[str, Any]) -> Json:
    """The state of a view whose fields hold `values`, the rest what they began with.

    A field is named by `block_id/action_id`, its block_id, its action_id or its label. An option is named by
    its value or its label. Raises NotPossible where Slack's client would not submit the form.
    """
    left = dict(values)
    state: Json = {}
    for block, element in fields(view):
        block_id, action_id, label = block["block_id"], element["action_id"], block_text(block["label"])
        names = [n for n in (f"{block_id}/{action_id}", block_id, action_id, label) if n in left]
        value = left.pop(names[0]) if names else next((element[k] for k in INITIAL if k in element), None)
        if value in (None, "", []):
            if not block.get("optional"):
                raise NotPossible(f"The field {label!r} is required: give it a value.")
            value = None
        state.setdefault(block_id, {})[action_id] = field_state(element, value, label)
    if left:
        raise NotPossible(f"The form {view.title!r} has no field {', '.join(map(repr, left))}.")
    return state


def field_state(element: Json, value: Any, label: str) -> Json:
    kind = element["type"]
    if kind in TYPED:
        longest = min(element.get("max_length", LONGEST_TYPED), LONGEST_TYPED)
        if value is not None and len(value) > longest:
            raise NotPossible(f"The field {label!r} takes at most {longest} characters.")
        if value is not None and len(value) < element.get("min_length", 0):
            raise NotPossible(f"The field {label!r} needs at least {element['min_length']} characters.")
        return {"type": kind, "value": value}
    if "options" in element or "option_groups" in element:
        several = kind in ("checkboxes", "multi_static_select")
        chosen = [option_of(element, one, label) for one in (value or [] if several else [value])]
        return {"type": kind, CHOSEN[kind]: chosen if several else chosen[0]}
    return {"type": kind, CHOSEN[kind]: value}


def option_of(element: Json, value: Any, label: str) -> Json | None:
    """The option that a person picks, by its value or label."""
    if value is None or isinstance(value, dict):
        return value
    groups = [group["options"] for group in element.get("option_groups", [])]
    options: list[Json] = element.get("options") or [option for group in groups for option in group]
    for option in options:
        if value in (option["value"], block_text(option["text"])):
            return option
    raise NotPossible(f"{label!r} has no option {value!r}.")


def react(parts: Parts, view: View, answer: Json) -> dict[str, str]:
    """Do what the app answered to a submitted view; the errors to show beside its fields, by block_id.

    Raises Refusal for an answer that Slack does not take; the view then stays as it is.
    """
    stack = parts.workspace.modals[view.user]
    match answer.get("response_action"):
        case "errors":
            errors = answer.get("errors")
            inputs = {block["block_id"] for block, _ in fields(view)}
            if not isinstance(errors, dict) or not errors or not set(errors) <= inputs:
                raise Refusal("invalid_arguments", ["errors must name input blocks of the view"])
            return errors
        case "update":
            replace_view(parts, view, check_view(answer.get("view"), "modal"))
        case "push":
            push(parts, view.user, check_view(answer.get("view"), "modal"))
        case "clear":
            stack.clear()
        case None:
            stack[:] = [one for one in stack if one.id != view.id]
        case other:
            raise Refusal("invalid_arguments", [f"unknown response_action: {other}"])
    parts.workspace.changed()
    return {}
