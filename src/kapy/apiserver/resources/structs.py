"""Kubernetes' own types, decoded and encoded exactly like Go's structs.

`structs.json` holds the facts (field, type, omitempty …) of every struct. Decoding checks types,
drops unknown fields and empty optional values, and adds the zero values of the other fields. So
stored objects equal those of kube-apiserver.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, TypeAlias

import msgspec

from kapy.apiserver.resources.sizes import MOST_SHOWN
from kapy.kube import Document, quantity
from kapy.kube.errors import KapyError, TooLarge

MOST_UNKNOWN = 100
"""The most unknown fields that Go's strict decoder reports."""

Path: TypeAlias = "tuple[Any, str | int] | None"
Decode: TypeAlias = Callable[[Any, Path, list[str]], Any]


_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_INLINE_NAMES = {"Volume": "Source", "Probe": "Handler"}
"""Embedded structs: the suffix of their type names after the outer struct's name."""


@cache
def _inline() -> dict[str, tuple[str, ...]]:
    """Return the fields of embedded structs by the name of the outer struct."""
    volume = facts()["structs"]["core.v1.Volume"]
    return {"Volume": tuple(item for item in volume if item != "name"), "Probe": _HANDLERS}


class WrongType(KapyError):
    """A value has a wrong type; the message is that of Go's decoder."""

    def __init__(self, value: str, wanted: str) -> None:
        super().__init__()
        self._value = value
        self._wanted = wanted
        self._struct = ""
        self._fields: list[str] = []

    def inside(self, struct: str, field: str) -> None:
        """Add the enclosing field to the error's path; called from the innermost field outwards."""
        self._struct = self._struct or struct
        if struct in _INLINE_NAMES and field in _inline()[struct]:
            field = f"{struct}{_INLINE_NAMES[struct]}.{field}"
        self._fields.insert(0, field)

    def __str__(self) -> str:
        where = f"{self._struct}.{'.'.join(self._fields)}" if self._struct else ""
        field = f"Go struct field {where}" if where else "Go value"
        return f"json: cannot unmarshal {self._value} into {field} of type {self._wanted}"


class MalformedValue(WrongType):
    """A string is malformed for its type (a time, a quantity, base64)."""

    def __init__(self, text: str) -> None:
        super().__init__("", "")
        self._text = text

    def __str__(self) -> str:
        return self._text


def format_path(path: Path) -> str:
    """Return a path in the form of kube-apiserver's messages: `spec.containers[0].name`."""
    if path is None:
        return ""
    before = format_path(path[0])
    if isinstance(path[1], int):
        return f"{before}[{path[1]}]"
    return f"{before}.{path[1]}" if before else path[1]


def json_type_name(value: Any) -> str:
    """Return the name of a JSON value's type in errors of Go's encoding/json."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


class Field(NamedTuple):
    """A field of a struct: its decoder, and the treatment of empty and absent values."""

    decode: Decode
    drop_empty: bool
    zero: Callable[[], Any] | None


@cache
def facts() -> Document:
    """Return the data file: `kinds` (struct by "group/version/kind") and `structs`."""
    file = resources.files("kapy.apiserver.resources.builtin") / "structs.json"
    data: Document = msgspec.json.decode(file.read_bytes())
    return data


def struct_of(group: str, version: str, kind: str) -> str | None:
    """Return the name of a kind's struct, None if it is unknown."""
    name: str | None = facts()["kinds"].get(f"{group}/{version}/{kind}")
    return name


def field_type(kind: str, field: str) -> str:
    """Return the type of a field, "" if it is unknown."""
    if kind.startswith("{}"):
        return kind[2:]
    fact = facts()["structs"].get(kind, {}).get(field)
    return "" if fact is None else str(fact["t"])


