"""Machines that are containers of Docker or Podman (the docker backend of upstream)."""
