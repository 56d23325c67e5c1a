"""Hosts that are not there, for the tests of the provider."""
