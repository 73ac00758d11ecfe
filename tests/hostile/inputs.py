"""Hostile files, and a few valid ones."""

import datetime
import decimal
import gzip
import json
import os
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
ROWS = 60


def good_table(rows=ROWS, seed=1):
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, rows))
    y = 3 * a + random.normal(size=rows)
    city = np.array(["Oslo", "Bergen"])[random.integers(0, 2, rows)]
    return pa.table({"a": a, "b": b, "city": city, "p": 3 * a, "y": y})


def text_of(table):
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return sink.getvalue().to_pybytes()


def with_cell(column, text, row=3, rows=ROWS):
    """A valid table as CSV with this text in one cell; rows count from 1."""
    lines = text_of(good_table(rows)).decode().replace('"', "").splitlines()
    cells = lines[row].split(",")
    cells[["a", "b", "city", "p", "y"].index(column)] = text
    lines[row] = ",".join(cells)
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def with_column(column, text):
    """A valid table as CSV with this text in all cells of a column."""
    lines = text_of(good_table()).decode().replace('"', "").splitlines()
    place = ["a", "b", "city", "p", "y"].index(column)
    out = [lines[0]]
    for line in lines[1:]:
        cells = line.split(",")
        cells[place] = text
        out.append(",".join(cells))
    return ("\n".join(out) + "\n").encode()


def parquet_of(table, **options):
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def with_type(array):
    """A valid table as Parquet with this column a."""
    return parquet_of(good_table().set_column(0, "a", array))


def no_row_groups():
    sink = pa.BufferOutputStream()
    parquet.ParquetWriter(sink, good_table().schema).close()
    return sink.getvalue().to_pybytes()


