"""Cluster API infrastructure provider "nimbus"."""

from nimbus.provider import PROVIDER

__all__ = ["PROVIDER"]
