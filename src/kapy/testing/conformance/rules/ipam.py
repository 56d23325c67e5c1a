"""The rules for IPAM providers, and for infrastructure providers that claim addresses."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.rules.rule import CheckMethod, Document, Rows

_TYPES: Final = "Data Types"
_NORMAL: Final = "Normal IPAddressClaim"
_DELETED: Final = "Deleted IPAddressClaim"
_TAKER: Final = "Infrastructure Provider"
_TAKES: Final = "machines take addresses of pools"
_rows: Final = Rows("ipam")

DOCUMENT: Final = Document(
    "ipam",
    "IPAM",
    [
        _rows.must("pool", _TYPES, "There is a CRD of a kind of pools.", CheckMethod.STATIC),
        _rows.must(
            "crd-name",
            _TYPES,
            "CRDs of pools are called <plural>.<group>, with the plural that CalculateCRDName "
            "makes of the kind.",
            CheckMethod.STATIC,
        ),
        _rows.must(
            "metadata",
            _TYPES,
            "Objects have apiVersion, kind and metadata, as all objects of Kubernetes.",
            CheckMethod.STATIC,
        ),
        _rows.should(
            "conditions",
            _TYPES,
            "status.conditions is a list of conditions with type and status, Ready among them.",
            CheckMethod.STATIC,
        ),
        _rows.should(
            "status-subresource",
            _TYPES,
            "Served versions with a status have the status subresource.",
            CheckMethod.STATIC,
        ),
        _rows.must(
            "rights",
            "IPAM Provider",
            "The manager may read and update ipaddressclaims and their status, and read, create, "
            "update and delete ipaddresses.",
            CheckMethod.STATIC,
            "the release has the rights of its manager",
        ),
        _rows.must(
            "watch",
            "IPAM Provider",
            "New, changed and deleted claims of the provider's pools are answered.",
        ),
        _rows.must("others", _NORMAL, "Claims of other pools are left alone."),
        _rows.should("paused", _NORMAL, "Nothing is done for a Cluster that is paused or gone."),
        _rows.should("finalizer", _NORMAL, "The claim's finalizer comes before the address."),
        _rows.must("unique", _NORMAL, "An address is allocated to one claim at a time, and stays."),
        _rows.should("name", _NORMAL, "The IPAddress has the name of its claim."),
        _rows.must(
            "claim-owner",
            _NORMAL,
            "The claim is the controller of the IPAddress, and blocks its deletion.",
        ),
        _rows.must("pool-owner", _NORMAL, "The pool is another owner of it, which blocks, too."),
        _rows.should("protection", _NORMAL, "A finalizer keeps it from accidental deletion."),
        _rows.should("address-ref", _NORMAL, "status.addressRef of the claim names it."),
        _rows.should(
            "release", _DELETED, "The address is freed, the IPAddress goes, then the finalizer."
        ),
        _rows.should(
            "move-label",
            "Clusterctl Move",
            "Pools move with a Cluster: their CRD has the label "
            "clusterctl.cluster.x-k8s.io/move-hierarchy or clusterctl.cluster.x-k8s.io/move.",
            CheckMethod.STATIC,
        ),
        _rows.must(
            "taker-rights",
            _TAKER,
            "The manager may read and create ipaddressclaims, and get ipaddresses.",
            CheckMethod.STATIC,
            _TAKES,
        ),
        _rows.must("pool-ref", _TAKER, "spec.poolRef of a claim names the pool.", when=_TAKES),
        _rows.should(
            "claim-of-machine",
            _TAKER,
            "The infrastructure machine is the controller of its claim, and blocks its deletion.",
            when=_TAKES,
        ),
        _rows.should("claim-cluster", _TAKER, "A claim names its Cluster.", when=_TAKES),
        _rows.should(
            "claim-deletion",
            _TAKER,
            "The claim goes with the machine, which waits for it.",
            when=_TAKES,
        ),
    ],
)
