"""Templates of machine names."""

from __future__ import annotations

from kapy.api.naming import RANDOM, BadNameTemplate, rendered_name
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.qualified_names import dns_subdomain_errors


def naming_errors(template: str, path: str, owner: str) -> list[FieldError]:
    """owner: what the template calls the object that the machines belong to (`machineSet`)."""
    if not template:
        return []
    where = f"{path}.template"
    errors = []
    if RANDOM not in template:
        errors.append(invalid(where, template, f"invalid template, {RANDOM} is missing"))
    example = {"cluster": {"name": "cluster"}, owner: {"name": owner.lower()}, "random": "abcde"}
    try:
        name = rendered_name(template, example)
    except BadNameTemplate as error:
        return [*errors, invalid(where, template, f"invalid template: {error}")]
    if len(name) > 63:
        name = name[:58] + "abcde"
    return errors + [
        invalid(
            where,
            template,
            "invalid template, generated names would not be valid Kubernetes object names: "
            f"{problem}",
        )
        for problem in dns_subdomain_errors(name)
    ]
