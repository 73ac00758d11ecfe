"""The table of checked paths in docs/mathematics.md is that of the checks."""

from checks import ALL_CHECKS
from paths import BEGIN, DOCUMENT, END, PATHS, path_of, table, unmatched


def test_every_check_belongs_to_a_path_and_every_path_has_a_check():
    assert {path_of(check) for check in ALL_CHECKS} == {path for path, _, _ in PATHS}
    assert not unmatched()


def test_the_table_of_paths_is_up_to_date():
    found = DOCUMENT.read_text().split(BEGIN)[1].split(END)[0].strip()
    assert found == table().strip(), "run python tests/guarantee/paths.py to write the table"
