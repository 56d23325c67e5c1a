"""MachineDrainRules: users' rules for draining the Pods of Machines (pure functions)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kapy.api.cluster import Cluster
from kapy.api.embedded import LabelSelector
from kapy.api.machine import Machine
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.validation.machine_drain_rule import drain_rule_selector_errors
from kapy.core.machine.drain import DRAIN, PodDisposition, Verdict
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.model import encode
from kapy.kube.selectors import EVERYTHING, selector_of
from kapy.kube.selectors import LabelSelector as Selector

Labels = Mapping[str, str]


class InvalidRule(KapyError):
    """A MachineDrainRule is invalid, so that the Pods which it protects are unknown."""


@dataclass(frozen=True, slots=True)
class PodRule:
    """One MachineDrainRule in the form in which it is evaluated.

    fate: the disposition of the Pods that match. pods: pairs of a selector for the labels of a Pod
    and one for the labels of its namespace. A Pod matches if a pair selects it; without pairs every
    Pod matches.
    """

    fate: PodDisposition
    pods: tuple[tuple[Selector, Selector], ...]

    def matches(self, pod: Labels | None, namespace: Labels | None) -> bool:
        """Return whether the rule applies to a Pod with these labels in a namespace with these
        labels.
        """
        if not self.pods:
            return True
        return any(
            own.matches(pod) and label_selector.matches(namespace)
            for own, label_selector in self.pods
        )


@dataclass(frozen=True, slots=True)
class DrainRules:
    """The rules for one Machine, by name: the first one that matches a Pod applies."""

    rules: tuple[PodRule, ...] = ()

    @property
    def needs_namespaces(self) -> bool:
        """Return whether a rule depends on namespace labels."""
        return any(
            not label_selector.everything for rule in self.rules for _, label_selector in rule.pods
        )

    def disposition_of(
        self, namespaces: Mapping[str, Labels]
    ) -> Callable[[Document], PodDisposition]:
        """Return a function for the disposition of a Pod. namespaces: the labels of each."""

        def fate(pod: Document) -> PodDisposition:
            metadata = pod["metadata"]
            own, namespace = metadata.get("labels"), namespaces.get(metadata.get("namespace", ""))
            return next((rule.fate for rule in self.rules if rule.matches(own, namespace)), DRAIN)

        return fate


def rules_for(machine: Machine, cluster: Cluster, rules: Iterable[MachineDrainRule]) -> DrainRules:
    """Return the rules in the Machine's namespace that apply to it. Raises InvalidRule."""
    result = sorted(rules, key=lambda rule: rule.metadata.name)
    for rule in result:
        if errors := drain_rule_selector_errors(rule):
            value = "; ".join(map(str, errors))
            raise InvalidRule(
                f"invalid selectors in MachineDrainRule {rule.metadata.name}: {value}"
            )
    return DrainRules(tuple(_pod_rule(rule) for rule in result if _applies(rule, machine, cluster)))


def _applies(rule: MachineDrainRule, machine: Machine, cluster: Cluster) -> bool:
    if not rule.spec.machines:
        return True
    return any(
        _selector(selector.selector).matches(machine.metadata.labels)
        and _selector(selector.cluster_selector).matches(cluster.metadata.labels)
        for selector in rule.spec.machines
    )


def _pod_rule(rule: MachineDrainRule) -> PodRule:
    drain = rule.spec.drain
    try:
        verdict = Verdict(drain.behavior)
    except ValueError:
        raise InvalidRule(
            f'MachineDrainRule "{rule.metadata.name}" has unknown spec.drain.behavior: '
            f'"{drain.behavior}"'
        ) from None
    order = (drain.order or 0) if verdict is Verdict.EVICT else 0
    pods = tuple(
        (_selector(pod.selector), _selector(pod.namespace_selector)) for pod in rule.spec.pods
    )
    return PodRule(PodDisposition(verdict, order), pods)


def _selector(selector: LabelSelector | None) -> Selector:
    """Return the selector; here a missing one selects everything, as an empty one does."""
    return EVERYTHING if selector is None else selector_of(encode(selector))
