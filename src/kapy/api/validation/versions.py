"""Fields that hold a Kubernetes version."""

from __future__ import annotations

from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.version import InvalidVersion, parse


def version_errors(
    version: str, path: str, problem: str = "must be a valid semantic version"
) -> list[FieldError]:
    """`v` and a semantic version. "" is one error, two when the field must be set.

    problem: how the error is called for a text that is no version.
    """
    errors = []
    if not version.startswith("v"):
        errors.append(invalid(path, version, "must start with v"))
    try:
        parse(version.removeprefix("v"))
    except InvalidVersion:
        errors.append(invalid(path, version, problem))
    return errors
