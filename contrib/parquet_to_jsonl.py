#!/usr/bin/env python3
"""Parquet in, JSON Lines out: a row a line, for data sets that come as
.parquet, which stoke does not read.

    python parquet_to_jsonl.py train.parquet > train.jsonl
    python parquet_to_jsonl.py data/*.parquet -o all.jsonl --columns prompt
    python parquet_to_jsonl.py speech/*.parquet --files speech

The last writes the recordings that are in the rows into the folder `speech`,
and beside them rows.jsonl with their names: what `stoke bench serve
--dataset-name custom_audio` reads.

Needs pyarrow (`pip install pyarrow`). Rows are read in batches, so that files
larger than the memory are fine. Numbers that JSON lacks (NaN, infinities)
become null, bytes become base64, dates their ISO form.
"""

import argparse
import base64
import datetime
import decimal
import json
import math
import os
import sys

BATCH = 1024


def plain(value):
    """`value` as JSON has it."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return float(value)
    return value


ENDINGS = {b"RIFF": ".wav", b"fLaC": ".flac", b"OggS": ".ogg", b"ID3": ".mp3",
           b"\xff\xfb": ".mp3", b"\xff\xd8": ".jpg", b"\x89PNG": ".png"}


def ending(content):
    return next((e for start, e in ENDINGS.items()
                 if content.startswith(start)), ".bin")


class Files:
    """The files that a hub's Audio or Image columns hold, in a folder."""

    def __init__(self, folder):
        self.folder, self.n = folder, 0
        os.makedirs(folder, exist_ok=True)

    def write(self, content):
        self.n += 1
        name = f"{self.n:06d}{ending(content)}"
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(content)
        return name

    def moved_out(self, value):
        """`value` with names where there were files."""
        if isinstance(value, dict):
            if isinstance(value.get("bytes"), bytes):
                return self.write(value["bytes"])
            return {k: self.moved_out(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.moved_out(v) for v in value]
        return value


def convert(parquet, path, columns, limit, files, out):
    """Write at most `limit` rows (None: all); returns how many."""
    file = parquet.ParquetFile(path)
    missing = sorted(set(columns or []) - set(file.schema_arrow.names))
    if missing:
        raise SystemExit(f"{path}: no column {', '.join(missing)}; it has "
                         f"{', '.join(file.schema_arrow.names)}")
    n = 0
    for batch in file.iter_batches(batch_size=BATCH, columns=columns):
        for row in batch.to_pylist():
            if n == limit:
                return n
            if files:
                row = files.moved_out(row)
            out.write(json.dumps(plain(row), ensure_ascii=False) + "\n")
            n += 1
    return n


def arguments():
    p = argparse.ArgumentParser(
        description="Parquet in, JSON Lines out, a row a line.")
    p.add_argument("files", nargs="+", metavar="FILE.parquet")
    p.add_argument("-o", "--output", metavar="FILE",
                   help="write there, not to the standard output")
    p.add_argument("--columns", metavar="A,B",
                   type=lambda s: [c.strip() for c in s.split(",")],
                   help="only these columns")
    p.add_argument("--limit", metavar="N", type=int, help="at most N rows")
    p.add_argument("--files", metavar="DIR", dest="folder",
                   help="write pictures and recordings there, beside "
                   "rows.jsonl, which names them")
    args = p.parse_args()
    if args.folder and args.output:
        p.error("--files DIR writes DIR/rows.jsonl; leave out --output")
    return args


def main():
    args = arguments()
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        sys.exit("parquet_to_jsonl.py needs pyarrow: pip install pyarrow")
    out, files = sys.stdout, None
    if args.folder:
        files = Files(args.folder)
        args.output = os.path.join(args.folder, "rows.jsonl")
    if args.output:
        out = open(args.output, "w", encoding="utf-8")
    else:
        out.reconfigure(encoding="utf-8")
    left = args.limit
    try:
        for path in args.files:
            n = convert(parquet, path, args.columns, left, files, out)
            left = None if left is None else left - n
        out.close()
    except BrokenPipeError:
        os._exit(0)
    except (OSError, ValueError) as e:  # ArrowInvalid is a ValueError
        sys.exit(f"{path}: {e}")


if __name__ == "__main__":
    main()
