# Before every stop of the instance, by hand or by a policy at shutdown: SQL Server down, the cache moved to the spare disks,
# the local drives out of the pool. Ends with an error, and without a stop, if anything is not as it should be.
#Requires -RunAsAdministrator
param(
    # Stop the computer when all is safe.
    [switch]$Stop
)
. (Join-Path $PSScriptRoot 'settings.ps1')

try {
    Write-State 'before the stop'
    if (-not (Get-Pool $Pool)) { throw "there is no pool $Pool" }
    Assert-Healthy
    $members = @(Get-Pool $Pool | Get-PhysicalDisk | ForEach-Object { $_.UniqueId })
    $spareDisks = @($Spare | ForEach-Object { Get-OneDisk $_ })
    $bytes = ($CacheSize.Values | Measure-Object -Sum).Sum
    foreach ($disk in $spareDisks) {
        if ($disk.UniqueId -notin $members) { throw "the spare disk $($disk.SerialNumber) is not in the pool" }
        if ($disk.HealthStatus -ne 'Healthy' -or $disk.Size -lt $bytes) {
            throw "the spare disk $($disk.SerialNumber) is $($disk.HealthStatus) and has $($disk.Size) bytes; the cache has $bytes"
        }
    }
    # The agent before the server.
    foreach ($name in $Services[($Services.Count - 1)..0]) {
        if (Get-Service | Where-Object { $_.Name -eq $name }) {
            Stop-Service -Name $name -Force
            Write-Log "stopped $name"
        }
    }
    Wait-StorageJob
    $fastDisks = @($Fast | ForEach-Object { Get-OneDisk $_ } | Where-Object { $_.UniqueId -in $members })
    if ($fastDisks.Count) {
        Move-Cache -From $fastDisks -To $spareDisks
        Write-State 'with the cache moved'
        foreach ($disk in $fastDisks) {
            Remove-PhysicalDisk -PhysicalDisks $disk -StoragePoolFriendlyName $Pool -Confirm:$false
            Write-Log "$($disk.FriendlyName) $($disk.SerialNumber) is out of the pool"
        }
        Assert-Healthy
    } else {
        Write-Log 'the cache has been moved already'
    }
    Write-State 'safe to stop'
} catch {
    Write-Failure "NOT safe to stop: $_"
    Write-Log 'nothing is lost while the instance runs: start.ps1 puts the cache back and starts SQL Server'
    throw
}
if ($Stop) { Stop-Computer -Force }
