"""Fields that hold a Kubernetes version."""

from __future__ import annotations

from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.version import InvalidVersion, parse


def version_errors(version: str, path: str) -> list[FieldError]:
    """`v` and a semantic version. "" is one error, two when the field must be set."""
    errors = []
    if not version.startswith("v"):
        errors.append(invalid(path, version, "must start with v"))
    try:
        parse(version.removeprefix("v"))
    except InvalidVersion:
        errors.append(invalid(path, version, "must be a valid semantic version"))
    return errors
