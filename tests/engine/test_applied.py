"""What a controller knows of its applies."""

from __future__ import annotations

from kapy.engine.applied import Applied
from kapy.engine.metrics import Metrics
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


def test_the_object_itself_tells_that_nothing_would_change() -> None:
    applied = Applied("herds")
    assert applied.changes_nothing(live(), intent(), MANAGER)
    assert not applied.changes_nothing(live(), intent(2), MANAGER)
    assert not applied.changes_nothing(live(owned=False), intent(), MANAGER)


def test_what_a_dry_run_found_counts_for_that_state_and_that_intent() -> None:
    """A server may keep a value in another form than it was given."""
    applied, written, meant = Applied("herds"), live(size="1000m"), intent("1")
    assert not applied.changes_nothing(written, meant, MANAGER)
    applied.found_unchanging(written, meant, MANAGER)
    assert applied.changes_nothing(written, meant, MANAGER)
    assert not applied.changes_nothing(written, intent("2"), MANAGER)
    assert not applied.changes_nothing(live("2", size="1000m"), meant, MANAGER)
    assert not applied.changes_nothing(written, meant, "somebody else")


def test_hits_and_misses_can_be_scraped_with_upstreams_names() -> None:
    metrics = Metrics()
    applied = metrics.remember(Applied("topology/cluster"))
    applied.changes_nothing(live(), intent(), MANAGER)
    applied.changes_nothing(live(), intent(), MANAGER)
    applied.changes_nothing(live(), intent(2), MANAGER)
    text = metrics.text().decode()
    labels = '{controller="topology/cluster",kind="Herd"}'
    assert f"capi_ssa_cache_hits_total{labels} 2.0" in text
    assert f"capi_ssa_cache_misses_total{labels} 1.0" in text
