"""The errors between core and a provider's objects.

* ContractError          the object (or its CRD) breaks the contract
  - MissingField         a mandatory field is not set
  - WrongType            a field has a value of another type
  - NotServed            there is no CRD for the kind
  - NotPermitted         the provider granted core no right to read the kind
  - NoContract           the CRD does not declare a contract
  - NoVersion            the CRD declares a version that it does not have or serve
  - BrokenDefinition     the CRD's scope or schema does not fit the contract
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class ContractError(KapyError):
    """A provider's object, or its CRD, breaks the contract."""


class FieldProblem(ContractError):
    """One field breaks the contract. path: the path of the field, without a leading dot."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f".{path}: {problem}")
        self.path = path
        self.problem = problem


class MissingField(FieldProblem):
    """A mandatory field is not set."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "mandatory field is not set")


class WrongType(FieldProblem):
    """A field has a value of another type than the contract defines."""


class NotServed(ContractError):
    """There is no CRD for a referenced kind: the provider is not installed (yet)."""


class NotPermitted(ContractError):
    """Core may not read a kind: the provider has no ClusterRole for its own API group."""


class NoContract(ContractError):
    """The CRD has no label for a contract version that this core supports."""


class NoVersion(NoContract):
    """A CRD's label names no version that the CRD has and serves."""


class BrokenDefinition(ContractError):
    """A CRD declares a contract, but its scope or its schema does not fit it."""
