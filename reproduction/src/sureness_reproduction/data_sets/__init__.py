"""Recipes of the data sets of the dissertation, which `sureness.data.load_dataset` finds by their names."""

from __future__ import annotations

from functools import partial

from sureness.data import Address, Recipe, Size, ml_dat
from sureness_reproduction.data_sets import readers

_GROUPLENS = "https://files.grouplens.org/datasets/movielens"
_SNAP = "snap.stanford.edu/data/amazon/productGraph/categoryFiles"
_RAW = "raw.githubusercontent.com"
_MOVIELENS_TERMS = "research, no redistribution; also no commercial use without permission, cite GroupLens"
_CITE = "research, cite; no written licence came with the copies"
_PAIRS = ("sport-phone", "sport-cloth", "electronic-phone", "electronic-cloth")
_DEEPCF = f"{_RAW}/familyld/DeepCF/f7329c8e01f61e6e7640938921d8b44001fcb286/Data"
_LIGHTGCN = f"{_RAW}/gusye1234/LightGCN-PyTorch/master/data/gowalla"
_KGCL = f"{_RAW}/yuh-yang/KGCL-SIGIR22/2a15e213d44aef5bec3a4c0f95a5ebc58d9d28bd/data/amazon-book"
_CITEULIKE_T = f"{_RAW}/changun/CollMetric/5e0604d50ddaf2f0f338bde1ce5e4cade51ac144/citeulike-t/users.dat"
_TABLES_ONLY = "read from a folder with interactions.tsv.gz: give it with --from or SURENESS_DATA"
# The publisher states none; this is the one that other projects check.
_COAT_CHECKSUM = "sha256:6073d0b515ed1f6e830e4fead66dc76ad7991a7553eaa58e228b234a9d19daed"


def _by_hand(files: str, place: str) -> str:
    """What to do where no checksum is published, or the server has no https."""
    return f"no checksum is published for it: get {files} from {place} by hand, and give the folder with --from"


COAT = Recipe(
    name="coat",
    title="Coat shopping: 24 chosen and 16 random coats a user",
    licence=_CITE,
    read=readers.coat,
    needs=(("train.ascii", "test.ascii"),),
    also=("propensities.ascii", "user_features.ascii", "item_features.ascii"),
    parsing="train.ascii, test.ascii, propensities.ascii: a line a user, a column a coat, 0 is no rating",
    addresses=(Address("https://www.cs.cornell.edu/~schnabts/mnar/coat.zip", "coat.zip", _COAT_CHECKSUM),),
    trap="366 pairs are in both train and test",
    size=Size(290, 300, 11_600),
    protocol="preference",
    positive_above=3,
)

YAHOO_R3 = Recipe(
    name="yahoo-r3",
    title="Yahoo! R3 songs: chosen ratings and 10 random songs for 5,400 users",
    licence="on request; the terms of Yahoo Webscope bind each user, no redistribution",
    read=readers.yahoo_r3,
    needs=(("ydata-ymusic-rating-study-v1_0-train.txt", "ydata-ymusic-rating-study-v1_0-test.txt"),),
    parsing="two files: user, song, rating between tabs",
    how_to_get="ask for R3 at https://webscope.sandbox.yahoo.com and unpack it",
    size=Size(15_400, 1_000, 365_704),
    protocol="preference",
    positive_above=3,
)

ML_10M = Recipe(
    name="ml-10m",
    title="MovieLens 10M",
    licence=_MOVIELENS_TERMS,
    read=ml_dat,
    needs=(("ratings.dat",),),
    also=("movies.dat",),
    parsing="ratings.dat: user::item::rating::timestamp, ratings in halves",
    addresses=(Address(f"{_GROUPLENS}/ml-10m.zip", "ml-10m.zip", "md5:ce571fd55effeba0271552578f2648bd"),),
    core=20,
)

ML_25M = Recipe(
    name="ml-25m",
    title="MovieLens 25M",
    licence=_MOVIELENS_TERMS,
    read=readers.ml_csv,
    needs=(("ratings.csv",),),
    also=("movies.csv",),
    parsing="ratings.csv: userId, movieId, rating, timestamp with a header",
    addresses=(Address(f"{_GROUPLENS}/ml-25m.zip", "ml-25m.zip", "md5:6b51fb2759a8657d3bfcbfc42b592ada"),),
    size=Size(162_541, 59_047, 25_000_095),
    core=20,
)

