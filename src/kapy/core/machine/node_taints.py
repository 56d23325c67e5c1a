"""The taints that a Machine propagates to its Node (`spec.taints`; pure functions).

Taints with the propagation Always are listed in an annotation of the Node, so that those which
disappear from the Machine disappear from the Node. Taints with the propagation OnInitialization are
added once, before that annotation exists, and belong to the Node from then on. A taint is
identified by key and effect; its value follows the Machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kapy.api.embedded import MachineTaint
from kapy.api.names import Annotation
from kapy.kube import Document

ALWAYS = "Always"


def propagate_taints(
    taints: Sequence[Document], annotations: Mapping[str, str], desired: Sequence[MachineTaint]
) -> tuple[list[Document], str]:
    """Return the taints of the Node, and the annotation that lists the Machine's taints.

    taints, annotations: the Node's current ones.
    """
    listed = annotations.get(Annotation.TAINTS_FROM_MACHINE)
    owned = {_name(item) for item in desired if item.propagation == ALWAYS}
    desired_names = {_name(item) for item in desired}
    parts = {part for part in (listed or "").split(",") if part} - desired_names
    now = [taint for taint in taints if f"{taint.get('key')}:{taint.get('effect')}" not in parts]
    for machine_taint in desired:
        if machine_taint.propagation == ALWAYS or listed is None:
            now = _add_taints(now, machine_taint)
    return now, ",".join(sorted(owned))


def same_taint(taint: Document, other: Document) -> bool:
    """Return whether two taints have the same key and effect."""
    return (taint.get("key"), taint.get("effect")) == (other["key"], other["effect"])


def _add_taints(taints: Iterable[Document], desired: MachineTaint) -> list[Document]:
    result: Document = {"key": desired.key, "effect": desired.effect}
    if desired.value:
        result["value"] = desired.value
    now, value = [], False
    for taint in taints:
        if same_taint(taint, result):
            value = True
            taint = taint if taint.get("value", "") == desired.value else result
        now.append(taint)
    return now if value else [*now, result]


def _name(taint: MachineTaint) -> str:
    return f"{taint.key}:{taint.effect}"
