"""The sample of recorded data in `tests/data`: `python -m tests.oracle.sampling` writes it.

A clone stands alone: what its tests need of `../shared` is kept in `tests/data`, a few cases of
each topic. Every file there is either made by a row of SAMPLE from the recorded data, or named in
KEPT. `test_sampling.py` holds the files to the rows wherever the recorded data is present.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.oracle.recorded import SAMPLES, SHARED

KEPT: Final = (
    "clusterctl/cluster-v1beta1.yaml",
    "clusterctl/describe.jsonl.gz",
    "clusterctl/move.jsonl.gz",
    "boot_data/",
    "components/",
    "container_engine.json",
    "apiserver/authorization/",
    "differential/",
    "fuzz/",
    "go_regexp/",
    "go_decoding.jsonl",
    "kubectl/",
    "manager_flags.json",
    "plan/",
    "store/",
    "yaml/",
)
"""Files and folders of `tests/data` that do not come from `../shared`."""

METRICS: Final = re.compile(r"controller_runtime_.*|workqueue_.*|rest_client_.*|capi_reconcile_.*")
"""Families that every program of controllers has."""


@dataclass(frozen=True, slots=True)
class Row:
    """One file of the sample.

    target: below `tests/data`. sources: below `../shared`. content: makes the file's text of the
    sources' texts.
    """

    target: str
    sources: tuple[str, ...]
    content: Callable[[Sequence[str]], str]

    def made(self) -> str:
        """The content of the file, from the recorded data."""
        return self.content([text_of(SHARED / source) for source in self.sources])

    def kept(self) -> str:
        """The content of the file as it is in `tests/data`, "" when it is not there."""
        path = SAMPLES / self.target
        return text_of(path) if path.is_file() else ""

    def write(self) -> None:
        """Write the file. Compressed files have no time in them, so they are reproducible."""
        path = SAMPLES / self.target
        path.parent.mkdir(parents=True, exist_ok=True)
        data = self.made().encode()
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def text_of(path: Path) -> str:
    """The text of a file, decompressed when its name ends in .gz."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def spread(count: int) -> Callable[[Sequence[str]], str]:
    """`count` lines of each source, evenly spread."""

    def content(texts: Sequence[str]) -> str:
        return "".join(line for text in texts for line in _spread(text, count))

    return content


