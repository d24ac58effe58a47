# At every start of the instance: drive S: for tempdb on a local NVMe drive, made anew; the pool of the data made if it is
# absent, else checked, its cache put back on the local drive; then SQL Server. A pool that cannot be trusted is
# left alone and SQL Server is not started on it.

# A pool, one virtual disk that fills it, and a drive for tempdb. What an earlier start left there is worth nothing.
function New-TempDrive {
    foreach ($old in @(Get-Pool $TempPool)) {
        if ($old.IsReadOnly) { Set-StoragePool -FriendlyName $TempPool -IsReadOnly $false }
        foreach ($space in @($old | Get-VirtualDisk)) { Remove-VirtualDisk -UniqueId $space.UniqueId -Confirm:$false }
        Remove-StoragePool -FriendlyName $TempPool -Confirm:$false
        Write-Log "dropped the pool $TempPool of an earlier start"
    }
    $disk = Get-OneDisk $Temp
    if (-not $disk.CanPool) { throw "$($disk.FriendlyName) $($disk.SerialNumber) cannot be pooled for tempdb: $($disk.CannotPoolReason)" }
    New-StoragePool -FriendlyName $TempPool -StorageSubSystemUniqueId (Get-StorageSubSystem -Model 'Windows Storage').UniqueId `
        -PhysicalDisks $disk | Out-Null
    $virtual = New-VirtualDisk -StoragePoolFriendlyName $TempPool -FriendlyName $TempPool -ResiliencySettingName Simple `
        -ProvisioningType Fixed -UseMaximumSize
    New-Drive -Virtual $virtual -Letter 'S' -Label 'tempdb'
    New-Item -ItemType Directory -Force -Path 'S:\tempdb' | Out-Null
}

function New-Drive {
    param([Parameter(Mandatory)]$Virtual, [Parameter(Mandatory)][string]$Letter, [Parameter(Mandatory)][string]$Label)
    $Virtual | Get-Disk | Initialize-Disk -PartitionStyle GPT -PassThru | New-Partition -UseMaximumSize -DriveLetter $Letter |
        Format-Volume -FileSystem NTFS -AllocationUnitSize $AllocationUnit -NewFileSystemLabel $Label -Confirm:$false | Out-Null
    Write-Log "made drive ${Letter}: of $($Virtual.Size) bytes, cache $($Virtual.WriteCacheSize) bytes"
}

# The pool, its virtual disks and their drives. Disks that hold anything are refused before anything is done.
function New-DataPool {
    $all = @($slowDisks + $fastDisks + $spareDisks)
    foreach ($disk in $all) {
        if (-not $disk.CanPool) { throw "$($disk.FriendlyName) $($disk.SerialNumber) cannot be pooled: $($disk.CannotPoolReason)" }
    }
    $bytes = ($CacheSize.Values | Measure-Object -Sum).Sum
    foreach ($disk in $fastDisks + $spareDisks) {
        if ($disk.Size -lt $bytes) { throw "$($disk.FriendlyName) $($disk.SerialNumber) has $($disk.Size) bytes, the cache needs $bytes" }
    }
    New-StoragePool -FriendlyName $Pool -StorageSubSystemUniqueId (Get-StorageSubSystem -Model 'Windows Storage').UniqueId `
        -PhysicalDisks $all -LogicalSectorSizeDefault $LogicalSector -ProvisioningTypeDefault Fixed | Out-Null
    foreach ($disk in $slowDisks) { Set-PhysicalDisk -UniqueId $disk.UniqueId -Usage ManualSelect }
    # The cache goes to disks for journals. The spare ones take it before a stop and nothing at other times.
    foreach ($disk in $fastDisks) { Set-PhysicalDisk -UniqueId $disk.UniqueId -Usage Journal }
    foreach ($disk in $spareDisks) { Set-PhysicalDisk -UniqueId $disk.UniqueId -Usage Retired }
    foreach ($space in $Spaces) {
        $options = $space.Options.Clone()
        $options.WriteCacheSize = $CacheSize[$space.Name]
        if ($null -ne $space.Size) { $options.Size = $space.Size } else { $options.UseMaximumSize = $true }
        $own = @($space.Disks | ForEach-Object { Get-OneDisk $_ })
        $virtual = New-VirtualDisk -StoragePoolFriendlyName $Pool -FriendlyName $space.Name -ProvisioningType Fixed `
            -PhysicalDisksToUse $own @options
        if ($virtual.WriteCacheSize -ne $CacheSize[$space.Name]) {
            throw "asked for $($CacheSize[$space.Name]) bytes of cache on $($space.Name), got $($virtual.WriteCacheSize)"
        }
        New-Drive -Virtual $virtual -Letter $space.Letter -Label $space.Name
        if ($space.ReadOnly) { $virtual | Get-Disk | Set-Disk -IsReadOnly $true }
    }
}

function Remove-DataPool {
    $one = Get-Pool $Pool
    if ($one.IsReadOnly) { Set-StoragePool -FriendlyName $Pool -IsReadOnly $false }
    foreach ($space in @($one | Get-VirtualDisk)) { Remove-VirtualDisk -UniqueId $space.UniqueId -Confirm:$false }
    Remove-StoragePool -FriendlyName $Pool -Confirm:$false
}

