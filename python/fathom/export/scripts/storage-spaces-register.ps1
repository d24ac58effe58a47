# Once: SQL Server waits for start.ps1, which runs at every start of the instance (by its user data, or by the task made here);
# stop.ps1 runs at every planned shutdown.
#Requires -RunAsAdministrator
param(
    # For instances without user data: a scheduled task runs start.ps1.
    [switch]$Task
)
. (Join-Path $PSScriptRoot 'settings.ps1')

# Started by start.ps1 after its drives, and by nothing else: a database on a volume that is not there would be marked suspect.
foreach ($name in $Services) { Set-Service -Name $name -StartupType Manual }

if ($Task) {
    $start = Join-Path $PSScriptRoot 'start.ps1'
    $action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument "-NoProfile -ExecutionPolicy Bypass -File `"$start`""
    Register-ScheduledTask -TaskName 'Fathom start' -Action $action -Trigger (New-ScheduledTaskTrigger -AtStartup) `
        -User 'SYSTEM' -RunLevel Highest -Force | Out-Null
    Write-Log 'start.ps1 runs at every start'
}

# A shutdown script of the group policy may take as long as it needs only if its limit (10 minutes) is raised.
$key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System'
Set-ItemProperty -Path $key -Name 'MaxGPOScriptWait' -Type DWord -Value 3600
Write-Log "add $(Join-Path $PSScriptRoot 'stop.ps1') as a shutdown script: gpedit.msc, Computer, Windows Settings, Scripts"
Write-Log 'or stop the instance by stop.ps1 -Stop alone, which nothing can cut short'
