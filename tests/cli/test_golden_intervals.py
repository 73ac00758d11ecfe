"""The intervals of the golden models keep every bit."""

import csv
import math
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent / "golden"
RECORDED = GOLDEN / "intervals.csv"
LEVELS = ("0.3", "0.8", "0.9", "0.975")


def rows():
    """Rows with every column that a golden model reads, some of them missing."""
    for i in range(24):
        yield {
            "age": f"{math.sin(1.7 * i) * 3:.3f}",
            "rooms": "" if i % 11 == 5 else f"{(i % 7) - 2.5}",
            "größe": f"{math.cos(0.9 * i) * 2:.3f}",
            "rooms_label": ["eins", '"zwei"', "größe"][i % 3],
            "größe_label": f"c{(5 * i) % 40}",
            "q05": f"{-1 + 0.1 * i:.2f}",
            "größtes": f"{2 + 0.05 * i:.2f}",
            "bezirk": ["Nord", "Süd", "7", "fremd", ""][i % 5],
            "haus": f"Haus {i % 4}",
            "gewicht": f"{0.5 + i % 7}",
        }


def write_table(file, categorical):
    columns = ["age", "größe", "rooms", "q05", "größtes", "bezirk", "haus", "gewicht"]
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        for row in rows():
            names = {"größe": "größe_label", "rooms": "rooms_label"} if categorical else {}
            writer.writerow([row[names.get(name, name)] for name in columns])


def intervals_of(program, model):
    """The printed bounds, which read back as the same bits."""
    categorical = bool(program.ok("inspect", model, "--json").json["categories"])
    table = program.folder / f"{model.stem}.csv"
    write_table(table, categorical)
    levels = [argument for level in LEVELS for argument in ("--level", level)]
    done = program("predict", model, table, "-o", f"{model.stem}-out.csv", *levels)  # warns of groups without rows
    assert done.code == 0, done
    with (program.folder / f"{model.stem}-out.csv").open(encoding="utf-8") as stream:
        found = list(csv.DictReader(stream))
    bounds = [name for name in found[0] if name.startswith(("lower", "upper"))]
    return [[model.stem, str(i), name, row[name]] for i, row in enumerate(found) for name in bounds]


@pytest.mark.parametrize("model", sorted(GOLDEN.glob("model-*.safetensors")), ids=lambda file: file.stem)
def test_intervals_have_the_same_bits(widthwise, model):
    with RECORDED.open(encoding="utf-8") as stream:
        recorded = [line for line in csv.reader(stream) if line[0] == model.stem]
    assert recorded, f"record the intervals of {model.name} in {RECORDED}"
    assert intervals_of(widthwise, model) == recorded
