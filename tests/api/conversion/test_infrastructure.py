"""Infrastructure in v1beta1 and in v1beta2."""

from __future__ import annotations

import pytest

from kapy.api.conversion import ConversionError, convert
from kapy.kube import Document

GROUP = "infrastructure.cluster.x-k8s.io"
OLD, NEW = f"{GROUP}/v1beta1", f"{GROUP}/v1beta2"
DATA = "cluster.x-k8s.io/conversion-data"


def old(kind: str, spec: Document, **more: Document) -> Document:
    return {"apiVersion": OLD, "kind": kind, "metadata": {"name": "one"}, "spec": spec, **more}


def stored(document: Document) -> Document:
    result = convert(document, NEW)
    return {"spec": result.get("spec"), "status": result.get("status")}


def test_failure_domains_are_a_map_by_name_and_a_list_in_its_order() -> None:
    domains = {"b": {"controlPlane": True}, "a": {"attributes": {"zone": "1"}}}
    cluster = old("DockerCluster", {"failureDomains": domains}, status={"failureDomains": domains})
    listed = [
        {"name": "a", "controlPlane": False, "attributes": {"zone": "1"}},
        {"name": "b", "controlPlane": True},
    ]
    document = stored(cluster)
    assert document["spec"]["failureDomains"] == document["status"]["failureDomains"] == listed
    back = convert(convert(cluster, NEW), OLD)
    assert back["spec"]["failureDomains"] == back["status"]["failureDomains"] == domains


def test_ready_of_v1beta1_is_provisioned() -> None:
    ready = stored(old("DevMachine", {"backend": {}}, status={"ready": True}))
    assert ready["status"]["initialization"] == {"provisioned": True}
    not_ready = stored(old("DevMachine", {"backend": {}}, status={"ready": False}))
    assert "initialization" not in not_ready["status"]


def test_an_explicit_false_stays_false() -> None:
    cluster = {
        "apiVersion": NEW,
        "kind": "DevCluster",
        "metadata": {"name": "one"},
        "spec": {"backend": {"inMemory": {}}},
        "status": {"initialization": {"provisioned": False}},
    }
    there = convert(cluster, OLD)
    assert there["status"]["ready"] is False
    assert convert(there, NEW) == cluster


def test_fields_missing_in_v1beta1_survive_a_round_trip() -> None:
    template = {
        "apiVersion": NEW,
        "kind": "DockerMachineTemplate",
        "metadata": {"name": "one"},
        "spec": {"template": {"spec": {}}},
        "status": {"capacity": {"cpu": "2", "memory": "4Gi"}},
    }
    there = convert(template, OLD)
    assert "status" not in there
    assert convert(there, NEW) == template


@pytest.mark.parametrize(
    ("capacity", "form"),
    [
        ({"cpu": "2000m"}, {"cpu": "2"}),
        ({"cpu": "0.5"}, {"cpu": "500m"}),
        ({"cpu": 2}, {"cpu": "2"}),
    ],
)
def test_a_capacity_is_normalized(capacity: Document, form: Document) -> None:
    template = {
        "apiVersion": NEW,
        "kind": "DevMachineTemplate",
        "metadata": {"name": "one"},
        "spec": {"template": {"spec": {"backend": {}}}},
        "status": {"capacity": capacity},
    }
    assert convert(convert(template, OLD), NEW)["status"]["capacity"] == form


@pytest.mark.parametrize(
    ("duration", "form"), [("5m", "5m0s"), ("90s", "1m30s"), ("0", "0s"), ("1h0m0s", "1h0m0s")]
)
def test_a_duration_is_normalized(duration: str, form: str) -> None:
    vm = {"provisioning": {"startupDuration": duration}}
    machine = old("DevMachine", {"backend": {"inMemory": {"vm": vm}}})
    result = stored(machine)["spec"]["backend"]["inMemory"]["vm"]
    assert result == {"provisioning": {"startupDuration": form}}


@pytest.mark.parametrize(
    ("document", "field", "why"),
    [
        (
            old("DockerMachine", {"bootstrapTimeout": "soon"}),
            "spec.bootstrapTimeout",
            'duration "soon"',
        ),
        (old("DockerMachine", {"bootstrapTimeout": 5}), "spec.bootstrapTimeout", "got `int`"),
        (
            old("DevCluster", {"backend": {"docker": {"failureDomains": [{"name": "a"}]}}}),
            "spec.backend.docker.failureDomains",
            "got `array`",
        ),
        (
            old("DockerCluster", {"controlPlaneEndpoint": {"port": 2**31}}),
            "spec.controlPlaneEndpoint.port",
            "<= 2147483647",
        ),
        (
            old("DockerMachinePool", {"providerIDList": ["a", 1]}),
            "spec.providerIDList[1]",
            "got `int`",
        ),
    ],
)
def test_an_error_names_the_broken_object_and_field(
    document: Document, field: str, why: str
) -> None:
    with pytest.raises(ConversionError) as raised:
        convert(document, NEW)
    message = str(raised.value)
    assert f"{OLD} {document['kind']} one" in message
    assert f": {field}: " in message
    assert why in message


def test_a_kind_without_an_older_version_lists_its_versions() -> None:
    pool = {"apiVersion": NEW, "kind": "DevMachinePool", "metadata": {"name": "one"}}
    with pytest.raises(ConversionError, match=rf"versions of DevMachinePool are {NEW}"):
        convert(pool, OLD)
