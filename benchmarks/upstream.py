"""Upstream's recorded figures for the same work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

RECORDED: Final = Path(__file__).resolve().parents[1] / "tests/data/upstream-baseline.jsonl"

# Scenario and step of ours: label and step of the recording (the quietest run of each).
_SAME: Final[Mapping[tuple[str, str], tuple[str, str]]] = {
    ("1x1+0", "create"): ("fresh-1cp", "create"),
    ("1x1+0", "delete"): ("fresh-1cp", "delete"),
    ("1x1+3", "create"): ("a-plain-zero", "create"),
    ("1x1+3", "delete"): ("a-plain-zero", "delete"),
    ("1x1+3-delays", "create"): ("a-plain-default", "create"),
    ("1x1+3-delays", "delete"): ("a-plain-default", "delete"),
    ("10x1+3", "create"): ("quiet-10x1+3", "create"),
    ("10x1+3", "delete"): ("quiet-10x1+3", "delete"),
    ("50x1+3", "create"): ("b-50", "create"),
    ("50x1+3", "idle"): ("b-50", "idle"),
    ("50x1+3", "delete"): ("b-50", "delete"),
    ("100x1+0", "create"): ("quiet2-100x1", "create"),
    ("workers-3-50-3", "workers 3 to 50"): ("d-md", "md-scale"),
    ("control-plane-1-3-1", "control planes 1 to 3"): ("d-kcp", "kcp-scale"),
    ("upgrade-3+3", "upgrade 3 + 3"): ("d-upgrade", "upgrade"),
}
# Measured in another form, so written down here: the raw kube-apiserver and the command line.
_SINGLE: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("api-server-https", "GET, HTTPS, disk"): {"per_s": 1409},
    ("api-server-https", "CREATE, HTTPS, disk"): {"per_s": 533},
    ("api-server-https", "DELETE, HTTPS, disk"): {"per_s": 623},
    ("command-line", "kapy version"): {"wall_s": 0.0303},
    ("command-line", "kapy --help"): {"wall_s": 0.0292},
    ("command-line", "kapy describe cluster capybara"): {"wall_s": 0.1569},
    ("command-line", "kapy get kubeconfig capybara"): {"wall_s": 0.0934},
    ("extensions", "Discovery, kapy"): {"per_s": 31_700},
    ("extensions", "GeneratePatches, kapy"): {"per_s": 1051},
    ("cold-start", "kapy quickstart --exit"): {"wall_s": 49.3},
}


def figures(scenario: str, step: str) -> Mapping[str, Any]:
    """`wall_s`, `cpu_s`, `requests_total` or `per_s` of upstream; what is not known is absent."""
    plain = scenario.removesuffix("-ecdsa")  # upstream's keys are RSA
    single = _SINGLE.get((plain, step))
    if single is not None:
        return single
    same = _SAME.get((plain, step))
    row = _recorded().get(same) if same else None
    if row is None:
        return {}
    wall = row.get("all_ready_s") or row.get("all_gone_s") or row["wall_s"]
    return {"wall_s": wall, "cpu_s": row["cpu_total_s"], "requests_total": row["api_total"]}


def _recorded() -> dict[tuple[str, str], dict[str, Any]]:
    if not RECORDED.exists():
        return {}
    rows = [json.loads(line) for line in RECORDED.read_text().splitlines() if line.strip()]
    return {(row["label"], row["step"]): row for row in rows}
