"""Labels and annotations of a managed cluster."""

from __future__ import annotations

from tests.topology.managed import (
    OF_MD,
    OF_MP,
    OWNED,
    deployment,
    deployment_class,
    pool,
    pool_class,
    the_deployment,
    the_plane,
    the_pool,
    topology,
)


async def test_labels_and_annotations_of_topology_and_class_reach_machines() -> None:
    of_class = {"labels": {"a": "class", "b": "class"}, "annotations": {"x": "class"}}
    messages = {
        "labels": {"b": "topology", "cluster.x-k8s.io/cluster-name": "stolen"},
        "annotations": {
            "y": "topology",
            "topology.cluster.x-k8s.io/defer-upgrade": "",
            "topology.cluster.x-k8s.io/hold-upgrade-sequence": "",
        },
    }
    labels, annotations = {"a": "class", "b": "topology"}, {"x": "class", "y": "topology"}

    md = await the_deployment(deployment(metadata=messages), deployment_class(metadata=of_class))
    mp = await the_pool(pool(metadata=messages), pool_class(metadata=of_class))
    for item, identity in ((md, OF_MD), (mp, OF_MP)):
        for meta in (item.metadata, item.spec.template.metadata):
            assert meta.labels == {**labels, **identity}
            assert meta.annotations == annotations

    inner = {"metadata": {"labels": {"t": "template", "a": "template"}, "annotations": {"x": "t"}}}
    plane = await the_plane(
        topology(controlPlane={"metadata": messages}),
        {"spec": {"controlPlane": {"metadata": of_class}}},
        plane={"machineTemplate": inner},
    )
    machines = plane["spec"]["machineTemplate"]["metadata"]
    assert machines["labels"] == {"t": "template", **labels, **OWNED}
    assert machines["annotations"] == {**annotations, **messages["annotations"]}
    assert plane["metadata"]["labels"] == {**labels, **OWNED}
