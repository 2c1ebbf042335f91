"""Odd and damaged text tables from a seeded generator; each knows its true table, or that it has none.

A file is read rightly, or refused with the line or the option that settles it; anything else is a failure.
"""

from __future__ import annotations

import gzip
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sureness.data.interactions import Interactions
from sureness.data.scored_pairs import stream_pairs
from sureness.errors import SurenessError, SurenessWarning
from sureness.tables.columns import Columns
from sureness.tables.reading import count_rows, require_columns, scan_table
from tests.attacks.outcome import Outcome

FAILURE = "read wrongly, refused without naming the line or the option, a traceback, or refused although all was said"
NAMES = ("user_id", "item_id", "score", "label")
_NAMED = re.compile(r"\bline [0-9][0-9,]*\b|\bColumns\([a-z_]+=|is empty|no rows")

Rows = list[list[str]]


@dataclass(frozen=True)
class OddFile:
    """A file, what is true about it, and the options with which it can be read."""

    kind: str
    content: bytes
    truth: list[tuple[str, str, float, bool]] | None  # None: it must be refused
    options: dict[str, Any] = field(default_factory=dict)  # that settle it; empty: it needs none
    name: str = "table.csv"
    silent: bool = True  # whether it may be read without options
    settled: bool = True  # whether it must be read with its options
    times: list[int] | None = None  # in microseconds


@dataclass(frozen=True)
class Written:
    """How a table is written."""

    separator: str = ","
    end: str = "\n"
    encoding: str = "utf-8"
    quote_all: bool = False
    number: Callable[[float], str] = repr
    header: tuple[str, ...] = NAMES
    last_end: bool = True

    def text(self, rows: Rows, header: bool = True) -> str:
        lines = [self.separator.join(map(self.cell, row)) for row in ([list(self.header)] if header else []) + rows]
        return self.end.join(lines) + (self.end if self.last_end else "")

    def bytes(self, rows: Rows, header: bool = True) -> bytes:
        return self.text(rows, header).encode(self.encoding)

    def cell(self, value: str) -> str:
        odd = any(letter in value for letter in (self.separator, '"', "\n", "\r"))
        return '"' + value.replace('"', '""') + '"' if odd or self.quote_all else value


def truth_of(rows: Rows, scores: Iterable[float]) -> list[tuple[str, str, float, bool]]:
    return [(row[0], row[1], score, row[3] == "1") for row, score in zip(rows, scores, strict=True)]


@dataclass
class Maker:
    """Makes files of every kind from one generator of random numbers."""

    rng: np.random.Generator

    def table(self, text_ids: bool | None = None, digits: int = 6) -> tuple[Rows, list[float]]:
        """Rows of text with plain numbers, and their scores; no pair occurs twice."""
        n_rows = int(self.rng.integers(3, 40))
        pool = np.array(["ann", "bob", "Zoë", "Ünal", "d'Arc", "x y", "o'Neil", "carl", "eva", "fay"])
        as_text = self.rng.random() < 0.5 if text_ids is None else text_ids
        users = self.rng.choice(pool, n_rows) if as_text else self.rng.integers(1, 30, n_rows).astype(str)
        items = np.arange(n_rows) + int(self.rng.integers(1, 1000))
        scores = [round(float(x), digits) for x in self.rng.normal(0, 3, n_rows)]
        labels = self.rng.integers(0, 2, n_rows)
        rows = [[str(u), str(i), repr(s), str(y)] for u, i, s, y in zip(users, items, scores, labels, strict=True)]
        return rows, scores

    def at(self, rows: Rows) -> int:
        """A row somewhere."""
        return int(self.rng.integers(len(rows)))

    def pick(self, values: Iterable[Any]) -> Any:
        every = list(values)
        return every[int(self.rng.integers(len(every)))]

    def file(self, kind: str, rows: Rows, scores: Iterable[float], how: Written, **other: Any) -> OddFile:
        return OddFile(kind, other.pop("content", None) or how.bytes(rows), truth_of(rows, scores), **other)


