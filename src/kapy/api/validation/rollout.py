"""Validation of the sizes of the steps in which Machines are replaced."""

from __future__ import annotations

import re
from typing import Final

from kapy.api.machine_deployment import MachineDeploymentRolloutStrategyRollingUpdate
from kapy.kube.field_errors import FieldError, invalid

_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def rolling_update_errors(
    step: MachineDeploymentRolloutStrategyRollingUpdate, path: str
) -> list[FieldError]:
    """Return the errors of maxUnavailable and maxSurge. path: the path of the object with both
    fields.
    """
    errors = int_or_percent_errors(f"{path}.maxUnavailable", step.max_unavailable)
    errors += int_or_percent_errors(f"{path}.maxSurge", step.max_surge)
    if step.max_unavailable == 0 and step.max_surge == 0:
        errors.append(invalid(path, "0", "maxUnavailable and maxSurge cannot both be 0"))
    return errors


def int_or_percent_errors(path: str, value: int | str | None) -> list[FieldError]:
    """Return an error if a value is a text that is not a percentage."""
    if not isinstance(value, str):
        return []
    if not value.endswith("%"):
        problem = "invalid type: string is not a percentage"
    elif not _NUMBER.fullmatch(value[:-1]):
        problem = f'invalid value "{value}": strconv.Atoi: parsing "{value[:-1]}": invalid syntax'
    else:
        return []
    problem = f"must be either an int or a percentage: invalid value for IntOrString: {problem}"
    return [invalid(path, value, problem)]
