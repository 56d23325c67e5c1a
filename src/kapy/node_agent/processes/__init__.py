"""The runtime of programs of this host: a container's program is a local process.

A process shares the network of its host, so it is told ports of its own (`flags`); where the host
allows it, it has a mount namespace in which volumes are at the paths that its Pod names (`launch`).
It runs as the user of the plane: what a Pod asks of a container's user, and limits of resources, do
not hold for it.
"""
