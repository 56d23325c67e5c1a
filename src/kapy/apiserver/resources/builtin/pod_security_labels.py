"""Validation of the labels of Namespaces that say which pods are allowed (PodSecurity)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from kapy.kube.field_errors import FieldError, invalid

_PREFIX: Final = "pod-security.kubernetes.io/"
_MODES: Final = ("enforce", "audit", "warn")
_LEVELS: Final = ("privileged", "baseline", "restricted")
_VERSION: Final = r"v1\.([0-9]|[1-9][0-9]*)"


def pod_security_errors(labels: Mapping[str, str]) -> Iterator[FieldError]:
    """Yield the errors of levels and versions."""
    for mode in _MODES:
        level, version = f"{_PREFIX}{mode}", f"{_PREFIX}{mode}-version"
        if labels.get(level, _LEVELS[0]) not in _LEVELS:
            text = f"must be one of {', '.join(_LEVELS)}"
            yield invalid(f"metadata.labels[{level}]", labels[level], text)
        version_value = labels.get(version, "latest")
        if version_value != "latest" and not re.fullmatch(_VERSION, version_value, re.ASCII):
            yield invalid(
                f"metadata.labels[{version}]", version_value, 'must be "latest" or "v1.x"'
            )
