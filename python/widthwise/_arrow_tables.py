"""Tables of the command `widthwise`, decoded and encoded by pyarrow.

python/src/command/arrow_tables.cpp calls these functions and classes, and src/io decides what to do with the rows. Everything
here exists in pyarrow 17.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyarrow import csv

from ._core import can_start_threads

# Arrow waits indefinitely if it cannot start a thread. These numbers are fixed before Arrow starts any: a CSV file is
# read by one thread, which waits for the disk, and decoded by another.
CSV_THREADS = 2
COLUMN_BYTES = 1 << 18  # of each column of a Parquet file to read ahead, independent of the size of a row group


class Source(io.RawIOBase):
    """The bytes of a file that C++ reads, after some that have been read already."""

    def __init__(self, read: Callable[[int], bytes], first: bytes = b""):
        self._read = read
        self._first = first

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._first:
            taken, self._first = self._first[:size], self._first[size:]
            return taken
        return self._read(size)


class Sink(io.RawIOBase):
    """A file that C++ writes."""

    def __init__(self, write: Callable[[bytes], None]):
        self._write = write

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._write(bytes(content))
        return len(content)


def gunzip_stream(read: Callable[[int], bytes]) -> Any:
    return pa.CompressedInputStream(pa.PythonFile(Source(read), mode="r"), "gzip")


def gzip_stream(write: Callable[[bytes], None]) -> Any:
    return pa.CompressedOutputStream(pa.PythonFile(Sink(write), mode="w"), "gzip")


# ---- columns


def select_fields(schema: Any, places: Sequence[int]) -> Any:
    return pa.schema([schema.field(place) for place in places])


def select_columns(batch: Any, places: Sequence[int]) -> Any:
    columns = [batch.column(place) for place in places]
    return pa.RecordBatch.from_arrays(columns, schema=select_fields(batch.schema, places))


def numeric(column: Any) -> Any:
    """Decimals in double precision."""
    return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column


def printable_type(kind: Any) -> Any:
    """The type to which a column is converted before printing. Half precision is exact in single precision."""
    types = pa.types
    if types.is_dictionary(kind):
        return printable_type(kind.value_type)
    if types.is_float16(kind):
        return pa.float32()
    plain = (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
        or kind in (pa.binary(), pa.utf8(), pa.large_binary(), pa.large_utf8(), pa.binary_view(), pa.string_view())
    )
    return kind if plain else pa.utf8()


def printable(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    wanted = printable_type(column.type)
    return column if wanted == column.type else column.cast(wanted)


def is_printable(schema: Any, column: int) -> bool:
    try:
        printable(pa.nulls(0, schema.field(column).type))
    except pa.ArrowNotImplementedError:
        return False
    return True


def imported(array: int, schema: int) -> Any:
    """Take over an array that C++ made."""
    return pa.Array._import_from_c(array, schema)


# ---- threads


@functools.cache
def start_csv_threads() -> None:
    """Let Arrow start the threads that read CSV files, once; they exist until the process ends."""
    if not can_start_threads(CSV_THREADS):
        raise RuntimeError(
            f"cannot start the {CSV_THREADS} threads that read CSV files; raise the limit of processes (ulimit -u, or that "
            "of the container) or of memory, or read a Parquet file"
        )
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    csv.open_csv(io.BytesIO(b"a\n"), csv.ReadOptions(use_threads=False)).close()


# ---- CSV


def whole(read: Callable[[int], bytes], size: int) -> bytes:
    """The next bytes of a file, all that were asked for unless the file ends."""
    parts = []
    while size > 0 and (part := read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class CsvBlocks:
    """Blocks of a CSV file, with all cells as bytes. Rows that Arrow refuses are added to `ragged`."""

    def __init__(
        self,
        read: Callable[[int], bytes],
        separator: str,
        block_bytes: int,
        columns: Sequence[str],
        ahead: bool,
        ragged: list[tuple[int, int, int]],
    ):
        def refuse(row: Any) -> str:
            ragged.append((row.number or 0, row.expected_columns, row.actual_columns))
            return "error"

        start_csv_threads()
        reading = csv.ReadOptions(use_threads=False, block_size=block_bytes)
        first = b""
        if not columns:
            # Only later versions have a type for all columns, so their names are read first, without the rows.
            first = whole(read, block_bytes)
            options = csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, invalid_row_handler=lambda row: "skip"
            )
            columns = csv.open_csv(io.BytesIO(first), reading, options).schema.names
        self._reader = csv.open_csv(
            Source(read, first),
            reading,
            csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=refuse),
            csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.binary()), include_columns=columns),
        )
        self.schema = self._reader.schema
        self._pool = ThreadPoolExecutor(1) if ahead else None
        self._next: Future[Any] | None = None

    def _read(self) -> Any:
        try:
            return self._reader.read_next_batch()
        except StopIteration:
            return None

    def next(self) -> Any:
        """The next block, None at the end. The one after it is parsed while the caller processes this one."""
        block = self._next.result() if self._next else self._read()
        self._next = self._start() if self._pool and block is not None else None
        return block

    def _start(self) -> Future[Any] | None:
        try:
            return self._pool.submit(self._read) if self._pool else None
        except RuntimeError:  # the system allows no further thread
            self._pool = None
            return None


# ---- Parquet


class ParquetBlocks:
    def __init__(self, schema: Any, batches: Any):
        self.schema = schema
        self._batches = batches

    def next(self) -> Any:
        batch = next(self._batches, None)
        if batch is not None:
            # The columns of a damaged file may have different lengths, or refer to bytes outside their own.
            batch.validate(full=True)
            if batch.schema.names != self.schema.names:
                raise pa.ArrowInvalid("the columns do not match the schema of the file")
        return batch


class ParquetFile:
    def __init__(self, file: bytes, batch_rows: int, threads: bool):
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(
            pa.OSFile(file, "rb"), buffer_size=COLUMN_BYTES, pre_buffer=False, page_checksum_verification=True
        )
        self._options = {
            "batch_size": min(batch_rows, 2**31 - 1),
            "use_threads": threads and can_start_threads(pa.cpu_count()),
        }
        metadata = self._file.metadata
        self.schema = self._file.schema_arrow
        self.rows = metadata.num_rows
        self.rows_of_groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def read(self, first: int, count: int, columns: Sequence[int]) -> ParquetBlocks:
        schema = select_fields(self.schema, columns)
        groups = list(range(first, first + count))
        batches = self._file.iter_batches(row_groups=groups, columns=schema.names, **self._options)
        return ParquetBlocks(schema, batches)


class ParquetOutput:
    """Writes row groups of a given number of rows, or fewer if they take more memory than a given number of bytes."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        carried: Any,
        replaced: Sequence[str | None],
        added: Sequence[str],
        group_rows: int,
        group_bytes: int,
    ):
        import pyarrow.parquet as pq

        fields = [
            field if kind is None else field.with_type(pa.type_for_alias(kind))
            for field, kind in zip(carried, replaced, strict=True)
        ]
        self._schema = pa.schema([*fields, *(pa.field(name, pa.float64()) for name in added)])
        self._replaced = replaced
        self._group_rows, self._group_bytes = group_rows, group_bytes
        self._batches: list[Any] = []
        self._rows = self._bytes = 0
        self._writer = pq.ParquetWriter(
            pa.PythonFile(Sink(write), mode="w"),
            self._schema,
            compression="zstd",
            # Measurements rarely repeat: a dictionary would take most of the time and save no bytes.
            use_dictionary=[field.name for field in self._schema if not pa.types.is_floating(field.type)],
            write_page_checksum=True,
        )

    def write(self, carried: Any, replaced: Sequence[Any], added: Sequence[Any]) -> None:
        new = iter(replaced)
        columns = [
            column if kind is None else next(new) for column, kind in zip(carried.columns, self._replaced, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays([*columns, *added], schema=self._schema)
        if self._batches and self._bytes + batch.nbytes > self._group_bytes:
            self._write_group(self._rows)
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        while self._rows >= self._group_rows:
            self._write_group(self._group_rows)

    def _write_group(self, rows: int) -> None:
        table = pa.Table.from_batches(self._batches, schema=self._schema)
        self._writer.write_table(table.slice(0, rows), row_group_size=self._group_rows)
        rest = table.slice(rows)
        self._batches = rest.to_batches() if rest.num_rows > 0 else []
        self._rows, self._bytes = rest.num_rows, rest.nbytes

    def close(self) -> None:
        if self._rows > 0:
            self._write_group(self._rows)
        self._writer.close()
