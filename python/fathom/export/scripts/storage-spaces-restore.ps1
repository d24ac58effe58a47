# At every start of the instance: the cache put on the local disks, then SQL Server started. A pool that lost its cache
# without being retired first is not touched, and SQL Server is not started on it.
#Requires -RunAsAdministrator
param(
    # Services that use the virtual disks, in the order in which they are started.
    [string[]]$Service = @('MSSQLSERVER', 'SQLSERVERAGENT'),
    # Seconds to wait until the disks are there.
    [int]$Patience = 300
)
. (Join-Path $PSScriptRoot 'settings.ps1')

try {
    $deadline = (Get-Date).AddSeconds($Patience)
    while ($true) {
        try {
            Assert-Healthy
            $fastDisks = @($Fast | ForEach-Object { Get-OneDisk $_ })
            break
        } catch {
            if ((Get-Date) -ge $deadline) { throw }
            Write-Log "waiting: $_"
            Start-Sleep -Seconds 5
        }
    }
    $fresh = @($fastDisks | Where-Object { $_.CanPool })
    if ($fresh.Count) {
        Add-PhysicalDisk -StoragePoolFriendlyName $Pool -PhysicalDisks $fresh -Usage Journal
        foreach ($space in $Spaces) { Repair-VirtualDisk -FriendlyName $space.Name }
        Optimize-StoragePool -FriendlyName $Pool
        Wait-StorageJobs
        Assert-Healthy
        Write-Log "the cache is on $($fresh.Count) local disks"
    } else {
        Write-Log 'the cache is where it was'
    }
    foreach ($name in $Service) {
        if (Get-Service -Name $name -ErrorAction SilentlyContinue) {
            Start-Service -Name $name
            Write-Log "started $name"
        }
    }
} catch {
    Write-Log "SQL Server is not started: $_"
    Write-Log 'if the local disks were lost with the cache on them, the virtual disk is lost: restore it from a backup'
    throw
}
