"""YAML as Kubernetes reads it (`sigs.k8s.io/yaml`): one JSON value per document.

`kapy.kube.yaml_scalars` decides the types of scalars; map keys become strings. Loading uses
PyYAML's C loader.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Generator, Hashable
from functools import cmp_to_key, lru_cache
from typing import Any, cast

import yaml

from kapy.kube.errors import KapyError
from kapy.kube.remembering import LONGEST
from kapy.kube.yaml_scalars import (
    FLOAT,
    INT,
    MERGE,
    STR,
    TIMESTAMP,
    TRUE,
    needs_quotes,
    number,
    tag_of,
)

_DIGITS_AT_START = re.compile(r"^[0-9]*")
_DIGITS_AT_END = re.compile(r"[0-9]+$")


class YamlError(KapyError):
    """The text is not valid YAML. The message names the source and the line.

    in_go: the message of Go's parser, which counts lines differently.
    """

    def __init__(self, message: str, in_go: str = "") -> None:
        super().__init__(message)
        self.in_go = in_go or message


_TAG = "tag:yaml.org,2002:"
_MAP, _SEQ = (f"{_TAG}{name}" for name in ("map", "seq"))
_PLAIN = {_MAP: yaml.MappingNode, _SEQ: yaml.SequenceNode}
_UNFINISHED = object()


class _Loader(yaml.CSafeLoader):
    duplicates: list[str] | None = None
    aliased = False
    """Whether the document has aliases."""
    _merged = 0

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """Return the tag of a node without an explicit tag; cached, since few words make up most
        files.
        """
        if kind is yaml.ScalarNode:
            if not implicit[0]:
                return STR
            return _tag(value) if len(value) <= LONGEST else tag_of(value)
        return _MAP if kind is yaml.MappingNode else _SEQ

    def construct_document(self, node: yaml.Node) -> Any:
        self.constructed_objects.clear()
        return self._value(node, {})

    def _value(self, node: yaml.Node, known: dict[yaml.Node, Any]) -> Any:
        """Construct the value of a node, with a fast path for plain nodes.

        known: the values of aliased nodes; an unfinished one refers to itself.
        """
        tag = node.tag
        if tag == STR and isinstance(node, yaml.ScalarNode):
            if len(node.value) >= _CHARACTERS:
                self._note(node, known)
            return node.value
        if type(node) is not _PLAIN.get(tag):
            return self.construct_object(node, deep=True)
        found = known.get(node)
        if found is None:
            known[node] = _UNFINISHED
            if isinstance(node, yaml.MappingNode):
                found = self._mapping(node, known)
            else:
                found = [self._value(one, known) for one in node.value]
            known[node] = found
            return found
        self.aliased = True
        if found is _UNFINISHED:
            raise yaml.constructor.ConstructorError(
                None, None, "found unconstructable recursive node", node.start_mark
            )
        return found

    def _note(self, node: yaml.Node, known: dict[yaml.Node, Any]) -> None:
        """Take notice of a long text, which may be there twice."""
        if node in known:
            self.aliased = True
        known[node] = node.value

    def _mapping(self, node: yaml.MappingNode, known: dict[yaml.Node, Any]) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        if any(key.tag == MERGE for key, _ in node.value):
            self._flatten(node)
        for key_node, value_node in node.value:
            key = key_node.value
            if key_node.tag != STR or not isinstance(key, str):
                key = _key(self.construct_object(key_node, deep=True), key_node)
            if len(key) >= _CHARACTERS:
                self._note(key_node, known)
            if self.duplicates is not None and key in mapping and self._may_tell():
                line = key_node.start_mark.line + 1
                self.duplicates.append(f'line {line}: key "{key}" already set in map')
            mapping[key] = self._value(value_node, known)
        return mapping

    def _may_tell(self) -> bool:
        return self.duplicates is not None and len(self.duplicates) < _MOST_DUPLICATES

    def _flatten(self, node: yaml.MappingNode) -> None:
        """Expand merge keys (`<<`), except chains of them that grow exponentially."""
        before = len(node.value)
        self.flatten_mapping(node)
        self._merged += max(0, len(node.value) - before)
        if self._merged > _MOSTMERGED:
            problem = "merge keys make the document too large"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002, ARG002
        return cast("dict[Hashable, Any]", self._mapping(node, {}))


def _key(key: Any, node: yaml.Node) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (int, float)):
        return str(key)
    raise yaml.constructor.ConstructorError(
        None, None, "a map key must be a string, a number or a boolean", node.start_mark
    )


@lru_cache(maxsize=8192)
def _tag(word: str) -> str:
    """Return the tag of a plain scalar; cached, because most words repeat."""
    return tag_of(word)


def _boolean(loader: Any, node: yaml.ScalarNode) -> bool:
    return str(loader.construct_scalar(node)) in TRUE


def _number(loader: Any, node: yaml.ScalarNode) -> int | float:
    return number(str(loader.construct_scalar(node)))


def _mapping(loader: Any, node: yaml.Node) -> Any:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.constructor.ConstructorError(None, None, "expected a mapping", node.start_mark)
    return loader.construct_mapping(node, deep=True)


def _sequence(loader: Any, node: yaml.Node) -> list[Any]:
    if not isinstance(node, yaml.SequenceNode):
        raise yaml.constructor.ConstructorError(None, None, "expected a list", node.start_mark)
    return [loader.construct_object(one, deep=True) for one in node.value]


def _string_value(loader: Any, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:bool", _boolean)
_Loader.add_constructor(INT, _number)
_Loader.add_constructor(FLOAT, _number)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:seq", _sequence)
_Loader.add_constructor("tag:yaml.org,2002:binary", _string_value)
_Loader.add_constructor("tag:yaml.org,2002:merge", _string_value)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _string_value)
_Loader.add_constructor("tag:yaml.org,2002:set", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:omap", _sequence)
_Loader.add_constructor("tag:yaml.org,2002:pairs", _sequence)


def load(text: str | bytes, source: str = "", duplicates: list[str] | None = None) -> Any:
    """Load a single document; None for an empty one. Raises YamlError.

    source: the text's name in errors (a file name). duplicates: a list that receives a message for
    each duplicate map key (the last value wins).
    """
    values = _values(text, source, duplicates)
    first = next(values, None)
    if next(values, None) is not None:
        raise YamlError(f"{_where(source)}only one document was expected")
    return first


def load_first(text: str | bytes, source: str = "") -> Any:
    """Load the first document, None if it is empty; further ones are ignored, as in Go's Unmarshal.

    Raises YamlError.
    """
    with contextlib.closing(_values(text, source, None)) as values:
        return next(values, None)


def load_all(text: str | bytes, source: str = "") -> list[Any]:
    """Load all documents that are not empty. Raises YamlError."""
    return [value for value in _values(text, source, None) if value is not None]


def _values(
    text: str | bytes, source: str, duplicates: list[str] | None
) -> Generator[Any, None, None]:
    check_depth(text, source)
    with errors_of(source):
        loader = _Loader(text)
        try:
            loader.duplicates = duplicates
            while loader.check_data():  # type: ignore[no-untyped-call]
                value = loader.get_data()
                if loader.aliased and _size(value, {}) > _MOST_NODES:
                    raise YamlError(f"{_where(source)}aliases make the document too large")
                yield value
        finally:
            loader.dispose()


@contextlib.contextmanager
def errors_of(source: str) -> Generator[None, None, None]:
    """Convert all exceptions of PyYAML about a text to YamlError."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        what = error.problem or error.context or "cannot be read"
        told = f"{_line_in_go(error)}{what}"
        raise YamlError(f"{_where(source)}{line}{what}", told) from error
    except RecursionError as error:
        raise YamlError(f"{_where(source)}exceeded max depth") from error
    except (yaml.YAMLError, ValueError) as error:
        told = " ".join(str(error).split())
        raise YamlError(f"{_where(source)}{told}") from error


