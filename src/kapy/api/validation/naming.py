"""Templates of names."""

from __future__ import annotations

from typing import Any, Final

from kapy.api.naming import RANDOM, BadNameTemplate, generate_name
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.qualified_names import dns_subdomain_errors

_EXAMPLE: Final = "abcde"


def naming_errors(template: str, path: str, owner: str) -> list[FieldError]:
    """Return the errors of a template of Machine names.

    owner: the variable for the object that the Machines belong to.
    """
    if not template:
        return []
    where = f"{path}.template"
    errors = []
    if RANDOM not in template:
        errors.append(invalid(where, template, f"invalid template, {RANDOM} is missing"))
    names = _names({owner: {"name": owner.lower()}})
    try:
        name = generate_name(template, names, _EXAMPLE)
    except BadNameTemplate as error:
        return [*errors, invalid(where, template, f"invalid template: {error}")]
    return errors + [
        invalid(
            where,
            template,
            "invalid template, generated names would not be valid Kubernetes object names: "
            f"{problem}",
        )
        for problem in dns_subdomain_errors(name)
    ]


def class_naming_errors(
    template: str, path: str, what: str, parts: Document | None = None
) -> list[FieldError]:
    """Return the errors of a naming template of a ClusterClass.

    what: the named objects, for messages. parts: the allowed variables besides the cluster.
    """
    if not template:
        return []
    where = f"{path}.template"
    try:
        name = generate_name(template, _names(parts or {}), _EXAMPLE)
    except BadNameTemplate as error:
        return [invalid(where, template, f"invalid {what} name template: {error}")]
    return [invalid(where, template, problem) for problem in dns_subdomain_errors(name)]


def _names(parts: Document) -> dict[str, Any]:
    return {"cluster": {"name": "cluster"}, **parts}
