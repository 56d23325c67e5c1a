"""All mutations.

One that a change of the code made meaningless is replaced, not removed: the bug is still possible.
"""

from __future__ import annotations

from typing import Final

from tests.mutations.boot_data_mutations import BOOT_DATA
from tests.mutations.cluster_mutations import ALL_CLUSTER_MUTATIONS
from tests.mutations.control_plane_mutations import CONTROL_PLANES
from tests.mutations.model_mutations import MODELS
from tests.mutations.mutation import Mutation
from tests.mutations.shape_mutations import OTHER_SHAPES
from tests.mutations.simulation_mutations import SIMULATED
from tests.mutations.worker_mutations import (
    MACHINE_DEPLOYMENTS,
    MACHINE_POOLS,
    MACHINE_SETS,
    PLANS,
)

CATALOGUE: Final[tuple[Mutation, ...]] = (
    *MACHINE_SETS,
    *MACHINE_DEPLOYMENTS,
    *MACHINE_POOLS,
    *PLANS,
    *CONTROL_PLANES,
    *BOOT_DATA,
    *ALL_CLUSTER_MUTATIONS,
    *MODELS,
    *SIMULATED,
    *OTHER_SHAPES,
)