def _separated(make: Maker) -> OddFile:
    rows, scores = make.table()
    word, mark = make.pick([("semicolon", ";"), ("tab", "\t"), ("pipe", "|")])
    name = make.pick(["table.csv", "table.txt", "table.tsv"])
    return make.file("separator", rows, scores, Written(separator=mark), options={"separator": word}, name=name)


def _other_separator(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=False)
    mark = make.pick([" ", "~", "^", ":"])
    return make.file("rare separator", rows, scores, Written(separator=mark), options={"separator": mark}, silent=False)


def _two_separators(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=False)
    header = ("user_id", "item_id", "score", "label", "a;b")
    rows = [[*row, f"{row[0]};{row[1]}"] for row in rows]
    return make.file("two possible separators", rows, scores, Written(header=header), options={"separator": "comma"})


def _plain_text(make: Maker) -> OddFile:
    rows, scores = make.table()
    return make.file("plain", rows, scores, Written(), name=make.pick(["t.csv", "t.txt", "T.CSV"]))


def _line_ends(make: Maker) -> OddFile:
    rows, scores = make.table()
    how = Written(end=make.pick(["\r\n", "\r", "\n"]), last_end=make.rng.random() < 0.5)
    return make.file("line ends", rows, scores, how)


def _mixed_ends(make: Maker) -> OddFile:
    rows, scores = make.table()
    lines = Written().text(rows).split("\n")[:-1]
    at = make.at(lines)
    other = make.pick(["\r\n", "\r"])
    content = "".join(line + (other if number == at else "\n") for number, line in enumerate(lines)).encode()
    return make.file("mixed line ends", rows, scores, Written(), content=content, settled=False)


def _encoded(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=True)
    rows[0][0] = "Zoë"
    encoding = make.pick(["cp1252", "latin-1", "cp1250", "iso8859-15", "mac-roman"])
    how = Written(encoding=encoding)
    return make.file("8-bit encoding", rows, scores, how, options={"encoding": encoding}, silent=False)


def _utf16(make: Maker) -> OddFile:
    rows, scores = make.table()
    encoding = make.pick(["utf-16", "utf-16-le", "utf-16-be"])
    end = make.pick(["\n", "\r\n"])
    how = Written(encoding=encoding, end=end, separator=make.pick([",", ";", "\t"]))
    return make.file("UTF-16", rows, scores, how, options={"encoding": encoding})


def _marked(make: Maker) -> OddFile:
    rows, scores = make.table()
    return make.file("byte order mark", rows, scores, Written(encoding="utf-8-sig", quote_all=make.rng.random() < 0.5))


def _packed(make: Maker) -> OddFile:
    rows, scores = make.table()
    how = Written(separator=make.pick([",", ";"]), end=make.pick(["\n", "\r\n"]))
    content = gzip.compress(how.bytes(rows), mtime=0)
    return make.file("gzip", rows, scores, how, content=content, name="table.csv.gz")


def _commas(value: float) -> str:
    return repr(value).replace(".", ",")


def _decimal_commas(make: Maker) -> OddFile:
    rows, scores = make.table(digits=make.pick([1, 2, 4, 6]))
    rows = [[user, item, _commas(score), label] for (user, item, _, label), score in zip(rows, scores, strict=True)]
    how = Written(separator=make.pick([";", "\t", ","]), quote_all=make.rng.random() < 0.3)
    return make.file("decimal commas", rows, scores, how, options={"decimal": "comma"})


def _three_decimals(make: Maker) -> OddFile:
    rows, _ = make.table()
    scores = [float(f"{make.rng.integers(1, 9)}.{make.rng.integers(100, 999)}") for _ in rows]
    mark, decimal = make.pick([(",", "comma"), (".", "comma"), (",", "point")])
    texts = [f"{score:.3f}".replace(".", mark) for score in scores]
    if (mark, decimal) != (",", "comma"):  # then it is one of thousands
        scores = [float(text.replace(mark, "")) for text in texts]
    rows = [[user, item, text, label] for (user, item, _, label), text in zip(rows, texts, strict=True)]
    how = Written(separator=";")
    return make.file("1,234", rows, scores, how, options={"decimal": decimal}, silent=False)


