"""The cache of server-side applies that would change nothing."""

from __future__ import annotations

from kapy.engine.metrics import Metrics
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document

MANAGER = "me"


def live(version: str = "1", *, size: object = 1, owned: bool = True) -> Document:
    """An object as a server has it. owned: whether its fields say that we applied it."""
    entry = {
        "manager": MANAGER,
        "operation": "Apply",
        "apiVersion": "a/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:size": {}}},
    }
    metadata = {"name": "one", "namespace": "ns", "resourceVersion": version}
    return {
        "apiVersion": "a/v1",
        "kind": "Herd",
        "metadata": metadata | ({"managedFields": [entry]} if owned else {}),
        "spec": {"size": size},
    }


def intent(size: object = 1) -> Document:
    metadata = {"name": "one", "namespace": "ns"}
    return {"apiVersion": "a/v1", "kind": "Herd", "metadata": metadata, "spec": {"size": size}}


def test_managed_fields_show_that_an_apply_has_no_effect() -> None:
    applied = SSACache("herds")
    assert applied.is_no_op(live(), intent(), MANAGER)
    assert not applied.is_no_op(live(), intent(2), MANAGER)
    assert not applied.is_no_op(live(owned=False), intent(), MANAGER)


def test_a_no_op_found_by_dry_run_counts_for_that_state_and_intent() -> None:
    """A server may keep a value in another form than it was given."""
    applied, written, meant = SSACache("herds"), live(size="1000m"), intent("1")
    assert not applied.is_no_op(written, meant, MANAGER)
    applied.remember_no_op(written, meant, MANAGER)
    assert applied.is_no_op(written, meant, MANAGER)
    assert not applied.is_no_op(written, intent("2"), MANAGER)
    assert not applied.is_no_op(live("2", size="1000m"), meant, MANAGER)
    assert not applied.is_no_op(written, meant, "somebody else")


def test_hits_and_misses_can_be_scraped_with_upstreams_names() -> None:
    metrics = Metrics()
    applied = metrics.remember(SSACache("topology/cluster"))
    applied.is_no_op(live(), intent(), MANAGER)
    applied.is_no_op(live(), intent(), MANAGER)
    applied.is_no_op(live(), intent(2), MANAGER)
    text = metrics.text().decode()
    labels = '{controller="topology/cluster",kind="Herd"}'
    assert f"capi_ssa_cache_hits_total{labels} 2.0" in text
    assert f"capi_ssa_cache_misses_total{labels} 1.0" in text
