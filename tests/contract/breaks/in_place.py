"""Rules about updates in place, broken in kapy's own providers."""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.broken import Break

_IN_PLACE: Final = "providers/kubeadm/controlplane/in_place.py"
_STORY: Final = "providers/kubeadm/test_in_place_story.py"
_COVERED: Final = f"{_STORY}::test_a_change_that_is_covered_leaves_all_machines_where_they_are"

IN_PLACE: Final = (
    Break(
        "a configuration that changes gets new boot data",
        "providers/kubeadm/bootstrap/reconcile.py",
        "    if created:\n        scope.data_available()",
        "    if created and config.status.observed_generation == config.metadata.generation:\n"
        "        scope.data_available()",
        {
            "providers/kubeadm/test_bootstrap_story.py::"
            "test_a_config_that_is_changed_in_place_keeps_its_boot_data": (
                "bootstrap-config/in-place",
            )
        },
    ),
    Break(
        "a machine whose start-up time changes starts anew",
        "providers/inmemory/startup.py",
        "    if reached.vm is None:\n",
        "    if reached.vm is None or now < due:\n",
        {
            "providers/inmemory/test_in_place.py::"
            "test_a_machine_that_is_changed_in_place_does_not_start_anew": (
                "infra-machine/in-place",
            )
        },
    ),
    Break(
        "validation lets no field of a machine change",
        "api/validation/infrastructure.py",
        '    errors = _dev_duration_errors(machine.spec, "spec")\n    docker',
        '    errors = _dev_duration_errors(machine.spec, "spec")\n'
        "    if old is not None and machine.spec != old.spec:\n"
        '        errors.append(forbidden("spec", "cannot be modified"))\n'
        "    docker",
        {
            "providers/inmemory/test_in_place.py::test_validation_lets_a_machine_change": (
                "infra-machine/in-place",
            )
        },
    ),
    Break(
        "a control plane asks no extension whether a Machine can be updated in place",
        _IN_PLACE,
        "    if not await _decide(dependencies, plane, updates, draft, wanted):\n"
        "        return False\n",
        "",
        {
            f"{_STORY}::test_a_machine_that_cannot_be_updated_in_place_is_replaced": (
                "control-plane/in-place",
            ),
        },
    ),
    Break(
        "the configuration of a Machine that is updated in place does not change",
        _IN_PLACE,
        "    await _write_config(dependencies, wanted.config)\n",
        "",
        {_COVERED: ("control-plane/in-place",)},
    ),
    Break(
        "objects that are updated in place are not marked",
        _IN_PLACE,
        '        Annotation.UPDATE_IN_PROGRESS: "",\n',
        "",
        {_COVERED: ("control-plane/in-place",)},
    ),
    Break(
        "a Machine that is updated in place is not marked",
        _IN_PLACE,
        '    machine.metadata.annotations[Annotation.UPDATE_IN_PROGRESS] = ""\n',
        "",
        {
            f"{_STORY}::test_a_machine_that_fails_during_its_update_is_replaced": (
                "control-plane/in-place",
            )
        },
    ),
    Break(
        "no update is pending after the objects were changed in place",
        _IN_PLACE,
        "    machine.metadata.annotations[Annotation.PENDING_HOOKS] = owed\n",
        "",
        {_COVERED: ("control-plane/in-place",)},
    ),
)
