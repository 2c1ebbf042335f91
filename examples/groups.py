"""Is any group of users or items promised more than it gets? With maps that know less or more of the groups.

    python examples/groups.py ml-1m --figure groups.png

A recommender is trained on a public data set, and its lists are judged on held-out items: with one line for all pairs,
with the map for lists, and with the map for lists that also knows how popular items are, and gender, age and genre if
they are known.
"""

from __future__ import annotations

import argparse

import polars as pl

import sureness as sn
from sureness.calibration import Fields
from sureness.report import draw_group_ratios, save_figure

CLEAR = 0.05


def known_fields(source: sn.sources.ScoreSource, log: sn.Interactions) -> Fields:
    """Activity and popularity, and what the data set says of users and items; the genre of a film is its first."""
    users, items = log.user_features, log.item_features
    if users is not None:
        users = users.select("user_id", *({"gender", "age"} & set(users.columns)))
    if items is not None and "genres" in items.columns:
        items = items.select("item_id", genre=pl.col("genres").str.split("|").list.first())
    else:
        items = None
    return Fields.of(source, users=users, items=items, seen=log)


def compared(name: str, seed: int = 0) -> dict[str, pl.DataFrame]:
    """The table of all groups with each map."""
    split = sn.by_ratio(sn.data.load_dataset(name).interactions, seed=seed)
    model = sn.BPR(seed=seed).fit(split.train, split.validation)
    fields = known_fields(model, split.train)
    recommenders = {
        "one line for all": sn.ConfidentRecommender(model, sn.PlattCalibrator()),
        "the map for lists": sn.ConfidentRecommender(model),
        "with traits": sn.ConfidentRecommender(model, segments=fields),
    }
    return {
        name: recommender.fit(split.train, split.validation).promise(split.test, by=fields)
        for name, recommender in recommenders.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default="ml-1m", help="a name of `sureness data list`")
    parser.add_argument("--figure", help="where the picture is saved")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    tables = compared(asked.data, asked.seed)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=140, float_precision=3, tbl_hide_dataframe_shape=True):
        for name, table in tables.items():
            wrong = table[1:].filter(pl.col("p_value") < CLEAR)
            less = wrong.filter(pl.col("ratio") < 1).height
            print(f"\n{name}: {wrong.height} of {table.height - 1} groups clearly off, {less} of them get too little")
            print(table)
    if asked.figure:
        save_figure(draw_group_ratios(tables).figure, asked.figure)


if __name__ == "__main__":
    main()
