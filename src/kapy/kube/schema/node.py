"""One compiled node of a structural schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.schema.formats import Format, Pattern, format_of
from kapy.kube.schema.rules import ABSENT, RuleChecker, Rules


@dataclass(slots=True, eq=False)
class Limits:
    """The limits of a value; None means no limit. fractional: a numeric limit is not an integer."""

    enum: list[Any] | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    pattern: Pattern | None = None

    fractional: bool = field(init=False)

    def __post_init__(self) -> None:
        bounds = (self.multiple_of, self.minimum, self.maximum)
        self.fractional = any(
            bound is not None and not float(bound).is_integer() for bound in bounds
        )


@dataclass(slots=True, eq=False)
class Junctors:
    """The schemas in allOf, anyOf, oneOf and not."""

    all_of: list[Node] = field(default_factory=list)
    any_of: list[Node] = field(default_factory=list)
    one_of: list[Node] = field(default_factory=list)
    none_of: Node | None = None


@dataclass(slots=True, eq=False)
class Node:
    """A compiled node of a schema.

    types: the allowed JSON types, () for any. defaults: the completed defaults of properties.
    default_size, defaults_size: the sizes of the own default and of `defaults`, in bytes of JSON.
    list_keys: () of a set, the keys of a list map, None of an atomic list. plain: a fast test for
    valid scalars, None if none suffices. min_length, max_length: a text of such a length is always
    valid; `max_length` is negative if there is no such length. ruled: the properties with CEL rules
    in them. keyed: the properties with list maps in them.
    """

    types: tuple[str, ...]
    format: str
    nullable: bool
    properties: Mapping[str, Node]
    additional: Node | None
    open: bool
    items: Node | None
    required: tuple[str, ...]
    preserve: bool
    embedded: bool
    list_keys: tuple[str, ...] | None
    key_defaults: Mapping[str, Any]
    limits: Limits
    check_format: Format | None
    junctors: Junctors | None
    rules: Rules | None
    default: Any
    defaults: dict[str, Any] = field(default_factory=dict)
    default_size: int = 0
    defaults_size: int = 0
    has_rules: bool = False
    ruled: Mapping[str, Node] = field(default_factory=lambda: _NOTHING)
    keyed: frozenset[str] = frozenset()
    has_list_keys: bool = False
    plain: Callable[[Any], bool] | None = None
    min_length: int = 0
    max_length: int = -1

    def child(self, name: str) -> Node | None:
        """Return the schema of an object's member; None if it is unspecified."""
        node = self.properties.get(name)
        return node if node is not None else self.additional


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def compile_schema(
    schema: Document, rules: RuleChecker | None, *, root: bool = False, any_format: bool = False
) -> Node:
    """Compile a schema document.

    root: it is the schema of whole objects. any_format: keep unknown formats and formats of other
    types, as the validation of defaults does.
    """
    below = partial(compile_schema, rules=rules, any_format=any_format)
    properties: Mapping[str, Node] = _NOTHING
    if subschemas := schema.get("properties"):
        properties = {name: below(subschema) for name, subschema in subschemas.items()}
    more = schema.get("additionalProperties")
    items = schema.get("items")
    form = schema.get("format") or "" if any_format else _format(schema)
    types = _types(schema)
    node = Node(
        types=types,
        format=form,
        nullable=bool(schema.get("nullable")),
        properties=properties,
        additional=below(more) if isinstance(more, dict) else None,
        open=more is True,
        items=below(items) if isinstance(items, dict) else None,
        required=tuple(schema.get("required") or ()),
        preserve=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded=bool(schema.get("x-kubernetes-embedded-resource")),
        list_keys=_list_keys(schema),
        key_defaults=_key_defaults(schema),
        limits=_limits(schema),
        check_format=format_of(form),
        junctors=_junctors(schema, below),
        rules=_rules(schema, rules, root=root),
        default=schema.get("default", ABSENT),
    )
    node.has_rules = node.rules is not None
    node.has_list_keys = node.list_keys is not None
    if properties or node.additional or node.items:
        _summarize(node)
    node.plain = _plain(node)
    limits = node.limits
    free = limits.enum is None and limits.pattern is None
    if free and node.plain is not None and node.types == ("string",):
        node.min_length, node.max_length = _lengths(limits)
    return node


