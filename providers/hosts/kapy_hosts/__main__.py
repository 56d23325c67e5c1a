"""`python -m kapy_hosts`: the program that runs the provider alone, and writes its releases."""

from kapy.cli.provider import main
from kapy_hosts.provider import PROVIDER

main(PROVIDER)
