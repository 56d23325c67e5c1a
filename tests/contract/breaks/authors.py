"""Rules that nobody but a provider's author can see, broken in kapy's own providers and its SDK."""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.broken import Break, each

AUTHORS: Final = (
    Break(
        "a condition without a reason has none where core shows it",
        "conditions/foreign.py",
        'reason=_text(entry, "reason") or NO_REASON_REPORTED,',
        'reason=_text(entry, "reason"),',
        {
            "core/machine/test_status.py::test_infrastructure_ready_mirrors_the_provider": (
                "infra-machine/legacy-conditions",
                "infra-machine/conditions-read",
            ),
            "core/machine/test_status.py::test_bootstrap_config_ready_mirrors_the_provider": (
                "bootstrap-config/legacy-conditions",
                "bootstrap-config/conditions-read",
            ),
            "core/cluster/test_providers.py::test_a_cluster_of_v1beta1_providers_comes_up": (
                "infra-cluster/legacy-conditions",
                "control-plane/legacy-conditions",
            ),
            "core/machinepool/test_stories.py::test_a_provider_of_the_old_contract_works_too": (
                "infra-machinepool/legacy-conditions",
            ),
        },
    ),
    Break(
        "the condition of what has failed for good does not say why",
        "sdk/provider_reconciler.py",
        "condition = false(self.summary_condition, reason, answer.message)",
        "condition = false(self.summary_condition, Reason.NOT_READY)",
        {
            "sdk/test_status.py::test_a_terminal_failure_is_reported_and_left_alone": each(
                "terminal-failures"
            )
        },
    ),
    Break(
        "nothing says that a machine has joined",
        "providers/kubeadm/bootstrap/cloudinit.py",
        'return f"kubeadm join --config {_JOIN_PATH} {setup.verbosity} && {SENTINEL}"',
        'return f"kubeadm join --config {_JOIN_PATH} {setup.verbosity}"',
        {
            "providers/kubeadm/test_bootstrap_story.py::"
            "test_a_worker_waits_until_the_cluster_is_initialized": ("bootstrap-config/sentinel",)
        },
    ),
    Break(
        "Nodes of workers are born without the taint",
        "providers/kubeadm/bootstrap/generation.py",
        '"taints": [*taints, wanted]',
        '"taints": taints',
        {
            "providers/kubeadm/test_bootstrap_story.py::"
            "test_a_worker_waits_until_the_cluster_is_initialized": ("bootstrap-config/taints",)
        },
    ),
    Break(
        "readiness gates of a control plane do not reach its Machines",
        "providers/kubeadm/controlplane/desired.py",
        "for gate in kcp.spec.machine_template.spec.readiness_gates:",
        "for gate in ():",
        {
            "providers/kubeadm/test_control_plane_story.py::"
            "test_labels_and_timeouts_change_in_place": ("control-plane/readiness-gates",)
        },
    ),
    Break(
        "taints of a control plane do not reach its Machines",
        "sdk/control_plane_desired.py",
        "[encode(taint) for taint in template.taints]",
        "[]",
        {
            "providers/kubeadm/test_control_plane_story.py::"
            "test_labels_and_timeouts_change_in_place": ("control-plane/machine-taints",)
        },
    ),
    Break(
        "a kubeconfig that cannot be read is quoted",
        "remote/kubeconfig_secret.py",
        "the kubeconfig cannot be read",
        "the kubeconfig {text!r} cannot be read",
        {
            "remote/test_kubeconfig_secret.py::"
            "test_an_invalid_kubeconfig_is_reported_without_quoting_it": (
                "control-plane/kubeconfig-secrecy",
            )
        },
    ),
    Break(
        "the file of a class has another name",
        "clusterctl/provider.py",
        'return f"clusterclass-{name}.yaml"',
        'return f"cluster-class-{name}.yaml"',
        {
            "clusterctl/test_templates.py::test_templates_that_cannot_be_used_are_refused": (
                "clusterctl/classes-told",
                "clusterctl/classes-found",
            )
        },
    ),
    Break(
        "a provider relies on a controller of core",
        "providers/inmemory/__init__.py",
        "from kapy.providers.inmemory.wiring import add_to\n",
        "from kapy.providers.inmemory.wiring import add_to\n"
        "from kapy.core.machine.providers import reconcile_bootstrap\n",
        {"contract/test_internals.py::test_providers_rely_on_nothing_of_core": each("internals")},
    ),
)
