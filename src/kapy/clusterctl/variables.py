"""Variables of templates and components: lists those of a file, and replaces them.

Upstream: `cmd/clusterctl/client/yamlprocessor/simple_processor.go`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kapy.clusterctl.envsubst import Values, defaults, parse, substitute
from kapy.clusterctl.errors import ClusterctlError

_WITH_SPACES: Final = re.compile(
    r"\$\{(?:[ \t\n\f\r]+([A-Za-z0-9_$]+)[ \t\n\f\r]*|([A-Za-z0-9_$]+)[ \t\n\f\r]+)\}"
)


class MissingVariables(ClusterctlError):
    """Variables without default are not set; the message names them all."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(sorted(names))
        super().__init__(
            f"value for variables [{', '.join(self.names)}] is not set. Please set the value using "
            "os environment variables or the clusterctl config file"
        )


def variables_of(text: str) -> dict[str, str | None]:
    """Return the default of each variable, sorted by name; None if it must be set.

    Raises BadSubstitution.
    """
    result = defaults(parse(_without_spaces(text)))
    return {name: result[name] or None for name in sorted(result)}


def replace_variables(text: str, values: Values) -> str:
    """Return the text with every variable replaced. Raises BadSubstitution and MissingVariables."""
    nodes = parse(_without_spaces(text))
    needed = [name for name, default in defaults(nodes).items() if not default]
    missing = [name for name in needed if values.get(name) is None]
    if missing:
        raise MissingVariables(missing)
    return substitute(nodes, values)


def _without_spaces(text: str) -> str:
    """Replace `${ A }`, which old templates contain, by `${A}`."""
    return _WITH_SPACES.sub(lambda match: f"${{{match[1] or match[2]}}}", text)