def _thousands(make: Maker) -> OddFile:
    rows, _ = make.table()
    scores = [float(make.rng.integers(1_000_000, 9_999_999)) + 0.5 for _ in rows]
    comma = make.rng.random() < 0.5
    texts = [f"{score:,.1f}" for score in scores]
    texts = [text.translate(str.maketrans(",.", ".,")) for text in texts] if comma else texts
    rows = [[user, item, text, label] for (user, item, _, label), text in zip(rows, texts, strict=True)]
    how = Written(separator=make.pick([";", ",", "\t"]))
    return make.file("thousands", rows, scores, how, options={"decimal": "comma" if comma else "point"})


def _scientific(make: Maker) -> OddFile:
    rows, scores = make.table()
    comma = make.rng.random() < 0.6
    texts = [f"{score:.6e}" for score in scores]
    scores = [float(text) for text in texts]
    texts = [text.replace(".", ",") if comma else text.upper() for text in texts]
    rows = [[user, item, text, label] for (user, item, _, label), text in zip(rows, texts, strict=True)]
    how = Written(separator=";" if comma else ",")
    return make.file("scientific", rows, scores, how, options={"decimal": "comma"} if comma else {})


def _mixed_decimals(make: Maker) -> OddFile:
    rows, scores = make.table()
    at = make.at(rows)
    rows[at][2] = "0,5"
    scores[at] = 0.5
    for row in range(len(rows)):
        if row != at:
            rows[row][2], scores[row] = "1.75", 1.75
    return replace(make.file("mixed decimals", rows, scores, Written(separator=";")), truth=None)


def _quoted(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=True)
    odd = ['say "hi"', "a,b", "two\nlines", '"', ",", "end,", "x\r\ny", '""']
    for _ in range(3):
        rows[make.at(rows)][0] = make.pick(odd)
    how = Written(quote_all=make.rng.random() < 0.5, end=make.pick(["\n", "\r\n"]))
    return make.file("quotes", rows, scores, how)


def _long_text(make: Maker) -> OddFile:
    rows, scores = make.table()
    notes = ["fine", "", 'a "quoted" word', "first\n\nthird", "one, two", "# no comment", "\n"]
    rows = [[*row, make.pick(notes)] for row in rows]
    return make.file("text column", rows, scores, Written(header=(*NAMES, "note")))


def _single_quotes(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=False)
    rows[0][0] = "a,b"
    rows = [[f"'{value}'" for value in row] for row in rows]
    content = (",".join(NAMES) + "\n" + "".join(",".join(row) + "\n" for row in rows)).encode()
    true = [[value.strip("'") for value in row] for row in rows]
    return make.file("single quotes", true, scores, Written(), content=content, options={"quote": "single"},
                     silent=False)  # fmt: skip


def _inches(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=True)
    rows[make.at(rows)][0] = make.pick(['5" nail', '"', 'a"b', '12"'])
    content = (",".join(NAMES) + "\n" + "".join(",".join(row) + "\n" for row in rows)).encode()
    return make.file("quotes as letters", rows, scores, Written(), content=content, options={"quote": "none"},
                     silent=False)  # fmt: skip


def _open_quote(make: Maker) -> OddFile:
    rows, _ = make.table()
    lines = Written(quote_all=make.rng.random() < 0.5).text(rows).split("\n")
    for _ in range(int(make.pick([1, 1, 2]))):
        at = 1 + make.at(rows)
        fields = lines[at].split(",")
        place = int(make.rng.integers(len(fields)))
        fields[place] = fields[place][:-1] if fields[place].endswith('"') else f'"{fields[place]}'
        lines[at] = ",".join(fields)
    return OddFile("open quote", "\n".join(lines).encode(), None)


def _behind_quote(make: Maker) -> OddFile:
    rows, _ = make.table()
    lines = Written(quote_all=True).text(rows).split("\n")
    at = 1 + make.at(rows)
    lines[at] = lines[at].replace('",', make.pick(['"x,', '" ,', '"",']), 1)
    return OddFile("something behind a quote", "\n".join(lines).encode(), None)


