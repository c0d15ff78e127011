"""From a bad answer to one that fits its schema: what can be mended without guessing, each repair named.

The schema says what is wanted, so that a new answer needs nothing here but, where models misname a field,
a line in `agents.slips`. What has two readings stays as it is: validation names it to the model.
"""

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from agents.answer_shape import (
    Shape,
    complete,
    could_be,
    decides,
    is_model,
    only_text,
    recognised,
    renamed,
    shapes,
)
from agents.answer_text import Wanted, answer_in_text, json_in_string, unfinished
from agents.json_strings import whole_characters
from agents.slips import (
    REMARKS,
    RepairName,
    choice_meant,
    fills_in,
    folded,
    is_of_wrapping,
    is_placeholder,
    may_be_dropped,
    means_nothing,
    truth_of,
)
from agents.text_wrappings import bare_text, unfenced

_DEEPEST = 4  # wrappings around an answer: {"function": {"arguments": "{…}"}} has three

_MOST_IDS = 40  # in one entry
_LONGEST_IDS = 200  # characters of it
_ID = r"s?0*[1-9]\d{0,3}"
_IDS = re.compile(
    rf"[\s\[\](){{}}【】〔〕\"'`]*{_ID}(?:(?:[\s,;、/&|\[\]()【】〔〕\"'`]|\band\b|和|と|及び)+{_ID})*"
    r"[\s\[\](){}【】〔〕\"'`.。,;]*"
)
_LABEL = 60  # characters: entries that may be no longer are words, not sentences
_SEPARATOR = re.compile(r"[,;，；、|\n]")
_POINTS = re.compile(r"(\d{1,9}(?:\.0+)?)\s*(?:(?:/|out of)\s*(\d{1,9})|%|分|点|points?|pts?\.?)?")
_COUNT = re.compile(r"(?:#|no\.|section|第)?\s*([+-]?\d{1,9}(?:\.0+)?)\s*(?:\.|节|節|章)?")


@dataclass(frozen=True)
class Repaired:
    """An answer as far as it could be mended, and what was mended: each name once, in order.

    An answer without a repair is the very one that came. `agents.slips.REPAIRS` has a sentence for each name.
    """

    value: str | dict[str, Any]
    repairs: tuple[RepairName, ...]


def repair(raw: str | dict[str, Any], schema: type[BaseModel]) -> Repaired:
    """What a model gave as its answer (text, or the arguments of a tool) as `schema` wants it.

    No text is shortened, split or made up, and what was cut off is not completed: see `looks_cut_off`.
    Takes linear time, raises nothing.
    """
    mender = _Mender()
    mended = mender.answer(raw, schema)
    return Repaired(raw if mended is None or not mender.repairs else mended, tuple(mender.repairs))


def looks_cut_off(raw: str | dict[str, Any], *, at_limit: bool = False) -> bool:
    """Whether an answer ends inside an object, a list or its reasoning: it needs more room, not a repair.

    `at_limit` says that its model could write no more: it then also ends too early in the midst of a sentence
    behind an object.
    """
    return isinstance(raw, str) and unfinished(raw, at_limit=at_limit)


def _wrapped(value: Any, schema: type[BaseModel]) -> tuple[dict[str, Any], list[RepairName]] | None:
    """The one object inside a value that is recognised, and what was around it."""
    level: list[tuple[Any, list[RepairName]]] = [(value, [])]
    for _ in range(_DEEPEST):
        found = [(inside, names) for inside, names in level if recognised(inside, schema)]
        if found:
            return found[0] if len(found) == 1 else None
        level = [child for inside, names in level for child in _children(inside, names)]
    return None


def _children(value: Any, names: list[RepairName]) -> list[tuple[Any, list[RepairName]]]:
    if isinstance(value, str):
        inside = json_in_string(value)
        return [] if inside is None else [(inside[0], [*names, "double_encoded", *inside[1]])]
    if isinstance(value, list):
        return [(value[0], [*names, "wrapped"])] if len(value) == 1 else []
    if not isinstance(value, dict):
        return []
    # What stands beside the answer is dropped with the wrapping.
    texts = [name for name, beside in value.items() if not is_of_wrapping(name, beside)]
    if len(texts) > 1:
        return []
    return [
        (child, [*names, "wrapped"])
        for name, child in value.items()
        if isinstance(child, str | dict | list) and texts in ([], [name])
    ]


