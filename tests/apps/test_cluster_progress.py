"""Tests of the messages about a cluster that is being provisioned."""

from __future__ import annotations

from kapy.apps.cluster_progress import ClusterProgress
from kapy.kube import Document, Key

FAILED = """\
* Machine blue-cp-0:
  * InfrastructureReady:
    * BootstrapCompleted:
      * Running bootstrap command [ runcmd[0] ]
      * ERROR: exited with status: 1
      * STDERR:
          * error: cannot use "0.0.0.0" as the bind address
"""


def cluster(**messages: str) -> Document:
    """Conditions that do not hold, by their messages."""
    conditions = [
        {"type": name, "status": "False", "reason": "NotReady", "message": message}
        for name, message in messages.items()
    ]
    return {"metadata": {"namespace": "a", "name": "b"}, "status": {"conditions": conditions}}


def test_each_problem_is_reported_once() -> None:
    messages: list[str] = []
    watched = ClusterProgress(Key("a", "b"))

    def say(_: Key, what: str) -> None:
        messages.append(what)

    watched.update(cluster(InfrastructureReady="* LoadBalancerAvailable: the disk is full"), say)
    watched.update(cluster(InfrastructureReady="* LoadBalancerAvailable: the disk is full"), say)
    assert messages == ["the disk is full"]
    watched.update(cluster(ControlPlaneMachinesReady=FAILED), say)
    watched.update(cluster(ControlPlaneMachinesReady=FAILED, Other="x"), say)
    assert len(messages) == 2
    assert "failed to boot" in messages[1]
    assert 'cannot use "0.0.0.0" as the bind address' in messages[1]


def test_waiting_is_not_reported_as_an_error() -> None:
    messages: list[str] = []
    watched = ClusterProgress(Key("a", "b"))
    waiting = cluster(
        InfrastructureReady="* LoadBalancerAvailable: pulling image haproxy: 1 of 2 layers",
        ControlPlaneMachinesReady="* Machine a:\n  * NodeHealthy: Waiting for the cluster",
    )
    watched.update(waiting, lambda _, what: messages.append(what))
    assert messages == []
