"""The interpreter of the exported scripts: as strict as PowerShell, with its traps; cmdlets as they are documented."""

from __future__ import annotations

import pytest

from powershell.cmdlets import cmdlets
from powershell.interpreter import Interpreter
from powershell.machine import Machine
from powershell.syntax import Walked
from powershell.values import PowerShellError


def run(script: str) -> None:
    """Runs it on a machine with no disks."""
    Interpreter(cmdlets(Machine({}, 0, ())), {"a.ps1": script + "\n"}, Walked()).run("a.ps1")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("$never", "has not been set"),
        ("$a = @{ b = 1 }\n$a.c", "property 'c' is not there"),
        ("throw 'told'", "told"),
        ("if ($x {", "does not accept"),
        ("[int]'x'", "cannot convert"),
    ],
)
def test_the_interpreter_is_strict(script: str, words: str) -> None:
    with pytest.raises(PowerShellError, match=words):
        Interpreter({}, {"a.ps1": script + "\n"}, Walked()).run("a.ps1")


def test_the_interpreter_keeps_powershells_traps() -> None:
    """A pipeline of one value is that value, functions see their caller's names and set their own, case is ignored."""
    script = """
$Pool = 'outer'
function Get-Inner { $pool = 'inner'; $Pool }
function Get-Outer { $pool }
Get-Inner
Get-Outer
$one = @(1) | ForEach-Object { $_ }
"$one $(@(1, 2).Count) $(1, 2 -join '+')"
'ABC' -eq 'abc'
@(5, 6, 7)[2..0]
"""
    assert Interpreter({}, {"a.ps1": script}, Walked()).run("a.ps1") == [
        "inner",
        "outer",
        "1 2 1+2",
        True,
        7,
        6,
        5,
    ]


def test_a_cmdlets_parameters_are_those_it_documents() -> None:
    with pytest.raises(AssertionError, match="has no parameters"):
        run("Get-PhysicalDisk -Colour 'red'")


@pytest.mark.parametrize(
    "call",
    [
        "Set-Disk -Number 1 -IsOffline $false -IsReadOnly $true",
        "Get-PhysicalDisk -UniqueId 'a' -FriendlyName 'b'",
        "Add-PhysicalDisk -PhysicalDisks $null",
    ],
)
def test_parameters_of_different_sets_do_not_stand_together(call: str) -> None:
    with pytest.raises(AssertionError, match="has no parameter set with"):
        run(call)