def _ragged(make: Maker) -> OddFile:
    rows, _ = make.table()
    for change in make.pick([["short"], ["long"], ["short", "long"], ["long", "short"], ["short"] * 3]):
        at = make.at(rows)
        rows[at] = rows[at][:-1] if change == "short" and len(rows[at]) > 1 else [*rows[at], "7"]
    if all(len(row) == len(NAMES) for row in rows):  # one was made longer, then shorter
        rows[0] = rows[0][:-1]
    return OddFile("ragged lines", Written().bytes(rows), None)


def _merged(make: Maker) -> OddFile:
    rows, _ = make.table()
    lines = Written().text(rows).split("\n")
    at = int(make.rng.integers(len(rows)))
    lines[at] += lines.pop(at + 1) if make.rng.random() < 0.5 else "," + lines.pop(at + 1)
    return OddFile("two lines in one", "\n".join(lines).encode(), None)


def _split_line(make: Maker) -> OddFile:
    rows, _ = make.table()
    lines = Written().text(rows).split("\n")
    at = 1 + make.at(rows)
    place = lines[at].index(",")
    lines[at : at + 1] = [lines[at][:place], lines[at][place + 1 :]]
    return OddFile("a line in two", "\n".join(lines).encode(), None)


def _cut(make: Maker) -> OddFile:
    rows, _ = make.table()
    text = Written().text(rows)
    return OddFile("cut", text[: text.rindex(",", 0, text.rindex(","))].encode(), None)


def _changed_separator(make: Maker) -> OddFile:
    rows, _ = make.table(text_ids=False)
    lines = Written().text(rows).split("\n")
    at = 1 + make.at(rows)
    lines[at] = lines[at].replace(",", make.pick([";", "\t"]))
    return OddFile("one line with another separator", "\n".join(lines).encode(), None)


def _no_header(make: Maker) -> OddFile:
    rows, scores = make.table()
    how = Written(separator=make.pick([",", ";"]))
    return make.file("no header", rows, scores, how, content=how.bytes(rows, header=False), silent=False,
                     options={"header": ",".join(NAMES)})  # fmt: skip


def _twice(make: Maker) -> OddFile:
    rows, _ = make.table()
    rows = [[*row, "0.25"] for row in rows]
    return OddFile("column twice", Written(header=(*NAMES, make.pick(NAMES))).bytes(rows), None)


def _other_case(make: Maker) -> OddFile:
    rows, scores = make.table()
    header = make.pick([("User_ID", "item_id", "score", "label"), ("user_id", "ITEM_ID", "SCORE", "label")])
    options = {ours: theirs for ours, theirs in zip(NAMES, header, strict=True) if ours != theirs}
    return make.file("names in another case", rows, scores, Written(header=header), options=options, silent=False)


def _spaced_names(make: Maker) -> OddFile:
    rows, scores = make.table()
    header = tuple(make.pick([f" {name}", f"{name} ", f"  {name} ", name]) for name in NAMES)
    return make.file("spaces around names", rows, scores, Written(header=header))


def _spaced_values(make: Maker) -> OddFile:
    rows, scores = make.table()
    spaced = [[make.pick([f" {value}", f"{value} ", value, f" {value}  "]) for value in row] for row in rows]
    content = Written(end=make.pick(["\n", "\r\n"])).bytes(spaced)
    return make.file("spaces around values", rows, scores, Written(), content=content)


def _blank_lines(make: Maker) -> OddFile:
    rows, scores = make.table()
    end = make.pick(["\n", "\r\n"])
    lines = Written(end=end).text(rows).split(end)
    for _ in range(int(make.rng.integers(1, 5))):
        lines.insert(int(make.rng.integers(len(lines) + 1)), make.pick(["", "", "   ", "\t"]))
    return make.file("blank lines", rows, scores, Written(), content=end.join(lines).encode())


def _trailing(make: Maker) -> OddFile:
    rows, scores = make.table()
    n_more = int(make.rng.integers(1, 3))
    rows = [[*row, *[""] * n_more] for row in rows]
    return make.file("trailing separators", rows, scores, Written(header=(*NAMES, *[""] * n_more)))


def _trailing_rows(make: Maker) -> OddFile:
    rows, scores = make.table()
    content = Written().bytes([[*row, ""] for row in rows])
    return make.file("separators behind rows only", rows, scores, Written(), content=content, settled=False)


