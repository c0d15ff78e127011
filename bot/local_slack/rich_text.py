"""The shapes of rich_text blocks: sections, lists, preformatted text, quotes, and what stands in them."""

from bot.local_slack.shapes import Check, boolean, integer, items, link, one_of, string, thing, word

STYLES = ("bold", "italic", "strike", "code", "underline", "highlight", "client_highlight", "unlink")
STYLE = thing({}, dict.fromkeys(STYLES, boolean))
TEXT = thing({"text": string(shortest=1)}, {"style": STYLE})
LINK = thing({"url": link()}, {"text": string(), "unsafe": boolean, "style": STYLE})
INLINE = one_of(
    {
        "text": TEXT,
        "link": LINK,
        "emoji": thing({"name": string(shortest=1)}, {"unicode": string(), "style": STYLE}),
        "user": thing({"user_id": string(shortest=1)}, {"style": STYLE}),
        "usergroup": thing({"usergroup_id": string(shortest=1)}, {"style": STYLE}),
        "channel": thing({"channel_id": string(shortest=1)}, {"style": STYLE}),
        "broadcast": thing({"range": word("here", "channel", "everyone")}, {"style": STYLE}),
        "color": thing({"value": string(shortest=1)}),
        "date": thing(
            {"timestamp": integer(0, 2**53), "format": string(shortest=1)},
            {"url": link(), "fallback": string(), "style": STYLE},
        ),
    }
)
MANY = 10_000  # Slack names no bound here: the one on the JSON of a message comes first

SECTION = thing({"elements": items(INLINE, MANY, 0)})
BORDER = integer(0, 1)
RICH_TEXT_ELEMENTS: dict[str, Check] = {
    "rich_text_section": SECTION,
    "rich_text_list": thing(
        {
            "elements": items(one_of({"rich_text_section": SECTION}), MANY),
            "style": word("bullet", "ordered"),
        },
        {"indent": integer(0, 8), "offset": integer(0, MANY), "border": BORDER},
    ),
    "rich_text_preformatted": thing(
        {"elements": items(one_of({"text": TEXT, "link": LINK}), MANY, 0)},
        {"border": BORDER, "language": string()},
    ),
    "rich_text_quote": thing({"elements": items(INLINE, MANY, 0)}, {"border": BORDER}),
}
RICH_TEXT = thing({"elements": items(one_of(RICH_TEXT_ELEMENTS), MANY)}, {"block_id": string(255)})
