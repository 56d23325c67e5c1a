"""One trace tells of the creation of a cluster: every look, every request, every event."""

from __future__ import annotations

from uuid import UUID

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine_deployment import MachineDeployment
from kapy.engine.events import TRACE
from kapy.kube import Key
from kapy.kube.names import EVENTS
from tests.spans import spans_told
from tests.stories.plane import running_plane, sample
from tests.stories.test_fleet import CLUSTER, WORKERS, available, settled


async def test_the_trace_of_a_creation_holds_all_and_nothing_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = spans_told(monkeypatch)
    async with running_plane() as story:
        await story.create(sample())
        await story.until(Cluster, CLUSTER, available)
        await story.settle()
        cluster = await story.client.get(Cluster, Key("default", CLUSTER))
        trace = UUID(cluster.metadata.uid).int
        made = [one for one in told.get_finished_spans() if one.context.trace_id == trace]
        looks = {one.name for one in made if one.name.startswith("reconcile ")}
        kinds = ("cluster", "clustercache", "machine", "machineset", "kubeadmconfig", "devmachine")
        assert looks >= {f"reconcile {kind}" for kind in kinds}
        by_id = {one.context.span_id: one for one in made}
        wrote = [one for one in made if one.name.startswith("PATCH /apis/cluster.x-k8s.io")]
        assert wrote
        for one in wrote:
            assert one.parent is not None
            assert by_id[one.parent.span_id].name in looks
            assert (one.attributes or {})["http.response.status_code"] in (200, 201)
        events = (await story.client.list(EVENTS, "default")).items
        noted = {one["metadata"].get("annotations", {}).get(TRACE) for one in events}
        assert f"{trace:032x}" in noted
        told.clear()
        await story.merge(MachineDeployment, WORKERS, {"spec": {"replicas": 3}})
        await story.until(MachineDeployment, WORKERS, settled(3))
        later = {one.context.trace_id for one in told.get_finished_spans()}
        assert later
        assert trace not in later