class _Mender:
    """Mends values, and remembers how. A value that it does not understand comes back as it was."""

    def __init__(self) -> None:
        self.repairs: dict[RepairName, None] = {}
        self._texts = self._placeholders = 0
        self._blank = False  # texts are taken for empty

    def answer(self, raw: str | dict[str, Any], schema: type[BaseModel]) -> dict[str, Any] | None:
        """None if there is no object in it, or more than one."""
        value: Any = raw
        if isinstance(raw, str):
            found = answer_in_text(raw, _wanted(schema))
            if found is None:
                return None
            value, names = found
            self._did(*names)
        if inside := _wrapped(value, schema):
            value, names = inside
            self._did(*names)
        if not isinstance(value, dict):
            return None
        mended = self._object(value, schema)
        if decides(schema) and self._is_template(mended, schema):
            self._did("placeholder")
        elif not self._texts and self._placeholders:
            self._blank = True
            mended = self._object(mended, schema)
            self._did("placeholder")
        return mended

    def _object(self, value: dict[str, Any], schema: type[BaseModel]) -> dict[str, Any]:
        fields = shapes(schema)
        names = renamed(value, schema)
        if names:
            self._did("renamed")
        mended = {names.get(name, name): each for name, each in value.items()}
        if 2 * sum(name in fields for name in mended) >= len(fields):
            self._complete(mended, fields, drop=schema.model_config.get("extra") == "forbid")
        self._inside_out(mended, fields)
        for name, shape in fields.items():
            if name in mended:
                mended[name] = self._value(mended[name], shape)
        return mended

    def _is_template(self, mended: dict[str, Any], schema: type[BaseModel]) -> bool:
        """Takes from a decision what a template has in place of its texts: it is asked for then.

        One that has no text at all loses the choice, too: nobody has made it.
        """
        filled = [
            name
            for name, shape in shapes(schema).items()
            if isinstance(said := mended.get(name), str)
            and (shape.text and not shape.nullable)
            and fills_in(said, name, schema.model_fields[name].description)
        ]
        if not self._texts and self._placeholders:
            filled += [name for name, shape in shapes(schema).items() if shape.choices and name in mended]
        for name in filled:
            del mended[name]
        return bool(filled)

    def _complete(self, mended: dict[str, Any], fields: dict[str, Shape], *, drop: bool) -> None:
        """Adds what may be empty and drops what nobody asked for, unless the one could be the other."""
        unknown = [name for name in mended if name not in fields]
        strange = [mended[name] for name in unknown if folded(name) not in REMARKS]
        for name, shape in fields.items():
            if name in mended or any(could_be(each, shape) for each in strange):
                continue
            if shape.nullable:
                mended[name] = None
                self._did("missing_null")
            elif shape.base is list:
                mended[name] = []
                self._did("missing_list")
        idle = [name for name in unknown if may_be_dropped(name, mended[name])]
        if idle and drop and fields.keys() <= mended.keys():
            for name in idle:
                del mended[name]
            self._did("extra_field")

    def _inside_out(self, mended: dict[str, Any], fields: dict[str, Shape]) -> None:
        """An answer whose text is the whole answer once more: `{"content": "{\\"content\\": …}"}`."""
        for name in (name for name, shape in fields.items() if shape.text and not shape.ids):
            for _ in range(_DEEPEST):
                said = mended.get(name)
                own = _own_object(said, name, fields) if isinstance(said, str) else None
                if own is None or any(
                    mended.get(one) and mended[one] != own[one] for one in own if one != name
                ):
                    break
                mended.update(own)
                self._did("double_encoded")

    def _value(self, value: Any, shape: Shape) -> Any:
        if shape.nullable:
            if value is None:
                return None
            if isinstance(value, str) and means_nothing(value):
                return self._with(None, "null_word")
            if isinstance(value, float) and math.isnan(value):
                return self._with(None, "not_a_number")
        if shape.item:
            return self._list(value, shape.item)
        if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list | None):
            return self._value(self._with(value[0], "list_for_single"), shape)
        if is_model(shape.base):
            return self._nested(value, shape.base)
        if shape.choices:
            return self._choice(value, shape.choices)
        if shape.base is bool:
            return self._boolean(value)
        if shape.base in (int, float):
            return self._number(value, shape)
        return self._text(value, shape) if shape.base is str else value

    def _list(self, value: Any, item: Shape) -> Any:
        if value is None:
            return self._with([], "null_for_list")
        if isinstance(value, str):
            value = self._list_in_string(value, item)
        if isinstance(value, dict):
            value = self._list_in_object(value, item)
        if item.ids and isinstance(value, int) and not isinstance(value, bool):
            value = self._with([value], "single_for_list")
        if not isinstance(value, list):
            return value
        entries = [each for each in value if each is not None]
        if len(entries) < len(value):
            self._did("null_entry")
        if item.text and len(entries) == 1 and isinstance(entries[0], str) and means_nothing(entries[0]):
            return self._with([], "null_word")
        if item.ids:
            return [each for entry in entries for each in self._ids(entry, _MOST_IDS)]
        return [self._value(each, item) for each in entries]

    def _list_in_string(self, value: str, item: Shape) -> Any:
        if means_nothing(value):
            return self._with([], "null_word")
        if inside := json_in_string(value):
            self._did("double_encoded", *inside[1])
            return inside[0]
        if not item.ids and item.longest and item.longest <= _LABEL and _SEPARATOR.search(value):
            return value  # several tags in one text
        if item.text or (is_model(item.base) and only_text(item.base) and value.strip()):
            return self._with([value], "single_for_list")
        return value

    def _list_in_object(self, value: dict[str, Any], item: Shape) -> Any:
        if is_model(item.base) and recognised(value, item.base):
            return self._with([value], "single_for_list")
        entries = list(value.values())
        if len(entries) == 1 and isinstance(entries[0], list):
            return self._with(entries[0], "wrapped")
        if entries and all(name.isdecimal() for name in value):
            return self._with(entries, "wrapped")  # {"1": …, "2": …}
        if item.text and len(entries) == 1 and isinstance(entries[0], str):
            return self._with([value], "single_for_list")
        return value

    def _nested(self, value: Any, schema: type[BaseModel]) -> Any:
        if isinstance(value, str):
            if (inside := json_in_string(value)) and isinstance(inside[0], dict):
                self._did("double_encoded", *inside[1])
                value = inside[0]
            elif (field := only_text(schema)) and value.strip():
                others: dict[str, Any] = {name: [] for name in shapes(schema) if name != field}
                return self._with({field: value, **others}, "text_for_object")
        if not isinstance(value, dict):
            return value
        if len(value) == 1 and not recognised(value, schema):
            (inside_one,) = value.values()
            if recognised(inside_one, schema):
                value = self._with(inside_one, "wrapped")
        return self._object(value, schema)

    def _choice(self, value: Any, choices: tuple[str, ...]) -> Any:
        if not isinstance(value, str) or value in choices:
            return value
        meant = choice_meant(value, choices)
        return self._with(*meant) if meant else value

    def _boolean(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        said = truth_of(value if isinstance(value, str) else format(value, "g"))
        return value if said is None else self._with(said, "text_for_boolean")

    def _number(self, value: Any, shape: Shape) -> Any:
        if isinstance(value, float) and shape.base is int and value.is_integer() and abs(value) < 1e15:
            return self._with(int(value), "whole_float")
        if not isinstance(value, str) or len(value) > 60:
            return value
        plain = unicodedata.normalize("NFKC", value).strip().casefold()
        said = (_COUNT if shape.top is None else _POINTS).fullmatch(plain)
        if not said or (shape.top is not None and said[2] and float(said[2]) != shape.top):
            return value  # 7/10 is not 7 of 100
        return self._with(shape.base(float(said[1])), "text_for_number")

    def _text(self, value: Any, shape: Shape) -> Any:
        if isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), str):
            value = self._with(next(iter(value.values())), "object_for_text")
        if shape.ids:
            return self._ids(value, 1)[0]
        if isinstance(value, str):
            value, names = bare_text(value, markdown=shape.markdown)
            self._did(*names)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1e15:
            return self._with(str(value), "number_for_text")
        if isinstance(value, str) and is_placeholder(value):
            self._placeholders += 1
            return "" if self._blank else value
        self._texts += bool(value)
        if isinstance(value, str) and (whole := whole_characters(value)) != value:
            return self._with(whole, "broken_character")
        return value

    def _ids(self, entry: Any, most: int) -> list[Any]:
        """The ids that an entry names, as `S2`; whether they exist is for the rules of the answer."""
        if isinstance(entry, dict) and (named := entry.get("source_id", entry.get("id"))) is not None:
            entry = self._with(named, "object_for_text")
        ids = _ids_named(entry)
        if ids == [entry] or not 0 < len(ids) <= most:
            return [entry]
        self._did("source_id_form")
        return list(ids)

    def _with(self, value: Any, name: RepairName) -> Any:
        self._did(name)
        return value

    def _did(self, *names: RepairName) -> None:
        self.repairs.update(dict.fromkeys(names))


