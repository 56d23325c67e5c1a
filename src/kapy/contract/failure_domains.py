"""Select the failure domain for the next machine, and for the next deletion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random


def pick_fewest(
    domains: Sequence[str],
    machines: Iterable[str],
    up_to_date: Iterable[str],
    *,
    random: Random | None = None,
) -> str:
    """Return the domain with the fewest up-to-date machines, then with the fewest machines; "" if
    there is no domain.

    domains: the candidates. machines, up_to_date: the failure domain of each machine. random:
    breaks ties; without it the first in `domains` wins.
    """
    if not domains:
        return ""
    all_, first = Counter(machines), Counter(up_to_date)
    return min(_shuffle_domains(domains, random), key=lambda name: (first[name], all_[name]))


def pick_most(
    domains: Sequence[str],
    machines: Iterable[str],
    eligible: Iterable[str],
    *,
    random: Random | None = None,
) -> str:
    """Return the domain with the most eligible machines, then with the most machines; "" if no
    domain has an eligible one.
    """
    all_, first = Counter(machines), Counter(eligible)
    candidates = [name for name in domains if first[name]]
    if not candidates:
        return ""
    return max(_shuffle_domains(candidates, random), key=lambda name: (first[name], all_[name]))


def _shuffle_domains(domains: Sequence[str], random: Random | None) -> Sequence[str]:
    return domains if random is None else random.sample(domains, len(domains))
