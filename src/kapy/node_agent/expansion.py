"""References to environment variables, `$(NAME)`, expanded as Kubernetes does it.

`$$` is a dollar sign; a reference to a variable that is not known stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text with the values of the variables that it refers to."""

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "$"
        return variables.get(name, match[0])

    return _REFERENCE.sub(replaced, text)
