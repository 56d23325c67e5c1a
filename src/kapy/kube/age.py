"""Ages as kubectl and clusterctl print them (`k8s.io/apimachinery/pkg/util/duration`)."""

from __future__ import annotations

from datetime import timedelta


def age(passed: timedelta) -> str:
    """Return a duration in at most two units: `47s`, `3m5s`, `12m`, `4h30m`, `3d4h`, `3y20d`."""
    seconds = int(passed.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return two_units(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return two_units(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    return _in_days(hours, days)


def _in_days(hours: int, days: int) -> str:
    if hours < 192:
        return two_units(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return two_units(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def two_units(many: int, unit: str, rest: int, smaller: str) -> str:
    return f"{many}{unit}{rest}{smaller}" if rest else f"{many}{unit}"
