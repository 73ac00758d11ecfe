"""Every planted fault is caught by its check."""

import dataclasses

import pytest
from adapters import Cpp
from checks import FULL
from faults import BEGIN, CHECK_OF, END, FAULTS, README, table


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault):
    assert fault.caught, [str(finding) for finding in fault.findings]
    print(f"{fault.name}: {fault.caught}")


@pytest.mark.parametrize("name", sorted({fault.check for fault in FAULTS if isinstance(fault.adapter, Cpp)}))
def test_the_copy_without_a_fault_is_the_library(name):
    check = CHECK_OF[name]
    assert check.run(dataclasses.replace(check.adapter, fault="")) == check.run()


@pytest.mark.skipif(FULL, reason="the table holds numbers of the short form")
def test_the_table_of_faults_is_up_to_date():
    found = README.read_text().split(BEGIN)[1].split(END)[0].strip()
    assert found == table().strip(), "run python tests/guarantee/faults.py to write the table"
