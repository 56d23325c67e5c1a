"""Access to the plane's machine that a release asks for: told and allowed at its installation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kapy.clusterctl.components import Components
from kapy.clusterctl.progress import Say
from kapy.node_agent import host_access
from kapy.node_agent.host_access import Allowed

_KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet", "Job")


@contextmanager
def allow_host_access(
    folder: Path, report: Say
) -> Iterator[Callable[[Sequence[Components]], None]]:
    """While the context is open, what is about to be installed can be allowed what it asks for;
    when it fails, what was allowed before is so again. folder: of the plane."""
    before = list(host_access.read(folder))
    changed = False

    def prepare(components: Sequence[Components]) -> None:
        nonlocal changed
        found = [one for each in components for one in _report_host_access(each, report)]
        if any(one.access for one in found) or before:
            changed = True
            host_access.allow(folder, found)

    try:
        yield prepare
    except BaseException:
        if changed:
            host_access.replace(folder, before)
        raise


def _report_host_access(components: Components, report: Say) -> Iterator[Allowed]:
    for one in components.objects:
        if one.get("kind") not in _KINDS:
            continue
        meta, spec = one["metadata"], one["spec"]["template"]["spec"]
        access = tuple(host_access.access_of(spec))
        if access:
            report(
                f"Warning: {components.provider.label} gets access to this machine where its "
                "images run as containers",
                workload=f"{meta.get('namespace', '')}/{meta['name']}",
                access=", ".join(access),
            )
        yield Allowed(meta.get("namespace", ""), meta["name"], access)
