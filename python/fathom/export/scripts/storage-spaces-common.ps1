
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$LogFile = Join-Path $env:ProgramData 'Fathom\storage-spaces.log'

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

# The one disk with that serial number (EBS appends to it), unique id or friendly name.
function Get-OneDisk {
    param([Parameter(Mandatory)][string]$Name)
    $all = @(Get-PhysicalDisk)
    $found = @($all | Where-Object {
            ($_.SerialNumber -and $_.SerialNumber.Trim().StartsWith($Name, [StringComparison]::OrdinalIgnoreCase)) -or
            $_.UniqueId -eq $Name -or $_.FriendlyName -eq $Name
        })
    if ($found.Count -ne 1) { throw "$($found.Count) disks are called $Name; exactly one is needed" }
    return $found[0]
}

# Stops the script unless the pool and every space in it can be trusted.
function Assert-Healthy {
    $state = Get-StoragePool -FriendlyName $Pool
    if ($state.IsReadOnly) { throw "the pool $Pool is read-only: $($state.ReadOnlyReason)" }
    if ($state.HealthStatus -ne 'Healthy' -or $state.OperationalStatus -ne 'OK') {
        throw "the pool $Pool is $($state.HealthStatus), $($state.OperationalStatus)"
    }
    foreach ($space in $Spaces) {
        $disk = Get-VirtualDisk -FriendlyName $space.Name
        if ($disk.HealthStatus -ne 'Healthy' -or $disk.OperationalStatus -ne 'OK') {
            throw "the virtual disk $($space.Name) is $($disk.HealthStatus), $($disk.OperationalStatus)"
        }
    }
}

# Waits for whatever Storage Spaces moves or repairs.
function Wait-StorageJobs {
    do {
        $jobs = @(Get-StorageJob | Where-Object { $_.JobState -notin 'Completed', 'Failed', 'Terminated', 'Killed', 'Exception' })
        foreach ($job in $jobs) { Write-Log "$($job.Name): $($job.PercentComplete) %" }
        if ($jobs.Count) { Start-Sleep -Seconds 5 }
    } while ($jobs.Count)
}
