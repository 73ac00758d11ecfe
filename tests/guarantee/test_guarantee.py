"""The coverage of every interface follows its exact law."""

import pytest
from checks import CHECKS, THRESHOLD


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_coverage_follows_its_law(check):
    findings = check.run()
    for finding in findings:
        print(finding)
    surprising = [str(finding) for finding in findings if finding.p_value < THRESHOLD]
    assert not surprising, "\n".join(surprising)
