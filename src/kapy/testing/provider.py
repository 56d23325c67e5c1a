"""Contract checks for the tests of a custom provider.

    def test_the_contracts_are_kept():
        check_behaviour(PROVIDER, [CLUSTER, MACHINE])

    def test_the_release_can_be_installed(tmp_path):
        check_release(PROVIDER, "v0.1.0", tmp_path)

Both raise AssertionError with what is broken, the rule, and how to mend it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kapy._aio.services import Service
from kapy.apps.provider.definitions import crds_of
from kapy.apps.provider.release import write_release
from kapy.clusterctl.provider import ProviderType
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.sdk.admission_in_process import InProcess as Admitted
from kapy.sdk.provider import Provider
from kapy.testing.conformance.behaviour import BEHAVIOUR
from kapy.testing.conformance.check import check_releases
from kapy.testing.conformance.definitions import TEMPLATE, definition_of
from kapy.testing.conformance.files import Object as Written
from kapy.testing.conformance.findings import Report, State
from kapy.testing.conformance.in_process import InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from kapy.testing.conformance.reports import text
from kapy.testing.conformance.run import run_checks
from kapy.testing.virtual_time import VirtualTimeLoop

Add = Callable[[Runtime], Mapping[str, Service] | None]


def check_release(provider: Provider, version: str, folder: Path) -> Path:
    """Write a release below a folder and check its files; return its folder."""
    place = write_release(provider, version, folder)
    _assert_kept(check_releases(place))
    return place


def check_behaviour(
    provider: Provider, examples: Sequence[Document], *, add_to: Add | None = None
) -> None:
    """Run the provider on virtual time, and check its behaviour.

    examples: an object of each kind, as users write them, without metadata. add_to: adds its
    controllers; required if the provider's own `add_to` connects to a real infrastructure.
    """
    way = InProcess(add_to or provider.add_to)
    under_test = ProviderUnderTest(
        provider.label,
        kinds_of(provider, examples),
        way,
        crds_of(provider),
        admission=[Admitted(provider.admission)],
    )
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        _assert_kept([runner.run(run_checks(under_test, BEHAVIOUR, light=True))])


def kinds_of(provider: Provider, examples: Sequence[Document]) -> tuple[Kind, ...]:
    """Return the kinds to which contracts apply, with an example of each."""
    by_name = {kind.RESOURCE.kind: kind for kind in provider.kinds}
    of_type = next(
        provider_type for provider_type in ProviderType if provider_type.word == provider.type
    )
    kinds = []
    for example in examples:
        kind = by_name[example["kind"]]
        template = by_name.get(f"{example['kind']}{TEMPLATE}")
        kinds.append(_kind(provider, of_type, kind, example, template))
    return tuple(kinds)


def _kind(
    provider: Provider,
    of_type: ProviderType,
    kind: type[Object],
    example: Document,
    template: type[Object] | None,
) -> Kind:
    crd = next(iter(crds_of(replace(provider, kinds=[kind]))))
    role = definition_of(Written("", crd), of_type).role
    assert role is not None, f"no contract speaks of {kind.RESOURCE.kind}: see how kinds are called"
    return Kind(
        role.document,
        kind.RESOURCE,
        example,
        template=None if template is None else template.RESOURCE,
    )


def _assert_kept(reports: Sequence[Report]) -> None:
    assert not any(report.with_state(State.BROKEN) or report.trouble for report in reports), text(
        reports
    )