def tables():
    """The name and the bytes of every table."""
    good = text_of(good_table())
    plain = good.decode().replace('"', "")
    binary = parquet_of(good_table())
    n = ROWS
    return {
        "good.csv": good,
        "more.csv": text_of(good_table(seed=2)),
        "good.parquet": binary,
        "empty.csv": b"",
        "newlines.csv": b"\n\n\n",
        "header.csv": plain.splitlines()[0].encode() + b"\n",
        "one_row.csv": "\n".join(plain.splitlines()[:2]).encode() + b"\n",
        "one_column.csv": b"a\n" + b"1\n" * n,
        "short_row.csv": plain.replace("\n", "\n1,2\n", 3).encode(),
        "long_row.csv": plain.encode() + b"1,2,Oslo,3,4,5,6\n",
        "duplicate.csv": plain.replace("a,b,", "a,a,", 1).encode(),
        "bom.csv": b"\xef\xbb\xbf" + good,
        "crlf.csv": good.replace(b"\n", b"\r\n"),
        "no_last_newline.csv": good.rstrip(b"\n"),
        "nul.csv": with_cell("a", "1\x002"),
        "nul_name.csv": plain.replace("a,b,", "a\x00,b,", 1).encode(),
        "latin.csv": with_cell("city", "Troms\udcf8"),
        "latin_name.csv": plain.replace("a,b,", "a,gr\udcf6sse,", 1).encode("utf-8", "surrogateescape"),
        "huge_cell.csv": with_cell("city", "x" * (1 << 22)),
        "huge_number.csv": with_cell("a", "1" * 5000),
        "text.csv": with_cell("a", "abc"),
        "text_prediction.csv": with_cell("p", "abc"),
        "formula.csv": with_cell("city", "=1+1"),
        "all_missing.csv": with_column("a", ""),
        "missing_outcome.csv": with_cell("y", ""),
        "nan_outcome.csv": with_cell("y", "nan"),
        "infinite_outcome.csv": with_cell("y", "-inf"),
        "missing_prediction.csv": with_cell("p", "NA"),
        "infinite_prediction.csv": with_cell("p", "inf"),
        "large_feature.csv": with_cell("a", "1e39"),
        "infinite_feature.csv": with_cell("a", "inf"),
        "too_large.csv": with_cell("a", "1e400"),
        "large_outcome.csv": with_cell("y", "1e39"),
        "constant.csv": with_column("y", "5"),
        "tiny.csv": b"a,b,city,p,y\n" + b"".join(b"%d,1,Oslo,0,%d.5e-323\n" % (i, i % 2) for i in range(n)),
        "hex.csv": with_cell("a", "0x10"),
        "comma_decimal.csv": plain.replace(".", ",").encode(),
        "semicolons.csv": plain.replace(",", ";").encode(),
        "tabs.csv": plain.replace(",", "\t").encode(),
        "unclear.csv": b"a;b|c\n1;2|3\n",
        "semicolons_and_decimal_commas.csv": plain.replace(",", ";").replace(".", ",").encode(),
        "question_marks.csv": with_cell("a", "?"),
        "no_header.csv": plain.split("\n", 1)[1].replace("Oslo", "1").replace("Bergen", "2").encode(),
        "unclosed.csv": with_cell("y", '"1', row=21),
        "unclosed_header.csv": b'"' + plain.encode(),
        "swallowed.csv": with_cell("city", '"Oslo', row=5) + b'1,2,"Oslo",3,4\n',
        "garbage.csv": np.random.default_rng(0).bytes(5000),
        "garbage.parquet": np.random.default_rng(0).bytes(5000),
        "garbage.csv.gz": np.random.default_rng(0).bytes(5000),
        "good.csv.gz": gzip.compress(good),
        "cut.csv.gz": gzip.compress(good)[:-200],
        "empty.parquet": b"",
        "magic.parquet": b"PAR1PAR1",
        "cut.parquet": binary[: len(binary) // 2],
        "csv.parquet": good,
        "parquet.csv": binary,
        "no_row_groups.parquet": no_row_groups(),
        "no_rows.parquet": parquet_of(good_table().slice(0, 0)),
        "no_columns.parquet": parquet_of(pa.table({})),
        "duplicate.parquet": parquet_of(good_table().rename_columns(["a", "a", "city", "p", "y"])),
        "list.parquet": with_type(pa.array([[1.0]] * n)),
        "struct.parquet": with_type(pa.array([{"x": 1.0}] * n)),
        "decimal.parquet": with_type(pa.array([decimal.Decimal("1.5")] * n)),
        "date.parquet": with_type(pa.array([datetime.date(2020, 1, 1)] * n)),
        "timestamp.parquet": with_type(pa.array([datetime.datetime(2020, 1, 1)] * n)),
        "dictionary.parquet": with_type(pa.array(["x"] * n).dictionary_encode()),
        "booleans.parquet": with_type(pa.array([True] * n)),
        "nulls.parquet": with_type(pa.nulls(n)),
        "halves.parquet": with_type(pa.array(np.ones(n, dtype=np.float16))),
        "unsigned.parquet": with_type(pa.array(np.full(n, 2**64 - 1, dtype=np.uint64))),
        "binary.parquet": with_type(pa.array([b"\xff"] * n)),
        "large.parquet": with_type(pa.array([1e39] * n)),
        "table.xlsx": b"PK\x03\x04",
        "table": good,
    }


def odd_files(folder):
    """Names that are not regular files."""
    (folder / "folder.csv").mkdir()
    (folder / "folder.safetensors").mkdir()
    for name in ("loop.csv", "loop.safetensors"):
        os.symlink(name, folder / name)
    os.symlink("nowhere.csv", folder / "dangling.csv")
    os.mkfifo(folder / "pipe.csv")
    os.symlink("/dev/null", folder / "device.csv")
    os.symlink("/dev/null", folder / "device.safetensors")


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def models(model, part):
    """Damaged variants of a model file, and other files in its place."""
    length = struct.unpack("<Q", model[:8])[0]
    header = json.loads(model[8 : 8 + length])
    changed = json.loads(json.dumps(header))
    changed["__metadata__"]["format"] = "99"
    stranger = {"__metadata__": {}, "x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    middle = 8 + length + (len(model) - 8 - length) // 2
    return {
        "none.safetensors": b"",
        "zeros.safetensors": bytes(10_000),
        "seven.safetensors": model[:7],
        "eight.safetensors": model[:8],
        "cut_in_header.safetensors": model[: 8 + length // 2],
        "cut_after_header.safetensors": model[: 8 + length],
        "cut_in_arrays.safetensors": model[:middle],
        "cut_by_one.safetensors": model[:-1],
        "one_more.safetensors": model + b"\0",
        "twice.safetensors": model + model,
        "flipped.safetensors": model[:middle] + bytes([model[middle] ^ 1]) + model[middle + 1 :],
        "long_header.safetensors": struct.pack("<Q", 2**63) + model[8:],
        "newer.safetensors": safetensors(changed, model[8 + length :]),
        "json.safetensors": b'{"a": 1}' * 20,
        "deep.safetensors": safetensors(b"[" * 50_000),
        "stranger.safetensors": safetensors(stranger, b"\0\0\0\0"),
        "dtype.safetensors": safetensors({"x": {"dtype": "Q3", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
        "overlap.safetensors": safetensors(
            {name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for name in "xy"}, bytes(4)
        ),
        "negative.safetensors": safetensors({"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)),
        "not_utf8.safetensors": safetensors(b'{"\xff": 1}'),
        "part.safetensors": part,
        "text.safetensors": b"not a model\n",
        "table.safetensors": text_of(good_table()),
        "parquet.safetensors": parquet_of(good_table()),
        "pickle.safetensors": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01e.",
    }
