"""YAML as nodes, for readers that need the style of scalars."""

from __future__ import annotations

from typing import Any, Final

import yaml
from yaml import composer

from kapy.kube.depth import MAX_DEPTH
from kapy.kube.yaml import YamlError, errors_of, readable

PLAIN: Final = "?"
"""The tag of a plain scalar without an explicit tag."""

TEXT: Final = "tag:yaml.org,2002:str"
"""The tag of a quoted or block scalar."""

MAX_NODES: Final = 100_000
"""The most nodes of a document. Freeing this many takes less than a tenth of a second."""


class _Composer(composer.Composer, yaml.cyaml.CParser):  # type: ignore[misc,name-defined]
    """Builds nodes in Python from the events of libyaml.

    libyaml's own composer keeps the interpreter lock for a whole document: all threads stop.
    """

    def __init__(self, text: str, source: str) -> None:
        yaml.cyaml.CParser.__init__(self, text)  # type: ignore[attr-defined]
        composer.Composer.__init__(self)
        self._source = source
        self._depth = self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose one node with all below it. Raises YamlError, RecursionError."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            where = f"{self._source}: " if self._source else ""
            raise YamlError(f"{where}the document has more than {MAX_NODES} values")
        if self._depth > MAX_DEPTH:
            raise RecursionError
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        """Return the tag of a node without an explicit one."""
        if kind is yaml.ScalarNode:
            return PLAIN if implicit[0] else TEXT
        return "tag:yaml.org,2002:map" if kind is yaml.MappingNode else "tag:yaml.org,2002:seq"

    def descend_resolver(self, parent: Any, index: Any) -> None:
        """Tags do not depend on the path of a node."""

    def ascend_resolver(self) -> None:
        """Tags do not depend on the path of a node."""


def first_document(text: str, source: str = "", *, only: bool = False) -> yaml.Node | None:
    """Return the nodes of the first document; None if there is none. Raises YamlError.

    only: a second document is an error; otherwise it is ignored. An alias is the same node object
    as its anchor, and a node can contain itself, so a walk over the nodes needs a limit.
    """
    with errors_of(source):
        readable(text)
        nodes = _Composer(text, source)
        try:
            if not nodes.check_node():
                return None
            node: yaml.Node | None = nodes.get_node()
            if only and nodes.check_node():
                raise YamlError("only one document was expected")
            return node
        finally:
            nodes.dispose()
