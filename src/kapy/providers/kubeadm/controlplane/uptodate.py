"""Whether a Machine matches its control plane's spec, and if not, why. Pure.

Only fields that require a new Machine count: the version, the infrastructure template, and the part
of the KubeadmConfig that a running machine cannot adopt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.times import moment
from kapy.kube import Document
from kapy.kube.model import encode
from kapy.providers.kubeadm.controlplane.desired import kubeadm_config_spec
from kapy.sdk.machine_control_plane import is_cloned_from

# Fields in which an empty value differs from an absent one.
_EMPTY_COUNTS: Final = ("taints", "controlPlane")
_UNWANTED: Final = frozenset({Annotation.DELETE_MACHINE, Annotation.REMEDIATE_MACHINE})
"""Annotations of a Machine that somebody wants to be gone."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """The reasons for which a Machine must be replaced, for its UpToDate condition; empty if it is
    up to date.

    may_be_updated: an extension could make the change in place.
    """

    messages: tuple[str, ...] = ()
    may_be_updated: bool = False

    def __bool__(self) -> bool:
        return bool(self.messages)


def outdated(
    kcp: KubeadmControlPlane,
    machine: Machine,
    config: KubeadmConfig | None,
    infrastructure: Document | None,
    now: datetime,
    matches: Callable[[KubeadmControlPlane, KubeadmConfig], bool] | None = None,
) -> Outdated:
    """Return the reasons for which the Machine is not up to date.

    config, infrastructure: None if they do not exist, which is no reason to replace it. matches:
    `config_matches`, or a cache of it.
    """
    messages = _due(kcp, machine, now)
    may_be_updated = not (messages or _UNWANTED & machine.metadata.annotations.keys())
    if machine.spec.version != kcp.spec.version:
        messages.append(f"Version {machine.spec.version}, {kcp.spec.version} required")
    if config is not None and not (matches or config_matches)(kcp, config):
        messages.append("KubeadmConfig is not up-to-date")
    template = kcp.spec.machine_template.spec.infrastructure_ref
    if infrastructure is not None and not is_cloned_from(template, infrastructure):
        messages.append(f"{machine.spec.infrastructure_ref.kind} is not up-to-date")
    return Outdated(tuple(messages), may_be_updated and bool(messages))


def next_due(
    kcp: KubeadmControlPlane, machines: Sequence[Machine], now: datetime
) -> datetime | None:
    """Return the next time at which a Machine becomes outdated without any change, None if there
    is none."""
    moments = []
    days = kcp.spec.rollout.before.certificates_expiry_days
    for machine in machines:
        if days and machine.status.certificates_expiry_date is not None:
            expiry = moment(machine.status.certificates_expiry_date)
            moments.append(expiry - timedelta(days=days))
    if kcp.spec.rollout.after is not None:
        moments.append(moment(kcp.spec.rollout.after))
    return min((time for time in moments if time > now), default=None)


def _due(kcp: KubeadmControlPlane, machine: Machine, now: datetime) -> list[str]:
    """Return the reasons that depend on time only, from the moment that `next_due` returned."""
    messages = []
    rollout = kcp.spec.rollout
    expiry = machine.status.certificates_expiry_date
    days = rollout.before.certificates_expiry_days
    if days and expiry is not None and now + timedelta(days=days) >= moment(expiry):
        messages.append("Certificates will expire soon")
    created = machine.metadata.creation_timestamp
    if rollout.after is not None and created is not None:
        after = moment(rollout.after)
        if moment(created) < after <= now:
            messages.append("KubeadmControlPlane spec.rolloutAfter expired")
    return messages


class ConfigMatchCache:
    """Caches `config_matches` by the generations of both objects."""

    _MAX_CACHED: Final = 100_000

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[str, int, int], bool]] = {}

    def __call__(self, kcp: KubeadmControlPlane, config: KubeadmConfig) -> bool:
        state = kcp.metadata.uid, kcp.metadata.generation, config.metadata.generation
        entry = self._known.get(config.metadata.uid)
        if entry is None or entry[0] != state:
            if len(self._known) >= self._MAX_CACHED:
                self._known.clear()  # most entries belong to deleted machines
            entry = self._known[config.metadata.uid] = state, config_matches(kcp, config)
        return entry[1]


def config_matches(kcp: KubeadmControlPlane, config: KubeadmConfig) -> bool:
    """Return whether a new machine would have this KubeadmConfig.

    Configurations are compared as a join first (an init is converted to the equivalent join), then
    as an init. If init and join configuration differ, that alone must not replace the machine that
    ran init.
    """
    current, wanted = joining(kcp, config)
    if current == wanted:
        return True
    if _is_join(config):
        return False
    init = encode(kubeadm_config_spec(kcp, join=False))
    return _comparable(encode(config.spec), init) == _comparable(init, init)


def joining(kcp: KubeadmControlPlane, config: KubeadmConfig) -> tuple[Document, Document]:
    """Return the compared parts of a KubeadmConfig: current and desired. A configuration of
    `kubeadm init` is converted to the equivalent join, since init never runs twice.
    """
    current, wanted = encode(config.spec), encode(kubeadm_config_spec(kcp, join=True))
    if not _is_join(config):
        current = _as_join(current, wanted)
    return _comparable(current, wanted), _comparable(wanted, wanted)


def _is_join(config: KubeadmConfig) -> bool:
    return config.spec.join_configuration.control_plane is not None


def _as_join(current: Document, wanted: Document) -> Document:
    """Return the join configuration that is equivalent to an init configuration."""
    init = current.get("initConfiguration") or {}
    join = dict(current.get("joinConfiguration") or {})
    for field in ("timeouts", "patches", "skipPhases", "nodeRegistration"):
        join[field] = init.get(field)
    join["controlPlane"] = {"localAPIEndpoint": init.get("localAPIEndpoint")}
    join["caCertPath"] = (wanted.get("joinConfiguration") or {}).get("caCertPath")
    return {**current, "initConfiguration": None, "joinConfiguration": join}


def _comparable(spec: Document, wanted: Document) -> Document:
    """Return the compared part of a KubeadmConfig, with defaults and without empty fields."""
    cluster = dict(spec.get("clusterConfiguration") or {})
    theirs = wanted.get("clusterConfiguration") or {}
    # The bootstrap provider sets the first field; the second is changed in place.
    for field in ("controlPlaneEndpoint", "dns"):
        cluster[field] = theirs.get(field)
    comparable = {
        **spec,
        "format": spec.get("format") or "cloud-config",
        "clusterConfiguration": cluster,
        "initConfiguration": _with_node_registration(spec.get("initConfiguration")),
        "joinConfiguration": {
            **_with_node_registration(spec.get("joinConfiguration")),
            "discovery": None,
        },
    }
    pruned = _prune(comparable)
    assert isinstance(pruned, dict)
    return pruned


def _with_node_registration(configuration: Document | None) -> Document:
    configuration = dict(configuration or {})
    configuration["nodeRegistration"] = {
        "imagePullPolicy": "IfNotPresent",
        **(configuration.get("nodeRegistration") or {}),
    }
    # The location of this timeout differs between API versions; a new value applies at the next
    # join.
    timeouts = dict(configuration.get("timeouts") or {})
    timeouts.pop("controlPlaneComponentHealthCheckSeconds", None)
    configuration["timeouts"] = timeouts
    return configuration


def _prune(value: Any, *, keep: bool = False) -> Any:
    """Return the value without None and empty fields, except those whose emptiness has a
    meaning.
    """
    if isinstance(value, Mapping):
        inner = {
            name: _prune(item, keep=name in _EMPTY_COUNTS)
            for name, item in value.items()
            if item is not None
        }
        result = {name: item for name, item in inner.items() if item is not None}
        return result if result or keep else None
    if isinstance(value, list):
        return [_prune(item, keep=True) for item in value] if value or keep else None
    return value
