"""What the fields of an answer want, read from its Pydantic schema, and what could be meant for them."""

import types
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel

from agents.slips import folded, names_field

_SOURCE_IDS = frozenset({"source_id", "source_ids"})  # fields with ids of sources, whose form is known
_MOST_NAMES = 100  # of an object whose names are compared with a schema's; more are no misspelt answer


@dataclass(frozen=True)
class Shape:
    """What a field wants. `base` is str, int, float, bool, list or a model; anything else is left alone."""

    base: Any
    nullable: bool = False
    choices: tuple[str, ...] = ()
    item: "Shape | None" = None  # of a list
    top: float | None = None  # the highest number
    longest: int | None = None  # characters of a text
    ids: bool = False
    markdown: bool = False

    @property
    def text(self) -> bool:
        return self.base is str and not self.choices


@cache
def shapes(schema: type[BaseModel]) -> dict[str, Shape]:
    """The shape of each field, by its name."""
    return {
        name: replace(
            _shape(field.annotation, field.metadata, ids=name in _SOURCE_IDS),
            markdown=(field.description or "").startswith("Markdown"),
        )
        for name, field in schema.model_fields.items()
    }


def _shape(annotation: Any, bounds: list[Any], *, ids: bool) -> Shape:
    nullable = False
    while (origin := get_origin(annotation)) in (Annotated, Union, types.UnionType):
        kinds = get_args(annotation)
        if origin is Annotated:
            bounds = [*bounds, *(one for each in kinds[1:] for one in getattr(each, "metadata", [each]))]
            kinds = kinds[:1]
        elif type(None) in kinds:
            nullable = True
            kinds = tuple(kind for kind in kinds if kind is not type(None))
        if len(kinds) != 1:
            return Shape(object, nullable)
        annotation = kinds[0]
    if origin is list:
        return Shape(list, nullable, item=_shape(get_args(annotation)[0], [], ids=ids))
    if origin is Literal and all(isinstance(choice, str) for choice in get_args(annotation)):
        return Shape(str, nullable, choices=get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, str) and issubclass(annotation, Enum):
        return Shape(str, nullable, choices=tuple(str(choice.value) for choice in annotation))
    return Shape(
        annotation,
        nullable,
        top=next((float(str(bound.le)) for bound in bounds if isinstance(bound, annotated_types.Le)), None),
        longest=next(
            (bound.max_length for bound in bounds if isinstance(bound, annotated_types.MaxLen)), None
        ),
        ids=ids and annotation is str,
    )


def is_model(base: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(base, type) and issubclass(base, BaseModel)


def recognised(value: Any, schema: type[BaseModel]) -> bool:
    """Whether an object has at least half of a schema's fields, under any of their names."""
    if not isinstance(value, dict):
        return False
    fields = shapes(schema)
    unknown = [] if len(value) > _MOST_NAMES else [name for name in value if name not in fields]
    found = [field for field in fields if field in value or any(names_field(name, field) for name in unknown)]
    return 2 * len(found) >= len(fields)


def renamed(value: dict[str, Any], schema: type[BaseModel]) -> dict[str, str]:
    """From a name to the absent field that is meant by it, where one name fits one field alone."""
    fields = shapes(schema)
    absent = [field for field in fields if field not in value]
    unknown = [name for name in value if name not in fields]
    found: dict[str, str] = {}
    if not absent or len(unknown) > _MOST_NAMES:
        return found
    for fits in (lambda name, field: folded(name) == folded(field), names_field):
        left = [
            (name, field)
            for name in unknown
            for field in absent
            if name not in found and field not in found.values() and fits(name, field)
        ]
        names, targets = [name for name, _ in left], [field for _, field in left]
        found |= {n: f for n, f in left if names.count(n) == 1 and targets.count(f) == 1}
    return found


def complete(value: dict[str, Any], schema: type[BaseModel], *, plainly: bool) -> bool:
    """Whether all that is required is there, but for what may be null. `plainly`: under its own names."""
    names = renamed(value, schema)
    if plainly:
        names = {name: field for name, field in names.items() if folded(name) == folded(field)}
    there = {names.get(name, name) for name in value}
    return all(
        name in there or shape.nullable or not schema.model_fields[name].is_required()
        for name, shape in shapes(schema).items()
    )


def decides(schema: type[BaseModel]) -> bool:
    """Whether an answer is a choice, with reasons for it."""
    return any(shape.choices and not shape.nullable for shape in shapes(schema).values())


def could_be(value: Any, shape: Shape) -> bool:
    """Whether a field of unknown name may hold what a missing field should."""
    if shape.base is list:
        return isinstance(value, list | dict)
    if shape.base in (int, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str | int) if shape.base is str else isinstance(value, dict)


def only_text(schema: type[BaseModel]) -> str | None:
    """The field of a schema that is its only text, if all others are lists: they can be empty, honestly."""
    texts = [(name, shape) for name, shape in shapes(schema).items() if shape.base is not list]
    return texts[0][0] if len(texts) == 1 and texts[0][1].text and not texts[0][1].nullable else None
