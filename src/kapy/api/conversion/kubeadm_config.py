"""KubeadmConfig(Template) in v1beta1 (upstream's bootstrap/kubeadm/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.kubeadm import config_spec_from_hub, config_spec_to_hub
from kapy.api.conversion.moves import (
    initialization_from_hub,
    initialization_to_hub,
    status_from_hub,
    status_to_hub,
    value_at,
)
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document

_INITIALIZATION: Final = {"ready": "dataSecretCreated"}
_FAILURE: Final = ("failureReason", "failureMessage")


def _to_hub(config: Document, remembered: Document | None) -> None:
    config_spec_to_hub(config["spec"], value_at(remembered, "spec") or {})
    status = config["status"]
    status_to_hub(status, _FAILURE, always=True)
    initialization_to_hub(status, remembered, _INITIALIZATION)


def _from_hub(config: Document, _: ReferenceVersion) -> None:
    config_spec_from_hub(config.get("spec", {}))
    status = config.get("status", {})
    initialization_from_hub(status, _INITIALIZATION)
    status_from_hub(status, _FAILURE)


def _template_to_hub(template: Document, remembered: Document | None) -> None:
    before = value_at(remembered, "spec", "template", "spec") or {}
    config_spec_to_hub(template["spec"]["template"]["spec"], before)


def _template_from_hub(template: Document, _: ReferenceVersion) -> None:
    config_spec_from_hub(value_at(template, "spec", "template", "spec") or {})


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("KubeadmConfig", "v1beta1"): Spoke(_to_hub, _from_hub),
    ("KubeadmConfigTemplate", "v1beta1"): Spoke(_template_to_hub, _template_from_hub),
}
