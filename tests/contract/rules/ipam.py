"""Rules for IPAM (`../shared/upstream/docs/contracts/ipam.md`)."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.rules import ipam
from tests.contract.rules.row import Kept, Row

SDK: Final = "sdk/ipam_controller.py"
ADDRESSES: Final = "sdk/ipam_addresses.py"
TESTS: Final = "sdk/test_ipam.py"
HANDED_OUT: Final = f"{TESTS}::test_a_claim_gets_an_address"
OTHERS: Final = f"{TESTS}::test_claims_of_others_and_of_clusters_that_are_not_there_wait"
BY_HAND: Final = "testing/conformance/test_by_hand.py"
TAKERS: Final = f"{BY_HAND}::test_a_wrong_provider_breaks_exactly_its_rule"
CHECKS: Final = "testing/conformance/behaviour/ipam_consumers.py"

ROWS: Final = [
    Row(("pool", "crd-name", "conditions"), (17, 21), ("sdk/ipam_pools.py",), (HANDED_OUT,)),
    Row(("watch", "others"), (28, 32), ("sdk/ipam_watches.py", SDK), (HANDED_OUT, OTHERS)),
    Row(
        ("paused",),
        (),
        (SDK,),
        (f"{TESTS}::test_a_paused_cluster_gets_and_gives_back_nothing", OTHERS),
    ),
    Row(
        ("unique",),
        (),
        (SDK, ADDRESSES),
        (
            f"{TESTS}::test_many_claims_at_once_get_different_addresses",
            f"{TESTS}::test_a_lost_answer_takes_no_second_address",
        ),
    ),
    Row(
        ("name", "claim-owner", "pool-owner", "protection"),
        (45, 46, 47, 48),
        (ADDRESSES,),
        (HANDED_OUT, f"{TESTS}::test_finalizers_and_owner_references_are_restored"),
    ),
    Row(
        ("finalizer", "address-ref", "release"),
        (),
        (SDK,),
        (HANDED_OUT, f"{TESTS}::test_a_claim_on_an_empty_pool_gets_the_next_released_address"),
    ),
    Row(
        ("pool-ref", "claim-of-machine", "claim-cluster", "claim-deletion"),
        (74, 75, 76, 81),
        (CHECKS,),
        (TAKERS,),
    ),
]

KEPT: Final = Kept(
    ipam.DOCUMENT,
    None,
    "upstream/docs/contracts/ipam.md",
    r"\bMUST\b|\bSHOULD\b|\bmust\b|\bshould\b",
    ROWS,
)