def _line_in_go(error: yaml.MarkedYAMLError) -> str:
    """Return the line that Go's parser reports: it counts from 0, its scanner from 1."""
    marks = [mark.line for mark in (error.problem_mark, error.context_mark) if mark is not None]
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    else:
        line = marks[-1] if marks else 0
    return f"line {line}: " if line else ""


_MOST_DIRECTIVES = 100


def check_depth(text: str | bytes, source: str) -> None:
    """Check that the nesting is not too deep for PyYAML's composer, which recurses in C.

    A cheap upper bound comes first: block depth is at most twice the widest indentation, flow depth
    at most the number of brackets. Only documents that exceed it are parsed.
    """
    content = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    # libyaml compares each directive with all earlier ones, which can block the process.
    if content.count("\n%TAG") > _MOST_DIRECTIVES:
        raise YamlError(f"{_where(source)}more than {_MOST_DIRECTIVES} %TAG directives")
    if all(_most_levels(one) <= _MOST_LEVELS for one in content.split("\n---")):
        return
    depth = 0
    try:
        for event in yaml.parse(content, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _MOST_LEVELS:
                raise YamlError(f"{_where(source)}exceeded max depth")
    except (yaml.YAMLError, ValueError):
        return  # composing it will say so, before it gets deeper


def _most_levels(document: str) -> int:
    block = max((len(one) for one in _BEGINNING.findall(document)), default=0)
    return document.count("[") + document.count("{") + 2 * block


_BEGINNING = re.compile(r"^[ \t?:-]{256,}", re.MULTILINE)
_MOST_LEVELS = 1000
_MOSTMERGED = 100_000
_MOST_DUPLICATES = 1000
_MOST_NODES = 1_000_000
_CHARACTERS = 32
"""Characters of a text that count as one node more."""


def _size(value: Any, known: dict[int, int]) -> int:
    """How many nodes a value has when every alias is written out; a long text counts as several."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS
    if not isinstance(value, (dict, list)):
        return 1
    size = known.get(id(value))
    if size is None:
        if isinstance(value, dict):
            size = 1 + sum(len(key) // _CHARACTERS + _size(value[key], known) for key in value)
        else:
            size = 1 + sum(_size(part, known) for part in value)
        known[id(value)] = size
    return size


def _where(source: str) -> str:
    return f"{source}: " if source else ""


class _Dumper(yaml.CSafeDumper):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """Return the tag that a reader would assign; if it differs, the value is quoted."""
        if kind is not yaml.ScalarNode:
            return _MAP if kind is yaml.MappingNode else _SEQ
        if not implicit[0]:
            return STR
        found = _tag(value) if len(value) <= LONGEST else tag_of(value)
        return STR if found in (MERGE, TIMESTAMP) else found

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _string(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    if style is None and needs_quotes(value):
        style = '"'
    return dumper.represent_scalar(STR, value, style=style)


def _float(dumper: _Dumper, value: float) -> yaml.ScalarNode:
    """Return a number as it looks after JSON and Go's `%g`: `1`, `0.5`, `1e+21`."""
    if not math.isfinite(value):
        return dumper.represent_float(value)
    if value.is_integer() and abs(value) < _LARGEST_WRITTEN_OUT:
        return dumper.represent_int(int(value))
    digits = repr(value).partition("e")[0].replace(".", "").strip("-0")
    text = f"{value:.{len(digits) - 1}e}"
    plain = -5 < int(text.partition("e")[2]) < 6
    return dumper.represent_scalar(FLOAT, repr(value) if plain else text)


_LARGEST_WRITTEN_OUT = 1e21
_Dumper.add_representer(float, _float)
_Dumper.add_representer(str, _string)


def dump(value: Any) -> str:
    """Dump one document in Go's style: sorted keys, unindented lists, folded long lines."""
    text: str = yaml.dump(
        _ordered(value),
        Dumper=_Dumper,
        default_flow_style=False,
        allow_unicode=True,
        width=80,
        sort_keys=False,
    )
    # libyaml marks the end of a document whose last text has empty lines at its end.
    return text.removesuffix("...\n") if text.endswith("\n...\n") else text


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value, key=_IN_ORDER)}
    if isinstance(value, list):
        return [_ordered(one) for one in value]
    return value


def _natural_order(a: str, b: str) -> int:
    """Return a sort key for Go's YAML key order: numbers by value, letters after other
    characters.
    """
    least = min(len(a), len(b))
    start = next((i for i in range(least) if a[i] != b[i]), least)
    x, y = a[start : start + 1], b[start : start + 1]
    if not (x and y):
        return len(a) - len(b)
    if x.isalpha() or y.isalpha():
        return ord(x) - ord(y) if x.isalpha() == y.isalpha() else int(x.isalpha()) or -1
    before = _DIGITS_AT_END.search(a[:start])
    inside = "0" in (x, y) and before is not None and before[0].strip("0")
    first, second = (_DIGITS_AT_START.findall(text[start:])[0] for text in (a, b))
    one = "1" if inside else "0"
    by_number = int(one + first) - int(one + second)
    return by_number or len(first) - len(second) or ord(x) - ord(y)


_IN_ORDER = cmp_to_key(_natural_order)


def dump_all(values: list[Any]) -> str:
    """Dump several documents, separated by `---` lines."""
    return "---\n".join(dump(value) for value in values)
