"""Contract fields as descriptors, and the rules about them.

Access through a view returns the value. Access through the class returns the field itself, which
knows its path in each contract version (for messages, for documentation, for the SDK that writes
it). A view has no setters: core never writes to an object that a provider owns. Each rule of a
contract about a field stands once, beside that field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeAlias, TypeVar, overload

from kapy.contract.errors import MissingField, WrongType
from kapy.contract.limits import too_long
from kapy.kube import Document
from kapy.kube.duration import parse as parse_duration

Types: TypeAlias = Mapping[str, str]
"""Types as OpenAPI calls them, by paths; `[]` is an item of a list."""

_INT32: Final = 2**31 - 1
T = TypeVar("T")
U = TypeVar("U")


class Level(Enum):
    """The level of a requirement, the strongest first."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


@dataclass(frozen=True)
class FieldRule:
    """A rule that some fields of a view declare.

    name: its id within the contract document. section: heading there. says: the rule in kapy's
    words; `{field}` stands for the path, in both contracts. when: the precondition on the provider.
    shown: the rule applies only to CRDs that have this field; "" means always. any_of: one of the
    fields is sufficient, in any contract.
    """

    name: str
    section: str
    says: str
    level: Level = Level.MUST
    when: str = ""
    shown: str = ""
    any_of: bool = False


class Version(str, Enum):
    """Contract versions that this release supports."""

    V1BETA1 = "v1beta1"
    V1BETA2 = "v1beta2"

    def __str__(self) -> str:
        return self.value


CURRENT: Final = Version.V1BETA2


class View:
    """A view of one provider object in one contract version. The document is shared: read only."""

    __slots__ = ("contract", "document")

    def __init__(self, document: Document, contract: Version = CURRENT) -> None:
        self.document = document
        self.contract = contract

    @property
    def name(self) -> str:
        """Return the object's name (`metadata.name`)."""
        name: str = self.document["metadata"]["name"]
        return name

    @property
    def kind(self) -> str:
        """The object's kind, "" if the document has none."""
        kind: str = self.document.get("kind", "")
        return kind

    @property
    def deleting(self) -> bool:
        """Return whether the object is being deleted."""
        return bool(self.document["metadata"].get("deletionTimestamp"))


class Field(Generic[T]):
    """One optional field of a contract; None means that the provider has not set it.

    path: the dotted path of the field. v1beta1: its path in that contract, if it differs. decode:
    converts the value; raises TypeError if it cannot. mandatory: whether every provider's CRD must
    have the field. rule: the rule of the contract about the field. types: the types that a schema
    must have for that rule, by contract and by paths below the field.
    """

    def __init__(
        self,
        path: str,
        decode: Callable[[Any], T],
        *,
        v1beta1: str | None = None,
        decode_v1beta1: Callable[[Any], T] | None = None,
        mandatory: bool = False,
        rule: FieldRule | None = None,
        types: Mapping[Version, Types] | None = None,
    ) -> None:
        self.mandatory, self.rule = mandatory, rule
        self._types = types or {}
        self._paths = {Version.V1BETA1: v1beta1 or path, Version.V1BETA2: path}
        self._parts = {version: tuple(value.split(".")) for version, value in self._paths.items()}
        self._decoders = {
            Version.V1BETA1: decode_v1beta1 or decode,
            Version.V1BETA2: decode,
        }
        self.name = path.rpartition(".")[2]

    def __set_name__(self, owner: type[View], name: str) -> None:
        self.name = name

    def path(self, contract: Version = CURRENT) -> str:
        """Return the field's path in objects of a contract version."""
        return self._paths[contract]

    @property
    def says(self) -> str:
        """The sentence of the field's rule; "" if there is none."""
        new, old = self._paths[Version.V1BETA2], self._paths[Version.V1BETA1]
        both = new if new == old else f"{new} (v1beta1: {old})"
        return self.rule.says.format(field=both) if self.rule is not None else ""

    def types(self, contract: Version) -> Types:
        """Return the types that the field's rule asks for, by their paths."""
        path = self._paths[contract]
        return {f"{path}{below}": value for below, value in self._types.get(contract, {}).items()}

    def require(self, view: View) -> T:
        """Return the field's value in a view. Raises MissingField if the provider has not set
        it.
        """
        value = self.read(view)
        if value is None:
            raise MissingField(self.path(view.contract))
        return value

    def read(self, view: View) -> T | None:
        """Return the field's value in a view, None if it is not set. Raises WrongType if the value
        has another type.
        """
        contract = view.contract
        node: Any = view.document
        parts = self._parts[contract]
        for depth, part in enumerate(parts):
            if not isinstance(node, dict):
                raise WrongType(".".join(parts[:depth]), f"expected an object, got {kind_of(node)}")
            node = node.get(part)
            if node is None:
                return None
        try:
            return self._decoders[contract](node)
        except TypeError as error:
            raise WrongType(self._paths[contract], str(error)) from None

    def if_readable(self, view: View) -> T | None:
        """Return the field's value in a view, None also if the value has another type: for callers
        that cannot report the error.
        """
        try:
            return self.read(view)
        except WrongType:
            return None

    @overload
    def __get__(self, view: None, owner: type[View]) -> Field[T]: ...
    @overload
    def __get__(self, view: View, owner: type[View]) -> T | None: ...
    def __get__(self, view: View | None, owner: type[View]) -> Field[T] | T | None:
        return self if view is None else self.read(view)


