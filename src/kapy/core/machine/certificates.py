"""Phase: record when the certificates of a control plane Machine expire."""

from __future__ import annotations

from kapy.api.machines import is_control_plane
from kapy.api.names import Annotation
from kapy.api.times import moment, stamp
from kapy.contract.observed import Found
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result
from kapy.kube.errors import KapyError


class BadExpiry(KapyError):
    """The expiry annotation is no valid time."""


async def reconcile_certificates(scope: MachineScope) -> Result:
    """Copy the expiry from the annotation of the Machine or else of its bootstrap config."""
    machine = scope.machine
    if not is_control_plane(machine):
        return DONE
    text = machine.metadata.annotations.get(Annotation.CERTIFICATES_EXPIRY)
    if text is None and isinstance(scope.bootstrap, Found):
        metadata = scope.bootstrap.view.document["metadata"]
        text = (metadata.get("annotations") or {}).get(Annotation.CERTIFICATES_EXPIRY)
    if text is None:
        machine.status.certificates_expiry_date = None
        return DONE
    try:
        machine.status.certificates_expiry_date = stamp(moment(text))
    except ValueError:
        raise BadExpiry(
            f'failed to reconcile certificates expiry: the annotation holds "{text}", '
            "which is no RFC 3339 time"
        ) from None
    return DONE
