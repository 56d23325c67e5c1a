"""How worker Machines are replaced.

v1beta1 said in `strategy` what v1beta2 says in `rollout`, `deletion` and `healthCheck`.
"""

from __future__ import annotations

from kapy.api.conversion.moves import put, value_at
from kapy.kube import Document


def strategy_to_hub(part: Document) -> None:
    """Spread `strategy` over the parts that hold it now."""
    strategy = part.pop("strategy", None)
    if strategy is None:
        return
    rolling_update = strategy.get("rollingUpdate") or {}
    put(part.setdefault("deletion", {}), "order", rolling_update.pop("deletePolicy", None))
    in_flight = value_at(strategy.pop("remediation", None), "maxInFlight")
    put(part.setdefault("healthCheck", {}).setdefault("remediation", {}), "maxInFlight", in_flight)
    part.setdefault("rollout", {})["strategy"] = {**strategy, "rollingUpdate": rolling_update}


def strategy_from_hub(part: Document) -> None:
    """The way back of `strategy_to_hub`; what is left of `deletion` and `healthCheck` stays."""
    strategy = part.get("rollout", {}).pop("strategy", None) or {}
    if order := part.get("deletion", {}).pop("order", None):
        strategy.setdefault("rollingUpdate", {})["deletePolicy"] = order
    health = part.get("healthCheck", {})
    in_flight = health.get("remediation", {}).pop("maxInFlight", None)
    if in_flight is not None:
        strategy["remediation"] = {"maxInFlight": in_flight}
        if not health["remediation"]:
            del health["remediation"]
    if strategy:
        part["strategy"] = strategy
