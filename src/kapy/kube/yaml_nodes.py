"""YAML as nodes, for readers that need the style of scalars."""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from kapy.kube.yaml import YamlError, errors_of, readable

PLAIN: Final = "?"
"""The tag of a plain scalar without an explicit tag."""

TEXT: Final = "tag:yaml.org,2002:str"
"""The tag of a quoted or block scalar."""


class _Loader(yaml.CSafeLoader):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        if kind is yaml.ScalarNode:
            return PLAIN if implicit[0] else TEXT
        return "tag:yaml.org,2002:map" if kind is yaml.MappingNode else "tag:yaml.org,2002:seq"


def first_document(text: str, source: str = "", *, only: bool = False) -> yaml.Node | None:
    """Return the nodes of the first document; None if there is none. Raises YamlError.

    only: a second document is an error; otherwise it is ignored. An alias is the same node object
    as its anchor, and a node can contain itself, so a walk over the nodes needs a limit.
    """
    with errors_of(source):
        readable(text)
        _check_depth(text)
        loader = _Loader(text)
        try:
            if not loader.check_node():
                return None
            node: yaml.Node | None = loader.get_node()
            if only and loader.check_node():
                raise YamlError("only one document was expected")
            return node
        finally:
            loader.dispose()


def _check_depth(text: str) -> None:
    """Check that the nesting is not too deep for PyYAML's composer, which recurses in C.

    A cheap upper bound comes first: block depth is at most twice the widest indentation, flow depth
    at most the number of brackets. Only documents that exceed it are parsed.
    """
    if all(_most_levels(one) <= _MOST_LEVELS for one in text.split("\n---")):
        return
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _MOST_LEVELS:
                raise RecursionError
    except (yaml.YAMLError, ValueError):
        return  # composing it will say so, before it gets deeper


def _most_levels(document: str) -> int:
    block = max((len(one) for one in _BEGINNING.findall(document)), default=0)
    return document.count("[") + document.count("{") + 2 * block


_BEGINNING = re.compile(r"^[ \t?:-]{256,}", re.MULTILINE)
_MOST_LEVELS = 1000
