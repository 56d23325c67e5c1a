"""The rules for ControlPlane."""

from __future__ import annotations

from typing import Final

from kapy.contract.control_plane import ControlPlane
from kapy.contract.fields import Level
from kapy.testing.conformance.rules import guarantees, shared
from kapy.testing.conformance.rules.rule import CheckMethod, Document, Rows

_KIND: Final = "ControlPlane"
_MACHINES: Final = "control plane instances are Machines"
_REPLICAS: Final = "the number of instances can be chosen"
_SECTION: Final = f"{_KIND}: machines"
_KUBECONFIG: Final = "Cluster kubeconfig management"
_rows: Final = Rows("control-plane")

DOCUMENT: Final = Document(
    "control-plane",
    _KIND,
    [
        *shared.general(_rows, _KIND),
        *shared.definition(_rows, _KIND, Level.MUST),
        _rows.field(ControlPlane.control_plane_endpoint),
        _rows.should(
            "endpoint-of-others",
            f"{_KIND}: endpoint",
            "A provider that does not make the endpoint waits for that of the Cluster.",
            when="the provider does not make the endpoint",
        ),
        _rows.field(ControlPlane.replicas),
        _rows.must(
            "scale",
            f"{_KIND}: replicas",
            "The CRD has the subresource scale with the paths .spec.replicas, .status.replicas and "
            ".status.selector.",
            CheckMethod.STATIC,
            _REPLICAS,
        ),
        _rows.field(ControlPlane.version),
        _rows.field(ControlPlane.status_version),
        _rows.must(
            "versions-order",
            f"{_KIND}: version",
            "status.versions goes from old to new, with semantic versions and their replicas.",
            when="CRDs have status.versions",
        ),
        _rows.must(
            "machines-label",
            _SECTION,
            "Machines of the control plane have the label cluster.x-k8s.io/control-plane.",
            when=_MACHINES,
        ),
        _rows.field(ControlPlane.machine_metadata),
        _rows.must(
            "machines-in-place",
            _SECTION,
            "The timeouts reach Machines without a rollout.",
            when=_MACHINES,
        ),
        _rows.should(
            "readiness-gates",
            _SECTION,
            "spec.machineTemplate.spec.readinessGates has the readiness gates of Machines.",
            CheckMethod.AUTHOR,
            "readiness gates of Machines can be chosen",
        ),
        _rows.should(
            "machine-taints",
            _SECTION,
            "spec.machineTemplate.spec.taints has the taints of Machines.",
            CheckMethod.AUTHOR,
            "taints of Machines can be chosen",
        ),
        _rows.field(ControlPlane.external_managed),
        _rows.must(
            "rollout-after",
            f"{_KIND}: rolloutAfter",
            "spec.rollout.after, a time, says when everything is to be rolled out again.",
            CheckMethod.STATIC,
            "CRDs have spec.rollout",
        ),
        _rows.field(ControlPlane.initialized),
        _rows.must(
            "initialized",
            f"{_KIND}: initialization completed",
            "It is set when requests are answered, and never taken back.",
        ),
        _rows.must(
            "in-place",
            f"{_KIND}: in-place updates",
            "The hook CanUpdateMachine decides. A Machine that is updated in place, its "
            "infrastructure machine and its bootstrap config get the desired spec and the "
            "annotation in-place-updates.internal.cluster.x-k8s.io/update-in-progress; then the "
            "hook UpdateMachine is pending on the Machine.",
            CheckMethod.AUTHOR,
            "updates in place are supported",
        ),
        *shared.conditions(_rows, _KIND),
        shared.failures(_rows, _KIND),
        *shared.template(_rows, _KIND, always=False),
        _rows.must(
            "kubeconfig",
            _KUBECONFIG,
            "There is a Secret <cluster>-kubeconfig beside the Cluster, of type "
            "cluster.x-k8s.io/secret, with the label cluster.x-k8s.io/cluster-name and the "
            "kubeconfig in value.",
        ),
        _rows.must(
            "kubeconfig-secrecy", _KUBECONFIG, "It is given to nobody else.", CheckMethod.AUTHOR
        ),
        _rows.must(
            "kubeconfig-renewal",
            _KUBECONFIG,
            "Its client certificate is short-lived and renewed in time.",
            when="it has a client certificate",
        ),
        _rows.must(
            "certificates",
            "Cluster certificate management",
            "Certificates are Secrets <cluster>-ca, -etcd, -proxy and -sa beside the Cluster, of "
            "that type and with that label.",
            when="the provider keeps certificates",
        ),
        _rows.should(
            "placement",
            "Machine placement",
            "Machines are spread over the failure domains that are for control planes.",
            when=_MACHINES,
        ),
        _rows.must(
            "metadata-propagation",
            "Metadata propagation",
            "Labels and annotations of spec.machineTemplate reach Machines without a rollout.",
            when=_MACHINES,
        ),
        _rows.must(
            "min-ready-seconds",
            "MinReadySeconds and UpToDate propagation",
            "spec.minReadySeconds of Machines follows without a rollout, and their condition "
            "UpToDate is kept.",
            when=_MACHINES,
        ),
        shared.instances(_rows, "Support for running multiple instances"),
        *shared.pausing(_rows, _KIND),
        *shared.workflow(
            _rows,
            "Typical ControlPlane reconciliation workflow",
            owner="the Cluster is the owner",
            deletion="Deletion takes the control plane down, and leaves nothing behind",
        ),
    ],
    guarantees.control_plane(_rows),
)
