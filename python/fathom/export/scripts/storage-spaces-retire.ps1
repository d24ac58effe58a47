# Before every stop of the instance: SQL Server down, the cache moved to the disks that stay, the local disks out of the
# pool. Ends with an error, and without a stop, if anything is not as it should be.
#Requires -RunAsAdministrator
param(
    # Services that use the virtual disks, in the order in which they are stopped.
    [string[]]$Service = @('SQLSERVERAGENT', 'MSSQLSERVER'),
    # Stop the computer when all is safe.
    [switch]$Stop
)
. (Join-Path $PSScriptRoot 'settings.ps1')

try {
    foreach ($name in $Service) {
        if (Get-Service -Name $name -ErrorAction SilentlyContinue) {
            Stop-Service -Name $name -Force
            Write-Log "stopped $name"
        }
    }
    Assert-Healthy
    $fastDisks = @($Fast | ForEach-Object { Get-OneDisk $_ } | Where-Object { $_.Usage -ne 'Retired' })
    $size = ($Spaces | ForEach-Object { $_.CacheSize } | Measure-Object -Sum).Sum
    Write-Log "moving a cache of $size bytes; at 4 s per GB this takes about $([int]($size / 1e9 * 4)) s"
    foreach ($disk in $fastDisks) { Set-PhysicalDisk -UniqueId $disk.UniqueId -Usage Retired }
    foreach ($space in $Spaces) { Repair-VirtualDisk -FriendlyName $space.Name }
    Wait-StorageJobs
    foreach ($space in $Spaces) {
        $disk = Get-VirtualDisk -FriendlyName $space.Name
        if ($disk.HealthStatus -ne 'Healthy') { throw "$($space.Name) is $($disk.HealthStatus) after the move" }
    }
    foreach ($disk in $fastDisks) {
        if ($disk.VirtualDiskFootprint -ne 0) { $disk = Get-PhysicalDisk -UniqueId $disk.UniqueId }
        if ($disk.VirtualDiskFootprint -ne 0) { throw "$($disk.FriendlyName) still holds $($disk.VirtualDiskFootprint) bytes" }
        Remove-PhysicalDisk -PhysicalDisks $disk -StoragePoolFriendlyName $Pool -Confirm:$false
        Write-Log "$($disk.FriendlyName) is out of the pool"
    }
    Assert-Healthy
    Write-Log 'safe to stop'
} catch {
    Write-Log "NOT safe to stop: $_"
    throw
}
if ($Stop) { Stop-Computer -Force }
