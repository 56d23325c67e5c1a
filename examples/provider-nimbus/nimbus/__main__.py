"""`python -m nimbus`: the provider alone, and its releases."""

from kapy.cli.provider import main

from nimbus.provider import PROVIDER

main(PROVIDER)
