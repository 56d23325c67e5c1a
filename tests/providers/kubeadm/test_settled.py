"""How long a control plane with which all is in order is left in peace."""

from __future__ import annotations

from datetime import timedelta

from kapy.kube import Key
from kapy.providers.kubeadm.controlplane.settled import Settled
from kapy.sdk import DONE, requeue
from tests.providers.kubeadm.building import NOW

KEY, OTHER = Key("ns", "cp"), Key("ns", "other")
MINUTE = timedelta(minutes=1)


def test_it_rests_until_its_time_and_says_why() -> None:
    settled = Settled()
    settled.settle(KEY, settled.count(KEY), requeue(after=2 * MINUTE, because="why"), NOW)
    assert settled.rest(KEY, NOW + MINUTE) == requeue(after=MINUTE, because="why")
    assert settled.rest(KEY, NOW + 2 * MINUTE) is None
    assert settled.rest(OTHER, NOW) is None


def test_whatever_is_told_ends_the_rest() -> None:
    settled = Settled()
    settled.settle(KEY, settled.count(KEY), requeue(after=MINUTE, because="why"), NOW)
    assert settled.increment([OTHER]) == (OTHER,)
    assert settled.rest(KEY, NOW) is not None
    assert settled.increment([KEY]) == (KEY,)
    assert settled.rest(KEY, NOW) is None


def test_what_is_told_during_a_reconcile_counts() -> None:
    settled = Settled()
    news = settled.count(KEY)
    settled.increment([KEY])
    settled.settle(KEY, news, requeue(after=MINUTE, because="why"), NOW)
    assert settled.rest(KEY, NOW) is None


def test_without_an_end_there_is_no_rest() -> None:
    settled = Settled()
    settled.settle(KEY, settled.count(KEY), DONE, NOW)
    assert settled.rest(KEY, NOW) is None
