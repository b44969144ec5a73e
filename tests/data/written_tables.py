"""Tables as they stand in files that were written."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet


def read_table(path: Path) -> pa.Table:
    """Read back a table with a header; from text all columns are strings."""
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    is_csv = path.suffix == ".csv"
    cutting = pyarrow.csv.ParseOptions(
        delimiter="," if is_csv else "\t",
        quote_char='"' if is_csv else False,
        newlines_in_values=is_csv,
    )
    names = pyarrow.csv.open_csv(path, parse_options=cutting).schema.names
    as_text = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    return pyarrow.csv.read_csv(path, parse_options=cutting, convert_options=as_text)
