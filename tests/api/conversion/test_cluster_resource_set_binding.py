"""ClusterResourceSetBindings in v1beta1 and in v1beta2."""

from __future__ import annotations

from kapy.api.conversion import convert


def test_an_empty_binding_is_null() -> None:
    addons = "addons.cluster.x-k8s.io"
    old = {
        "apiVersion": f"{addons}/v1beta1",
        "kind": "ClusterResourceSetBinding",
        "metadata": {"name": "one"},
        "spec": {"bindings": [None, {"clusterResourceSetName": "a"}]},
    }
    stored = convert(old, f"{addons}/v1beta2")
    assert stored["spec"]["bindings"] == [{}, {"clusterResourceSetName": "a"}]
    assert convert(stored, f"{addons}/v1beta1") == old
