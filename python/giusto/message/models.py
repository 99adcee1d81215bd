"""How pydantic models travel: as msgpack maps of their fields, without giusto depending on pydantic.

Nothing is imported: a type is a model if whoever made it had pydantic loaded. Its size is that of a struct
with the same fields and limits. What decides at run time how a model is written (serialisers, computed or
extra fields, root models) leaves the size unknown.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from giusto.message.size import Size
from giusto.message.size import size as size_of

_LIMITS = ("gt", "ge", "lt", "le", "max_length")


def is_model(type: Any) -> bool:
    """Whether the type is a pydantic model."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(type, builtins.type) and issubclass(type, pydantic.BaseModel)


def dump(model: Any) -> bytes:
    """The payload of a model."""
    return msgspec.msgpack.encode(model.model_dump(by_alias=True))


def loader(model: Any) -> Callable[[bytes], Any]:
    """What reads a payload back; validates as pydantic does."""

    def load(body: bytes) -> Any:
        return model.model_validate(msgspec.msgpack.decode(body))

    return load


def size(model: Any) -> Size:
    """The longest payload of a model, if its fields limit it."""
    try:
        return size_of(_struct(model, ()))
    except _Undecided as reason:
        return Size(None, str(reason))
    except TypeError as error:
        return Size(None, f"{model.__name__}: no struct has the same form: {error}")


class _Undecided(Exception):
    """A model whose form is decided at run time: nothing can be said about its size."""


def _struct(model: Any, inside: tuple[Any, ...]) -> Any:
    """A struct that encodes to the same map as the model."""
    if model in inside:
        raise _Undecided(f"{model.__name__}: contains itself, so that nothing limits its size")
    _require_plain(model)
    inside = (*inside, model)
    fields = [
        (f"field_{place}", _annotated(field.annotation, field.metadata, inside))
        for place, field in enumerate(model.model_fields.values())
    ]
    written = {
        f"field_{place}": field.serialization_alias or field.alias or name
        for place, (name, field) in enumerate(model.model_fields.items())
    }
    return msgspec.defstruct(model.__name__, fields, rename=written)


def _require_plain(model: Any) -> None:
    decorators = model.__pydantic_decorators__
    for what, found in (
        ("serialisers", decorators.field_serializers or decorators.model_serializers),
        ("computed fields", decorators.computed_fields),
        ("extra fields", model.model_config.get("extra") == "allow"),
        ("a root type", getattr(model, "__pydantic_root_model__", False)),
    ):
        if found:
            raise _Undecided(f"{model.__name__}: has {what}, so that its size is not known from its fields")


def _annotated(annotation: Any, metadata: Any, inside: tuple[Any, ...]) -> Any:
    """An annotation in which models are structs and limits are msgspec's."""
    limits = {
        name: getattr(each, name)
        for each in metadata
        for name in _LIMITS
        if getattr(each, name, None) is not None
    }
    plain = _plain(annotation, inside)
    return Annotated[plain, msgspec.Meta(**limits)] if limits else plain


def _plain(annotation: Any, inside: tuple[Any, ...]) -> Any:
    if is_model(annotation):
        return _struct(annotation, inside)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:], inside)
    if origin is None or origin is Literal:
        return annotation
    replaced = tuple(_plain(argument, inside) for argument in arguments)
    return Union[replaced] if origin in (Union, types.UnionType) else origin[replaced]  # noqa: UP007
