"""What to do next about a campaign: findings of one kind, one rule a file, the most useful first.

The folder is scanned; a rule's place comes from its `order`. A file that fails to import, or that exposes no `RULE`,
stops the program.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.finding import Finding

__all__ = ["Rule", "RuleInput", "advise", "rules"]

_HELPERS = frozenset({"alike", "commands", "price", "reserve", "rule", "waiting"})


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule of the folder by order.

    Raises:
        ImportError: a file exposes no `RULE`, or two rules share a name or an order.
    """
    found: list[Rule] = []
    for module in pkgutil.iter_modules(__path__):
        if module.name in _HELPERS:
            continue
        rule = getattr(importlib.import_module(f"{__name__}.{module.name}"), "RULE", None)
        if not isinstance(rule, Rule):
            raise ImportError(f"analysis/advice/{module.name}.py: expose RULE, a Rule")
        found.append(rule)
    found.sort(key=lambda rule: rule.order)
    if len({rule.order for rule in found}) < len(found) or len({rule.name for rule in found}) < len(found):
        raise ImportError("analysis/advice: two rules have the same name or order")
    return tuple(found)


def advise(given: RuleInput) -> tuple[Finding, ...]:
    """Every finding about a campaign, the most useful first."""
    return tuple(finding for rule in rules() for finding in rule.find(given))
