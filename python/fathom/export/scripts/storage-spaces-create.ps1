# Makes the pool and its virtual disks, once. Disks that hold anything are refused.
#Requires -RunAsAdministrator
param(
    # Bytes of an allocation unit of NTFS.
    [ValidateSet(4096, 8192, 16384, 32768, 65536)][int]$AllocationUnit = 65536
)
. (Join-Path $PSScriptRoot 'settings.ps1')

if (Get-StoragePool -FriendlyName $Pool -ErrorAction SilentlyContinue) { throw "there is a pool $Pool already" }
$slowDisks = @($Slow | ForEach-Object { Get-OneDisk $_ })
$fastDisks = @($Fast | ForEach-Object { Get-OneDisk $_ })
foreach ($disk in $slowDisks + $fastDisks) {
    if (-not $disk.CanPool) { throw "$($disk.FriendlyName) cannot be pooled: $($disk.CannotPoolReason)" }
}

$gib = 1073741824
$subsystem = Get-StorageSubSystem -Model 'Windows Storage'
New-StoragePool -FriendlyName $Pool -StorageSubSystemUniqueId $subsystem.UniqueId -PhysicalDisks ($slowDisks + $fastDisks) `
    -LogicalSectorSizeDefault $LogicalSector -ProvisioningTypeDefault Fixed | Out-Null
# The cache goes to the disks for journals, and nothing else does.
foreach ($disk in $fastDisks) { Set-PhysicalDisk -UniqueId $disk.UniqueId -Usage Journal }

# Before a stop the cache moves to the disks of the data: there must be room for it.
$cacheBytes = ($Spaces | ForEach-Object { $_.CacheSize } | Measure-Object -Sum).Sum
foreach ($space in $Spaces) {
    $options = $space.Options.Clone()
    $options.WriteCacheSize = $space.CacheSize
    if ($null -ne $space.Size) {
        $options.Size = $space.Size
    } else {
        $copies = if ($options.ContainsKey('NumberOfDataCopies')) { $options.NumberOfDataCopies } else { 1 }
        $free = ($slowDisks | Measure-Object -Property Size -Sum).Sum / $copies - $cacheBytes
        # Metadata of the pool, and slabs that do not fit evenly.
        $whole = [math]::Floor(($free - 8 * $gib) / $Spaces.Count / $gib)
        $options.Size = [uint64]($whole * $gib)
    }
    $virtual = New-VirtualDisk -StoragePoolFriendlyName $Pool -FriendlyName $space.Name -ProvisioningType Fixed `
        -PhysicalDisksToUse $slowDisks @options
    if ($virtual.WriteCacheSize -ne $space.CacheSize) {
        throw "asked for $($space.CacheSize) bytes of cache on $($space.Name), got $($virtual.WriteCacheSize)"
    }
    $disk = $virtual | Get-Disk | Initialize-Disk -PartitionStyle GPT -PassThru
    $disk | New-Partition -UseMaximumSize -AssignDriveLetter |
        Format-Volume -FileSystem NTFS -AllocationUnitSize $AllocationUnit -NewFileSystemLabel $space.Name -Confirm:$false | Out-Null
    if ($space.ReadOnly) { Set-Disk -Number $disk.Number -IsReadOnly $true }
    Write-Log "made $($space.Name): $($virtual.Size) bytes, cache $($virtual.WriteCacheSize) bytes"
}
$remaining = (Get-StoragePool -FriendlyName $Pool | ForEach-Object { $_.Size - $_.AllocatedSize })
if ($remaining -lt 2 * $cacheBytes) {
    Write-Log "warning: $remaining bytes of the pool are free; make the spaces smaller, or the cache cannot be moved before a stop"
}
Assert-Healthy
