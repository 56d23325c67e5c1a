"""Conversions of kubeadm's configurations in v1beta1 that need more than one field.

v1beta1 has two of kubeadm's timeouts in other fields, and none of the others. Its flags of files
and volumes cannot be absent. Upstream: bootstrap/kubeadm/webhooks/conversion.
"""

from __future__ import annotations

from typing import Any, Final

from kapy.api.older.difference import Place
from kapy.api.older.documents import bool_to_pointer, put, value_at
from kapy.api.older.durations import duration, seconds
from kapy.kube import Document

_COMPONENTS: Final = ("apiServer", "controllerManager", "scheduler")
_CONFIGURATIONS: Final = ("initConfiguration", "joinConfiguration")
_HEALTH_CHECK: Final = "controlPlaneComponentHealthCheckSeconds"

_DISCOVERY: Final = ("joinConfiguration", "discovery")


def upgrade_config_spec(spec: Document, memory: Document | None, _: Place) -> None:
    """Convert flags of files and volumes, and timeouts. memory: the specification before."""
    before = memory or {}
    _flags_of_items(spec.get("files"), before.get("files"), "path", "append")
    for component in _COMPONENTS:
        where = ("clusterConfiguration", component, "extraVolumes")
        volumes, known_volumes = value_at(spec, *where), value_at(before, *where)
        _flags_of_items(volumes, known_volumes, "hostPath", "readOnly")
    _upgrade_timeouts(spec, before)


def downgrade_config_spec(spec: Document, _: Place) -> None:
    """Convert timeouts to the fields of the older version."""
    init, join = (_without_timeouts(spec, name) for name in _CONFIGURATIONS)
    if (health := init.get(_HEALTH_CHECK)) is not None:
        cluster = spec.setdefault("clusterConfiguration", {})
        cluster.setdefault("apiServer", {})["timeoutForControlPlane"] = duration(health)
    if (bootstrap := join.get("tlsBootstrapSeconds")) is not None:
        discovery = spec.setdefault("joinConfiguration", {}).setdefault("discovery", {})
        discovery["timeout"] = duration(bootstrap)


def _flags_of_items(items: Any, remembered: Any, key: str, name: str) -> None:
    """Convert a flag of each item. If items have the same key, the flag of the first one counts for
    all.
    """
    if not items:
        return
    result, before = _by_key(items, key, name), _by_key(remembered or (), key, name)
    for item in items:
        which = item.get(key, "")
        put(item, name, bool_to_pointer(result[which], before.get(which)))


def _by_key(items: Any, key: str, name: str) -> Document:
    result: Document = {}
    for item in items:
        result.setdefault(item.get(key, ""), item.get(name))
    return result


def _upgrade_timeouts(spec: Document, remembered: Document) -> None:
    for name in _CONFIGURATIONS:
        if before := value_at(remembered, name, "timeouts"):
            _timeouts(spec, name).update(before)
    health = _pop_seconds(spec, ("clusterConfiguration", "apiServer"), "timeoutForControlPlane")
    if health is not None:
        _timeouts(spec, "initConfiguration")[_HEALTH_CHECK] = health
    bootstrap = _pop_seconds(spec, _DISCOVERY, "timeout")
    if health is None and bootstrap is None:
        return
    # A joining control plane machine has the timeout of the first one, which may be absent.
    put(_timeouts(spec, "joinConfiguration"), _HEALTH_CHECK, health)
    if bootstrap is not None:
        _timeouts(spec, "joinConfiguration")["tlsBootstrapSeconds"] = bootstrap


def _timeouts(spec: Document, configuration: str) -> Document:
    timeouts: Document = spec.setdefault(configuration, {}).setdefault("timeouts", {})
    return timeouts


def _pop_seconds(spec: Document, where: tuple[str, ...], name: str) -> int | None:
    """Remove a duration and return its seconds."""
    result = (value_at(spec, *where) or {}).pop(name, None)
    return None if result is None else seconds(result)


def _without_timeouts(spec: Document, name: str) -> Document:
    """Remove the timeouts of a configuration and return them; remove the configuration if it is
    empty then.
    """
    configuration = spec.get(name) or {}
    timeouts: Document = configuration.pop("timeouts", {})
    if not configuration:
        spec.pop(name, None)
    return timeouts
