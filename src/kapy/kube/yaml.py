"""YAML as Kubernetes reads it (`sigs.k8s.io/yaml`): one JSON value per document.

`kapy.kube.yaml_decoding` builds documents from the events of libyaml (PyYAML's C extension),
`kapy.kube.yaml_scalars` decides the types of scalars. Map keys become strings.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Generator
from functools import cmp_to_key
from itertools import islice
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

from kapy.kube.errors import KapyError
from kapy.kube.text_cache import MAX_TEXT
from kapy.kube.yaml_decoding import Decoder
from kapy.kube.yaml_scalars import (
    FLOAT,
    INT,
    MERGE,
    STR,
    TIMESTAMP,
    UnsupportedValue,
    needs_quotes,
    short_tag,
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


def load(
    text: str | bytes,
    source: str = "",
    duplicates: list[str] | None = None,
    *,
    binary: bool = False,
) -> Any:
    """Load a single document; None for an empty one. Raises YamlError.

    source: the text's name in errors (a file name). duplicates: a list that receives a message for
    each duplicate map key (the last value wins). binary: return bytes for values with the tag
    `!!binary`, as YAML libraries of Python do.
    """
    values = _values(text, source, duplicates, binary=binary)
    first = next(values, None)
    if next(values, None) is not None:
        raise YamlError(f"{_where(source)}only one document was expected")
    return first


def load_first(text: str | bytes, source: str = "", duplicates: list[str] | None = None) -> Any:
    """Load the first document, None if it is empty; further ones are ignored, as in Go's Unmarshal.

    Raises YamlError.
    """
    with contextlib.closing(_values(text, source, duplicates)) as values:
        return next(values, None)


def load_all(text: str | bytes, source: str = "") -> list[Any]:
    """Load all documents that are not empty. Raises YamlError."""
    return [value for value in _values(text, source, None) if value is not None]


def _values(
    text: str | bytes, source: str, duplicates: list[str] | None, *, binary: bool = False
) -> Generator[Any, None, None]:
    with errors_of(source):
        yield from Decoder(readable(text), duplicates, binary=binary).documents()


def readable(text: str | bytes) -> str | bytes:
    """Return a text that libyaml reads in linear time. Raises ValueError."""
    if isinstance(text, bytes) and text.startswith(_WIDE):
        text = text.decode("utf-16")
    pattern = _DIRECTIVES if isinstance(text, str) else _DIRECTIVES_IN_BYTES
    # libyaml compares each directive with all earlier ones, which can block the process.
    matches = pattern.finditer(text)  # type: ignore[arg-type]
    if next(islice(matches, _MAX_DIRECTIVES, None), None) is not None:
        raise ValueError(f"more than {_MAX_DIRECTIVES} %TAG directives")
    return text


_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"
"""The problem that libyaml reports if its scanner, which reads ahead, is beyond its own limit."""
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_MAX_DIRECTIVES = 100
_DIRECTIVES = re.compile("[\n\r\x85\u2028\u2029]%TAG")
_DIRECTIVES_IN_BYTES = re.compile(rb"[\n\r\x85\xa8\xa9]%TAG")  # the last bytes of line breaks


@contextlib.contextmanager
def errors_of(source: str) -> Generator[None, None, None]:
    """Convert all exceptions of PyYAML and the decoder about a text to YamlError."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        if error.problem == _TOO_DEEP_FOR_LIBYAML:
            raise _too_deep(source) from None
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        what = error.problem or error.context or "cannot be read"
        decoded = isinstance(error, ComposerError | ConstructorError)
        result = f"yaml: {'' if decoded else _line_in_go(error)}{what}"
        raise YamlError(f"{_where(source)}{line}{what}", result) from None
    except RecursionError:
        raise _too_deep(source) from None
    except UnsupportedValue as error:
        raise YamlError(f"{_where(source)}{error}", str(error)) from None
    except (yaml.YAMLError, ValueError) as error:
        result = " ".join(str(error).split())
        raise YamlError(f"{_where(source)}{result}", f"yaml: {result}") from None


def _too_deep(source: str) -> YamlError:
    return YamlError(f"{_where(source)}exceeded max depth", "yaml: exceeded max depth")


def _line_in_go(error: yaml.MarkedYAMLError) -> str:
    """Return the line that Go's parser reports: it counts from 0, its scanner from 1."""
    marks = [mark.line for mark in (error.problem_mark, error.context_mark) if mark is not None]
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    else:
        line = marks[-1] if marks else 0
    return f"line {line}: " if line else ""


def _where(source: str) -> str:
    return f"{source}: " if source else ""


class _Dumper(yaml.CSafeDumper):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """Return the tag that a reader would assign; if it differs, the value is quoted."""
        if kind is not yaml.ScalarNode:
            return _MAP if kind is yaml.MappingNode else _SEQ
        if not implicit[0]:
            return STR
        tag = short_tag(value) if len(value) <= MAX_TEXT else tag_of(value)
        return STR if tag in (MERGE, TIMESTAMP) else tag

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
    if value.is_integer() and abs(value) < _MAX_PLAIN_NUMBER:
        return dumper.represent_int(int(value))
    digits = repr(value).partition("e")[0].replace(".", "").strip("-0")
    text = f"{value:.{len(digits) - 1}e}"
    plain = -5 < int(text.partition("e")[2]) < 6
    return dumper.represent_scalar(FLOAT, repr(value) if plain else text)


def _integer(dumper: _Dumper, value: int) -> yaml.ScalarNode:
    """Return an integer; one of more than 64 bits is read back as a float."""
    return dumper.represent_scalar(INT if -(1 << 63) <= value < 1 << 64 else FLOAT, str(value))


_MAX_PLAIN_NUMBER = 1e21
_Dumper.add_representer(int, _integer)
_Dumper.add_representer(float, _float)
_Dumper.add_representer(str, _string)


def dump(value: Any) -> str:
    """Dump one document in Go's style: sorted keys, unindented lists, folded long lines."""
    text: str = yaml.dump(
        _sort(value),
        Dumper=_Dumper,
        default_flow_style=False,
        allow_unicode=True,
        width=80,
        sort_keys=False,
    )
    # libyaml marks the end of a document whose last text has empty lines at its end.
    return text.removesuffix("...\n") if text.endswith("\n...\n") else text


def _sort(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sort(value[key]) for key in sorted(value, key=_IN_ORDER)}
    if isinstance(value, list):
        return [_sort(item) for item in value]
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
    value = "1" if inside else "0"
    by_number = int(value + first) - int(value + second)
    return by_number or len(first) - len(second) or ord(x) - ord(y)


_IN_ORDER = cmp_to_key(_natural_order)


def dump_all(values: list[Any]) -> str:
    """Dump several documents, separated by `---` lines."""
    return "---\n".join(dump(value) for value in values)