def sort_by_name(value: Any) -> Any:
    """Return JSON data with the fields of all objects sorted."""
    if isinstance(value, dict):
        return {key: sort_by_name(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [sort_by_name(item) for item in value]
    return value


def in_go_order(value: Any, kind: str) -> Any:
    """Return a value with its fields in the order of Go's structs, and map keys sorted."""
    if isinstance(value, list):
        return [in_go_order(item, kind.removeprefix("[]")) for item in value]
    if not isinstance(value, dict):
        return value
    order = facts()["structs"].get(kind)
    ordered_keys = [key for key in order if key in value] if order else []
    keys = [*ordered_keys, *sorted(value.keys() - set(ordered_keys))]
    return {key: in_go_order(value[key], field_type(kind, key)) for key in keys}


_COLLECTIONS = {
    "v1.ResourceList": "{}",
    "v1.ExtraValue": "[]",
    "v1.ValidationRules": "[]",
    "v1.JSONSchemaDefinitions": "{}",
    "v1.JSONSchemaDependencies": "{}",
}
"""Go's names of named list and map types."""


def _go_name(kind: str, named: str) -> str:
    if named in _COLLECTIONS and kind.startswith(_COLLECTIONS[named]) and kind.count(kind[:2]) == 1:
        return named
    if named and not kind.startswith(("[]", "{}")):
        return named
    if kind.startswith("[]"):
        return f"[]{_go_name(kind[2:], named)}"
    if kind.startswith("{}"):
        return f"map[string]{_go_name(kind[2:], named)}"
    if kind == "bytes":
        return "[]uint8"
    if "." in kind:
        _, version, name = kind.rsplit(".", 2)
        return f"{version}.{name}"
    return {"time": "v1.Time", "quantity": "resource.Quantity"}.get(kind, kind)


@cache
def decoder(kind: str, named: str = "") -> Decode:
    """Return the decoder of a type from `structs.json`. named: a leaf's name in errors of Go."""
    if kind.startswith("[]"):
        return _list(decoder(kind[2:], named), _go_name(kind, named), kind[2:])
    if kind.startswith("{}"):
        return _map(decoder(kind[2:], named), _go_name(kind, named), kind[2:])
    if kind in _LEAVES:
        return _LEAVES[kind](named or _go_name(kind, ""))
    return _Struct(kind)


class _Struct:
    """The decoder of one struct; its fields are compiled at the first object."""

    __slots__ = ("_fields", "_name", "_short", "_wanted", "_zeros")

    def __init__(self, name: str) -> None:
        self._name = name
        self._short = name.rsplit(".", 1)[1]
        self._wanted = _go_name(name, "")
        self._fields: dict[str, Field] = {}
        self._zeros: list[tuple[str, Callable[[], Any]]] = []

    @property
    def minimum_size(self) -> int:
        """Return the size of an empty struct in bytes of JSON."""
        return len(msgspec.json.encode(self({}, None, [])))

    def _compile(self) -> dict[str, Field]:
        """Compile the fields and store them at once, because another thread may do the same."""
        fields = {key: _field(fact) for key, fact in facts()["structs"][self._name].items()}
        self._zeros = [(key, field.zero) for key, field in fields.items() if field.zero is not None]
        self._fields = fields
        return fields

    def __call__(self, value: Any, path: Path, unknown: list[str]) -> Any:
        fields = self._fields or self._compile()
        if not isinstance(value, dict):
            raise WrongType(json_type_name(value), self._wanted)
        out: dict[str, Any] = {}
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                if len(unknown) < MOST_UNKNOWN:
                    unknown.append(format_path((path, key)))
            elif item is not None:
                try:
                    decoded = field.decode(item, (path, key), unknown)
                except WrongType as error:
                    error.inside(self._short, key)
                    raise
                if decoded or not (field.drop_empty or decoded is None):
                    out[key] = decoded
        for key, zero in self._zeros:
            if key not in out:
                out[key] = zero()
        return out


def _field(fact: Document) -> Field:
    kind, flags = fact["t"], fact.get("f", "")
    decode = _union_decoder(fact["u"], kind) if "u" in fact else decoder(kind, fact.get("g", ""))
    is_struct = "." in kind and not kind.startswith(("[]", "{}"))
    if "p" in flags:
        return Field(decode, drop_empty=False, zero=None if "o" in flags else _any_decoder)
    if "z" in flags:
        return Field(decode, drop_empty=True, zero=None)
    if is_struct:
        return Field(decode, drop_empty=False, zero=lambda: decode({}, None, []))
    if "o" in flags and kind not in ("time", "microtime", "quantity", "intstr"):
        return Field(decode, drop_empty=True, zero=None)
    return Field(decode, drop_empty=False, zero=_ZEROS.get(kind, _any_decoder))


_SCHEMA = "apiextensions.v1.JSONSchemaProps"


def _union_decoder(other: str, kind: str) -> Decode:
    """Return the decoder of a JSON schema or an alternative type (`other`).

    Go uses an own unmarshaller here: unknown fields inside are dropped and not reported.
    """
    schema = decoder(_SCHEMA)

    def decode(value: Any, _path: Path, _unknown: list[str]) -> Any:
        if isinstance(value, dict):
            return schema(value, None, [])
        if other == "bool":
            if not isinstance(value, bool):
                raise MalformedValue("boolean or JSON schema expected")
            return value
        return decoder(other)(value, None, []) if isinstance(value, list) and value else None

    if not kind.startswith("{}"):
        return decode
    return lambda value, path, unknown: _map(decode, "", _SCHEMA)(value, path, unknown)


def _any_decoder() -> None:
    return None


_ZEROS: dict[str, Callable[[], Any]] = {
    "string": str,
    "int": int,
    "int32": int,
    "int64": int,
    "float64": int,
    "bool": bool,
    "quantity": lambda: "0",
    "intstr": int,
}


def _list(element: Decode, wanted: str, kind: str) -> Decode:
    def decode(value: Any, path: Path, unknown: list[str]) -> Any:
        if not isinstance(value, list):
            raise WrongType(json_type_name(value), wanted)
        if len(value) > _MANY:
            _check_item_size(element, len(value))
        return [
            element(item, (path, index), unknown) if item is not None else _null(element, kind)
            for index, item in enumerate(value)
        ]

    return decode


_MANY = 10_000


def _check_item_size(element: Decode, count: int) -> None:
    """Refuse a list whose items would be too large even if empty. Raises TooLarge.

    Zero values can turn two bytes of a body into a hundred.
    """
    if isinstance(element, _Struct) and count * element.minimum_size > MOST_SHOWN:
        raise TooLarge(
            f"Request entity too large: {count} items would have more than {MOST_SHOWN} bytes "
            "of JSON"
        )


def _null(element: Decode, kind: str) -> Any:
    """Return the value that Go decodes from a null in a list or a map."""
    if element is _decode_any or kind in ("time", "microtime"):
        return None
    return _ZEROS.get(kind, str)() if kind in _LEAVES else element({}, None, [])


def _map(element: Decode, wanted: str, kind: str) -> Decode:
    def decode(value: Any, path: Path, unknown: list[str]) -> Any:
        if not isinstance(value, dict):
            raise WrongType(json_type_name(value), wanted)
        return {
            key: element(item, (path, key), unknown) if item is not None else _null(element, kind)
            for key, item in value.items()
        }

    return decode


def _exact(kind: type, wanted: str) -> Decode:
    def decode(value: Any, _path: Path, _unknown: list[str]) -> Any:
        if type(value) is not kind:
            raise WrongType(json_type_name(value), wanted)
        return value

    return decode


def _integer(bits: int) -> Callable[[str], Decode]:
    limit = 1 << (bits - 1)

    def make(wanted: str) -> Decode:
        def decode(value: Any, _path: Path, _unknown: list[str]) -> Any:
            if type(value) is not int:
                raise WrongType(_describe_non_integer(value), wanted)
            if not -limit <= value < limit:
                raise WrongType(f"number {value}", wanted)
            return value

        return decode

    return make


def _describe_non_integer(value: Any) -> str:
    """Return Go's description of a value that is not an integer; it shows numbers."""
    if not isinstance(value, float):
        return json_type_name(value)
    return f"number {value:g}" if value != int(value) else f"number {value}"


def _float(wanted: str) -> Decode:
    def decode(value: Any, _path: Path, _unknown: list[str]) -> Any:
        if type(value) not in (int, float):
            raise WrongType(json_type_name(value), wanted)
        return value

    return decode


def _decode_any(value: Any, _path: Path, _unknown: list[str]) -> Any:
    return value


def _anything(_wanted: str) -> Decode:
    return _decode_any


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def _time(fraction: bool) -> Callable[[str], Decode]:  # noqa: FBT001
    layout = "2006-01-02T15:04:05.000000Z07:00" if fraction else "2006-01-02T15:04:05Z07:00"

    def make(_wanted: str) -> Decode:
        def decode(value: Any, _path: Path, _unknown: list[str]) -> Any:
            if not isinstance(value, str):
                raise WrongType(json_type_name(value), "string")
            if not _TIME.fullmatch(value):
                raise MalformedValue(
                    f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
                )
            if fraction and (rest := _not_microseconds(value)):
                raise MalformedValue(
                    f'parsing time "{value}" as "{layout}": cannot parse "{rest[0]}" as "{rest[1]}"'
                )
            return _utc(value, fraction=fraction)

        return decode

    return make


def _not_microseconds(value: str) -> tuple[str, str] | None:
    """Return the unparsed rest of a time and the expected layout, unless it has six fraction
    digits.
    """
    rest = value[19:]
    digits = len(rest) - len(rest.lstrip(".0123456789")) - 1
    if digits == 6:
        return None
    return (rest[7:], "Z07:00") if digits > 6 else (rest, ".000000")


def _utc(value: str, *, fraction: bool) -> str:
    if not fraction and len(value) == 20:
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    moment = datetime.fromtimestamp(moment.timestamp(), tz=UTC) if moment.utcoffset() else moment
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if fraction else "%Y-%m-%dT%H:%M:%SZ")


def _quantity(wanted: str) -> Decode:
    del wanted

    def decode(value: Any, _path: Path, _unknown: list[str]) -> Any:
        result = isinstance(value, str | int | float) and not isinstance(value, bool)
        try:
            return quantity.canonical(value if result else "{}")
        except quantity.InvalidQuantity as error:
            raise MalformedValue(str(error)) from None

    return decode


def _bytes(wanted: str) -> Decode:
    def decode(value: Any, _path: Path, _unknown: list[str]) -> Any:
        if isinstance(value, list):
            return _of_numbers(value)
        if not isinstance(value, str):
            raise WrongType(json_type_name(value), wanted)
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            match = re.search(r"[^A-Za-z0-9+/]", value)
            at = match.start() if match else len(value) - len(value) % 4
            raise MalformedValue(f"illegal base64 data at input byte {at}") from None
        return value

    return decode


def _of_numbers(values: list[Any]) -> str:
    """Decode bytes from a list of numbers, which Go accepts, too."""
    for item in values:
        if type(item) is not int and item is not None:
            raise WrongType(json_type_name(item), "uint8")
        if not 0 <= (item or 0) < 256:
            raise WrongType(f"number {item}", "uint8")
    return base64.b64encode(bytes(element or 0 for element in values)).decode()


def _int_or_string(wanted: str) -> Decode:
    del wanted

    def decode(value: Any, _path: Path, _unknown: list[str]) -> Any:
        if type(value) not in (int, str):
            raise WrongType(_describe_non_integer(value), "int32")
        return value

    return decode


_LEAVES: dict[str, Callable[[str], Decode]] = {
    "string": lambda wanted: _exact(str, wanted),
    "bool": lambda wanted: _exact(bool, wanted),
    "int": _integer(64),
    "int32": _integer(32),
    "int64": _integer(64),
    "float64": _float,
    "any": _anything,
    "time": _time(False),  # noqa: FBT003
    "microtime": _time(True),  # noqa: FBT003
    "quantity": _quantity,
    "bytes": _bytes,
    "intstr": _int_or_string,
}
