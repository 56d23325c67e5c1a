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


async def test_the_trace_of_a_creation_has_all_its_spans_and_no_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = spans_told(monkeypatch)
    async with running_plane() as story:
        await story.create(sample())
        await story.until(Cluster, CLUSTER, available)
        await story.settle()
        cluster = await story.client.get(Cluster, Key("default", CLUSTER))
        trace = UUID(cluster.metadata.uid).int
        spans = [span for span in result.get_finished_spans() if span.context.trace_id == trace]
        looks = {element.name for element in spans if element.name.startswith("reconcile ")}
        kinds = ("cluster", "clustercache", "machine", "machineset", "kubeadmconfig", "devmachine")
        assert looks >= {f"reconcile {kind}" for kind in kinds}
        by_id = {element.context.span_id: element for element in spans}
        wrote = [
            element for element in spans if element.name.startswith("PATCH /apis/cluster.x-k8s.io")
        ]
        assert wrote
        for item in wrote:
            assert item.parent is not None
            assert by_id[item.parent.span_id].name in looks
            assert (item.attributes or {})["http.response.status_code"] in (200, 201)
        events = (await story.client.list(EVENTS, "default")).items
        noted = {event["metadata"].get("annotations", {}).get(TRACE) for event in events}
        assert f"{trace:032x}" in noted
        result.clear()
        await story.merge(MachineDeployment, WORKERS, {"spec": {"replicas": 3}})
        await story.until(MachineDeployment, WORKERS, settled(3))
        later = {span.context.trace_id for span in result.get_finished_spans()}
        assert later
        assert trace not in later