def _spread(text: str, count: int) -> list[str]:
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    taken = min(count, len(lines))
    return [lines[number * len(lines) // taken] for number in range(taken)]


def whole(texts: Sequence[str]) -> str:
    """The sources as they are."""
    return "".join(texts)


def families(texts: Sequence[str]) -> str:
    """The metric families that every program has, by program."""
    recorded = json.loads(texts[0])
    by_program = {
        program: {name: family for name, family in families.items() if METRICS.fullmatch(name)}
        for program, families in recorded.items()
    }
    return _json(by_program)


def definitions(texts: Sequence[str]) -> str:
    """The CustomResourceDefinitions of components, without descriptions, one a line."""
    from kapy.kube import yaml

    marked = "\nkind: CustomResourceDefinition\n"
    documents = (part for text in texts for part in re.split(r"(?m)^---\n", text) if marked in part)
    return "".join(json.dumps(_terse(yaml.load(item)), sort_keys=True) + "\n" for item in documents)


def document(texts: Sequence[str]) -> str:
    """A document in YAML as JSON without descriptions."""
    from kapy.kube import yaml

    return _json(_terse(yaml.load(texts[0])))


def _terse(node: Any) -> Any:
    """A schema without its descriptions."""
    if isinstance(node, dict):
        return {
            key: _terse(value)
            for key, value in node.items()
            if not (key == "description" and isinstance(value, str))
        }
    return [_terse(item) for item in node] if isinstance(node, list) else node


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def _cases(topic: str, counts: dict[str, int]) -> Iterator[Row]:
    """Rows of one topic: from each file of records some lines, uncompressed."""
    for name, count in counts.items():
        plain = name.removesuffix(".gz")
        yield Row(f"{topic}/{plain}", (f"oracle/{topic}/{name}",), spread(count))


def _copies(topic: str, *names: str) -> Iterator[Row]:
    for name in names:
        yield Row(f"{topic}/{name}", (f"oracle/{topic}/{name}",), whole)


def _release(folder: str, *names: str) -> Iterator[Row]:
    """Small files of a provider's release, as they were released."""
    for name in names:
        place = f"upstream/providers/{folder}/{name}"
        yield Row(place, (place,), whole)


def _components(file: str) -> str:
    development = "-development" if file.startswith("infrastructure-docker") else ""
    return f"upstream/providers/{file}-components{development}.yaml"


_OURS: Final = (
    "cluster-api/v1.14.0/core",
    "bootstrap-kubeadm/v1.14.0/bootstrap",
    "control-plane-kubeadm/v1.14.0/control-plane",
    "infrastructure-docker/v1.14.0/infrastructure",
)
_OTHERS: Final = {
    "infrastructure-aws": "infrastructure-aws/v2.11.0/infrastructure",
    "infrastructure-openstack": "infrastructure-openstack/v0.15.0/infrastructure",
    "infrastructure-vsphere": "infrastructure-vsphere/v1.17.0/infrastructure",
}


STORIES: Final = ("a-plain", "ext-inplace", "ext-life")
_OF_A_STORY: Final = ("story.yaml", "final.yaml.gz")
_OF_THE_SERVER: Final = (
    *("apply", "cel", "core", "crds", "crud", "discovery", "gc", "list", "namespaces"),
    *("patch", "schema", "subresources", "watch", "webhooks"),
)
_FUZZED: Final = tuple(
    f"oracle/conversion/fuzz/{name}_{version}.jsonl.gz"
    for version, names in {
        "v1beta1": (
            *("addons/clusterresourceset", "addons/clusterresourcesetbinding"),
            *("bootstrap/kubeadmconfig", "bootstrap/kubeadmconfigtemplate"),
            *("controlplane/kubeadmcontrolplane", "controlplane/kubeadmcontrolplanetemplate"),
            *("core/cluster", "core/clusterclass", "core/machine", "core/machinedeployment"),
            *("core/machinehealthcheck", "core/machinepool", "core/machineset"),
            *("infrastructure/devcluster", "infrastructure/devmachine"),
            *("infrastructure/dockercluster", "infrastructure/dockermachinepool"),
        ),
        "v1alpha1": ("runtime/extensionconfig",),
    }.items()
    for name in names
)

SAMPLE: Final[tuple[Row, ...]] = (
    *_cases("admission", {"cases.jsonl.gz": 150}),
    *_copies("admission", "environment.yaml"),
    *_cases(
        "admission-unit",
        {
            "KubeadmConfig.jsonl": 6,
            "KubeadmConfigTemplate.jsonl": 6,
            "KubeadmControlPlane.jsonl.gz": 6,
            "KubeadmControlPlaneTemplate.jsonl": 4,
            "Machine.jsonl": 6,
            "MachineDeployment.jsonl": 6,
            "MachineSet.jsonl": 6,
        },
    ),
    *_copies("apiserver", "replay.py", "normalise.py", "compare.py", "webhooks.py"),
    *_copies(
        "apiserver",
        *(
            f"crds/{name}.yaml"
            for name in (
                *("01-widgets", "02-gadgets", "03-shapes", "04-rules", "05-loose"),
                *("06-defaults", "07-versions", "08-strict", "20-cluster-api"),
            )
        ),
    ),
    *_cases("apiserver", {f"cases/{name}.jsonl": 5 for name in _OF_THE_SERVER}),
    *_cases("apiserver", {"cases/auth.jsonl": 8, "cases/metadata.jsonl.gz": 5}),
    *_cases(
        "cloudinit",
        {
            "kubeadm_api_version.jsonl": 7,
            "kubeadm_marshal.jsonl.gz": 24,
            "reconcile.jsonl.gz": 9,
            "userdata.jsonl.gz": 18,
        },
    ),
    *(
        Row(f"clusterctl/{name}", (f"oracle/clusterctl/{name}",), spread(count))
        for name, count in {
            "config.jsonl.gz": 14,
            "convert.jsonl.gz": 30,
            "errors.jsonl.gz": 60,
            "generate-yaml.jsonl.gz": 60,
        }.items()
    ),
    *_copies("clusterctl", "commands.json"),
    *_cases(
        "conditions",
        {
            "aggregate.jsonl.gz": 7,
            "mirror.jsonl": 8,
            "mirror_unstructured.jsonl": 8,
            "set.jsonl": 8,
            "summary.jsonl.gz": 8,
        },
    ),
    Row("conversion/fuzz.jsonl", _FUZZED, spread(6)),
    *_cases("crdnames", {"crdnames.jsonl": 30}),
    *_cases("envsubst", {"files.jsonl.gz": 2, "names.jsonl": 5, "process.jsonl.gz": 110}),
    *_copies("extension", "calls.jsonl.gz", "discovery.yaml", "sequence.txt"),
    *_cases("failuredomains", {"pick.jsonl": 30}),
    *_cases("gotemplate", {"render.jsonl": 30, "variable_path.jsonl": 12}),
    *_copies("gotemplate", "functions.json", "variables.json"),
    *_cases(
        "hooks",
        {
            "aggregate.jsonl": 8,
            "discovery_response.jsonl": 8,
            "names.jsonl": 6,
            "samples.jsonl.gz": 34,
            "url.jsonl": 8,
        },
    ),
    *_cases(
        "inlinepatches",
        {
            "apply.jsonl.gz": 1,
            "apply_patch.jsonl.gz": 25,
            "builtin_variables.jsonl.gz": 8,
            "calculate_value.jsonl.gz": 12,
            "generate.jsonl.gz": 4,
            "matches_selector.jsonl.gz": 12,
        },
    ),
    *_cases("kubeconfig", {"certificates.jsonl": 8, "secret_names.jsonl": 30}),
    *_cases(
        "labels",
        {
            "format_value.jsonl": 8,
            "names.jsonl": 14,
            "naming_validation.jsonl": 16,
            "prefixes.jsonl": 3,
        },
    ),
    *_copies("hooks", "catalog.json"),
    Row("hooks/openapi.json.gz", ("oracle/hooks/openapi.yaml",), document),
    Row("metrics/metrics.json", ("oracle/metrics/metrics.json",), families),
    *_cases(
        "rollout",
        {
            "delete_priority.jsonl.gz": 8,
            "fenceposts.jsonl": 8,
            "find_new_and_old.jsonl.gz": 8,
            "new_ms_replicas.jsonl": 8,
            "plan.jsonl.gz": 8,
            "proportion.jsonl": 8,
            "template_up_to_date.jsonl": 8,
        },
    ),
    *_copies("traces", "normalise.py", "compare.py"),
    *_copies("traces", *(f"{story}/{file}" for story in STORIES for file in _OF_A_STORY)),
    *_cases(
        "variables",
        {
            "default_variables.jsonl.gz": 20,
            "validate_class_variables.jsonl": 13,
            "validate_variable.jsonl.gz": 40,
            "validate_variables.jsonl.gz": 12,
        },
    ),
    *_cases(
        "version",
        {
            "aggregate_status_versions.jsonl": 15,
            "compare.jsonl": 15,
            "parse_tolerant.jsonl": 15,
            "plan_from_class_versions.jsonl": 10,
            "plan_one_minor.jsonl": 6,
            "validate_plans.jsonl": 16,
        },
    ),
    Row("crds/cluster-api.jsonl.gz", tuple(map(_components, _OURS)), definitions),
    *(
        Row(f"crds/{name}.jsonl.gz", (_components(place),), definitions)
        for name, place in _OTHERS.items()
    ),
    *_release(
        "infrastructure-aws/v2.11.0",
        "cluster-template.yaml",
    ),
    *_release("infrastructure-openstack/v0.15.0", "cluster-template.yaml"),
    *_release("infrastructure-vsphere/v1.17.0", "cluster-template.yaml"),
    *_release(
        "infrastructure-docker/v1.14.0",
        "clusterclass-in-memory.yaml",
        "clusterclass-quick-start.yaml",
        "cluster-template-development.yaml",
        "cluster-template-in-memory.yaml",
        "cluster-template-in-memory-scale.yaml",
        "cluster-template-in-memory-topology.yaml",
        "metadata.yaml",
    ),
    *(
        Row(f"samples/{name}", (f"samples/{name}",), whole)
        for name in ("clusterclass-in-memory.yaml", "in-memory-cluster.yaml")
    ),
    Row("upstream-baseline.jsonl", ("upstream-baseline.jsonl",), whole),
)


def main() -> int:
    if not SHARED.is_dir():
        sys.stderr.write(f"{SHARED} is not there: the sample can be made only from recorded data\n")
        return 2
    for row in SAMPLE:
        if row.made() != row.kept():
            row.write()
            sys.stdout.write(f"wrote tests/data/{row.target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
