"""Publishers' files, made small: each recipe reads its own form, packed or not."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import polars as pl
import pytest

from sureness.data import (
    RATED,
    DataFiles,
    Interactions,
    copy_dataset,
    fetch_dataset,
    load_dataset,
    prepare,
    recipe,
    recipe_names,
    separated,
    whereabouts,
)
from sureness.errors import ColumnError, DataError, FileError, SettingError
from sureness_reproduction.data_sets.parsers import json_lines, lists_with_count, lists_with_user, numbers


def matrix_file(**content):
    from scipy.io import savemat

    opened = io.BytesIO()
    savemat(opened, content)
    return opened.getvalue()


def latin(text):
    return text.encode("latin-1")


RAW = {
    "coat": {
        "coat/train.ascii": b"0 5 0\n3 0 1\n", "coat/test.ascii": b"4 0 0\n0 0 2\n",
        "coat/propensities.ascii": b"0.1 0.2 0.3\n0.4 0.5 0.6\n",
        "coat/user_item_features/user_features.ascii": b"1 0\n0 1\n",
    },
    "yahoo-r3": {
        "ydata-ymusic-rating-study-v1_0-train.txt": b"1\t14\t5\n1\t35\t1\n2\t14\t4\n",
        "ydata-ymusic-rating-study-v1_0-test.txt": b"1\t49\t1\n2\t35\t5\n",
    },
    "ml-100k": {
        "ml-100k/u.data": b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n196\t302\t5\t881250950\n",
        "ml-100k/u.item": latin("242|Caf\xe9 (1997)|24-Jan-1997||x|0|1\n302|L.A. \"C\" (1997)|01-Jan-1997||x|0|1\n"),
        "ml-100k/u.user": b"196|49|M|writer|55105\n186|39|F|executive|00000\n",
        "ml-100k/u1.base": b"196\t242\t3\t881250949\n", "ml-100k/u1.test": b"186\t302\t3\t891717742\n",
    },
    "ml-1m": {
        "ml-1m/ratings.dat": b"1::1193::5::978300760\n1::661::3::978302109\n2::661::4::978302110\n",
        "ml-1m/movies.dat": latin("661::The Giant P\xeache (1996)::Animation|Children's\n1193::X::Drama\n"),
        "ml-1m/users.dat": b"1::F::1::10::48067\n2::M::56::16::70072\n",
    },
    "ml-10m": {"ml-10M100K/ratings.dat": b"1::122::5::838985046\n1::185::4.5::838983525\n2::122::3::838985046\n"},
    "ml-25m": {
        "ml-25m/ratings.csv": b"userId,movieId,rating,timestamp\n1,296,5.0,1147880044\n2,306,3.5,1147868817\n",
        "ml-25m/movies.csv": b'movieId,title,genres\n296,"Pulp Fiction, or so (1994)",Crime\n306,Red,Drama\n',
    },
    "citeulike-a": {"users.dat": b"3 495 1631 2318\n2 495 7\n1 3\n"},
    "citeulike-t": {"users.dat": b"2 193 11908\n0\n1 193\n"},
    "foursquare-tokyo": {
        "dataset_tsmc2014/dataset_TSMC2014_TKY.txt":
        latin("1541\t4f0fd5a8\t4bf58dd8\tCosm\xe9tics \"Shop\t35.7\t139.6\t540\tTue Apr 03 18:17:18 +0000 2012\n")
        + b"868\t4b7b884f\t4bf58dd8\tRamen\t35.7\t139.4\t540\tTue Apr 03 18:22:04 +0000 2012\n"
        b"868\t4b7b884f\t4bf58dd8\tRamen\t35.7\t139.4\t540\tWed Apr 04 18:22:04 +0000 2012\n",
    },
    "yelp": {
        "yelp_academic_dataset_review.json":
        b'{"id":"r","user_id":"u-1","business_id":"b-1","stars":4.0,"date":"2018-07-07 22:09:11","text":"a\\nb"}\n'
        b'{"id":"s","user_id":"u-2","business_id":"b-1","stars":1.0,"date":"2012-01-03 15:28:18","text":"x"}\n',
    },
    "amazon-books": {"ratings_Books.csv": b"AH2L9,0000000116,4.0,1019865600\nA2III,0000000116,1.0,1395619200\n"},
    "amazon-toys": {"Toys_and_Games.csv": b"0020232233,A1IDM,2.0,1474502400\n0020232233,A4BCE,1.0,1474156800\n"},
    "amazon-music": {
        "AMusic.train.rating": b"0\t1312\t5\n0\t1374\t5\n1\t7\t3\n",
        "AMusic.test.rating": b"0\t578\t5\n1\t4105\t4\n",
    },
    "amazon-crossdomain": {
        f"{folder}/{part}.txt": rows
        for folder in ("sport_phone", "phone_sport")
        for part, rows in (("train", b"0\t1\t1\n1\t2\t1\n"), ("test", b"0\t2\t1\n"))
    },
    "amazon-book-kgat": {"train.txt": b"0 0 1 2\n1 3\n2\n", "test.txt": b"0 4 \n1 0\n"},
    "gowalla": {"train.txt": b"0 0 1 2\n1 3 4\n", "valid.txt": b"0 3\n", "test.txt": b"0 4\n1 0\n"},
    "ciao": {"rating.mat": matrix_file(rating=np.array([[1, 1, 2, 5, 1], [1, 2, 3, 4, 1], [2, 1, 2, 3, 9.0]]))},
}  # fmt: skip
PAIRS = {
    "coat": 4, "yahoo-r3": 5, "ml-100k": 3, "ml-1m": 3, "ml-10m": 3, "ml-25m": 2, "citeulike-a": 6, "citeulike-t": 3,
    "foursquare-tokyo": 2, "yelp": 2, "amazon-books": 2, "amazon-toys": 2, "amazon-music": 5, "amazon-crossdomain": 6,
    "amazon-book-kgat": 6, "gowalla": 8, "ciao": 3,
}  # fmt: skip


def unpack(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def pack(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def compress(folder, files):
    return unpack(folder, {f"{name}.gz": gzip.compress(content) for name, content in files.items()})


@pytest.mark.parametrize("name", RAW)
def test_the_publishers_files_are_read_however_they_are_packed(tmp_path, name):
    plain = load_dataset(name, unpack(tmp_path / "plain", RAW[name]))
    assert len(plain.interactions) == PAIRS[name]
    (tmp_path / "packed").mkdir()
    archive = pack(tmp_path / "packed" / "all.zip", RAW[name])
    for place in (archive, archive.parent, compress(tmp_path / "gz", RAW[name])):
        again = load_dataset(name, place)
        assert again.interactions.table().equals(plain.interactions.table())
        assert set(again.parts) == set(plain.parts)


@pytest.mark.parametrize("name", RAW)
def test_what_is_copied_is_read_the_same(tmp_path, name):
    first = unpack(tmp_path / "first", RAW[name])
    copied = copy_dataset(name, first, tmp_path / "second")
    assert load_dataset(name, copied).interactions.table().equals(load_dataset(name, first).interactions.table())
    kept = sorted(path.name for path in copied.rglob("*") if path.is_file())
    assert kept == sorted(name.split("/")[-1] for name in RAW[name])


def test_every_recipe_is_tested():
    tables_only = {"citeulike-bd", "foursquare-tky-filtered", "open-bandit-small"}
    assert set(RAW) == set(recipe_names()) - tables_only == set(PAIRS)


def loaded(tmp_path, name, **options):
    return load_dataset(name, unpack(tmp_path / name, RAW[name]), **options)


def test_coat_has_its_propensities_and_features(tmp_path):
    data = loaded(tmp_path, "coat")
    assert data.extras["propensities"].tolist() == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    assert data.interactions.user_features.rows() == [(0, 1.0, 0.0), (1, 0.0, 1.0)]
    assert data.parts["train"].table().rows() == [(0, 1, 5.0), (1, 0, 3.0), (1, 2, 1.0)]
    assert "1 pair is in both train and test" in data.notes


def test_titles_keep_their_accents_and_quotes(tmp_path):
    assert loaded(tmp_path, "ml-100k").interactions.item_features["title"].to_list() == [
        "Café (1997)",
        'L.A. "C" (1997)',
    ]
    assert "Pêche" in loaded(tmp_path, "ml-1m").interactions.item_features["title"][0]
    assert loaded(tmp_path, "ml-25m").interactions.item_features["title"][0] == "Pulp Fiction, or so (1994)"
    assert loaded(tmp_path, "foursquare-tokyo").interactions.item_features["category"].to_list() == [
        "Ramen", 'Cosmétics "Shop',
    ]  # fmt: skip


def test_official_splits_are_read_from_their_files(tmp_path):
    data = loaded(tmp_path, "ml-100k", official="u1")
    assert {name: len(part) for name, part in data.parts.items()} == {"train": 1, "test": 1}


def test_the_count_of_a_line_is_no_item(tmp_path):
    data = loaded(tmp_path, "citeulike-a")
    assert data.interactions.table().rows() == [(0, 495), (0, 1631), (0, 2318), (1, 7), (1, 495), (2, 3)]


def test_users_and_items_are_not_swapped_in_either_form_of_amazon(tmp_path):
    assert loaded(tmp_path, "amazon-books").interactions.items.ids.to_list() == ["0000000116"]
    assert loaded(tmp_path, "amazon-toys").interactions.items.ids.to_list() == ["0020232233"]
    assert loaded(tmp_path, "amazon-toys").interactions.n_users == 2


def test_the_latest_visit_is_kept(tmp_path):
    log = loaded(tmp_path, "foursquare-tokyo").interactions
    assert (log.times.max() - log.times.min()) / 3.6e9 == pytest.approx(24 + 4 / 60 + 46 / 3600, abs=0.01)


def test_two_shops_share_users_and_not_items(tmp_path):
    log = loaded(tmp_path, "amazon-crossdomain").interactions
    assert log.shape == (2, 4)
    assert log.items.ids.to_list() == ["phone/1", "phone/2", "sport/1", "sport/2"]


def test_ciao_has_domains_where_asked(tmp_path):
    assert loaded(tmp_path, "ciao", domains=True).interactions.items.ids.to_list() == ["2/1", "3/2"]
    assert loaded(tmp_path, "ciao").interactions.ratings.tolist() == [5, 4, 3]


def test_yelp_is_read_as_the_dissertation_has_it(tmp_path):
    """User, item, rating and time between tabs; the last item of each user is held out."""
    text = "0\t3\t5\t1116460800\n0\t1\t4\t1325548800\n0\t7\t2\t1204329600\n1\t3\t4\t1\n1\t7\t4\t2\n1\t8\t1\t3\n"
    folder = unpack(tmp_path, {"yelp.rating": text.encode()})
    log = load_dataset("yelp", folder).interactions
    assert (log.n_users, log.n_items, len(log)) == (2, 4, 6)
    assert sorted(log.ratings.tolist()) == [1, 2, 4, 4, 4, 5]
    split = prepare("yelp", folder=folder, core=1)
    assert [split.test.items.at(split.test.item_rows)[user] for user in range(2)] == [1, 8]


def test_given_parts_without_validation_get_one_and_stay_apart(tmp_path):
    split = prepare("amazon-book-kgat", folder=unpack(tmp_path, RAW["amazon-book-kgat"]))
    assert len(split.test) == 2
    assert len(split.train) + len(split.validation) == 4


# --- parsers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: lists_with_count(b"2 7\n"), "begin"),
        (lambda: lists_with_count(b"1 7\n\n"), "line"),
        (lambda: lists_with_count(b"1 x\n"), "whole"),
        (lambda: lists_with_user(b"a b\n"), "whole"),
        (lambda: separated(b"1\t2\n", "\t", RATED), "user_id"),
        (lambda: separated(b"1\tx\t2\t3\n", "\t", RATED), "could"),
        (lambda: separated(b"", "\t", RATED), "user_id"),
        (lambda: numbers(b"1 2\n3\n"), "numbers"),
        (lambda: json_lines(b"{oops", {"user_id": "u"}), "JSON"),
    ],
)
def test_a_file_of_another_form_is_refused(call, word):
    with pytest.raises(ColumnError, match=word):
        call()


# --- finding -------------------------------------------------------------------------------------------------------


def test_names_are_suggested():
    with pytest.raises(SettingError, match="ML1M"):
        recipe("ML1M")
    with pytest.raises(SettingError, match="choose"):
        recipe("zzzzzz")


def test_the_order_of_places(tmp_path, monkeypatch):
    monkeypatch.setenv("SURENESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SURENESS_DATA", raising=False)
    assert whereabouts("ml-1m") == (tmp_path / "cache" / "ml-1m", "download")
    unpack(tmp_path / "cache" / "ml-1m", RAW["ml-1m"])
    assert whereabouts("ml-1m")[1] == "cache"
    monkeypatch.setenv("SURENESS_DATA", str(tmp_path / "data"))
    assert whereabouts("ml-1m")[1] == "cache"
    unpack(tmp_path / "data" / "ml-1m", RAW["ml-1m"])
    assert whereabouts("ml-1m") == (tmp_path / "data" / "ml-1m", "folder")
    given = unpack(tmp_path / "given", RAW["ml-1m"])
    assert whereabouts("ml-1m", given) == (given / "ml-1m", "folder")


def test_a_folder_with_all_data_sets_gives_the_one_that_is_named(tmp_path):
    for name in ("another", "coat"):
        unpack(tmp_path / name, {"interactions.tsv": f"user\titem\trating\tsplit\n1\t{len(name)}\t5\ttrain\n".encode()})
    data = load_dataset("coat", tmp_path)
    assert data.interactions.items.ids.to_list() == [4]
    with pytest.raises(FileError, match="find"):
        load_dataset("gowalla", tmp_path)


def test_one_of_several_files_is_not_chosen_by_chance(tmp_path):
    unpack(tmp_path / "ml-1m-old", RAW["ml-1m"])
    unpack(tmp_path / "b", RAW["ml-10m"])
    with pytest.raises(FileError, match="file"):
        DataFiles(tmp_path).read("ratings.dat")


def test_a_damaged_archive_is_named(tmp_path):
    whole = pack(tmp_path / "ml-1m.zip", RAW["ml-1m"]).read_bytes()
    (tmp_path / "ml-1m.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="seems"):
        load_dataset("ml-1m", tmp_path)


@pytest.mark.parametrize("name", ["citeulike-bd", "yahoo-r3", "yelp", "ciao"])
def test_what_cannot_be_downloaded_says_how_to_get_it(tmp_path, monkeypatch, name):
    monkeypatch.setenv("SURENESS_CACHE", str(tmp_path))
    monkeypatch.delenv("SURENESS_DATA", raising=False)
    with pytest.raises(FileError, match=f"{name} cannot be downloaded; ") as raised:
        load_dataset(name)
    assert recipe(name).how_to_get in str(raised.value)
    with pytest.raises(FileError, match="downloaded"):
        fetch_dataset(name, tmp_path)


def test_every_recipe_can_be_got_somehow():
    for each in map(recipe, recipe_names()):
        assert each.addresses or each.how_to_get
        assert each.licence


def test_a_set_without_users_says_so():
    with pytest.raises(DataError, match="open"):
        load_dataset("open-bandit-small")


# --- options and protocols -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("ml-1m", {"fold": 1}, "option"),
        ("ciao", {"domain": True}, "ciao"),
        (
            "amazon-crossdomain",
            {"pair": "sport-books"},
            "option",
        ),
    ],
)
def test_options_are_checked(tmp_path, name, options, word):
    with pytest.raises(SettingError, match=word):
        load_dataset(name, tmp_path, **options)


@pytest.fixture
def log():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((30, 40)) < 0.4)
    table = pl.DataFrame({"user_id": users, "item_id": items, "rating": rng.integers(1, 6, len(users))})
    return Interactions.from_table(table)


def test_any_log_can_be_prepared(log):
    split = prepare(log, seed=4)
    assert sum(map(len, split.parts.values())) == len(log)
    liked = prepare(log, "leave-one-out", positive_above=3, per_user=5)
    assert liked.train.ratings.min() > 3
    assert any("ratings above 3" in note for note in liked.notes)
    assert prepare(log, core=5).train.item_features is None


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"protocol": "given"}, "protocol"),
        ({"protocol": "preference"}, "protocol"),
        ({"protocol": "random"}, "protocol"),
        ({"folder": "here"}, "folder"),
        ({"per_domain": True}, "interactions"),
        ({"core": 100}, "core"),
    ],
)
def test_what_cannot_be_prepared_is_explained(log, options, word):
    with pytest.raises(DataError, match=word):
        prepare(log, **options)


def test_preference_needs_a_threshold_and_a_known_word(tmp_path):
    data = loaded(tmp_path, "coat")
    with pytest.raises(SettingError, match="rating"):
        prepare(data, positive_above=None)
    with pytest.raises(SettingError, match="training_pairs"):
        prepare(data, training_pairs="some")


@pytest.mark.parametrize("protocol", ["preference", "given"])
def test_filters_that_a_protocol_has_no_use_for_are_refused(tmp_path, protocol):
    data = loaded(tmp_path, "coat")
    for filters in ({"per_user": 5}, {"core": 2}):
        with pytest.raises(SettingError, match="protocol"):
            prepare(data, protocol, **filters)


def test_given_pairs_that_are_in_two_parts_stay_in_the_first(tmp_path):
    data = loaded(tmp_path, "coat")
    split = prepare(data, "given", positive_above=None)
    assert len(split.test) == 1
    assert any("1 test pair is in an earlier part and left out" in note for note in split.notes)


@pytest.mark.parametrize("form", ["zip", "gz", "gz in zip"])
def test_a_file_that_unpacks_without_measure_is_refused(tmp_path, monkeypatch, form):
    monkeypatch.setattr("sureness.data.data_files._ANY_SIZE", 10_000)
    few, many = b"0 1\n" * 2_500, b"0 0\n" * 500_000
    for content in (few, many):
        packed = gzip.compress(content) if "gz" in form else content
        if "zip" in form:
            with zipfile.ZipFile(tmp_path / "set.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("train.ascii.gz" if "gz" in form else "train.ascii", packed)
        else:
            (tmp_path / "train.ascii.gz").write_bytes(packed)
        if content is few:
            assert DataFiles(tmp_path).read("train.ascii") == few
        else:
            with pytest.raises(FileError, match="unpacks"):
                DataFiles(tmp_path).read("train.ascii")


def test_damaged_deflate_streams_are_refused(tmp_path):
    packed = bytearray(gzip.compress(bytes(range(256)) * 40))
    packed[20:40] = bytes(20)
    (tmp_path / "train.ascii.gz").write_bytes(packed)
    with pytest.raises(FileError, match="damaged"):
        DataFiles(tmp_path).read("train.ascii")
