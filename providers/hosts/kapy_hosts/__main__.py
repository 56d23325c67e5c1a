"""`python -m kapy_hosts`: the provider alone, and its releases."""

from kapy.cli.provider import main
from kapy_hosts.provider import PROVIDER

main(PROVIDER)
