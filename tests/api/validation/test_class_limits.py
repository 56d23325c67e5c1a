"""A class is checked in little time, whatever its templates, patterns and rules are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kapy.api.cluster_class import ClusterClass
from kapy.api.features import FeatureGates
from kapy.api.validation.cluster_class import cluster_class_errors
from kapy.kube.model import decode


def ref(kind: str) -> dict[str, str]:
    return {"apiVersion": "a.io/v1", "kind": f"{kind}Template", "name": "t"}


def class_of(**spec: Any) -> ClusterClass:
    document = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "ClusterClass",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {
            "infrastructure": {"templateRef": ref("Infra")},
            "controlPlane": {"templateRef": ref("Plane")},
            **spec,
        },
    }
    return decode(document, ClusterClass)


def variables(schema_of: Callable[[int], dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"v{number}",
            "required": False,
            "schema": {"openAPIV3Schema": schema_of(number)},
        }
        for number in range(count)
    ]


def problems(**spec: Any) -> list[str]:
    errors = cluster_class_errors(class_of(**spec), None, FeatureGates(cluster_topology=True))
    return [str(error) for error in errors if "templateRef" not in error.field]


def patterned(number: int) -> dict[str, Any]:
    return {"type": "string", "pattern": "(a+)+" * 1000 + str(number)}


def ruled(number: int) -> dict[str, Any]:
    rule = f"self != 'a{number}'" + " " * 2000
    return {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}


@pytest.mark.parametrize("schema_of", [patterned, ruled])
def test_the_number_of_checked_patterns_and_rules_is_bounded(
    schema_of: Callable[[int], dict[str, Any]],
) -> None:
    for _ in range(2):  # what was not looked at is not remembered as good
        messages = [
            problem
            for problem in problems(variables=variables(schema_of, 200))
            if "too large" in problem
        ]
        assert len(messages) == 1


def test_many_actions_of_templates_are_not_all_parsed() -> None:
    patches = [
        {"name": f"p{number}", "enabledIf": "{{ .a }}" * 100 + str(number), "definitions": []}
        for number in range(60)
    ]
    messages = [problem for problem in problems(patches=patches) if "too many actions" in problem]
    assert len(messages) == 20


def test_a_usual_class_is_checked_completely() -> None:
    def usual(number: int) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^[a-z]{{1,{number + 1}}}$", "maxLength": 99}

    assert problems(variables=variables(usual, 100)) == []
