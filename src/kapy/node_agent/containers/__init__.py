"""The runtime of containers of the user's engine (Docker or Podman).

The containers of a plane are in a network of their own, a bridge on which the plane listens for
them. They carry labels that name the plane, the Pod, the container and its start, so that they are
found again; a container without them is never touched.
"""
