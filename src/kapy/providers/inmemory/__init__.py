"""DevCluster and DevMachine with `backend.inMemory`: simulated clusters in this process.

    in_memory = InMemoryClusters(clock=clock)
    add_to(runtime, in_memory)
    cluster_cache = ClusterCache(runtime, dial=in_memory.dial)
    in_memory.subscribe(cluster_cache.trigger_probe)

Each cluster has its own workload API server (`kapy.apiserver`, on a memory store) that controllers
reach in process.
"""

from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.providers.inmemory.wiring import add_to

__all__ = ["InMemoryClusters", "add_to"]
