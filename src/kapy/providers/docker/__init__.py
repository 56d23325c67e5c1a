"""Machines that are containers of Docker or Podman (the docker backend of upstream).

`wiring` adds the controllers, `machines`, `clusters`, `load_balancers` and `pools` answer the
questions of the SDK, `containers` and `node_images` say what a container looks like, `engine` talks
to the container engine.
"""

from kapy.providers.docker.host import Host
from kapy.providers.docker.wiring import add_to

__all__ = ["Host", "add_to"]