def _indexed(make: Maker) -> OddFile:
    rows, scores = make.table()
    content = Written(header=("", *NAMES)).bytes([[str(number), *row] for number, row in enumerate(rows)])
    return make.file("index without a name", rows, scores, Written(), content=content)


def _comments(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=False)
    lines = Written().text(rows).split("\n")[:-1]
    words = ["# made by hand", "#1,2,3,4", '# "open', "#"]
    for _ in range(int(make.rng.integers(1, 4))):
        lines.insert(int(make.rng.integers(len(lines) + 1)), make.pick(words))
    content = ("\n".join(lines) + "\n").encode()
    return make.file("comments", rows, scores, Written(), content=content, options={"comment": "#"}, silent=False)


def _hash_ids(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=False)
    n_marked = make.pick([1, 2, len(rows)])  # some of them could be comments, all of them not
    rows = [[f"#{row[0]}" if number < n_marked else row[0], *row[1:]] for number, row in enumerate(rows)]
    return make.file("ids with #", rows, scores, Written(), options={"comment": "none"}, silent=n_marked == len(rows))


def _preamble(make: Maker) -> OddFile:
    rows, scores = make.table()
    lines = [make.pick(["Sales report", "created, 2024", "a;b;c;d;e", ""]) for _ in range(int(make.rng.integers(1, 4)))]
    content = ("\n".join(lines) + "\n").encode() + Written().bytes(rows)
    return make.file("lines before the header", rows, scores, Written(), content=content,
                     options={"skip_lines": len(lines)})  # fmt: skip


def _declared(make: Maker) -> OddFile:
    rows, scores = make.table()
    mark = make.pick([";", "|", "~"])
    content = f"sep={mark}\n".encode() + Written(separator=mark).bytes(rows)
    return make.file("sep= line", rows, scores, Written(), content=content)


def _zero_bytes(make: Maker) -> OddFile:
    rows, _ = make.table()
    content = bytearray(Written().bytes(rows))
    place = int(make.rng.integers(len(content)))
    content[place:place] = bytes(int(make.rng.integers(1, 9)))
    return OddFile("zero bytes", bytes(content), None)


