"""Parameter sets of the Storage cmdlets that the scripts call (MicrosoftDocs/windows-powershell-docs, Windows 2022).

A call may only use parameters that stand together in one set, with all that the set demands. Of each cmdlet only the
sets that a script could mean; what comes through the pipeline is `|`.
"""

from __future__ import annotations

from collections.abc import Iterable

SETS: dict[str, tuple[tuple[str, str], ...]] = {
    # What must be given, and what may.
    "Add-PhysicalDisk": (("storagepoolfriendlyname physicaldisks", "usage"),),
    "Connect-VirtualDisk": (("friendlyname", "storagenodename"),),
    "Format-Volume": (
        ("|", "filesystem newfilesystemlabel allocationunitsize full force compress confirm"),
        ("driveletter", "filesystem newfilesystemlabel allocationunitsize full force compress confirm"),
    ),
    "Get-PhysicalDisk": (("", "uniqueid usage canpool"), ("", "friendlyname serialnumber usage canpool"), ("|", "")),
    "Get-VirtualDisk": (("", "friendlyname"), ("", "uniqueid"), ("|", "")),
    "Initialize-Disk": (("|", "partitionstyle passthru"), ("number", "partitionstyle passthru")),
    "New-Partition": (
        ("|", "size usemaximumsize offset alignment driveletter assigndriveletter"),
        ("disknumber", "size usemaximumsize offset alignment driveletter assigndriveletter"),
    ),
    "New-StoragePool": (
        (
            "friendlyname storagesubsystemuniqueid physicaldisks",
            "provisioningtypedefault logicalsectorsizedefault resiliencysettingnamedefault writecachesizedefault",
        ),
    ),
    "New-VirtualDisk": (
        (
            "storagepoolfriendlyname friendlyname",
            (
                "resiliencysettingname size usemaximumsize provisioningtype physicaldiskstouse numberofdatacopies "
                "numberofcolumns interleave writecachesize"
            ),
        ),
    ),
    "Remove-PhysicalDisk": (("storagepoolfriendlyname physicaldisks", "confirm"),),
    "Remove-StoragePool": (("friendlyname", "confirm"), ("uniqueid", "confirm")),
    "Remove-VirtualDisk": (("friendlyname", "confirm"), ("uniqueid", "confirm")),
    "Repair-VirtualDisk": (("friendlyname", "asjob"),),
    "Set-Disk": (("number", "isreadonly"), ("|", "isreadonly"), ("number", "isoffline")),
    "Set-PhysicalDisk": (
        ("uniqueid", "newfriendlyname description usage mediatype"),
        ("friendlyname", "newfriendlyname description usage mediatype"),
    ),
    "Set-StoragePool": (("friendlyname", "isreadonly"), ("uniqueid", "isreadonly")),
    "Set-VirtualDisk": (("friendlyname", "ismanualattach"), ("uniqueid", "ismanualattach")),
}


def stands_together(cmdlet: str, given: Iterable[str], *, piped: bool) -> bool:
    """Whether a call's parameters belong to one set; of a cmdlet that has none here, always."""
    names = {*given, *(["|"] if piped else [])}
    sets = SETS.get(cmdlet)
    if sets is None:
        return True
    return any(set(must.split()) <= names <= {*must.split(), *may.split()} for must, may in sets)
