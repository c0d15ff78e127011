"""The shapes of Block Kit: which blocks and elements exist, their keys and bounds.

From Slack's reference of blocks, block elements and composition objects. What is not listed is refused.
"""

from typing import Any

from bot.local_slack.rich_text import RICH_TEXT
from bot.local_slack.shapes import (
    Check,
    Problem,
    all_of,
    boolean,
    integer,
    items,
    link,
    one_of,
    problem,
    string,
    thing,
    word,
)

ID = string(255, 1)


def plain(longest: int) -> Check:
    return one_of({"plain_text": thing({"text": string(longest, 1)}, {"emoji": boolean})})


def text(longest: int) -> Check:
    """A text object of either kind."""
    return one_of(
        {
            "plain_text": thing({"text": string(longest, 1)}, {"emoji": boolean}),
            "mrkdwn": thing({"text": string(longest, 1)}, {"verbatim": boolean}),
        }
    )


CONFIRM = thing(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": word("primary", "danger")},
)
ACTION: dict[str, Check] = {"action_id": ID, "confirm": CONFIRM}
FOCUS: dict[str, Check] = {"action_id": ID, "focus_on_load": boolean}
PLACEHOLDER: dict[str, Check] = {"placeholder": plain(150)}
DISPATCH = thing(
    {"trigger_actions_on": items(word("on_enter_pressed", "on_character_entered"), 2)},
)


def options(most: int, label: Check, extra: dict[str, Check] | None = None) -> Check:
    return items(
        thing({"text": label, "value": string(150, 1)}, {"description": label, **(extra or {})}), most
    )


OPTION = thing({"text": text(75), "value": string(150, 1)}, {"description": text(75)})
GROUPS = items(thing({"label": plain(75), "options": options(100, plain(75))}), 100)
SELECT = {**ACTION, **FOCUS, **PLACEHOLDER}
SEVERAL = {**SELECT, "max_selected_items": integer(1, 1000)}


def choice(required: dict[str, Check], more: dict[str, Check]) -> Check:
    """A menu of fixed options: flat or in groups, never both."""

    def either(value: Any, where: str) -> list[Problem]:
        if ("options" in value) == ("option_groups" in value):
            return [problem("must define either options or option_groups", where)]
        return []

    return all_of(
        thing(required, {"options": options(100, plain(75)), "option_groups": GROUPS, **more}), either
    )


MENUS: dict[str, Check] = {
    "static_select": choice({}, {**SELECT, "initial_option": OPTION}),
    "users_select": thing({}, {**SELECT, "initial_user": string()}),
    "channels_select": thing({}, {**SELECT, "initial_channel": string(), "response_url_enabled": boolean}),
    "conversations_select": thing(
        {},
        {
            **SELECT,
            "initial_conversation": string(),
            "default_to_current_conversation": boolean,
            "response_url_enabled": boolean,
        },
    ),
    "external_select": thing({}, {**SELECT, "initial_option": OPTION, "min_query_length": integer(0, 1000)}),
}
MULTI_MENUS: dict[str, Check] = {
    "multi_static_select": choice({}, {**SEVERAL, "initial_options": items(OPTION, 100)}),
    "multi_users_select": thing({}, {**SEVERAL, "initial_users": items(string(), 1000)}),
    "multi_channels_select": thing({}, {**SEVERAL, "initial_channels": items(string(), 1000)}),
    "multi_conversations_select": thing({}, {**SEVERAL, "initial_conversations": items(string(), 1000)}),
}
PICKERS: dict[str, Check] = {
    "datepicker": thing({}, {**ACTION, **FOCUS, **PLACEHOLDER, "initial_date": string(10)}),
    "timepicker": thing(
        {}, {**ACTION, **FOCUS, **PLACEHOLDER, "initial_time": string(5), "timezone": string()}
    ),
    "datetimepicker": thing({}, {**ACTION, **FOCUS, "initial_date_time": integer(0, 9_999_999_999)}),
    "checkboxes": thing(
        {"options": options(10, text(75))}, {**ACTION, **FOCUS, "initial_options": items(OPTION, 10)}
    ),
    "radio_buttons": thing({"options": options(10, text(75))}, {**ACTION, **FOCUS, "initial_option": OPTION}),
}
BUTTON = thing(
    {"text": plain(75)},
    {
        **ACTION,
        "value": string(2000),
        "url": link(),
        "style": word("primary", "danger"),
        "accessibility_label": string(75),
    },
)
OVERFLOW = thing({"options": options(5, plain(75), {"url": link()})}, ACTION)
TYPED = {**FOCUS, **PLACEHOLDER, "initial_value": string(3000), "dispatch_action_config": DISPATCH}
TYPED_NUMBER = {**TYPED, "min_value": string(), "max_value": string()}
FIELDS: dict[str, Check] = {
    "plain_text_input": thing(
        {},
        {**TYPED, "multiline": boolean, "min_length": integer(0, 3000), "max_length": integer(1, 3000)},
    ),
    "email_text_input": thing({}, TYPED),
    "url_text_input": thing({}, TYPED),
    "number_input": thing({"is_decimal_allowed": boolean}, TYPED_NUMBER),
    "file_input": thing(
        {}, {"action_id": ID, "filetypes": items(string(), 100), "max_files": integer(1, 10)}
    ),
}


