"""Templates of object names: `{{ .machineSet.name }}-{{ .random }}`.

Go templates as far as names call for them: text and fields. Anything else is refused in words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kapy.kube.errors import KapyError

_ACTION: Final = re.compile(r"(\s*)\{\{(- )?(.*?)( -)?\}\}(\s*)", re.DOTALL)
_FIELD: Final = re.compile(r"(\.[A-Za-z_][A-Za-z0-9_]*)+")

RANDOM: Final = "{{ .random }}"
"""What every template of machine names must contain, spelled so."""


class BadNameTemplate(KapyError):
    """The template of a name is none, or names a value that is not there."""


def rendered_name(template: str, data: Mapping[str, Any]) -> str:
    """The name that a template makes of `data` (nested by the parts of a field's name).

    Raises BadNameTemplate.
    """

    def value(action: re.Match[str]) -> str:
        before, trim_left, text, trim_right, after = action.groups()
        found = str(_looked_up(template, text.strip(), data))
        return f"{'' if trim_left else before}{found}{'' if trim_right else after}"

    name = _ACTION.sub(value, template)
    if "{{" in name:
        raise BadNameTemplate(f'parsing template "{template}": unclosed action')
    return name


def _looked_up(template: str, action: str, data: Mapping[str, Any]) -> Any:
    if not _FIELD.fullmatch(action):
        raise BadNameTemplate(
            f'parsing template "{template}": only fields are supported in names, not "{action}"'
        )
    node: Any = data
    for part in action.split(".")[1:]:
        if not isinstance(node, Mapping) or part not in node:
            raise BadNameTemplate(f'rendering template "{template}": no value for {action}')
        node = node[part]
    if isinstance(node, Mapping):
        raise BadNameTemplate(f'rendering template "{template}": {action} is no text')
    return node
