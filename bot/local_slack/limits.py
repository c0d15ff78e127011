"""What Slack refuses in messages, modals and home tabs: pure checks that raise Refusal."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from bot.local_slack.block_kit import BLOCK, plain
from bot.local_slack.shapes import Problem, boolean, one_of, problem, string, thing
from bot.local_slack.workspace import Json

LONGEST_TEXT = 40_000  # chat.postMessage; Slack splits what is over SPLIT_AT
SPLIT_AT = 4_000
LONGEST_UPDATE = 4_000
MOST_BLOCKS, MOST_VIEW_BLOCKS = 50, 100
LONGEST_BLOCKS = 13_000  # characters of JSON of all blocks of a message
LONGEST_MARKDOWN = 12_000  # over all markdown blocks of a message
LONGEST_TABLE = 10_000
LARGEST_METADATA = 8_000
LARGEST_VIEW = 250_000


class Refusal(Exception):
    """Slack says no: `code` is its `error`, `problems` say what and where, `more` are further fields."""

    def __init__(self, code: str, problems: Sequence[Problem] = (), **more: Any) -> None:
        super().__init__(": ".join([code, "; ".join(problems)]) if problems else code)
        self.code, self.problems, self.more = code, list(problems), more


def check_message(
    text: Any, blocks: Any, *, metadata: Any = None, longest_text: int = LONGEST_TEXT
) -> tuple[str, tuple[Json, ...]]:
    """The text and blocks of a message that Slack takes; Refusal otherwise.

    `blocks` is None when none were given. An empty text with blocks is taken, as in Slack.
    """
    text = text or ""
    if not isinstance(text, str):
        raise Refusal("invalid_arguments", [problem("must provide a string", "/text")])
    if len(text) > longest_text:
        raise Refusal("msg_too_long")
    if not text.strip() and not blocks:
        raise Refusal("no_text")
    checked = check_blocks(blocks or [])
    check_metadata(metadata)
    return text, tuple(checked)


def check_blocks(blocks: Any) -> list[Json]:
    """The blocks of a message."""
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise Refusal("invalid_blocks_format")
    problems = (
        [problem(f"no more than {MOST_BLOCKS} items allowed", "/blocks")] if len(blocks) > MOST_BLOCKS else []
    )
    problems += block_problems(blocks, "/blocks")
    if sum(block.get("type") == "table" for block in blocks) > 1:
        problems.append(problem("only_one_table_allowed", "/blocks"))
    if problems:
        raise Refusal("invalid_blocks", problems, errors=problems)
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if markdown > LONGEST_MARKDOWN or len(json.dumps(blocks, ensure_ascii=False)) > LONGEST_BLOCKS:
        raise Refusal("msg_blocks_too_long")
    return blocks


def block_problems(blocks: list[Json], where: str) -> list[Problem]:
    """All that is wrong with these blocks, in the order they stand."""
    problems: list[Problem] = []
    block_ids: set[str] = set()
    for i, block in enumerate(blocks):
        here = f"{where}/{i}"
        found = BLOCK(block, here)
        problems += found
        if found:
            continue
        if (block_id := block.get("block_id")) in block_ids:
            problems.append(problem(f"block_id {block_id} already exists", f"{here}/block_id"))
        elif block_id:
            block_ids.add(block_id)
        action_ids = [e["action_id"] for e in elements(block) if "action_id" in e]
        problems += [
            problem(f"action_id {one} already exists", here)
            for one in sorted({a for a in action_ids if action_ids.count(a) > 1})
        ]
        if block["type"] == "table":
            if (
                sum(len(text) for row in block["rows"] for cell in row for text in texts(cell))
                > LONGEST_TABLE
            ):
                problems.append(problem(f"must be less than {LONGEST_TABLE + 1} characters", f"{here}/rows"))
            if len({len(row) for row in block["rows"]}) > 1:
                problems.append(problem("rows must have the same number of cells", f"{here}/rows"))
    return problems


def elements(block: Json) -> Iterator[Json]:
    """The elements of a block that a person can use or fill in."""
    if block["type"] == "actions":
        yield from block["elements"]
    elif block["type"] == "section" and "accessory" in block:
        yield block["accessory"]
    elif block["type"] == "input":
        yield block["element"]


def texts(value: Any) -> Iterator[str]:
    """Every text inside, at any depth."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key == "text" and isinstance(part, str):
                yield part
            else:
                yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def check_metadata(metadata: Any) -> None:
    if metadata in (None, {}):
        return
    if (
        not isinstance(metadata, dict)
        or set(metadata) != {"event_type", "event_payload"}
        or not isinstance(metadata["event_type"], str)
        or not metadata["event_type"]
        or not isinstance(metadata["event_payload"], dict)
    ):
        raise Refusal("invalid_metadata_format")
    if len(json.dumps(metadata)) > LARGEST_METADATA:
        raise Refusal("metadata_too_large")


MODAL = thing(
    {"title": plain(24), "blocks": lambda value, where: []},
    {
        "submit": plain(24),
        "close": plain(24),
        "private_metadata": string(3000),
        "callback_id": string(255),
        "external_id": string(255),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "submit_disabled": boolean,
    },
)
HOME = thing(
    {"blocks": lambda value, where: []},
    {"private_metadata": string(3000), "callback_id": string(255), "external_id": string(255)},
)


def check_view(view: Any, kind: str) -> Json:
    """A view of the kind `modal` or `home` that Slack takes; Refusal otherwise."""
    if not isinstance(view, dict):
        raise Refusal("invalid_arguments", [problem("must provide an object", "/view")])
    problems = one_of({kind: MODAL if kind == "modal" else HOME})(view, "/view")
    blocks = view.get("blocks", [])
    if not isinstance(blocks, list) or len(blocks) > MOST_VIEW_BLOCKS:
        problems.append(problem(f"no more than {MOST_VIEW_BLOCKS} items allowed", "/view/blocks"))
    else:
        problems += block_problems(blocks, "/view/blocks")
        problems += unfit_blocks(blocks, view, kind)
    if problems:
        raise Refusal("invalid_arguments", problems)
    if len(json.dumps(view)) > LARGEST_VIEW:
        raise Refusal("view_too_large")
    return view


def unfit_blocks(blocks: list[Json], view: Json, kind: str) -> list[Problem]:
    """Blocks that are right in themselves and wrong in this view."""
    kinds = [block.get("type") for block in blocks if isinstance(block, dict)]
    problems = [
        problem(f"unsupported type: {name}", f"/view/blocks/{i}")
        for i, name in enumerate(kinds)
        if name in ("markdown", "table")
    ]
    if kind == "modal" and "input" in kinds and "submit" not in view:
        problems.append(problem("missing required field: submit", "/view"))
    return problems
