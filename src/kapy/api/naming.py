"""Templates of object names: `{{ .machineSet.name }}-{{ .random }}`.

They are Go templates. Every new Machine needs a name, so templates of plain text and fields, which
are nearly all, are rendered here. All other templates are rendered by `kapy.kube.gotemplate`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kapy.kube.errors import KapyError
from kapy.kube.generated_names import MAX_NAME_LENGTH, with_suffix
from kapy.kube.gotemplate import BadTemplate, CannotRender, parse

RANDOM: Final = "{{ .random }}"
"""The expression that every template of machine names must contain, in this spelling."""

# Of three braces in a row, the first two begin the action, which the third makes invalid.
_FIELD: Final = re.compile(r"(?<!\{)\{\{ ?((?:\.[A-Za-z_][A-Za-z0-9_]*)+) ?\}\}")


class BadNameTemplate(KapyError):
    """The template of a name is invalid, or names a value that does not exist."""


def generate_name(
    template: str, data: Mapping[str, Any], random: str, *, again: str | None = None
) -> str:
    """Return the name that a template makes of `data` (nested by the parts of a field's name) and
    of the five characters `random`. A name that is too long is cut and ends with `again`, or with
    `random`.

    Raises BadNameTemplate.
    """
    name = render_name(template, {**data, "random": random})
    if len(name.encode()) <= MAX_NAME_LENGTH:
        return name
    return with_suffix(name, random if again is None else again)


def render_name(template: str, data: Mapping[str, Any]) -> str:
    """Return the text that a template makes of `data`, of any length. Raises BadNameTemplate."""
    name = _FIELD.sub(lambda match: _look_up(match[1], data) or match[0], template)
    if "{{" not in name:
        return name
    try:
        return parse(template, name="template name generator", strict=True).render(data)
    except BadTemplate as error:
        raise BadNameTemplate(f'parsing template "{template}": {error}') from None
    except CannotRender as error:
        raise BadNameTemplate(f"rendering template: {error}") from None


def _look_up(field: str, data: Mapping[str, Any]) -> str:
    """Return the text of a field; "" if the template language has to decide."""
    node: Any = data
    for part in field.split(".")[1:]:
        node = node.get(part) if isinstance(node, Mapping) else None
    return node if isinstance(node, str) else ""
