"""YAML as nodes, for readers that need the style of scalars."""

from __future__ import annotations

from typing import Any, Final

import yaml

from kapy.kube.yaml import YamlError, check_depth, errors_of

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