def _ids_named(entry: Any) -> list[str]:
    if isinstance(entry, int) and not isinstance(entry, bool) and 0 < entry < 10_000:
        return [f"S{entry}"]
    if not isinstance(entry, str) or len(entry) > _LONGEST_IDS:
        return []
    plain = unicodedata.normalize("NFKC", entry).casefold()
    return [f"S{int(digits)}" for digits in re.findall(r"\d+", plain)] if _IDS.fullmatch(plain) else []


def _own_object(said: str, name: str, fields: dict[str, Shape]) -> dict[str, Any] | None:
    """The object that a text is, in a fence or not, if it has only fields of the one around the text."""
    inside = json_in_string(unfenced(said, ("", "json")) or said)
    own = inside[0] if inside else None
    if isinstance(own, dict) and isinstance(own.get(name), str) and own.keys() <= fields.keys():
        return own
    return None


def _wanted(schema: type[BaseModel]) -> Wanted:
    def complete_one(value: Any, *, plainly: bool) -> bool:
        inside = _wrapped(value, schema)
        return inside is not None and complete(inside[0], schema, plainly=plainly)

    return Wanted(
        recognised=lambda value: _wrapped(value, schema) is not None,
        complete=lambda value: complete_one(value, plainly=False),
        plainly=lambda value: complete_one(value, plainly=True),
        valid=lambda value: _validates(value, schema),
        decides=decides(schema),
    )


def _validates(value: Any, schema: type[BaseModel]) -> bool:
    """Whether an object can be used; a template cannot, though it may have the shape."""
    mender = _Mender()
    mended = mender.answer(value, schema) if isinstance(value, dict) else None
    try:
        schema.model_validate(mended)
    except ValidationError:
        return False
    return "placeholder" not in mender.repairs
