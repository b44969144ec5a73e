"""Faults and notes, as they are collected and shown."""

from interstellar.data.findings import Findings, fold_faults


def test_faults_alike_are_folded_and_others_are_not() -> None:
    findings = Findings()
    for line in range(1, 101):
        findings.fault("g.tsv", line, f"names 'e{line}', which the first graph does not hold.")
    findings.fault("g.tsv", 7, "has 2 columns where 3 must stand.")

    assert fold_faults(findings.faults) == [
        "g.tsv:1: names 'e1', which the first graph does not hold.",
        "g.tsv:2: names 'e2', which the first graph does not hold.",
        "g.tsv:3: names 'e3', which the first graph does not hold.",
        "g.tsv: and 97 more like it",
        "g.tsv:7: has 2 columns where 3 must stand.",
    ]


def test_what_is_recorded_cannot_command_a_terminal() -> None:
    findings = Findings()

    findings.fault("\x1b[2J.tsv", None, "has the columns \x1b]0;title\x07.")
    findings.note("a\nb")

    assert str(findings.faults[0]) == r"\x1b[2J.tsv: has the columns \x1b]0;title\x07."
    assert findings.notes == [r"a\nb"]
