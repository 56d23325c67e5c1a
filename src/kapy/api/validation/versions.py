"""Fields that hold a Kubernetes version, and the upgrades of CoreDNS.

The configuration of CoreDNS must be migrated step by step
(`github.com/coredns/corefile-migration`).
"""

from __future__ import annotations

from typing import Final

from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.version import InvalidVersion, parse

_VERSIONS: Final = """
1.1.3 1.1.4 1.2.0 1.2.1 1.2.2 1.2.3 1.2.4 1.2.5 1.2.6 1.3.0 1.3.1 1.4.0 1.5.0 1.5.1 1.5.2 1.6.0
1.6.1 1.6.2 1.6.3 1.6.4 1.6.5 1.6.6 1.6.7 1.6.9 1.7.0 1.7.1 1.8.0 1.8.3 1.8.4 1.8.5 1.8.6 1.8.7
1.9.0 1.9.1 1.9.2 1.9.3 1.9.4 1.10.0 1.10.1 1.11.0 1.11.1 1.11.3 1.11.4 1.12.0 1.12.1 1.12.2
1.12.3 1.12.4 1.13.0 1.13.1 1.13.2 1.14.0 1.14.1 1.14.2 1.14.3 1.14.4 1.14.6
"""
"""Every release whose configuration is known, oldest first."""


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


def migration_problem(before: str, after: str) -> str:
    """Return why CoreDNS cannot be upgraded from one version to another, "" if it can."""
    versions = _VERSIONS.split()
    if before not in versions:
        return f"start version '{before}' not supported"
    if after not in versions[versions.index(before) :]:
        return f"cannot migrate up to '{after}' from '{before}'"
    return ""
