"""Commands for managed disks of Azure, whose metrics tell the LUN and not the name.

Microsoft, "Change your performance tier": Premium SSD has a tier of its own beside its size, which can be lowered once
in 12 hours; "Managed disk bursting": disks up to P20 burst with credits, and a higher tier has more without them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

NAMES = 'az vm show --resource-group GROUP --name VM --query "storageProfile.dataDisks[].[lun,name]"'
UPDATE = "az disk update --name DISK --resource-group GROUP"
ANY_TIER = "PNN"


def tier_for(system: System, iops: float, bytes_per_s: float) -> str:
    """The smallest tier of Premium SSD that does so much without credits; a placeholder where that is not known."""
    fitting = [
        (cap.iops, found[1])
        for cap in system.limits.caps
        if (found := re.match(r"Azure (P\d+)(?: or P\d+)?$", cap.name)) and cap.iops and cap.bytes_per_s
        and cap.iops >= iops and not cap.bytes_per_s < bytes_per_s
    ]  # fmt: skip
    return min(fitting)[1] if fitting else ANY_TIER
