"""What can be wrong between core and a provider's objects.

* ContractError          the object (or its CRD) breaks the contract
  - MissingField         a mandatory field is not set
  - WrongType            a field holds something of another type
  - NotServed            there is no CRD for the kind
  - NotPermitted         the provider gave core no right to read the kind
  - NoContract           the CRD does not say which contract it implements
  - NoVersion            the CRD says a version that it does not have, or does not serve
  - BrokenDefinition     the CRD's scope or schema is not what the contract asks for
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class ContractError(KapyError):
    """A provider's object, or its CRD, breaks the contract."""


class FieldProblem(ContractError):
    """One field breaks the contract. path: where it stands, without a leading dot."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f".{path}: {problem}")
        self.path = path
        self.problem = problem


class MissingField(FieldProblem):
    """A mandatory field is not set."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "mandatory field is not set")


class WrongType(FieldProblem):
    """A field holds something of another type than the contract says."""


class NotServed(ContractError):
    """There is no CRD for a kind that is referred to: the provider is not installed (yet)."""


class NotPermitted(ContractError):
    """Core may not read a kind: the provider brought no ClusterRole for its own API group."""


class NoContract(ContractError):
    """The CRD has no label that names a contract version which this core understands."""


class NoVersion(NoContract):
    """A CRD's label names no version that the CRD has and serves."""


class BrokenDefinition(ContractError):
    """A CRD declares a contract, but its scope or its schema has no room for it."""