def _summarize(node: Node) -> None:
    """Record which child nodes contain CEL rules and list maps."""
    properties = node.properties.items()
    children = [*node.properties.values(), *filter(None, (node.additional, node.items))]
    node.has_rules = node.has_rules or any(child.has_rules for child in children)
    node.ruled = {name: child for name, child in properties if child.has_rules}
    node.keyed = frozenset(name for name, child in properties if child.has_list_keys)
    node.has_list_keys = node.has_list_keys or any(child.has_list_keys for child in children)


def _rules(schema: Document, rules: RuleChecker | None, *, root: bool) -> Rules | None:
    if rules is None or not schema.get("x-kubernetes-validations"):
        return None
    return rules(schema, root=root)


def _types(schema: Document) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    kind = schema.get("type")
    return (kind,) if kind else ()


def _format(schema: Document) -> str:
    """Return the format of a schema, "" if it does not belong to the schema's type."""
    form: str = schema.get("format") or ""
    match schema.get("type"):
        case None | "string":
            is_valid = format_of(form) is not None
        case "integer":
            is_valid = form in ("int32", "int64")
        case "number":
            is_valid = form in ("float", "double")
        case _:
            is_valid = False
    return form if is_valid else ""


def _list_keys(schema: Document) -> tuple[str, ...] | None:
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return ()
        case "map":
            return tuple(schema.get("x-kubernetes-list-map-keys") or ())
    return None


def _key_defaults(schema: Document) -> Mapping[str, Any]:
    keys = schema.get("x-kubernetes-list-map-keys")
    if not keys:
        return _NOTHING
    members = (schema.get("items") or {}).get("properties") or {}
    return {key: members[key]["default"] for key in keys if "default" in members.get(key, {})}


_NO_LIMITS: Final = Limits()
_LIMITS: Final = frozenset(
    (
        *("enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties", "pattern"),
    )
)


def _limits(schema: Document) -> Limits:
    if _LIMITS.isdisjoint(schema):
        return _NO_LIMITS
    pattern = schema.get("pattern")
    return Limits(
        enum=schema.get("enum"),
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        exclusive_minimum=bool(schema.get("exclusiveMinimum")),
        exclusive_maximum=bool(schema.get("exclusiveMaximum")),
        multiple_of=schema.get("multipleOf"),
        min_length=schema.get("minLength"),
        max_length=schema.get("maxLength"),
        min_items=schema.get("minItems"),
        max_items=schema.get("maxItems"),
        unique_items=bool(schema.get("uniqueItems")),
        min_properties=schema.get("minProperties"),
        max_properties=schema.get("maxProperties"),
        pattern=Pattern(pattern) if pattern else None,
    )


def _junctors(schema: Document, below: Callable[[Document], Node]) -> Junctors | None:
    names = ("allOf", "anyOf", "oneOf")
    refused = schema.get("not")
    if refused is None and not any(schema.get(name) for name in names):
        return None
    all_of, any_of, one_of = ([below(item) for item in schema.get(name) or ()] for name in names)
    none_of = None if refused is None else below(refused)
    return Junctors(all_of, any_of, one_of, none_of)


_PYTHON: Final[dict[str, type]] = {"string": str, "boolean": bool}


def _plain(node: Node) -> Callable[[Any], bool] | None:
    """Return a fast test for scalars limited only by type, length, enum and pattern."""
    limits = node.limits
    if node.junctors or node.rules or node.check_format or len(node.types) != 1:
        return None
    kind = _PYTHON.get(node.types[0])
    if kind is None:
        return None
    if limits.enum is not None:
        return _one_of(limits.enum, limits) if kind is str and limits.pattern is None else None
    if limits.pattern is not None or limits.min_length or limits.max_length is not None:
        return _within_limits(limits) if kind is str else None
    return lambda value: type(value) is kind


def _one_of(words: list[Any], limits: Limits) -> Callable[[Any], bool]:
    least, limit = limits.min_length or 0, limits.max_length
    allowed = frozenset(
        word
        for word in words
        if isinstance(word, str) and least <= len(word) and (limit is None or len(word) <= limit)
    )
    return lambda value: type(value) is str and value in allowed


def _lengths(limits: Limits) -> tuple[int, int]:
    """Return the least and the most characters of a text."""
    return limits.min_length or 0, limits.max_length if limits.max_length is not None else 1 << 60


def _within_limits(limits: Limits) -> Callable[[Any], bool]:
    least, limit = _lengths(limits)
    if limits.pattern is None:
        return lambda value: type(value) is str and least <= len(value) <= limit
    matches = limits.pattern.matches
    return lambda value: type(value) is str and least <= len(value) <= limit and matches(value)
