"""Every data set that is here, against the numbers it is known by; the README of the data says where they are from."""

from __future__ import annotations

import numpy as np
import pytest

from sureness.data import common_pairs, load_dataset, prepare, recipe


def size(log):
    counts = log.statistics()
    return counts["users"], counts["items"], counts["interactions"]


def sizes(parts):
    return {name: len(part) for name, part in parts.items()}


SIZES = {
    "ml-100k": (943, 1_682, 100_000),
    "ml-1m": (6_040, 3_706, 1_000_209),
    "citeulike-a": (5_551, 16_980, 204_986),
    "citeulike-t": (7_947, 25_584, 134_860),
    "citeulike-bd": (5_219, 25_181, 125_580),
    "gowalla": (29_858, 40_981, 1_027_370),
    "amazon-book-kgat": (70_679, 24_915, 846_434),
    "foursquare-tky-filtered": (2_173, 7_038, 102_518),
    "amazon-music": (1_776, 12_929, 46_087),
    "ciao": (7_375, 105_114, 282_650),
}
PARTS = {
    "coat": {"train": 6_960, "test": 4_640},
    "citeulike-bd": {"train": 115_142, "validation": 5_219, "test": 5_219},
    "gowalla": {"train": 719_081, "validation": 91_047, "test": 217_242},
    "amazon-book-kgat": {"train": 652_514, "test": 193_920},
    "amazon-music": {"train": 44_311, "test": 1_776},
}


@pytest.mark.parametrize("name", SIZES)
def test_a_set_is_as_large_as_published(data_folder, name):
    data = load_dataset(name, data_folder / name)
    assert size(data.interactions) == SIZES[name] == recipe(name).size
    assert sizes(data.parts) == PARTS.get(name, sizes(data.parts))
    assert data.interactions.shape == SIZES[name][:2]


def test_coat_has_its_parts_its_overlap_and_its_propensities(data_folder):
    data = load_dataset("coat", data_folder)
    assert data.interactions.shape == (290, 300) == data.extras["propensities"].shape
    assert sizes(data.parts) == PARTS["coat"]
    assert common_pairs(data.parts["train"], data.parts["test"]) == 366
    assert "366 pairs are in both train and test" in data.notes
    assert len(data.interactions) == 6_960 + 4_640 - 366
    assert set(data.parts["train"].user_degree) == {24}
    assert set(data.parts["test"].user_degree) == {16}
    assert data.interactions.user_features.shape == (290, 15)
    assert data.parts["test"].item_features.shape == (300, 34)


def test_coat_is_prepared_as_in_chapter_2(data_folder):
    data = load_dataset("coat", data_folder)
    split = prepare(data, seed=1)
    kept = prepare(data, seed=1, training_pairs="kept")
    assert split.train.shape == (290, 300)
    assert (len(split.test), len(kept.test)) == (4_640 - 366, 4_640)
    assert split.train.ratings.min() > 3
    assert split.validation.ratings.min() > 3
    assert set(split.test.ratings) == {1, 2, 3, 4, 5}  # the test keeps what was not liked
    assert (len(split.train), len(split.validation)) == (1_714, 191)  # a tenth of 1,905 positives
    assert common_pairs(split.train, split.validation) == 0
    assert common_pairs(data.parts["train"], split.test) == 0


def test_citeulike_bd_with_its_artefact_is_as_published(data_folder):
    data = load_dataset("citeulike-bd", data_folder, artefact=True)
    assert size(data.interactions) == (5_219, 25_187, 130_788)
    assert "11 of 130,799 rows repeated a pair; the last one was kept" in data.notes
    split = prepare("citeulike-bd", folder=data_folder)
    assert [len(part) for part in split.parts.values()] == [115_142, 5_219, 5_219]
    assert set(split.test.user_degree) == {1}


def test_citeulike_a_has_the_published_population_at_19(data_folder):
    split = prepare("citeulike-a", folder=data_folder)
    assert split.train.shape == (3_277, 16_807)
    assert sum(map(len, split.parts.values())) == 174_811


def test_citeulike_t_at_5_is_citeulike_bd_without_the_counts(data_folder):
    split = prepare("citeulike-t", folder=data_folder)
    assert split.train.shape == (5_219, 25_181)
    assert sum(map(len, split.parts.values())) == 125_580


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m"])
def test_movielens_keeps_everyone_at_20(data_folder, name):
    split = prepare(name, folder=data_folder)
    assert split.train.shape == SIZES[name][:2]
    counts = {part: len(log) / SIZES[name][2] for part, log in split.parts.items()}
    assert counts == pytest.approx({"train": 0.6, "validation": 0.2, "test": 0.2}, abs=0.001)
    assert split.train.item_features["title"].null_count() == 0


def test_movielens_comes_with_the_splits_of_grouplens(data_folder):
    data = load_dataset("ml-100k", data_folder, official="u1")
    assert sizes(data.parts) == {"train": 80_000, "test": 20_000}
    last = load_dataset("ml-100k", data_folder, official="ua")
    assert sizes(last.parts) == {"train": 90_570, "test": 9_430}
    assert set(last.parts["test"].user_degree) == {10}


def test_amazon_music_gets_a_validation_part_out_of_training(data_folder):
    split = prepare("amazon-music", folder=data_folder)
    assert len(split.test) == 1_776
    assert len(split.train) + len(split.validation) == 44_311
    assert set(split.validation.user_degree) <= {0, 1}
    train = load_dataset("amazon-music", data_folder).parts["train"]
    assert len(split.validation) == np.count_nonzero(train.user_degree >= 3)


def test_gowalla_is_taken_as_given(data_folder):
    split = prepare("gowalla", folder=data_folder)
    assert sizes(split.parts) == PARTS["gowalla"]


CROSS = {
    "sport-phone": {"sport": (4_998, 22_101, 55_556), "phone": (4_998, 14_618, 47_444)},
    "sport-cloth": {"sport": (9_928, 32_310, 102_540), "cloth": (9_928, 41_303, 97_757)},
    "electronic-phone": {"electronic": (3_325, 39_463, 118_879), "phone": (3_325, 18_462, 53_732)},
    "electronic-cloth": {"electronic": (15_761, 53_309, 226_626), "cloth": (15_761, 51_865, 136_844)},
}


@pytest.mark.parametrize("pair", ["sport-phone", "electronic-cloth"])
def test_both_shops_of_a_pair_are_whole_and_split_apart(data_folder, pair):
    data = load_dataset("amazon-crossdomain", data_folder, pair=pair)
    log = data.interactions
    domain = log.item_domain.gather(log.item_rows).to_numpy()
    assert {shop: size(log.keep(domain == shop)) for shop in CROSS[pair]} == CROSS[pair]
    split = prepare(data, seed=2)
    for shop in CROSS[pair]:
        whole = log.keep(domain == shop)
        test = split.test.keep(split.test.item_domain.gather(split.test.item_rows).to_numpy() == shop)
        assert np.abs(test.user_degree - 0.2 * whole.user_degree).max() <= 0.5 + 1e-9
    assert sum(map(len, split.parts.values())) == len(log)


def test_ciao_has_categories_as_domains_where_asked(data_folder):
    data = load_dataset("ciao", data_folder, domains=True)
    assert data.interactions.item_domain.n_unique() == 28
    assert data.extras["trust"].columns == ["truster", "trustee"]


def test_check_ins_in_sessions_keep_their_order(data_folder):
    split = prepare("foursquare-tky-filtered", folder=data_folder)
    last = split.test
    assert (last.times >= split.validation.times).all()
    assert len(last) == 2_173  # one of a user who has been to two places
