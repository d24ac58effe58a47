# Once: SQL Server waits for restore.ps1, which runs at every start; retire.ps1 runs at every planned shutdown.
#Requires -RunAsAdministrator
param(
    [string[]]$Service = @('MSSQLSERVER', 'SQLSERVERAGENT')
)
. (Join-Path $PSScriptRoot 'settings.ps1')

# Started by restore.ps1 and by nothing else: a database on a volume that is not there would be marked suspect.
foreach ($name in $Service) { Set-Service -Name $name -StartupType Manual }

$restore = Join-Path $PSScriptRoot 'restore.ps1'
$action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument "-NoProfile -ExecutionPolicy Bypass -File `"$restore`""
Register-ScheduledTask -TaskName 'Fathom restore cache' -Action $action -Trigger (New-ScheduledTaskTrigger -AtStartup) `
    -User 'SYSTEM' -RunLevel Highest -Force | Out-Null

# A shutdown script of the group policy may take as long as it needs only if its limit (10 minutes) is raised.
$key = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies\System'
Set-ItemProperty -Path $key -Name 'MaxGPOScriptWait' -Type DWord -Value 3600
Write-Log "add $(Join-Path $PSScriptRoot 'retire.ps1') as a shutdown script: gpedit.msc, Computer, Windows Settings, Scripts"
Write-Log 'or stop the instance by retire.ps1 -Stop alone, which nothing can cut short'
