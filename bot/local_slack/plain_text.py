"""How a message reads, as plain text; and whom it would notify."""

import re
from collections.abc import Iterator, Sequence

from bot.local_slack.workspace import Json, Message, View

BROADCASTS = re.compile(r"<!(channel|here|everyone)(?:\|[^>]*)?>")
MENTIONS = re.compile(r"<(@[UW][A-Z0-9]+|!subteam\^[A-Z0-9]+)(?:\|[^>]*)?>")
LINKS = re.compile(r"<((?:https?|mailto|slack):[^|>]*)(?:\|([^>]*))?>")


def plain_text(message: Message | View) -> str:
    """The message or view as a person reads it: one line or more for each block, buttons as `[Approve]`.

    Mentions stay as Slack writes them (`<@U…>`); entities are shown as the characters they stand for.
    """
    if isinstance(message, View):
        parts = [f"[{message.title}]", *(block_text(b) for b in message.payload["blocks"])]
        return "\n".join(part for part in parts if part)
    if not message.blocks:
        return shown(message.text)
    return "\n".join(line for block in message.blocks if (line := block_text(block)))


def shown(text: str) -> str:
    """mrkdwn with its links and entities resolved: `<https://x|name>` reads `name (https://x)`."""
    text = LINKS.sub(lambda m: f"{m[2]} ({m[1]})" if m[2] else m[1], text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def block_text(block: Json) -> str:
    """One block, or one part of a block."""
    match block["type"]:
        case "plain_text" | "raw_text":
            return str(block["text"])
        case "mrkdwn":
            return shown(block["text"])
        case "header":
            return f"# {block_text(block['text'])}"
        case "markdown":
            return str(block["text"])
        case "divider":
            return "———"
        case "image":
            return f"[image: {block['alt_text']}]"
        case "section":
            texts = [block[key] for key in ("text",) if key in block] + block.get("fields", [])
            lines = "\n".join(block_text(text) for text in texts)
            return lines + (f"  {element_text(block['accessory'])}" if "accessory" in block else "")
        case "context":
            return "  ".join(block_text(part) for part in block["elements"])
        case "actions":
            return " ".join(element_text(element) for element in block["elements"])
        case "input":
            return f"{block_text(block['label'])}: {element_text(block['element'])}"
        case "rich_text":
            return "\n".join(rich_text(block["elements"]))
        case "table":
            return "\n".join(" | ".join(block_text(cell) for cell in row) for row in block["rows"])
    return f"[{block['type']}]"


def element_text(element: Json) -> str:
    """Something to press, choose or fill in: its label in brackets."""
    if element["type"] == "button":
        return f"[{block_text(element['text'])}]"
    if element["type"] == "image":
        return block_text(element)
    if "options" in element:
        return f"[{' / '.join(block_text(option['text']) for option in element['options'])}]"
    label = element.get("placeholder") or {"type": "plain_text", "text": "…"}
    return f"[{element.get('initial_value') or block_text(label)}]"


def rich_text(elements: Sequence[Json]) -> Iterator[str]:
    """The lines of a rich_text block: lists with their marks, quotes after `> `, code indented."""
    for element in elements:
        match element["type"]:
            case "rich_text_list":
                indent = "    " * element.get("indent", 0)
                first = element.get("offset", 0) + 1
                for number, item in enumerate(element["elements"], first):
                    mark = f"{number}." if element["style"] == "ordered" else "•"
                    yield f"{indent}{mark} {inline(item['elements'])}"
            case "rich_text_quote":
                yield from (f"> {line}" for line in inline(element["elements"]).splitlines())
            case "rich_text_preformatted":
                yield from (f"    {line}" for line in inline(element["elements"]).splitlines())
            case _:
                yield inline(element["elements"])


def inline(elements: Sequence[Json]) -> str:
    return "".join(map(inline_text, elements))


def inline_text(element: Json) -> str:
    match element["type"]:
        case "text":
            return str(element["text"])
        case "link":
            text = element.get("text")
            return f"{text} ({element['url']})" if text else str(element["url"])
        case "emoji":
            return f":{element['name']}:"
        case "user":
            return f"<@{element['user_id']}>"
        case "usergroup":
            return f"<!subteam^{element['usergroup_id']}>"
        case "channel":
            return f"<#{element['channel_id']}>"
        case "broadcast":
            return f"<!{element['range']}>"
        case "date":
            return str(element.get("fallback", element["timestamp"]))
    return str(element.get("value", ""))


def notifies(message: Message) -> list[str]:
    """Whom a message pings, in the order it names them: `@U…`, `!subteam^S…`, `channel`, `here`, `everyone`.

    Live are mrkdwn texts, markdown blocks and the mention elements of rich_text; plain_text and the text
    elements of rich_text are inert. With blocks, `text` is the notification's own line and pings as well.
    """
    return list(dict.fromkeys([*live(message.text), *(one for b in message.blocks for one in pings(b))]))


def live(text: str) -> Iterator[str]:
    for found in re.finditer(f"{BROADCASTS.pattern}|{MENTIONS.pattern}", text):
        yield found[1] or found[2]


def pings(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        match part.get("type"):
            case "mrkdwn" | "markdown":
                yield from live(part["text"])
            case "plain_text" | "raw_text" | "text":
                return
            case "user":
                yield f"@{part['user_id']}"
            case "usergroup":
                yield f"!subteam^{part['usergroup_id']}"
            case "broadcast":
                yield part["range"]
            case _:
                for inner in part.values():
                    yield from pings(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from pings(inner)
