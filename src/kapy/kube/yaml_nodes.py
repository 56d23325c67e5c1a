"""YAML as nodes, for readers to whom it matters how a scalar is written."""

from __future__ import annotations

from typing import Any, Final

import yaml

from kapy.kube.yaml import YamlError, check_depth, errors_of

PLAIN: Final = "?"
"""The tag of a scalar without quotes and without a tag."""

TEXT: Final = "tag:yaml.org,2002:str"
"""The tag of a scalar in quotes or in a block."""


class _Loader(yaml.CSafeLoader):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        if kind is yaml.ScalarNode:
            return PLAIN if implicit[0] else TEXT
        return "tag:yaml.org,2002:map" if kind is yaml.MappingNode else "tag:yaml.org,2002:seq"


def first_document(text: str, source: str = "", *, only: bool = False) -> yaml.Node | None:
    """The nodes of the first document; None when there is none.

    only: whether another document is an error; else it is not looked at.

    A node with an alias is the same object wherever it stands, and can contain itself: who walks
    through the nodes bounds the way. Raises YamlError.
    """
    check_depth(text, source)
    with errors_of(source):
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