def check_readable(view: View, *fields: Field[Any]) -> None:
    """Raise the first WrongType of fields that are otherwise read without an error."""
    for field in fields:
        field.read(view)


def fields_of(view: type[View]) -> dict[str, Field[Any]]:
    """Return the fields of a contract, by name."""
    return {
        name: field
        for item in reversed(view.__mro__)
        for name, field in vars(item).items()
        if isinstance(field, Field)
    }


def field_types(type_: str = "", **members: str) -> Mapping[Version, Types]:
    """Return the types of a field and of its members in both contracts.

    type_: "" if only the members have one. Members of a list are those of its items.
    """
    below = ".[]" if type_ == "array" else ""
    types = {"": type_} if type_ else {}
    types |= {f"{below}.{name}": member for name, member in members.items()}
    return dict.fromkeys(Version, types)


def boolean(
    path: str,
    *,
    v1beta1: str | None = None,
    mandatory: bool = False,
    rule: FieldRule | None = None,
) -> Field[bool]:
    """Return a boolean field."""
    types = field_types("boolean")
    return Field(path, _boolean, v1beta1=v1beta1, mandatory=mandatory, rule=rule, types=types)


def text(
    path: str,
    *,
    longest: int | None = None,
    mandatory: bool = False,
    rule: FieldRule | None = None,
) -> Field[str]:
    """Return a string field. longest: the maximum length in characters, for a value that is copied
    into another object.
    """

    def read_text(value: Any) -> str:
        result = _text(value)
        if longest is not None and (problem := too_long(result, longest)) is not None:
            raise TypeError(problem)
        return result

    return Field(path, read_text, mandatory=mandatory, rule=rule, types=field_types("string"))


def integer(
    path: str,
    *,
    v1beta1: str | None = None,
    mandatory: bool = False,
    rule: FieldRule | None = None,
    only: Version | None = None,
) -> Field[int]:
    """Return an integer field. only: the contract in which its rule asks for the field."""
    types = {version: {"": "integer"} for version in Version if only in (None, version)}
    return Field(path, _integer, v1beta1=v1beta1, mandatory=mandatory, rule=rule, types=types)


def seconds(path: str, *, v1beta1: str, rule: FieldRule | None = None) -> Field[int]:
    """Return a field in whole seconds; in v1beta1 it was a duration in Go's format."""
    types = {Version.V1BETA2: {"": "integer"}, Version.V1BETA1: {"": "string"}}
    return Field(path, _integer, v1beta1=v1beta1, decode_v1beta1=_duration, rule=rule, types=types)


def items(decode: Callable[[Any], U]) -> Callable[[Any], Sequence[U]]:
    """Return a decoder for lists, with `decode` for each item."""

    def decode_all(value: Any) -> Sequence[U]:
        if not isinstance(value, list):
            raise TypeError(f"expected a list, got {kind_of(value)}")
        return [decode(item) for item in value]

    return decode_all


def kind_of(value: object) -> str:
    """Return the JSON name of a value's type."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    if value is None:
        return "null"
    return names.get(type(value), "object" if isinstance(value, dict) else "list")


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected a boolean, got {kind_of(value)}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {kind_of(value)}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected an integer, got {kind_of(value)}")
    if abs(value) > _INT32:
        raise TypeError(f"{value} is no int32")
    return value


def _duration(value: Any) -> int:
    try:
        return int(parse_duration(_text(value)).total_seconds())
    except ValueError as error:
        raise TypeError(str(error)) from None
