"""Tests of the choice of the MachineDrainRule that applies to a Pod."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.core.machine.drain import (
    DRAIN,
    SKIP,
    WAIT,
    DrainRules,
    InvalidRule,
    PodDisposition,
    Verdict,
    rules_for,
)
from kapy.kube import Document
from kapy.kube.meta import read

REFERENCE = {"apiGroup": "x.example.com", "kind": "Thing", "name": "m"}
NAMESPACES = {"shop": {"team": "x"}}


def labelled(**labels: str) -> Document:
    return {"name": "it", "namespace": "ns", "labels": labels}


MACHINE = read(
    {
        "metadata": labelled(size="big"),
        "spec": {"clusterName": "c", "bootstrap": {}, "infrastructureRef": REFERENCE},
    },
    Machine,
)
CLUSTER = read({"metadata": labelled(env="prod"), "spec": {}}, Cluster)


def drain_rule(name: str = "r", behavior: str = "Skip", **spec: Any) -> MachineDrainRule:
    order = {"order": spec.pop("order")} if "order" in spec else {}
    drain = {"behavior": behavior, **order}
    return read({"metadata": {"name": name}, "spec": {"drain": drain, **spec}}, MachineDrainRule)


def compiled(*rules: MachineDrainRule) -> DrainRules:
    return rules_for(MACHINE, CLUSTER, rules)


def fate_of(*rules: MachineDrainRule) -> PodDisposition:
    pod = {"metadata": {"name": "p", "namespace": "shop", "labels": {"app": "a"}}}
    return compiled(*rules).disposition_of(NAMESPACES)(pod)


def by(field: str, **labels: str) -> Document:
    return {field: {"matchLabels": labels}}


def either(*values: str) -> Document:
    expression = {"key": "app", "operator": "In", "values": list(values)}
    return {"selector": {"matchExpressions": [expression]}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, SKIP),
        ({"pods": [by("selector", app="a")]}, SKIP),
        ({"pods": [by("selector", app="b")]}, DRAIN),
        ({"pods": [by("selector", app="b"), by("selector", app="a")]}, SKIP),
        ({"pods": [either("a", "b")]}, SKIP),
        ({"pods": [{"selector": {}}]}, SKIP),
        ({"pods": [by("namespaceSelector", team="x")]}, SKIP),
        ({"pods": [by("namespaceSelector", team="y")]}, DRAIN),
        ({"pods": [by("selector", app="a") | by("namespaceSelector", team="y")]}, DRAIN),
        ({"machines": [by("selector", size="big")]}, SKIP),
        ({"machines": [by("selector", size="small")]}, DRAIN),
        ({"machines": [by("clusterSelector", env="prod")]}, SKIP),
        ({"machines": [by("selector", size="big") | by("clusterSelector", env="test")]}, DRAIN),
    ],
)
def test_a_drain_rule_applies_to_the_selected_pods(
    spec: Document, expected: PodDisposition
) -> None:
    assert fate_of(drain_rule(**spec)) == expected


def test_the_first_rule_by_name_that_matches_counts() -> None:
    others = drain_rule("a", pods=[by("selector", app="b")])
    last = drain_rule("c")
    assert fate_of(last, others, drain_rule("b", "WaitCompleted")) == WAIT
    assert fate_of(last, others, drain_rule("b", "Drain", order=7)) == PodDisposition(
        Verdict.EVICT, 7
    )
    assert fate_of(others) == DRAIN


def test_namespaces_are_read_only_for_rules_that_ask_for_them() -> None:
    assert not compiled(drain_rule(pods=[by("selector", app="a")])).needs_namespaces
    assert not compiled(drain_rule(pods=[{"namespaceSelector": {}}])).needs_namespaces
    assert compiled(drain_rule(pods=[by("namespaceSelector", team="x")])).needs_namespaces


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (
            drain_rule(pods=[{"selector": {"matchLabels": {"a b": "c"}}}]),
            "invalid selectors in MachineDrainRule r: spec.pods",
        ),
        (
            drain_rule(machines=[{"selector": {"matchLabels": {"a b": "c"}}}]),
            "invalid selectors in MachineDrainRule r: spec.machines",
        ),
        (
            drain_rule(behavior="Explode"),
            'MachineDrainRule "r" has unknown spec.drain.behavior: "Explode"',
        ),
    ],
)
def test_a_rule_that_cannot_be_understood_is_named(rule: MachineDrainRule, problem: str) -> None:
    with pytest.raises(InvalidRule) as raised:
        compiled(rule)
    assert str(raised.value).startswith(problem)