# Virtual disks that came up detached, or whose disk came up offline.
function Connect-Space {
    foreach ($space in $Spaces) {
        $virtual = Get-VirtualDisk -FriendlyName $space.Name
        if ($virtual.OperationalStatus -contains 'Detached') {
            Connect-VirtualDisk -FriendlyName $space.Name
            if ($virtual.IsManualAttach) { Set-VirtualDisk -FriendlyName $space.Name -IsManualAttach $false }
            Write-Log "attached $($space.Name), which was detached: $($virtual.DetachedReason)"
        }
        $disk = Get-VirtualDisk -FriendlyName $space.Name | Get-Disk
        if ($disk.IsOffline) {
            Set-Disk -Number $disk.Number -IsOffline $false
            Write-Log "$($space.Name) was offline"
        }
        if ($virtual.WriteCacheSize -ne $CacheSize[$space.Name]) {
            Write-Log "warning: $($space.Name) has a cache of $($virtual.WriteCacheSize) bytes, not $($CacheSize[$space.Name]); only a new virtual disk gets another"
        }
    }
}

# A planned stop moved the cache to the spare disks and took the local drives out: new ones join and take it back.
function Restore-Cache {
    $members = @(Get-Pool $Pool | Get-PhysicalDisk | ForEach-Object { $_.UniqueId })
    $fresh = @($fastDisks | Where-Object { $_.UniqueId -notin $members })
    foreach ($disk in $fresh) {
        if (-not $disk.CanPool) { throw "$($disk.FriendlyName) $($disk.SerialNumber) cannot be pooled: $($disk.CannotPoolReason)" }
    }
    if ($fresh.Count) { Add-PhysicalDisk -StoragePoolFriendlyName $Pool -PhysicalDisks $fresh -Usage Journal }
    # A start that was cut short while the cache moved left a part of it on the spare disks.
    $half = @($spareDisks | Where-Object { $_.VirtualDiskFootprint -ne 0 })
    if ($fresh.Count -or $half.Count -or @($fastDisks | Where-Object { $_.Usage -eq 'Retired' }).Count) {
        Move-Cache -From $spareDisks -To $fastDisks
    } else {
        Write-Log 'the cache is where it was'
    }
}

# A local drive that was emptied by a stop and is gone, but was not taken out of the pool.
function Remove-LostDisk {
    $lost = @(Get-Pool $Pool | Get-PhysicalDisk | Where-Object { $_.OperationalStatus -contains 'Lost Communication' })
    foreach ($disk in $lost) {
        if ($disk.Usage -eq 'Retired' -and $disk.VirtualDiskFootprint -eq 0) {
            Remove-PhysicalDisk -PhysicalDisks $disk -StoragePoolFriendlyName $Pool -Confirm:$false
            Write-Log "$($disk.FriendlyName) $($disk.SerialNumber) is gone and held nothing; it is out of the pool"
        }
    }
}

try {
    Write-State 'at the start'
    $deadline = (Get-Date).AddSeconds($Patience)
    while ($true) {
        try {
            $slowDisks = @($Slow | ForEach-Object { Get-OneDisk $_ })
            $fastDisks = @($Fast | ForEach-Object { Get-OneDisk $_ })
            $spareDisks = @($Spare | ForEach-Object { Get-OneDisk $_ })
            if ($Temp) { Get-OneDisk $Temp | Out-Null }
            break
        } catch {
            if ((Get-Date) -ge $deadline) { throw }
            Write-Log "waiting: $_"
            Start-Sleep -Seconds 5
        }
    }
    if ($Temp) {
        New-TempDrive
        Write-State 'with drive S:'
    }
    if (Get-Pool $Pool) {
        Remove-LostDisk
        $problems = @(Get-Problem)
        foreach ($problem in $problems) { Write-Log $problem }
        if ($problems.Count -and -not $Recreate) {
            throw 'the pool cannot be trusted. The way back: restore a backup (or snapshots of all its volumes) of before, or start again with -Recreate and restore the databases'
        }
        if ($problems.Count) {
            Write-Log "WARNING: -Recreate: all virtual disks of the pool $Pool are dropped with everything on them; the databases must be restored from backups"
            Remove-DataPool
            Write-State 'with the pool dropped'
            # Disks that have left a pool can be pooled again: look at them anew.
            $slowDisks = @($Slow | ForEach-Object { Get-OneDisk $_ })
            $fastDisks = @($Fast | ForEach-Object { Get-OneDisk $_ })
            $spareDisks = @($Spare | ForEach-Object { Get-OneDisk $_ })
        }
    }
    if (Get-Pool $Pool) {
        Connect-Space
        Write-State 'with every virtual disk attached'
        if ($fastDisks.Count) { Restore-Cache }
    } else {
        New-DataPool
    }
    Assert-Healthy
    Write-State 'with the cache in place'
    foreach ($space in $Spaces) {
        if (-not (Test-Path "$($space.Letter):\")) { throw "there is no drive $($space.Letter): of $($space.Name)" }
    }
    foreach ($name in $Services) {
        if (Get-Service | Where-Object { $_.Name -eq $name }) {
            Start-Service -Name $name
            Write-Log "started $name"
        }
    }
} catch {
    Write-Failure "SQL Server is not started: $_"
    throw
}
