"""Create, update, patch, status and scale: what a write changes and what it may not."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kapy.kube.http import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from tests.apiserver.requester import (
    CONFIG_MAPS,
    CRDS,
    GIZMO,
    GIZMOS,
    Asking,
    config_map,
    gizmo,
    running,
)


async def test_a_created_object_has_defaults_and_server_fields() -> None:
    async with running() as asking:
        result = await asking.create(GIZMOS, gizmo("a"))
        assert result["spec"] == {"color": "red", "replicas": 1}
        assert result["metadata"]["generation"] == 1
        assert result["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert await asking.get(f"{GIZMOS}/a") == result


async def test_the_document_of_the_writer_is_not_changed() -> None:
    async with running() as asking:
        body = gizmo("a")
        await asking.create(GIZMOS, body)
        assert body == gizmo("a")


@pytest.mark.parametrize(
    ("document", "status", "message"),
    [
        (gizmo("Bad_Name"), 422, "metadata.name: Invalid value"),
        (gizmo("a", color="green"), 422, 'spec.color: Unsupported value: "green"'),
        ({**gizmo("a"), "kind": "Other"}, 422, "must be Gizmo"),
        ({**gizmo("a"), "apiVersion": "example.dev/v9"}, 400, "does not match the expected"),
        ({**gizmo("a"), "metadata": {"labels": {"a": 1}}}, 400, "cannot unmarshal number"),
        ({**gizmo("a"), "metadata": {"name": "a", "namespace": "other"}}, 400, "does not match"),
        ({**gizmo("a"), "metadata": {}}, 422, "name or generateName is required"),
    ],
)
async def test_an_invalid_object_is_refused_and_not_stored(
    document: dict[str, Any], status: int, message: str
) -> None:
    async with running() as asking:
        answer = await asking.ask("POST", GIZMOS, document)
        assert (answer[0], message in answer[1]["message"]) == (status, True), answer[1]["message"]
        assert await asking.names(GIZMOS) == []


async def test_a_namespace_must_exist() -> None:
    async with running() as asking:
        path = GIZMOS.replace("default", "nowhere")
        status, body = await asking.ask("POST", path, gizmo("a"))
        assert (status, body["message"]) == (404, 'namespaces "nowhere" not found')


async def test_a_generated_name_is_free_and_fits() -> None:
    async with running() as asking:
        config_maps = await asking.create(
            CONFIG_MAPS,
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x" * 70}},
        )
        assert len(config_maps["metadata"]["name"]) == 63


async def test_an_old_resource_version_is_a_conflict() -> None:
    async with running() as asking:
        first = await asking.create(GIZMOS, gizmo("a"))
        await asking.merge(f"{GIZMOS}/a", {"spec": {"color": "blue"}})
        status, body = await asking.ask("PUT", f"{GIZMOS}/a", first)
        assert (status, body["reason"]) == (409, "Conflict")


async def test_generation_counts_changes_of_spec_only() -> None:
    async with running() as asking:
        await asking.create(GIZMOS, gizmo("a"))
        generations = []
        for path, patch in (
            ("a", {"spec": {"color": "blue"}}),
            ("a", {"metadata": {"labels": {"x": "y"}}}),
            ("a/status", {"status": {"phase": "Up"}}),
            ("a", {"spec": {"color": "red"}}),
        ):
            changed = await asking.merge(f"{GIZMOS}/{path}", patch)
            generations.append(changed["metadata"]["generation"])
        assert generations == [2, 2, 2, 3]


async def test_a_write_that_changes_nothing_keeps_the_resource_version() -> None:
    async with running() as asking:
        result = await asking.create(GIZMOS, gizmo("a"))
        assert await asking.merge(f"{GIZMOS}/a", {"spec": {"color": "red"}}) == result
        assert (await asking.ask("PUT", f"{GIZMOS}/a", result))[1] == result


async def test_status_and_spec_are_written_apart() -> None:
    async with running() as asking:
        await asking.create(GIZMOS, gizmo("a"))
        both = {"spec": {"color": "blue"}, "status": {"phase": "Up"}}
        by_status = await asking.merge(f"{GIZMOS}/a/status", both)
        assert (by_status["spec"]["color"], by_status["status"]) == ("red", {"phase": "Up"})
        by_spec = await asking.merge(f"{GIZMOS}/a", {**both, "status": {"phase": "Down"}})
        assert (by_spec["spec"]["color"], by_spec["status"]) == ("blue", {"phase": "Up"})


async def test_scale_reads_and_writes_the_replicas() -> None:
    async with running() as asking:
        await asking.create(GIZMOS, gizmo("a"))
        scale = await asking.merge(f"{GIZMOS}/a/scale", {"spec": {"replicas": 5}})
        assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 5})
        assert (await asking.get(f"{GIZMOS}/a"))["spec"]["replicas"] == 5


async def test_a_json_patch_is_all_or_nothing() -> None:
    async with running() as asking:
        await asking.create(GIZMOS, gizmo("a"))
        operations = [
            {"op": "replace", "path": "/spec/color", "value": "blue"},
            {"op": "test", "path": "/spec/replicas", "value": 99},
        ]
        status, _ = await asking.ask("PATCH", f"{GIZMOS}/a", operations, JSON_PATCH)
        assert status == 422
        assert (await asking.get(f"{GIZMOS}/a"))["spec"]["color"] == "red"


async def test_appliers_own_fields_and_conflict_over_them() -> None:
    async with running() as asking:
        path = f"{GIZMOS}/a"

        async def apply(manager: str, color: str, **query: str) -> tuple[int, Any]:
            body = gizmo("a", color=color)
            return await asking.ask("PATCH", path, body, APPLY_PATCH, fieldManager=manager, **query)

        assert (await apply("one", "red"))[0] == 201
        status, body = await apply("two", "blue")
        assert (status, body["details"]["causes"][0]["field"]) == (409, ".spec.color")
        status, body = await apply("two", "blue", force="true")
        assert (status, body["spec"]["color"]) == (200, "blue")


async def test_an_apply_refuses_two_escapes_for_one_letter_as_yaml_does() -> None:
    async with running() as asking:
        document = {**config_map("a"), "data": {"a": "\U0001f6a8"}}
        for ascii_only, expected in ((True, 400), (False, 201)):
            body = json.dumps(document, ensure_ascii=ascii_only).encode()
            status, answer = await asking.ask(
                "PATCH", f"{CONFIG_MAPS}/a", body, APPLY_PATCH, fieldManager="one"
            )
            assert status == expected, answer
            if status == 400:
                assert answer["message"] == (
                    "error decoding YAML: error converting YAML to JSON: yaml: "
                    "found invalid Unicode character escape code"
                )


async def test_a_status_left_out_gets_the_defaults_of_the_storage_version() -> None:
    definition = copy.deepcopy(GIZMO)
    (old,) = definition["spec"]["versions"]
    del old["selectableFields"]
    new = {**copy.deepcopy(old), "name": "v2"}
    for version, phase in ((old, "Old"), (new, "New")):
        node = version["schema"]["openAPIV3Schema"]["properties"]["status"]
        node["default"] = {"phase": phase}
    definition["spec"] |= {"group": "two.dev", "versions": [{**old, "storage": False}, new]}
    definition["metadata"]["name"] = "gizmos.two.dev"
    async with running() as asking:
        await asking.create(CRDS, definition)
        for version in ("v1", "v2"):
            sent = {**gizmo(version), "apiVersion": f"two.dev/{version}"}
            path = f"/apis/two.dev/{version}/namespaces/default/gizmos"
            result = await asking.create(path, {**sent, "status": {"phase": "Mine"}})
            assert result["status"] == {"phase": "New"}


@pytest.mark.parametrize("kind", [GIZMOS, CONFIG_MAPS])
@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {}}])
async def test_an_applied_object_needs_a_name(kind: str, metadata: dict[str, Any]) -> None:
    async with running() as asking:
        whole = gizmo("a") if kind is GIZMOS else config_map("a")
        document = {**{key: value for key, value in whole.items() if key != "metadata"}, **metadata}
        status, body = await asking.ask(
            "PATCH", f"{kind}/a", document, APPLY_PATCH, fieldManager="one"
        )
        assert (status, body["reason"]) == (400, "BadRequest")
        assert "name must be provided" in body["message"]


async def test_a_dry_run_keeps_nothing() -> None:
    async with running() as asking:
        status, result = await asking.ask("POST", GIZMOS, gizmo("a"), dryRun="All")
        assert (status, result["spec"]["replicas"]) == (201, 1)
        assert await asking.gone(f"{GIZMOS}/a")


@pytest.mark.parametrize(
    ("level", "status", "warned"),
    [("Strict", 400, False), ("Warn", 201, True), ("Ignore", 201, False)],
)
async def test_unknown_fields_are_handled_as_requested(
    level: str, status: int, warned: bool
) -> None:
    from kapy.kube.http import Request

    async with running() as asking:
        body = gizmo("a", color="red", odd=1)
        reply = await asking.transport(
            Request("POST", GIZMOS, {"fieldValidation": level}, {}, body)
        )
        assert (reply.status, "warning" in reply.headers) == (status, warned)
        if status == 201:
            assert "odd" not in (await asking.get(f"{GIZMOS}/a"))["spec"]


async def test_documents_are_handed_out_by_reference_and_old_ones_stay_as_they_were() -> None:
    async with running() as asking:
        before = await asking.create(CONFIG_MAPS, config_map("a"))
        assert await asking.get(f"{CONFIG_MAPS}/a") is before
        after = await asking.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "y"}})
        assert "data" not in before
        assert await asking.get(f"{CONFIG_MAPS}/a") is after


async def test_secrets_keep_their_type_and_code_their_strings() -> None:
    async with running() as asking:
        secrets = "/api/v1/namespaces/default/secrets"
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s"},
            "stringData": {"a": "b"},
        }
        result = await asking.create(secrets, body)
        assert (result["type"], result["data"], "stringData" in result) == (
            "Opaque",
            {"a": "Yg=="},
            False,
        )
        status, _ = await asking.ask("PATCH", f"{secrets}/s", {"type": "other"}, MERGE_PATCH)
        assert status == 422


class _Admission:
    """Fills in a colour, and refuses one."""

    def handles(self, resource: Any, subresource: str) -> bool:
        return bool(resource.plural == "gizmos") and not subresource

    async def default(self, review: Any) -> Any:
        spec = {"color": "blue", **review.new["spec"]}
        return {**review.new, "spec": spec}

    async def validate(self, review: Any) -> list[str]:
        from kapy.kube.errors import Forbidden

        if review.operation == "DELETE" and review.old["spec"]["color"] == "blue":
            raise Forbidden("blue stays")
        return ["be careful"]


async def test_admission_fills_in_and_refuses_where_webhooks_would() -> None:
    async with running(admission=[_Admission()]) as asking:
        result = await asking.create(GIZMOS, gizmo("a", replicas=2))
        assert result["spec"] == {"color": "blue", "replicas": 2}
        status, body = await asking.ask("DELETE", f"{GIZMOS}/a")
        assert (status, body["message"]) == (403, "blue stays")


async def test_anonymous_users_may_read_only_health_and_version() -> None:
    from kapy.kube.http import ANONYMOUS

    async with running() as asking:
        nobody = Asking(asking.server, ANONYMOUS)
        status, body = await nobody.ask("GET", CONFIG_MAPS)
        assert (status, body["message"]) == (
            403,
            'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" '
            'in API group "" in the namespace "default"',
        )
        assert (await nobody.ask("GET", "/readyz"))[0] == 200
        assert (await nobody.ask("GET", "/version"))[0] == 200
        assert (await nobody.ask("GET", "/apis"))[0] == 403


async def test_a_replaced_kind_is_not_remembered() -> None:
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gizmos.example.dev"
    async with running(admission=[_Admission()]) as asking:
        for number in range(5):
            await asking.create(GIZMOS, gizmo(f"g{number}", replicas=2))
            await asking.merge(definition, {"spec": {"names": {"shortNames": [f"s{number}"]}}})
        served = asking.server.context.registry.find("example.dev", "v1", "gizmos")
        kinds = [kind for kind, _ in asking.server.context.admission.by_resource if kind.custom]
        assert all(kind is served for kind in kinds)


async def test_a_patch_shares_the_untouched_parts() -> None:
    async with running() as asking:
        labelled = config_map("a", labels={"a": "b"}, finalizers=["x.dev/y"])
        config_maps = await asking.create(CONFIG_MAPS, labelled)
        result = await asking.merge(f"{CONFIG_MAPS}/a", {"data": {"c": "d"}})
        for field in ("labels", "finalizers"):
            assert result["metadata"][field] is config_maps["metadata"][field]
        more = {"metadata": {"labels": {"e": "f"}, "finalizers": [], "annotations": {}}}
        result = await asking.merge(f"{CONFIG_MAPS}/a", more)
        assert result["metadata"]["labels"] == {"a": "b", "e": "f"}
        assert not {"finalizers", "annotations"} & result["metadata"].keys()
        status, body = await asking.ask(
            "PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"labels": {"e": 1}}}, MERGE_PATCH
        )
        assert status == 422
        assert "into Go struct field ObjectMeta.metadata.labels of type string" in body["message"]
        assert config_maps["metadata"]["labels"] == {"a": "b"}
