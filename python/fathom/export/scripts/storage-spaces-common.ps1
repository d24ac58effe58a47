
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$LogFile = Join-Path $env:ProgramData 'Fathom\storage-spaces.log'
# What Windows calls the local NVMe drives of an EC2 instance. They come back empty, with new serial numbers.
$LocalDisks = '*Amazon EC2 NVMe*'

# To a file, to the screen, and to the console of the instance, which can be read when nobody can log on.
function Write-Log {
    param([Parameter(Mandatory)][string]$Message)
    $line = '{0:u} fathom: {1}' -f (Get-Date), $Message
    New-Item -ItemType Directory -Force -Path (Split-Path $LogFile) | Out-Null
    Add-Content -Path $LogFile -Value $line
    Write-Host $line
    $port = $null
    try {
        $port = New-Object System.IO.Ports.SerialPort 'COM1', 115200
        $port.Open()
        $port.WriteLine($line)
    } catch {
        Write-Verbose "no serial console: $_"
    } finally {
        if ($null -ne $port) { $port.Dispose() }
    }
}

# Pools, virtual disks and physical disks as Windows sees them now.
function Write-State {
    param([Parameter(Mandatory)][string]$When)
    Write-Log "state ${When}:"
    foreach ($one in @(Get-StoragePool | Where-Object { -not $_.IsPrimordial })) {
        Write-Log "  pool $($one.FriendlyName): $($one.HealthStatus), $($one.OperationalStatus), read-only $($one.IsReadOnly)"
    }
    foreach ($one in @(Get-VirtualDisk)) {
        Write-Log "  virtual disk $($one.FriendlyName): $($one.HealthStatus), $($one.OperationalStatus), cache $($one.WriteCacheSize) bytes"
    }
    foreach ($one in @(Get-PhysicalDisk)) {
        Write-Log "  disk $($one.FriendlyName) $($one.SerialNumber): $($one.HealthStatus), $($one.OperationalStatus), $($one.Usage), holds $($one.VirtualDiskFootprint) of $($one.Size) bytes"
    }
}

# Why a script ends early, and what it leaves behind.
function Write-Failure {
    param([Parameter(Mandatory)][string]$Why)
    Write-Log $Why
    try { Write-State 'at the failure' } catch { Write-Log "the state cannot be read: $_" }
}

# local:N is the Nth local NVMe drive; otherwise the one disk of that serial number (EBS appends to it), unique id or name.
function Get-OneDisk {
    param([Parameter(Mandatory)][string]$Name)
    # A drive that is gone is listed as long as a pool remembers it.
    $present = @(Get-PhysicalDisk | Where-Object { $_.OperationalStatus -notcontains 'Lost Communication' })
    if ($Name.StartsWith('local:')) {
        $number = [int]$Name.Substring(6)
        $found = @($present | Where-Object { $_.FriendlyName -like $LocalDisks } | Sort-Object SerialNumber)
        if ($found.Count -lt $number) { throw "$($found.Count) local NVMe drives are here; $Name is not among them" }
        return $found[$number - 1]
    }
    $found = @($present | Where-Object {
            ($_.SerialNumber -and $_.SerialNumber.Trim().StartsWith($Name, [StringComparison]::OrdinalIgnoreCase)) -or
            $_.UniqueId -eq $Name -or $_.FriendlyName -eq $Name
        })
    if ($found.Count -ne 1) { throw "$($found.Count) disks are called $Name; exactly one is needed" }
    return $found[0]
}

function Get-Pool {
    param([Parameter(Mandatory)][string]$Name)
    Get-StoragePool | Where-Object { $_.FriendlyName -eq $Name }
}

# Why the pool and the virtual disks in it cannot be trusted; nothing if they can. A virtual disk that was only left
# detached is none of it.
function Get-Problem {
    $one = Get-Pool $Pool
    if ($one.IsReadOnly) { "the pool $Pool is read-only: $($one.ReadOnlyReason)" }
    if ($one.HealthStatus -ne 'Healthy') { "the pool $Pool is $($one.HealthStatus), $($one.OperationalStatus)" }
    foreach ($space in $Spaces) {
        $disk = @(Get-VirtualDisk | Where-Object { $_.FriendlyName -eq $space.Name })
        if ($disk.Count -ne 1) {
            "the pool has $($disk.Count) virtual disks $($space.Name)"
        } elseif ($disk[0].OperationalStatus -contains 'Detached') {
            if ($disk[0].DetachedReason -notin 'By Policy', 'None') { "the virtual disk $($space.Name) is detached: $($disk[0].DetachedReason)" }
        } elseif ($disk[0].HealthStatus -ne 'Healthy') {
            "the virtual disk $($space.Name) is $($disk[0].HealthStatus), $($disk[0].OperationalStatus)"
        }
    }
}

function Assert-Healthy {
    $problems = @(Get-Problem)
    if ($problems.Count) { throw ($problems -join '; ') }
}

# Waits for whatever Storage Spaces moves or repairs, and for the repairs begun here. An error of one of those is an error here.
function Wait-StorageJob {
    param([object[]]$Repair = @())
    do {
        $jobs = @(Get-StorageJob | Where-Object { $_.JobState -notin 'Completed', 'Failed', 'Terminated', 'Killed', 'Exception' })
        foreach ($job in $jobs) { Write-Log "$($job.Name): $($job.PercentComplete) %" }
        $running = @($Repair | Where-Object { $_.State -in 'NotStarted', 'Running' })
        if ($jobs.Count -or $running.Count) { Start-Sleep -Seconds 5 }
    } while ($jobs.Count -or $running.Count)
    foreach ($one in $Repair) { Receive-Job -Job $one | Out-Null }
}

# Moves the cache off the disks given first, onto the ones given second, and makes sure that nothing stayed behind.
function Move-Cache {
    param([Parameter(Mandatory)][object[]]$From, [Parameter(Mandatory)][object[]]$To)
    $bytes = ($CacheSize.Values | Measure-Object -Sum).Sum
    Write-Log "moving a cache of $bytes bytes; at 4 s per GB this takes about $([int]($bytes / 1e9 * 4)) s"
    $begun = Get-Date
    foreach ($disk in $To) { Set-PhysicalDisk -UniqueId $disk.UniqueId -Usage Journal }
    foreach ($disk in $From) { Set-PhysicalDisk -UniqueId $disk.UniqueId -Usage Retired }
    # Not as jobs they would come back at their end, with no progress until then.
    Wait-StorageJob -Repair @($Spaces | ForEach-Object { Repair-VirtualDisk -FriendlyName $_.Name -AsJob })
    foreach ($disk in $From) {
        $left = (Get-PhysicalDisk -UniqueId $disk.UniqueId).VirtualDiskFootprint
        if ($left -ne 0) { throw "$($disk.FriendlyName) $($disk.SerialNumber) still holds $left bytes" }
    }
    Assert-Healthy
    Write-Log "the cache moved in $([int]((Get-Date) - $begun).TotalSeconds) s"
}
