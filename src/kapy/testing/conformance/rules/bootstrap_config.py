"""The rules for BootstrapConfig."""

from __future__ import annotations

from typing import Final

from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.fields import Level
from kapy.testing.conformance.rules import guarantees, shared
from kapy.testing.conformance.rules.rule import CheckMethod, Document, Rows

_KIND: Final = "BootstrapConfig"
_rows: Final = Rows("bootstrap-config")

DOCUMENT: Final = Document(
    "bootstrap-config",
    _KIND,
    [
        *shared.general(_rows, _KIND),
        *shared.definition(_rows, _KIND, Level.SHOULD),
        _rows.field(BootstrapConfig.data_secret_name),
        _rows.must(
            "data-secret-content",
            f"{_KIND}: data secret",
            "The Secret has the Cluster's label, the object as its controller, and the data in its "
            "only key, value; its name can be computed again from the object.",
        ),
        _rows.field(BootstrapConfig.data_secret_created),
        _rows.must(
            "initialized",
            f"{_KIND}: initialization completed",
            "It is set when the Secret is there, and never taken back.",
        ),
        *shared.conditions(_rows, _KIND),
        shared.failures(_rows, _KIND),
        shared.in_place(
            _rows,
            f"{_KIND}: support for in-place changes",
            "the controller makes no new boot data",
        ),
        *shared.template(_rows, _KIND, always=True),
        shared.dry_run(_rows, _KIND),
        shared.immutable(_rows, _KIND),
        _rows.must(
            "sentinel",
            "Sentinel file",
            "Boot data makes /run/cluster-api/bootstrap-success.complete when the machine has "
            "joined.",
            CheckMethod.AUTHOR,
        ),
        _rows.may(
            "taints",
            "Taint Nodes at creation",
            "Nodes of workers may be born with the taint node.cluster.x-k8s.io/uninitialized.",
            CheckMethod.AUTHOR,
        ),
        shared.instances(_rows, "Support for running multiple instances"),
        *shared.pausing(_rows, _KIND),
        _rows.should(
            "data-secret-once",
            "Behavior",
            "A Secret that is there already is taken as it is: boot data is made once.",
        ),
        *shared.workflow(
            _rows,
            "Typical BootstrapConfig reconciliation workflow",
            owner="a Machine is the owner, and its Cluster is there",
            deletion="Deletion waits for nobody, and leaves nothing behind",
        ),
    ],
    guarantees.bootstrap_config(_rows),
)
