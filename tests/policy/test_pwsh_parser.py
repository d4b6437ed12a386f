"""Lines of the useful part of PowerShell become trees; everything else is a problem."""

import pytest

from hermitty.policy.evaluate import expand
from hermitty.policy.parser import parse
from hermitty.policy.sketch import sketch
from hermitty.policy.syntax.commands import Simple


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ""),
        ("Get-ChildItem src | Select-Object -Last 3", "(Get-ChildItem src) | (Select-Object -Last 3)"),
        ("git diff --", "(git diff --)"),
        ("Remove-Item C:\\ -Recurse -Force", "(Remove-Item C:\\ -Recurse -Force)"),
        (
            "Get-ChildItem cache | ForEach-Object { Remove-Item $_ }",
            "(Get-ChildItem cache) | (ForEach-Object {(Remove-Item $_)})",
        ),
        (
            "ls | Where-Object { $_.Length -gt 10kb -and !$_.IsReadOnly }",
            "(ls) | (Where-Object {(value ${_.Length}10kb${_.IsReadOnly})})",
        ),
        ("echo (Get-Date) $(pwd) @(ls)", "(echo ((Get-Date)) ((pwd)) ((ls)))"),
        ("echo \"a $x $(rm y) `$z\" 'it''s' a` b", "(echo \"a $x ((rm y)) '$'z\" 'it's' a' 'b)"),
        ("Select-Object Name,Length, Mode", "(Select-Object {Name|Length|Mode})"),
        ("$x = Get-Date; $env:A += 'b'", "(x=((Get-Date))); (env:A+=((value 'b')))"),
        ("ls > a.txt 2>&1 >> b 2>$null", "(ls >a.txt 2>&1 >>b 2>$null)"),
        ("a && b || c; d\ne &", "((a) && (b) || (c)); (d); (e) &"),
        ("& 'C:\\Program Files\\x.exe' -a", "('C:\\Program Files\\x.exe' -a)"),
        ("ls *.txt ~/x # all", "(ls <*>.txt <~>/x)"),
        ("$x.Name", "(value ${x.Name})"),
        ("'a' -eq \"b\"", "(value 'a''b')"),
        ("ls | ? { $_ } | % Name", "(ls) | (? {(value $_)}) | (% Name)"),
        ("(ls a).Count", "(value ((ls a)))"),
        ("ls |\n sort", "(ls) | (sort)"),
    ],
)
def test_a_line_of_pwsh(line: str, expected: str) -> None:
    assert sketch(parse(line, "pwsh")) == expected


@pytest.mark.parametrize(
    "line",
    [
        *("if ($x) { a }", "foreach ($x in 1) { a }", "function f { a }", "try { a } catch { b }", "while (1) { }"),
        *(
            "[IO.File]::Delete('x')",
            "$x.Delete()",
            "(ls).Delete()",
            "$x[0]",
            "@{a=1}",
            "ls @x",
            "@'\na\n'@",
            '@"\na\n"@',
        ),
        *("& { rm x }", "& (ls)", "git --% a", "<# a #> ls", "ls 'a", 'ls "a', "ls (a", "ls { a", "a |", "| a", "ls )"),
        *(
            "ls \u2018a\u2019",
            "ls \u2013Recurse",
            "echo `u{41}",
            "echo `",
            "$x = $y = [int]1",
            "'a'.ToUpper()",
            "ls < a",
        ),
        *("return 1", "param($x)", ",1", "-join 'a'", "++$x", "$x++", "$global:x:y", "echo a$(b)(c)"),
    ],
)
def test_everything_else_is_a_problem(line: str) -> None:
    assert parse(line, "pwsh").problems


def test_values_joined_by_commas_are_several_arguments() -> None:
    (statement,) = parse("Remove-Item a,'b c',$x -Force", "pwsh").body
    assert isinstance(statement.command, Simple)
    words = statement.command.words[1:]
    assert [arg.text for word in words for arg in expand(word, {}, shell="pwsh")] == ["a", "b c", None, "-Force"]


def test_windows_powershell_is_read_alike() -> None:
    assert sketch(parse("ls | sort", "powershell")) == "(ls) | (sort)"
