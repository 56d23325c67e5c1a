"""Large objects of Cluster API's kinds, which admission and controllers in the process look at."""

from __future__ import annotations

from collections.abc import Iterator

from tests.apiserver.hostile.corpus.case import (
    NAMESPACE,
    Call,
    apply,
    case,
    create,
    delete,
    joined,
    listed,
    mapped,
    members,
    merge_patch,
)

STORED = 400_000
GROUP = "cluster.x-k8s.io/v1beta2"


def _path(plural: str, group: str = GROUP) -> str:
    return f"/apis/{group}/namespaces/{NAMESPACE}/{plural}"


def _body(kind: str, spec: str, meta: str = "", group: str = GROUP) -> str:
    more = f",{meta}" if meta else ""
    return (
        f'{{"apiVersion":"{group}","kind":"{kind}",'
        f'"metadata":{{"name":"a"{more}}},"spec":{{{spec}}}}}'
    )


@case
def machines(size: int) -> Iterator[Call]:
    bootstrap = '"bootstrap":{"dataSecretName":"s"}'
    reference = '{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"DevMachine","name":"a"}'
    spec = f'"clusterName":"a",{bootstrap},"infrastructureRef":{reference}'
    gates = joined(size, lambda at: f'{{"conditionType":"c{at}"}}')
    owners = joined(
        min(size, STORED),
        lambda at: f'{{"apiVersion":"{GROUP}","kind":"Cluster","name":"c{at}","uid":"u{at}"}}',
    )
    path = _path("machines")
    yield create(path, _body("Machine", f"{spec},{listed('readinessGates', gates)}"))
    yield create(path, _body("Machine", spec, listed("ownerReferences", owners)))
    yield merge_patch(f"{path}/a", '{"metadata":{"labels":{"a":"b"}}}')
    finalizers = joined(min(size, STORED), lambda at: f'"a.b/f{at}"')
    yield merge_patch(f"{path}/a", f'{{"metadata":{{{listed("finalizers", finalizers)}}}}}')
    yield delete(f"{path}/a")
    yield merge_patch(f"{path}/a", '{"metadata":{"finalizers":null}}')


@case
def clusters(size: int) -> Iterator[Call]:
    path, size = _path("clusters"), min(size, STORED)
    variables = joined(size, lambda at: f'{{"name":"v{at}","value":{at}}}')
    nested = f'{{"name":"v","value":{{{members(size, "k{}")}}}}}'
    pools = joined(size, lambda at: f'{{"class":"c","name":"p{at}"}}')
    head = '"classRef":{"name":"c"},"version":"v1.34.0"'
    for topology in (
        f"{head},{listed('variables', variables)}",
        f"{head},{listed('variables', nested)}",
        f'{head},"workers":{{{listed("machineDeployments", pools)}}}',
    ):
        spec = mapped("topology", topology)
        yield create(path, _body("Cluster", spec))
        yield apply(f"{path}/a", _body("Cluster", spec))
        yield merge_patch(f"{path}/a", '{"metadata":{"labels":{"a":"c"}}}')
        yield delete(f"{path}/a")


@case
def cluster_classes(size: int) -> Iterator[Call]:
    path, size = _path("clusterclasses"), min(size, STORED)
    selector = (
        '"selector":{"apiVersion":"controlplane.cluster.x-k8s.io/v1beta2",'
        '"kind":"KubeadmControlPlaneTemplate","matchResources":{"controlPlane":true}}'
    )
    operation = '{"op":"add","path":"/spec/template/spec/x","value":1}'
    operations = joined(size, lambda _: operation)
    patches = joined(
        size,
        lambda at: f'{{"name":"p{at}","definitions":[{{{selector},"jsonPatches":[{operation}]}}]}}',
    )
    variables = joined(
        size,
        lambda at: (
            f'{{"name":"v{at}","required":false,'
            '"schema":{"openAPIV3Schema":{"type":"string","default":"a"}}}'
        ),
    )
    reference = (
        '"templateRef":{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2",'
        '"kind":"DevClusterTemplate","name":"a"}'
    )
    head = f'"infrastructure":{{{reference}}},"controlPlane":{{{reference}}}'
    text = f'{{"name":"p","definitions":[{{{selector},"jsonPatches":[{operations}]}}]}}'
    for spec in (
        listed("patches", text),
        listed("patches", patches),
        listed("variables", variables),
    ):
        yield create(path, _body("ClusterClass", f"{head},{spec}"))
        yield merge_patch(f"{path}/a", '{"metadata":{"labels":{"a":"c"}}}')
        yield delete(f"{path}/a")


@case
def kubeadm_configs(size: int) -> Iterator[Call]:
    group = "bootstrap.cluster.x-k8s.io/v1beta2"
    path, size = _path("kubeadmconfigs", group), min(size, STORED)
    files = joined(size, lambda at: f'{{"path":"/f{at}","content":"x"}}')
    commands = joined(size, lambda at: f'"c{at}"')
    for spec in (listed("files", files), listed("preKubeadmCommands", commands)):
        yield create(path, _body("KubeadmConfig", spec, group=group))
        yield merge_patch(f"{path}/a", '{"metadata":{"labels":{"a":"c"}}}')
        yield delete(f"{path}/a")


@case
def resource_sets(size: int) -> Iterator[Call]:
    group = "addons.cluster.x-k8s.io/v1beta2"
    path, size = _path("clusterresourcesets", group), min(size, STORED)
    resources = joined(size, lambda at: f'{{"kind":"ConfigMap","name":"c{at}"}}')
    labels = members(size, "k{}", '"v"')
    spec = f'"clusterSelector":{{{mapped("matchLabels", labels)}}},"resources":[]'
    some = f'"clusterSelector":{{"matchLabels":{{"a":"b"}}}},{listed("resources", resources)}'
    for text in (spec, some):
        yield create(path, _body("ClusterResourceSet", text, group=group))
        yield delete(f"{path}/a")
