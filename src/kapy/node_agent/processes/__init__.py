"""The runtime of local programs: a container's program is a process on this host.

A process shares the network of its host, so it gets ports of its own (`flags`). If the host allows
it, it has a mount namespace with the volumes at their mount paths (`launch`). It runs as the
plane's user: a container's user and resource limits have no effect.
"""
