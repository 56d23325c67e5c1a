"""Each deliberately wrong provider breaks exactly its rule; the good one breaks none."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import pytest

from kapy.testing.conformance.check import check_release
from kapy.testing.conformance.checks import CHECKS
from kapy.testing.conformance.findings import State
from kapy.testing.conformance.rules import RULES, CheckMethod
from tests.testing.conformance.valid_release import (
    DOMAINS,
    FIELDS,
    KINDS,
    MOVED,
    TIMEOUT,
    Draft,
    group_of,
    ipam,
)

Mutation = Callable[[Draft], None]
TEMPLATE: Final = "cluster-template.yaml"
CLASS: Final = "clusterclass-meadow.yaml"


def broken(draft: Draft) -> set[str]:
    return {item.rule.id for item in check_release(draft.release()).with_state(State.BROKEN)}


def spec(kind: str, field: str, value: Any) -> Mutation:
    return lambda draft: draft.crd(kind)["spec"].update({field: value})


def name(kind: str, field: str, value: Any) -> Mutation:
    return lambda draft: draft.crd(kind)["spec"]["names"].update({field: value})


def labels(kind: str, **wanted: str | None) -> Mutation:
    """Labels of contracts, None: not there."""

    def change(draft: Draft) -> None:
        result = draft.crd(kind)["metadata"]["labels"]
        for version, value in wanted.items():
            result.pop(f"cluster.x-k8s.io/{version}")
            if value is not None:
                result[f"cluster.x-k8s.io/{version}"] = value

    return change


def schema(kind: str, path: str, type_: str | None = None) -> Mutation:
    return lambda draft: draft.schema(kind, path, type_)


def renamed(kind: str) -> Mutation:
    return lambda draft: draft.crd(kind)["metadata"].update(name=f"one.{group_of(kind)}")


def no_status(kind: str) -> Mutation:
    return lambda draft: draft.crd(kind)["spec"]["versions"][0]["subresources"].pop("status")


def argument(text: str) -> Mutation:
    """The manager gets another argument."""

    def change(draft: Draft) -> None:
        [manager] = draft.of("Deployment")["spec"]["template"]["spec"]["containers"]
        manager["args"].append(text)

    return change


def no_claims(verb: str, resource: str) -> Mutation:
    """The manager may do everything with claims and addresses but this."""

    def change(draft: Draft) -> None:
        role = next(
            component for component in draft.components if component["metadata"]["name"] == "meadow"
        )
        [rule] = role["rules"]
        verbs = [item for item in rule["verbs"] if item != verb]
        others = [item for item in rule["resources"] if item != resource]
        role["rules"] = [
            {**rule, "resources": others},
            {**rule, "resources": [resource], "verbs": verbs},
        ]

    return change


def taking(change: Mutation) -> Mutation:
    """Of a provider whose machines take addresses of pools."""

    def both(draft: Draft) -> None:
        for field in ("apiGroup", "kind", "name"):
            version = draft.crd("MeadowMachine")["spec"]["versions"][-1]
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            pool = spec.setdefault("addressPool", {"type": "object", "properties": {}})
            pool["properties"][field] = {"type": "string"}
        change(draft)

    return both


def in_template(document: dict[str, Any]) -> Mutation:
    return lambda draft: draft.objects[TEMPLATE].append(document)


def machine(**fields: Any) -> dict[str, Any]:
    metadata = {"name": "${CLUSTER_NAME}", "namespace": "${NAMESPACE}"}
    api = f"{group_of(MACHINE)}/v1beta2"
    return {"apiVersion": api, "kind": "MeadowMachine", "metadata": metadata, **fields}


def patched(**change: Any) -> Mutation:
    """A patch in a class."""
    selector = {"apiVersion": f"{group_of(CLUSTER)}/v1beta2", "kind": "MeadowClusterTemplate"}
    definition = {"selector": selector, "jsonPatches": [{"op": "add", **change}]}
    patch = {"name": "a", "definitions": [definition]}
    return lambda draft: draft.of("ClusterClass", CLASS)["spec"].update(patches=[patch])


def no_rights(kind: str) -> Mutation:
    def change(draft: Draft) -> None:
        rule = draft.of("ClusterRole")["rules"][0]
        rule["resources"].remove(draft.crd(kind)["spec"]["names"]["plural"])

    return change


def fewer_verbs(draft: Draft) -> None:
    draft.of("ClusterRole")["rules"][0]["verbs"].remove("patch")


def orphan(kind: str) -> Mutation:
    """One more template, of a kind that is not there."""

    def change(draft: Draft) -> None:
        copy = deepcopy(draft.crd(f"{kind}Template"))
        lake = f"{kind.replace('Meadow', 'Lake')}Template"
        plural = f"{lake.lower()}s"
        copy["metadata"]["name"] = f"{plural}.{group_of(kind)}"
        copy["spec"]["names"] = {"kind": lake, "plural": plural}
        draft.components.append(copy)
        draft.of("ClusterRole")["rules"][0]["resources"].append(plural)

    return change


def dropped(kind: str) -> Mutation:
    return lambda draft: draft.drop(kind)


def without(kind: str) -> Mutation:
    return lambda draft: draft.drop(kind, f"{kind}Template")


def shared_mutants() -> dict[str, list[Mutation]]:
    results: dict[str, list[Mutation]] = {}
    for document, kind in KINDS.items():
        of_template = f"{kind}Template"
        mutants: dict[str, list[Mutation]] = {
            "scope": [spec(kind, "scope", "Cluster"), spec(of_template, "scope", "Cluster")],
            "metadata": [schema(kind, "metadata", "string")],
            "rights": [no_rights(kind), no_rights(of_template)],
            "contract-label": [
                labels(kind, v1beta1=None, v1beta2=None),
                labels(kind, v1beta1="", v1beta2=""),
            ],
            "label-versions": [
                labels(kind, v1beta2="v1beta2_v9"),
                labels(of_template, v1beta1="v1alpha1"),
            ],
            "metadata-contract": [labels(kind, v1beta1=None)],
            "crd-name": [renamed(kind), renamed(of_template)],
            "list": [name(kind, "listKind", "Meadows")],
            "conditions": [
                schema(kind, "status.conditions"),
                schema(kind, "status.conditions", "object"),
                schema(kind, "status.conditions.[].type"),
            ],
            "status-subresource": [no_status(kind)],
            "template": [dropped(of_template)],
            "template-spec": [
                schema(of_template, "spec.template.spec"),
                schema(of_template, "spec.template.spec", "string"),
            ],
            "template-name": [orphan(kind)],
            "template-list": [name(of_template, "listKind", "Templates")],
        }
        results |= {f"{document}/{rule}": mutant for rule, mutant in mutants.items()}
    return results


def metadata(**wanted: Any) -> Mutation:
    return lambda draft: draft.objects["metadata.yaml"][0].update(wanted)


def gone(file: str) -> Mutation:
    def change(draft: Draft) -> None:
        del draft.objects[file]

    return change


def moved(old: str, new: str) -> Mutation:
    return lambda draft: draft.objects.update({new: draft.objects.pop(old)})


def namespace(*names: str) -> Mutation:
    def change(draft: Draft) -> None:
        document = draft.of("Namespace")
        draft.components.remove(document)
        for item in names:
            draft.components.append(
                {**document, "metadata": {**document["metadata"], "name": item}}
            )

    return change


def container(**wanted: str) -> Mutation:
    def change(draft: Draft) -> None:
        draft.of("Deployment")["spec"]["template"]["spec"]["containers"][0].update(wanted)

    return change


def added(file: str) -> Mutation:
    entry = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "meadow"}}
    return lambda draft: draft.objects[file].append(entry)


def inside(kind: str, file: str, field: str, value: str) -> Mutation:
    return lambda draft: draft.of(kind, file)["metadata"].update({field: value})


def text(name: str, content: str) -> Mutation:
    return lambda draft: draft.extra.update({name: content})


def version(draft: Draft) -> None:
    draft.version = "latest"


def unlabelled(draft: Draft) -> None:
    del draft.of("Deployment")["metadata"]["labels"]


def another_pool(draft: Draft) -> None:
    pool = draft.of("MachinePool", TEMPLATE)
    pool["spec"]["template"]["spec"]["infrastructureRef"]["kind"] = "LakeMachinePool"


def another_cluster(draft: Draft) -> None:
    reference = {"apiGroup": group_of(CLUSTER), "kind": "LakeCluster", "name": "a"}
    draft.of("Cluster", TEMPLATE)["spec"]["infrastructureRef"] = reference


def reference_elsewhere(draft: Draft) -> None:
    draft.of("ClusterClass", CLASS)["spec"]["infrastructure"]["templateRef"]["namespace"] = "a"


def shared_object(draft: Draft) -> None:
    draft.objects["clusterclass-brook.yaml"].append(draft.objects[CLASS][1])


CLUSTER, MACHINE, POOL, CONFIG, CONTROL_PLANE = FIELDS
INITIALIZED: Final = "status.initialization.provisioned"


def scale(draft: Draft) -> None:
    paths = draft.crd(CONTROL_PLANE)["spec"]["versions"][-1]["subresources"]["scale"]
    paths["statusReplicasPath"] = ".status.count"


MUTANTS: Final[dict[str, list[Mutation]]] = shared_mutants() | {
    "infra-cluster/definition": [without(CLUSTER)],
    "infra-cluster/endpoint": [
        schema(CLUSTER, "spec.controlPlaneEndpoint.port"),
        schema(CLUSTER, "spec.controlPlaneEndpoint.host", "object"),
    ],
    "infra-cluster/failure-domains": [
        schema(CLUSTER, DOMAINS, "object"),
        schema(CLUSTER, f"{DOMAINS}.[].name"),
    ],
    "infra-cluster/initialization": [
        schema(CLUSTER, INITIALIZED),
        schema(CLUSTER, INITIALIZED, "string"),
    ],
    "infra-machine/definition": [without(MACHINE)],
    "infra-machine/provider-id": [
        schema(MACHINE, "spec.providerID"),
        schema(MACHINE, "spec.providerID", "integer"),
    ],
    "infra-machine/failure-domain-status": [schema(MACHINE, "status.failureDomain", "object")],
    "infra-machine/addresses": [
        schema(MACHINE, "status.addresses", "object"),
        schema(MACHINE, "status.addresses.[].address"),
    ],
    "infra-machine/initialization": [schema(MACHINE, INITIALIZED)],
    "infra-machine/autoscaling": [schema(f"{MACHINE}Template", "status.capacity", "array")],
    "infra-machinepool/definition": [another_pool],
    "infra-machinepool/instances-status": [schema(POOL, "status.instances", "object")],
    "infra-machinepool/machine-kind": [schema(POOL, "status.infrastructureMachineKind", "boolean")],
    "infra-machinepool/provider-id": [schema(POOL, "spec.providerID", "array")],
    "infra-machinepool/provider-id-list": [
        schema(POOL, "spec.providerIDList"),
        schema(POOL, "spec.providerIDList.[]", "object"),
    ],
    "infra-machinepool/initialization": [schema(POOL, INITIALIZED)],
    "infra-machinepool/replicas": [schema(POOL, "status.replicas")],
    "bootstrap-config/definition": [without(CONFIG)],
    "bootstrap-config/data-secret": [schema(CONFIG, "status.dataSecretName")],
    "bootstrap-config/initialization": [schema(CONFIG, "status.initialization.dataSecretCreated")],
    "control-plane/definition": [without(CONTROL_PLANE)],
    "control-plane/endpoint": [schema(CONTROL_PLANE, "spec.controlPlaneEndpoint.host")],
    "control-plane/replicas": [
        schema(CONTROL_PLANE, "status.upToDateReplicas"),
        schema(CONTROL_PLANE, "status.selector", "object"),
    ],
    "control-plane/scale": [scale],
    "control-plane/version": [schema(CONTROL_PLANE, "spec.version", "object")],
    "control-plane/status-version": [schema(CONTROL_PLANE, "status.versions")],
    "control-plane/machine-template": [
        schema(CONTROL_PLANE, "spec.machineTemplate.metadata"),
        schema(CONTROL_PLANE, TIMEOUT.format("Drain"), "string"),
    ],
    "control-plane/external": [
        schema(CONTROL_PLANE, "status.externalManagedControlPlane", "string")
    ],
    "control-plane/rollout-after": [schema(CONTROL_PLANE, "spec.rollout.after", "integer")],
    "control-plane/initialization": [
        schema(CONTROL_PLANE, "status.initialization.controlPlaneInitialized")
    ],
    "clusterctl/repository": [gone("metadata.yaml"), gone("infrastructure-components.yaml")],
    "clusterctl/templates": [gone(TEMPLATE)],
    "clusterctl/version-folder": [version],
    "clusterctl/metadata-version": [metadata(apiVersion="clusterctl.cluster.x-k8s.io/v1")],
    "clusterctl/metadata-kind": [metadata(kind="Meta")],
    "clusterctl/release-series": [
        metadata(releaseSeries=[]),
        metadata(releaseSeries="v1.2"),
        metadata(releaseSeries=[{"major": "1", "minor": 2, "contract": "v1beta1"}]),
    ],
    "clusterctl/release-in-series": [
        metadata(releaseSeries=[{"major": 1, "minor": 1, "contract": "v1beta1"}])
    ],
    "clusterctl/components-name": [
        moved("infrastructure-components.yaml", "infrastructure-components-dev.yaml")
    ],
    "clusterctl/namespace": [namespace()],
    "clusterctl/one-namespace": [namespace("meadow-system", "brook-system")],
    "clusterctl/in-namespace": [
        lambda draft: draft.of("Deployment")["metadata"].update(namespace="kube-system")
    ],
    "clusterctl/manager": [container(name="controller")],
    "clusterctl/images": [container(image="meadow/controller:v1"), container(image="meadow")],
    "clusterctl/variables": [text("cluster-template-bad.yaml", 'a: "${A$B}"\nb: "${A"\n')],
    "clusterctl/labels": [unlabelled],
    "clusterctl/template-names": [
        lambda draft: draft.objects.update({"flock.yaml": draft.objects[TEMPLATE]})
    ],
    "clusterctl/variable-names": [argument("--zone=${ZONE}"), argument("--zone=${EXPORT_ZONE}")],
    "clusterctl/template-namespace": [added(TEMPLATE)],
    "clusterctl/template-one-namespace": [inside("MachinePool", TEMPLATE, "namespace", "a")],
    "clusterctl/common-variables": [inside("Cluster", TEMPLATE, "name", "my-${NAME}")],
    "clusterctl/class-names": [
        inside("ClusterClass", CLASS, "name", "lake"),
        moved(CLASS, "cluster-template-class.yaml"),
        moved(CLASS, "flock.yaml"),
    ],
    "clusterctl/class-namespace": [added(CLASS)],
    "clusterctl/class-references": [reference_elsewhere],
    "clusterctl/class-objects": [inside("MeadowClusterTemplate", CLASS, "namespace", "a")],
    "clusterctl/class-sharing": [shared_object],
    "clusterctl/class-variables": [inside("MeadowClusterTemplate", CLASS, "name", "${NAME:=a}")],
    "clusterctl/own-kinds": [
        in_template(machine(kind="MeadowMachin")),
        in_template(machine(apiVersion=f"{group_of('MeadowMachine')}/v1alpha1")),
        another_cluster,
    ],
    "clusterctl/own-fields": [
        in_template(machine(spec={"providerid": "a"})),
        in_template(machine(status={"addresses": [{"type": "a"}, {"kind": "a"}]})),
        patched(path="/spec/template/specs", value={}),
        patched(path="/spec/template", value={"specs": {}}),
    ],
    "ipam/status-subresource": [no_status("MeadowPool")],
    "ipam/move-label": [
        lambda draft: draft.crd("MeadowPool")["metadata"]["labels"].pop(MOVED),
    ],
    "ipam/rights": [
        no_claims("watch", "ipaddressclaims"),
        no_claims("create", "ipaddresses"),
    ],
    "ipam/taker-rights": [taking(no_claims("create", "ipaddressclaims"))],
    "ipam/pool": [lambda draft: draft.drop("MeadowPool")],
    "ipam/crd-name": [renamed("MeadowPool")],
    "ipam/metadata": [schema("MeadowPool", "metadata", "string")],
    "ipam/conditions": [schema("MeadowPool", "status.conditions.[].status")],
}


def draft_for(rule: str) -> Draft:
    """The good provider of the type that a rule is for."""
    if rule.startswith("ipam/") and rule != "ipam/taker-rights":
        return ipam()
    words = {
        "bootstrap-config/definition": "bootstrap",
        "control-plane/definition": "control-plane",
    }
    return Draft(words.get(rule, "infrastructure"))


def test_every_static_rule_has_a_check_and_a_provider_that_breaks_it() -> None:
    static = {rule.id for rule in RULES.values() if rule.checked is CheckMethod.STATIC}
    assert set(CHECKS) == static
    assert set(MUTANTS) == static


@pytest.mark.parametrize("word", ["infrastructure", "bootstrap", "control-plane"])
def test_a_good_provider_breaks_nothing_and_is_judged_in_everything(word: str) -> None:
    results = check_release(Draft(word).release()).results
    states = {
        item.rule.id: item.state for item in results if item.rule.checked is CheckMethod.STATIC
    }
    of_another_type = {"clusterctl/templates", "infra-machinepool/definition"}
    expected = {item for item in states if not item.startswith("ipam/")}
    if word != "infrastructure":
        expected -= of_another_type
    assert {key for key, state in states.items() if state is State.PASSED} == expected


def test_a_good_provider_of_addresses_breaks_nothing() -> None:
    assert broken(ipam()) == set()


@pytest.mark.parametrize(
    ("rule", "place"), [(rule, at) for rule, mutant in MUTANTS.items() for at in range(len(mutant))]
)
def test_a_wrong_provider_breaks_exactly_its_rule(rule: str, place: int) -> None:
    draft = draft_for(rule)
    MUTANTS[rule][place](draft)
    results = check_release(draft.release()).with_state(State.BROKEN)
    if rule.endswith(("/template", "/definition")):  # templates and classes name what is missing
        results = [item for item in results if item.rule.id != "clusterctl/own-kinds"]
    assert [item.rule.id for item in results] == [rule]
    for finding in results[0].findings:
        assert finding.place, finding
        assert finding.evidence, finding
        assert finding.remedy, finding


def test_core_needs_all_verbs() -> None:
    draft = Draft()
    fewer_verbs(draft)
    assert broken(draft) == {f"{document}/rights" for document in KINDS}
