"""`--feature-gates`, as upstream's managers read it: `ClusterTopology=true,MachinePool=false`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Final

from kapy.api.features import DEFAULT_GATES, FeatureGates

_FIELD_NAMES: Final = {"RuntimeSDK": "runtime_sdk"}
NAMES: Final = {
    **{
        "".join(word.capitalize() for word in field.name.split("_")): field.name
        for field in fields(FeatureGates)
        if field.name not in _FIELD_NAMES.values()
    },
    **_FIELD_NAMES,
}
"""Fields of FeatureGates by the names that upstream gives them."""
ALPHA: Final = "AllAlpha"
BETA: Final = "AllBeta"
_STAGES: Final = {
    ALPHA: (
        "cluster_topology",
        "in_place_updates",
        "kubeadm_bootstrap_format_ignition",
        "machine_taint_propagation",
        "runtime_sdk",
    ),
    BETA: (
        "machine_pool",
        "machine_set_preflight_checks",
        "priority_queue",
        "reconciler_rate_limiting",
    ),
}
WITHOUT_EFFECT: Final = ("PriorityQueue", "ReconcilerRateLimiting")
"""Gates of the inner working of upstream's controllers: known, and nothing here depends on them."""
_TRUE: Final = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "false", "FALSE", "False"))


class UnknownGate(ValueError):
    """An unknown feature gate, a value other than true or false, or a gate that requires another
    one."""


def feature_gates(texts: Iterable[str], usual: FeatureGates = DEFAULT_GATES) -> FeatureGates:
    """Apply texts like `A=true,B=false` to the default gates; a named gate overrides `AllAlpha` and
    `AllBeta`.

    Raises UnknownGate.
    """
    request: dict[str, bool] = {}
    for pair in (part.strip() for text in texts for part in text.split(",")):
        if pair:
            name, _, value = pair.partition("=")
            request[name.strip()] = _truth(name, value.strip())
    chosen: dict[str, bool] = {}
    for stage in (ALPHA, BETA):
        if stage in request:
            chosen |= dict.fromkeys(_STAGES[stage], request.pop(stage))
    gates = replace(usual, **chosen | {_field(name): value for name, value in request.items()})
    if gates.in_place_updates and not gates.runtime_sdk:
        raise UnknownGate(
            "feature gate InPlaceUpdates needs RuntimeSDK, because extensions make the updates; "
            "say RuntimeSDK=true as well, or InPlaceUpdates=false"
        )
    return gates


def notices(gates: FeatureGates) -> list[str]:
    """Warnings for users who changed gates, a sentence each."""
    usual = FeatureGates()
    changed = [name for name in NAMES if _is_on(gates, name) != _is_on(usual, name)]
    return [
        f"feature gate {name} changes nothing here" for name in changed if name in WITHOUT_EFFECT
    ]


def _is_on(gates: FeatureGates, name: str) -> bool:
    return bool(getattr(gates, NAMES[name]))


def _truth(name: str, value: str) -> bool:
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise UnknownGate(f"feature gate {name} is {value!r}; say {name}=true or {name}=false")


def _field(name: str) -> str:
    result = NAMES.get(name)
    if result is None:
        near = get_close_matches(name, NAMES, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        names = ", ".join(sorted((*NAMES, ALPHA, BETA)))
        raise UnknownGate(f"there is no feature gate {name}{hint} (there are {names})")
    return result
