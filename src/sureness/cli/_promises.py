"""How commands show what became of the promise of lists."""

from __future__ import annotations

from sureness.cli._console import print_table
from sureness.recommender.promises import KeptPromise
from sureness.report.formatting import ratio


def show_promise(kept: KeptPromise) -> None:
    """Two tables: promised against realised hits of shown items by rank, and by probability."""
    tables = (("rank", kept.by_rank), ("probability", kept.by_probability))
    cut = "is a later period of its own" if kept.by_time else "was not cut by time"
    caption = (
        f"A hit: an item that is {kept.of}. The test {cut}. Below 1 lists promise too much, above 1 too little; 95% "
        "intervals over users."
    )
    for by, table in tables:
        rows = [
            (next(iter(row.values())), row["shown"], f"{row['promised']:,.1f}", row["realised"], ratio(row))
            for row in table.iter_rows(named=True)
        ]
        header = [by, "shown", "promised hits", "realised hits", "realised / promised"]
        print_table(f"Promised and realised hits by {by}", header, rows, caption if by == "probability" else None)