def _bad_bytes(make: Maker) -> OddFile:
    rows, _ = make.table(text_ids=False)
    content = bytearray(Written().bytes(rows))
    place = int(make.rng.integers(len(content)))
    content[place:place] = make.pick([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x80"])
    return OddFile("bytes that are no text", bytes(content), None)


def _bad_number(make: Maker) -> OddFile:
    rows, _ = make.table()
    words = ["high", "12%", "3.5 kg", "$4", "1.2.3", "1e", "--1", "NA", "NULL", "?", "1 000", "0x1F", "½", "1_0", "1;5"]
    rows[make.at(rows)][2] = make.pick(words)
    return OddFile("a value that is no number", Written().bytes(rows), None)


def _units(make: Maker) -> OddFile:
    rows, _ = make.table()
    unit = make.pick(["%", " kg", "€", " points"])
    return OddFile("numbers with units", Written().bytes([[u, i, s + unit, y] for u, i, s, y in rows]), None)


def _empty_value(make: Maker) -> OddFile:
    rows, _ = make.table()
    rows[make.at(rows)][make.pick([0, 2, 3])] = ""
    return OddFile("an empty value", Written().bytes(rows), None)


def _words(make: Maker) -> OddFile:
    rows, scores = make.table()
    no, yes = make.pick([("false", "true"), ("False", "True"), ("no", "yes"), ("NO", "YES")])
    said = [[user, item, score, yes if label == "1" else no] for user, item, score, label in rows]
    return make.file("labels in words", rows, scores, Written(), content=Written().bytes(said))


def _odd_labels(make: Maker) -> OddFile:
    rows, _ = make.table()
    rows[make.at(rows)][3] = make.pick(["maybe", "2", "-1", "0.5", "x"])
    return OddFile("other labels", Written().bytes(rows), None)


def _huge(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=False)
    size = int(make.pick([10, 17, 18, 19, 20, 40]))
    rows = [[row[0] + "0" * size, *row[1:]] for row in rows]
    return make.file("huge ids", rows, scores, Written())


def _zeros(make: Maker) -> OddFile:
    rows, scores = make.table(text_ids=False)
    at = make.at(rows)
    rows[at][0] = make.pick(["007", "+7", "-0", "0x7", "7.0", "1e3", "00"])
    return make.file("ids like numbers", rows, scores, Written(quote_all=make.rng.random() < 0.3))


def _late_text(make: Maker) -> OddFile:
    n_rows = 9_000  # more than the part that is looked at first
    rows = [[str(number), "1", "0.5", "1"] for number in range(n_rows)]
    rows[-1][0] = make.pick(["ann", "007", " 90001"])
    true = [[row[0].strip(), *row[1:]] for row in rows]
    return make.file("text far down", true, [0.5] * n_rows, Written(), content=Written().bytes(rows))


def _late_damage(make: Maker) -> OddFile:
    rows = [[str(number), "1", "0.5", "1"] for number in range(9_000)]
    lines = Written().text(rows).split("\n")
    lines[make.pick([8_000, 8_999, 9_000])] = make.pick(
        ['1,"2,0.5,1', "1,2,3", "1,2,high,1", "1,2,0.5,1,", "1,2,0\0,1"]
    )
    return OddFile("damage far down", "\n".join(lines).encode(), None)


def _nothing(make: Maker) -> OddFile:
    content = make.pick([b"", b"\n", b"\n\n\n", b"\xef\xbb\xbf", b"user_id,item_id,score,label\n", b"  ",
                         b"user_id,item_id,score,label", b"\r\n"])  # fmt: skip
    return OddFile("nothing in it", content, None)


def _dated(make: Maker) -> OddFile:
    rows, scores = make.table()
    day_first, mark = make.rng.random() < 0.5, make.pick(["/", ".", "-"])
    days = make.rng.integers(1, 13 if make.rng.random() < 0.5 else 29, len(rows))
    months = make.rng.integers(1, 13, len(rows))
    both = [(day, month) if day_first else (month, day) for day, month in zip(days, months, strict=True)]
    texts = [f"{first:02d}{mark}{second:02d}{mark}2024" for first, second in both]
    dates = [np.datetime64(f"2024-{month:02d}-{day:02d}") for day, month in zip(days, months, strict=True)]
    times = [int(date.astype("datetime64[us]").astype(np.int64)) for date in dates]
    rows = [[*row, text] for row, text in zip(rows, texts, strict=True)]
    options = {"dates": "day-first" if day_first else "month-first"}
    return make.file("dates", rows, scores, Written(header=(*NAMES, "time")), options=options, times=times)


def _odd_dates(make: Maker) -> OddFile:
    rows, scores = make.table()
    rows = [[*row, "2024-05-31"] for row in rows]
    rows[make.at(rows)][-1] = make.pick(["31/02/2024", "13/13/2024", "01/02/24", "yesterday", "2024-13-01", "1/2"])
    made = make.file("dates that are none", rows, scores, Written(header=(*NAMES, "time")), times=[0] * len(rows))
    return replace(made, truth=None)


def _combined(make: Maker) -> OddFile:
    """Several oddities at once, all of which are said."""
    rows, scores = make.table(text_ids=True)
    word, mark = make.pick([("semicolon", ";"), ("tab", "\t"), ("pipe", "|"), ("comma", ",")])
    encoding = make.pick(["utf-8", "cp1252", "utf-16", "utf-8-sig"])
    decimal = make.pick(["comma", "point"])
    end = make.pick(["\n", "\r\n"])
    rows = [[*row, make.pick(["", 'a "b"', "x\n# y", "# 1", "c;d,e"])] for row in rows]
    true = [list(row) for row in rows]
    for row, score in zip(rows, scores, strict=True):
        row[2] = _commas(score) if decimal == "comma" else row[2]
    how = Written(separator=mark, end=end, quote_all=make.rng.random() < 0.3, header=(*NAMES, "note"))
    lines = how.text(rows)
    before = ["made by hand", '"'][: int(make.rng.integers(3))]
    comments = f'#{mark}a comment" {end}' if make.rng.random() < 0.5 else ""
    text = "".join(line + end for line in before) + comments + lines + make.pick(["", end, f"  {end}"])
    options = {"separator": word, "encoding": encoding, "decimal": decimal, "skip_lines": len(before), "comment": "#"}
    return make.file("several oddities", true, scores, how, content=text.encode(encoding), options=options)


KINDS: tuple[Callable[[Maker], OddFile], ...] = (
    _plain_text, _separated, _other_separator, _two_separators, _line_ends, _mixed_ends, _encoded, _utf16, _marked,
    _packed, _decimal_commas, _three_decimals, _thousands, _scientific, _mixed_decimals, _quoted, _long_text,
    _single_quotes, _inches, _open_quote, _behind_quote, _ragged, _merged, _split_line, _cut, _changed_separator,
    _no_header, _twice, _other_case, _spaced_names, _spaced_values, _blank_lines, _trailing, _trailing_rows, _indexed,
    _comments, _hash_ids, _preamble, _declared, _zero_bytes, _bad_bytes, _bad_number, _units, _empty_value, _words,
    _odd_labels, _huge, _zeros, _late_text, _late_damage, _nothing, _dated, _odd_dates, _combined,
)  # fmt: skip


def odd_files(n_files: int, seed: int = 0) -> list[OddFile]:
    """Files of all kinds in turn."""
    make = Maker(np.random.default_rng(seed))
    return [KINDS[number % len(KINDS)](make) for number in range(n_files)]


def read(path: Path, options: dict[str, Any], timed: bool) -> list[tuple[str, str, float, bool]] | list[int]:
    """What the library makes of a file: its pairs, or the times of its log."""
    columns = Columns(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SurenessWarning)
        if timed:
            log = Interactions.read(path, columns)
            return [] if log.times is None else [int(time) for time in log.times]
        frame = scan_table(path, columns)
        require_columns(frame, NAMES, path)
        count_rows(frame, path)
        (pairs,) = stream_pairs(frame, path)
        table = frame.select("user_id", "item_id").collect()
    ids = (table[name].cast(str).to_list() for name in ("user_id", "item_id"))
    return list(zip(*ids, pairs.scores.tolist(), pairs.labels.tolist(), strict=True))


def outcome_of(odd: OddFile, folder: Path, options: dict[str, Any]) -> tuple[str, str]:
    """Whether a file was read rightly, refused, or neither; and what was said or read."""
    path = folder / odd.name
    path.write_bytes(odd.content)
    try:
        found = read(path, options, odd.times is not None)
    except SurenessError as error:
        said = str(error)
        return ("refused" if _NAMED.search(said) and "\n" not in said else "refused without a hint"), said
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error}"
    if odd.truth is None:
        return "read wrongly", f"{found!r:.200}"
    expected: list[Any] = odd.truth
    if odd.times is not None:
        pairs = [(_key(user), _key(item), time) for (user, item, *_), time in zip(odd.truth, odd.times, strict=True)]
        expected = [time for *_, time in sorted(pairs)]
    return ("read" if found == expected else "read wrongly"), f"{found!r:.300}"


def _key(text: str) -> tuple[int, str]:
    return (int(text), "") if text.isdecimal() else (0, text)


def attack_text(folder: Path, n_files: int = 5_000, seed: int = 0) -> Outcome:
    """Give every file to the reader, first as it is, then with the options that settle it."""
    folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    failures = []
    for number, odd in enumerate(odd_files(n_files, seed)):
        for options in ({}, odd.options) if odd.options else ({},):
            found, said = outcome_of(odd, folder, options)
            counts[found] += 1
            if found not in _allowed(odd, options):
                failures.append(f"{number} {odd.kind} {options} {found}: {said}")
    what = f"odd and damaged text tables: {counts['read']:,} read rightly, {counts['refused']:,} refused"
    return Outcome.of(what, FAILURE, counts.total(), failures)


def _allowed(odd: OddFile, options: dict[str, Any]) -> set[str]:
    """What may happen to a file with these options."""
    if odd.truth is None:
        return {"refused"}
    if options == odd.options and odd.settled:
        return {"read"}
    return {"read", "refused"} if odd.silent else {"refused"}