CITEULIKE_A = Recipe(
    name="citeulike-a",
    title="CiteULike-a: articles in users' libraries",
    licence=_CITE,
    read=readers.citeulike,
    needs=(("users.dat",),),
    parsing="users.dat: a line a user, the number of items first, then the items",
    how_to_get=_by_hand("users.dat", f"{_RAW}/js05212/citeulike-a/master/users.dat"),
    trap="the number that begins each line is a count, not an item; published 204,987, the file has 204,986",
    size=Size(5_551, 16_980, 204_986),
    per_user=19,
)

CITEULIKE_T = Recipe(
    name="citeulike-t",
    title="CiteULike-t: articles in users' libraries",
    licence=_CITE,
    read=readers.citeulike,
    needs=(("users.dat",),),
    parsing="users.dat: a line a user, the number of items first, then the items",
    how_to_get=_by_hand("users.dat", _CITEULIKE_T),
    trap="the number that begins each line is a count, not an item; 391 of 25,975 items have no user",
    size=Size(7_947, 25_584, 134_860),
    protocol="leave-one-out",
    per_user=5,
)

CITEULIKE_BD = Recipe(
    name="citeulike-bd",
    title="CiteULike-t as split by the BD paper (WWW 2021)",
    licence=_CITE,
    read=readers.citeulike_bd,
    how_to_get=_TABLES_ONLY,
    trap="5,219 rows are counts read as items; artefact=True keeps them (130,788 pairs, as published)",
    size=Size(5_219, 25_181, 125_580),
    options={"artefact": (False, True)},
    protocol="given",
)

FOURSQUARE_TOKYO = Recipe(
    name="foursquare-tokyo",
    title="Foursquare check-ins in Tokyo",
    licence=_CITE,
    read=readers.foursquare_tokyo,
    needs=(("dataset_TSMC2014_TKY.txt",),),
    parsing="eight columns between tabs, Latin-1, times such as Tue Apr 03",
    how_to_get=_by_hand("dataset_tsmc2014.zip", "www-public.imtbs-tsp.eu/~zhang_da/pub/dataset_tsmc2014.zip"),
    trap="a pair repeats at each visit: 573,703 check-ins are far fewer distinct pairs",
    protocol="leave-one-out",
)

FOURSQUARE_TKY_FILTERED = Recipe(
    name="foursquare-tky-filtered",
    title="Foursquare Tokyo in sessions (MSTHN, 2023)",
    licence=_CITE,
    read=readers.foursquare_filtered,
    how_to_get=_TABLES_ONLY,
    trap="not the raw Tokyo file; a pair repeats at each visit, and many pairs are in both train and test",
    size=Size(2_173, 7_038, 102_518),
    protocol="leave-one-out",
)

YELP = Recipe(
    name="yelp",
    title="Yelp reviews",
    licence="on request; the data licence of Yelp: academic use, no redistribution",
    read=readers.yelp,
    needs=(("yelp_academic_dataset_review.json",), ("yelp.rating",)),
    parsing="yelp_academic_dataset_review.json: a JSON object a line; yelp.rating, the file of the dissertation: "
    "user, item, rating, timestamp between tabs, 730,790 rows",
    how_to_get="sign the form at https://business.yelp.com/data/resources/open-dataset/ and unpack the reviews",
    trap="the set grows every year, so sizes differ from published ones",
    protocol="leave-one-out",
    core=10,
)

AMAZON_BOOKS = Recipe(
    name="amazon-books",
    title="Amazon ratings of books",
    licence=_CITE,
    read=partial(readers.amazon, category="Books"),
    needs=(("ratings_Books.csv",), ("Books.csv",)),
    parsing="no header; 2014: user, item, rating, timestamp; 2018: item first",
    how_to_get=_by_hand("ratings_Books.csv", f"{_SNAP}/ratings_Books.csv"),
    trap="the files of 2014 begin with the user, those of 2018 with the item",
    core=20,
)

