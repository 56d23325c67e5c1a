"""The status of a CustomResourceDefinition: accepted names and conditions.

As in kube-apiserver, a name that conflicts with another definition of the group is refused, and the
definition keeps its old one. When the name becomes free, the first definition that asks for it gets
it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kapy.apiserver.resources.ca_bundle import bundle_problem
from kapy.apiserver.resources.custom import storage_version
from kapy.kube import Document
from kapy.kube.go_quoted import go_quoted

_NO_NAMES: Final[Document] = {"plural": "", "kind": ""}
_NAMES_ACCEPTED: Final = "the initial names have been accepted"


def is_true(document: Document, kind: str) -> bool:
    """Report whether a condition is True."""
    return any(
        condition["type"] == kind and condition["status"] == "True"
        for condition in (document.get("status") or {}).get("conditions") or ()
    )


def accepted_names(document: Document) -> Document:
    """Return the accepted names of a definition."""
    names: Document = (document.get("status") or {}).get("acceptedNames") or _NO_NAMES
    return names


def compute_status(document: Document, others: Iterable[Document], now: str) -> Document:
    """Return the status of a definition, given the other definitions of its group."""
    spec, status = document["spec"], document.get("status") or {}
    conditions = _Conditions(status.get("conditions") or (), now)
    accepted = accepted_names(document)
    if not _is_same_condition(accepted, spec["names"]):
        problem, accepted = _resolve_names(spec["names"], accepted, others)
        if problem is None:
            conditions.put("NamesAccepted", "True", "NoConflicts", "no conflicts found")
        else:
            conditions.put("NamesAccepted", "False", *problem)
            if "Established" not in conditions.by_type:
                text = "not all names are accepted"
                conditions.put("Established", "False", "NotAccepted", text)
    if conditions.true("NamesAccepted") and not conditions.true("Established"):
        if _invalid_ca_bundle(spec):
            text = "The conversion webhook CABundle is invalid"
            conditions.put("Established", "False", "InvalidCABundle", text)
        else:
            conditions.put("Established", "True", "InitialNamesAccepted", _NAMES_ACCEPTED)
    stored = list(status.get("storedVersions") or [storage_version(document)])
    return {
        **status,
        "conditions": list(conditions.by_type.values()),
        "acceptedNames": accepted,
        "storedVersions": stored,
    }


class _Conditions:
    def __init__(self, conditions: Iterable[Document], now: str) -> None:
        self.by_type = {condition["type"]: condition for condition in conditions}
        self._now = now

    def true(self, kind: str) -> bool:
        return bool(self.by_type.get(kind, {}).get("status") == "True")

    def put(self, kind: str, status: str, reason: str, message: str) -> None:
        before = self.by_type.get(kind, {})
        same = before.get("status") == status
        moment = before.get("lastTransitionTime") if same else None
        self.by_type[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": moment or self._now,
            "reason": reason,
            "message": message,
        }


def _is_same_condition(item: Document, other: Document) -> bool:
    return {key: value for key, value in item.items() if value} == {
        key: value for key, value in other.items() if value
    }


def _resolve_names(
    request: Document, accepted: Document, others: Iterable[Document]
) -> tuple[tuple[str, str] | None, Document]:
    """Return the last conflict (reason and message), and the names that are now accepted."""
    resources, kinds = _names_in_use([accepted, *(accepted_names(element) for element in others)])
    names: dict[str, Any] = {**accepted}
    problem = None
    for field, reason, item in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        if wrong := list(_conflicting_names(request.get(field), accepted.get(field), item)):
            problem = reason, wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
        else:
            names[field] = request.get(field)
    names["categories"] = request.get("categories")
    own_names = {key: value for key, value in names.items() if value or key in _NO_NAMES}
    return problem, {**_NO_NAMES, **own_names}


def _names_in_use(named: Iterable[Document]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for names in named:
        resources |= {names.get("plural", ""), names.get("singular", "")}
        resources.update(names.get("shortNames") or ())
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources, kinds


def _conflicting_names(request: Any, accepted: Any, value: set[str]) -> Iterator[str]:
    own = accepted if isinstance(accepted, list) else [accepted or ""]
    for name in dict.fromkeys(request if isinstance(request, list) else [request or ""]):
        if name not in own and name in value:
            yield f"{go_quoted(name)} is already in use"


def _invalid_ca_bundle(spec: Document) -> bool:
    client = ((spec.get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    return bool(bundle_problem(base64.b64decode(client.get("caBundle") or "")))
