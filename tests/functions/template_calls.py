"""Templates that call each function of Go templates with arguments of every type."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from kapy.kube.sprig import functions, volatile_functions

_EACH: Final = 25
"""Calls of each function with two to four arguments."""

_ARGUMENTS: Final = (
    *(".missing", ".null", ".list", ".obj", ".emptylist", ".nums", ".str"),
    *(
        '""',
        '"a"',
        '"3"',
        '"%s"',
        '" a b "',
        '"2020-01-02"',
        '"true"',
        "3",
        "-1",
        "0",
        "2.5",
        "true",
    ),
    *('(list "b" "a" 2)', '(dict "a" 1)'),
)
_RANDOM: Final = frozenset(("bcrypt", "derivePassword", "encryptAES", "htpasswd", "keys", "values"))
"""Functions whose results have no order, or are slow to compute."""


def template_calls(seed: int) -> Iterator[dict[str, str]]:
    """Yield cases of gotemplate/render."""
    random = Random(seed)
    all_functions = functions()
    for name in sorted(set(all_functions) - {*volatile_functions(all_functions), *_RANDOM}):
        yield {"template": f"{{{{ {name} }}}}"}
        for argument in _ARGUMENTS:
            yield {"template": f"{{{{ {name} {argument} }}}}"}
        for _ in range(_EACH):
            arguments = random.choices(_ARGUMENTS, k=random.choice((2, 2, 2, 3, 3, 4)))
            yield {"template": f"{{{{ {name} {' '.join(arguments)} }}}}"}