AMAZON_MUSIC = Recipe(
    name="amazon-music",
    title="Amazon Music as split by the DeepCF paper (AAAI 2019)",
    licence=_CITE,
    read=partial(readers.deepcf, stem="AMusic"),
    needs=(("AMusic.train.rating", "AMusic.test.rating"),),
    parsing="two files: user, item, rating between tabs",
    how_to_get=_by_hand("AMusic.train.rating and AMusic.test.rating", _DEEPCF),
    size=Size(1_776, 12_929, 46_087),
    protocol="given",
    validation="one",
)

AMAZON_TOYS = Recipe(
    name="amazon-toys",
    title="Amazon ratings of toys and games",
    licence=_CITE,
    read=partial(readers.amazon, category="Toys_and_Games"),
    needs=(("ratings_Toys_and_Games.csv",), ("Toys_and_Games.csv",)),
    parsing="no header; 2014: user, item, rating, timestamp; 2018: item first",
    how_to_get=_by_hand("ratings_Toys_and_Games.csv", f"{_SNAP}/ratings_Toys_and_Games.csv"),
    trap="the files of 2014 begin with the user, those of 2018 with the item",
    protocol="leave-one-out",
    core=5,
)

AMAZON_CROSSDOMAIN = Recipe(
    name="amazon-crossdomain",
    title="Amazon: the same users in two shops (DisenCDR, SIGIR 2022)",
    licence=_CITE,
    read=readers.amazon_crossdomain,
    how_to_get="take the folders of github.com/cjx96/DisenCDR/dataset, or " + _TABLES_ONLY,
    needs=(("sport_phone/train.txt", "phone_sport/train.txt"),),
    also=tuple(
        f"{shop}/{part}.txt"
        for pair in _PAIRS
        for shop in (pair.replace("-", "_"), "_".join(reversed(pair.split("-"))))
        for part in ("train", "test")
    ),
    parsing="a folder a pair and domain with train.txt and test.txt: user, item between tabs",
    trap="ids are local to a pair and a domain, so an item is known by its domain and its id",
    size=Size(4_998, 36_719, 103_000),
    options={"pair": _PAIRS},
    per_domain=True,
)

AMAZON_BOOK_KGAT = Recipe(
    name="amazon-book-kgat",
    title="Amazon books, 10-core, as split by KGAT (2019)",
    licence=_CITE,
    read=readers.lightgcn,
    needs=(("train.txt", "test.txt"),),
    parsing="a line a user: the user, then the items",
    how_to_get=_by_hand("train.txt and test.txt", _KGCL),
    size=Size(70_679, 24_915, 846_434),
    protocol="given",
)

GOWALLA = Recipe(
    name="gowalla",
    title="Gowalla check-ins, 10-core, as split for LightGCN",
    licence=_CITE,
    read=readers.lightgcn,
    needs=(("train.txt", "test.txt"),),
    also=("valid.txt",),
    parsing="a line a user: the user, then the items",
    how_to_get=_by_hand("train.txt and test.txt", _LIGHTGCN),
    trap="the usual files have no validation part: 810,128 train + 217,242 test",
    size=Size(29_858, 40_981, 1_027_370),
    protocol="given",
)

CIAO = Recipe(
    name="ciao",
    title="Ciao reviews with categories and trust",
    licence=_CITE,
    read=readers.ciao,
    needs=(("rating.mat",),),
    parsing="rating.mat: user, item, category, rating, helpfulness",
    how_to_get=_TABLES_ONLY,
    size=Size(7_375, 105_114, 282_650),
    trap="1,436 of 284,086 rows repeat a pair; 101 items are in several categories; ratings of 0 exist",
    options={"domains": (False, True)},
    per_user=5,
)

OPEN_BANDIT_SMALL = Recipe(
    name="open-bandit-small",
    title="Open Bandit: clicks on fashion items shown at random or by a bandit",
    licence="CC BY 4.0",
    read=None,
    how_to_get=_TABLES_ONLY,
    trap="it has hashed user features and no users, so there is no log of users and items to recommend from; "
    "read the table itself to study propensities",
)