def image(more: dict[str, Check]) -> Check:
    """A picture needs words for those who do not see it, and exactly one place to load it from."""

    def one_place(value: Any, where: str) -> list[Problem]:
        if ("image_url" in value) == ("slack_file" in value):
            return [problem("must define either `slack_file` or `image_url`", where)]
        return []

    places: dict[str, Check] = {
        "image_url": link(),
        "slack_file": thing({}, {"id": string(), "url": link()}),
    }
    return all_of(thing({"alt_text": string(2000, 1)}, {**places, **more}), one_place)


IMAGE_ELEMENT = image({})


def text_or_fields(value: Any, where: str) -> list[Problem]:
    if "text" in value or "fields" in value:
        return []
    return [problem("must define either `fields` or `text`", where)]


CELL = one_of({"raw_text": thing({"text": string(shortest=1)}), "rich_text": RICH_TEXT})
COLUMN = thing({}, {"align": word("left", "center", "right"), "is_wrapped": boolean})

BLOCKS: dict[str, Check] = {
    "section": all_of(
        thing(
            {},
            {
                "block_id": ID,
                "text": text(3000),
                "fields": items(text(2000), 10),
                "expand": boolean,
                "accessory": one_of(
                    {
                        "button": BUTTON,
                        "overflow": OVERFLOW,
                        "image": IMAGE_ELEMENT,
                        **MENUS,
                        **MULTI_MENUS,
                        **PICKERS,
                    }
                ),
            },
        ),
        text_or_fields,
    ),
    "header": thing({"text": plain(150)}, {"block_id": ID}),
    "divider": thing({}, {"block_id": ID}),
    "context": thing(
        {
            "elements": items(
                one_of(
                    {
                        "plain_text": thing({"text": string(3000, 1)}, {"emoji": boolean}),
                        "mrkdwn": thing({"text": string(3000, 1)}, {"verbatim": boolean}),
                        "image": IMAGE_ELEMENT,
                    }
                ),
                10,
            )
        },
        {"block_id": ID},
    ),
    "actions": thing(
        {"elements": items(one_of({"button": BUTTON, "overflow": OVERFLOW, **MENUS, **PICKERS}), 25)},
        {"block_id": ID},
    ),
    "image": image({"block_id": ID, "title": plain(2000)}),
    "input": thing(
        {"label": plain(2000), "element": one_of({**FIELDS, **MENUS, **MULTI_MENUS, **PICKERS})},
        {"block_id": ID, "hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
    ),
    "markdown": thing({"text": string(12_000, 1)}, {"block_id": ID}),
    "rich_text": RICH_TEXT,
    "table": thing(
        {"rows": items(items(CELL, 20), 100)}, {"block_id": ID, "column_settings": items(COLUMN, 20, 0)}
    ),
}
BLOCK = one_of(BLOCKS)
