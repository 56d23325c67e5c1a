"""The specification of a KubeadmConfig in v1beta1, alone and inside templates and control planes.

Upstream: bootstrap/kubeadm/webhooks/conversion. Arguments were maps; whether something is allowed
was true or false, not absent; two of kubeadm's timeouts stood elsewhere, the others nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.api.conversion.moves import bool_to_pointer, duration, put, seconds, value_at
from kapy.kube import Document

_COMPONENTS: Final = ("apiServer", "controllerManager", "scheduler")
_CONFIGURATIONS: Final = ("initConfiguration", "joinConfiguration")
_HEALTH_CHECK: Final = "controlPlaneComponentHealthCheckSeconds"

_DISCOVERY: Final = ("joinConfiguration", "discovery")
_FLAGS: Final = (
    ((*_DISCOVERY, "bootstrapToken"), "unsafeSkipCAVerification"),
    ((*_DISCOVERY, "file", "kubeConfig", "cluster"), "insecureSkipTLSVerify"),
    ((*_DISCOVERY, "file", "kubeConfig", "user", "exec"), "provideClusterInfo"),
    (("ignition", "containerLinuxConfig"), "strict"),
)
"""What is true or false in v1beta1, and may be absent in v1beta2: where it stands, its name."""


def config_spec_to_hub(spec: Document, remembered: Document) -> None:
    """The specification in the stored version's form.

    remembered: what it was in the stored version, as far as that is known.
    """
    for part, name in _with_arguments(spec):
        _arguments_to_list(part, name)
    _flags_to_hub(spec, remembered)
    for token in value_at(spec, "initConfiguration", "bootstrapTokens") or ():
        _token_to_hub(token)
    _timeouts_to_hub(spec, remembered)


def config_spec_from_hub(spec: Document) -> None:
    """The way back of `config_spec_to_hub`."""
    for part, name in _with_arguments(spec):
        _arguments_to_map(part, name)
    for token in value_at(spec, "initConfiguration", "bootstrapTokens") or ():
        if (ttl := token.pop("ttlSeconds", None)) is not None:
            token["ttl"] = duration(ttl)
    _timeouts_from_hub(spec)


def _with_arguments(spec: Document) -> Iterator[tuple[Document, str]]:
    """Each part that holds arguments, and what they are called there."""
    cluster = spec.get("clusterConfiguration") or {}
    parts = [(cluster.get(name), "extraArgs") for name in _COMPONENTS]
    parts.append((value_at(cluster, "etcd", "local"), "extraArgs"))
    for name in _CONFIGURATIONS:
        parts.append((value_at(spec, name, "nodeRegistration"), "kubeletExtraArgs"))
    return ((part, name) for part, name in parts if part)


def _arguments_to_list(part: Document, name: str) -> None:
    if arguments := part.pop(name, None):
        part[name] = [{"name": one, "value": arguments[one]} for one in sorted(arguments)]


def _arguments_to_map(part: Document, name: str) -> None:
    if arguments := part.pop(name, None):
        part[name] = {one.get("name", ""): one.get("value", "") for one in arguments}


def _flags_to_hub(spec: Document, remembered: Document) -> None:
    for where, name in _FLAGS:
        if (part := value_at(spec, *where)) is not None:
            before = value_at(remembered, *where, name)
            put(part, name, bool_to_pointer(part.get(name), before))
    _flags_of_items(spec.get("files"), remembered.get("files"), "path", "append")
    for component in _COMPONENTS:
        where = ("clusterConfiguration", component, "extraVolumes")
        volumes, before = value_at(spec, *where), value_at(remembered, *where)
        _flags_of_items(volumes, before, "hostPath", "readOnly")


def _flags_of_items(items: Any, remembered: Any, key: str, name: str) -> None:
    """A flag of each item. Of items with the same key, the first one speaks for all."""
    if not items:
        return
    said, before = _by_key(items, key, name), _by_key(remembered or (), key, name)
    for item in items:
        which = item.get(key, "")
        put(item, name, bool_to_pointer(said[which], before.get(which)))


def _by_key(items: Any, key: str, name: str) -> Document:
    found: Document = {}
    for item in items:
        found.setdefault(item.get(key, ""), item.get(name))
    return found


def _token_to_hub(token: Document) -> None:
    if token.get("token") is None:
        token.pop("token", None)
    if (ttl := token.pop("ttl", None)) is not None:
        token["ttlSeconds"] = seconds(ttl)


def _timeouts_to_hub(spec: Document, remembered: Document) -> None:
    for name in _CONFIGURATIONS:
        if before := value_at(remembered, name, "timeouts"):
            _timeouts(spec, name).update(before)
    health = _taken(spec, ("clusterConfiguration", "apiServer"), "timeoutForControlPlane")
    if health is not None:
        _timeouts(spec, "initConfiguration")[_HEALTH_CHECK] = health
    bootstrap = _taken(spec, _DISCOVERY, "timeout")
    if health is None and bootstrap is None:
        return
    # A further control plane machine waits as long as the first one, which may say nothing.
    put(_timeouts(spec, "joinConfiguration"), _HEALTH_CHECK, health)
    if bootstrap is not None:
        _timeouts(spec, "joinConfiguration")["tlsBootstrapSeconds"] = bootstrap


def _timeouts(spec: Document, configuration: str) -> Document:
    timeouts: Document = spec.setdefault(configuration, {}).setdefault("timeouts", {})
    return timeouts


def _taken(spec: Document, where: tuple[str, ...], name: str) -> int | None:
    """The seconds of a duration, which goes away."""
    found = (value_at(spec, *where) or {}).pop(name, None)
    return None if found is None else seconds(found)


def _timeouts_from_hub(spec: Document) -> None:
    init, join = (_without_timeouts(spec, name) for name in _CONFIGURATIONS)
    if (health := init.get(_HEALTH_CHECK)) is not None:
        cluster = spec.setdefault("clusterConfiguration", {})
        cluster.setdefault("apiServer", {})["timeoutForControlPlane"] = duration(health)
    if (bootstrap := join.get("tlsBootstrapSeconds")) is not None:
        discovery = spec.setdefault("joinConfiguration", {}).setdefault("discovery", {})
        discovery["timeout"] = duration(bootstrap)


def _without_timeouts(spec: Document, name: str) -> Document:
    """Take a configuration's timeouts, and the configuration if that was all it held."""
    configuration = spec.get(name) or {}
    timeouts: Document = configuration.pop("timeouts", {})
    if not configuration:
        spec.pop(name, None)
    return timeouts
