"""Check that a hook's versions convert into each other, with messages that have every field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import inspect
from msgspec.structs import fields

from kapy.api.names import CLUSTER_GROUP
from kapy.hooks.catalog import Catalog
from kapy.hooks.hook import AnyHook, Conversion
from kapy.hooks.messages.content import RAW_OBJECT
from kapy.hooks.messages.message import M, Message
from kapy.kube import Document

_WORDS: Final = {"kind": "Sample", "api_version": "example.com/v1"}
_A_VERSION: Final = "v1.34.0"

_ENVELOPE: Final = fields(Message)
"""Kind and version, which the hook says and no conversion has to."""

_SAMPLES: Final[dict[type[inspect.Type], Any]] = {
    inspect.IntType: 7,
    inspect.FloatType: 7.5,
    inspect.BoolType: True,
    inspect.BytesType: b"sample",
    inspect.AnyType: {"any": ["value"]},
    inspect.NoneType: None,
}


def conversion_losses(hook: AnyHook, catalog: Catalog) -> Iterator[str]:
    """Yield the losses of conversion between a hook and its previous version, one sentence each."""
    versions = catalog.versions(hook.group_hook)
    conversion = hook.conversion
    if conversion is None:
        if hook != versions[0]:
            yield f"{hook.name} of {hook.api_version} has no conversion to the version before it"
        return
    name = f"{hook.name} of {hook.version} and {conversion.older.version}"
    if conversion.older not in versions:
        yield f"{name}: the older one is not in the catalog"
        return
    yield from _conversion_errors(name, lambda: _losses(hook, conversion))


def _conversion_errors(name: str, find: Callable[[], list[str]]) -> Iterator[str]:
    try:
        result = find()
    except Exception as error:
        # Any exception shows that the conversion is broken.
        result = [f"a conversion raised {type(error).__name__}: {error}"]
    for item in result:
        yield f"{name}: {item}"


def _losses(hook: AnyHook, conversion: Conversion[Any, Any]) -> list[str]:
    """Return the losses of a conversion, one sentence each: older messages have to survive the
    round trip, newer ones except for defaults.
    """
    older = conversion.older
    request, response = sample(older.request), sample(older.response)
    there = conversion.request_down(conversion.request_up(request))
    back = conversion.response_down(conversion.response_up(response))
    newest = sample(hook.request)
    again = conversion.request_up(conversion.request_down(newest))
    return [
        *_different(request, there, "a request of the older version", optional=True),
        *_different(response, back, "a response of the older version", optional=True),
        *_different(newest, again, "a request of the newer version", optional=False),
    ]


def _different(before: Message, after: Message, what: str, *, optional: bool) -> list[str]:
    """Return the fields that differ between two messages, one sentence each. what: the name of the
    message in a sentence. optional: whether fields with a default are compared.
    """
    return [
        f"{what} loses {field.encode_name}"
        for field in fields(type(before))[len(_ENVELOPE) :]
        if (field.required or optional)
        and getattr(before, field.name) != getattr(after, field.name)
    ]


def sample(kind: type[M]) -> M:
    """Return a message with a value in every field, always the same."""
    result: M = _sample(inspect.type_info(kind), kind.__name__)
    return result


def _object(of: str) -> Document:
    """Return a stand-in for an object that a message carries."""
    _, _, kind = of.rpartition(":")
    ours = kind != RAW_OBJECT
    return {
        "apiVersion": f"{CLUSTER_GROUP}/v1beta2" if ours else _WORDS["api_version"],
        "kind": kind if ours else _WORDS["kind"],
        "metadata": {"name": "sample", "namespace": "default"},
        "spec": {},
    }


def _sample(of: inspect.Type, name: str) -> Any:
    match of:
        case inspect.Metadata(type=inspect.DictType(), extra_json_schema={"of": str(of_kind)}):
            return _object(of_kind)
        case inspect.Metadata(type=inner):
            return _sample(inner, name)
        case inspect.StructType(cls=kind):
            return kind(**{field.name: _sample(field.type, field.name) for field in of.fields})
        case inspect.ListType(item_type=item):
            return [_sample(item, name)]
        case inspect.DictType(value_type=value):
            return {"key": _sample(value, name)}
        case inspect.UnionType(types=types):
            present = [element for element in types if not isinstance(element, inspect.NoneType)]
            return _sample(present[0], name)
        case inspect.StrType():
            return _WORDS.get(name, _A_VERSION if name.endswith("version") else f"a {name}")
        case _:
            return _SAMPLES[type(of)]
