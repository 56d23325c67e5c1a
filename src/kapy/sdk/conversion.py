"""Conversion between the versions of a provider's kind.

    KindRules(PaperMachine, versions={"v1alpha1": Version(to_hub, from_hub)})

The program of the provider serves the conversion webhook.
"""

from kapy.sdk.admission_versions import CannotConvert, Version

__all__ = ["CannotConvert", "Version"]
