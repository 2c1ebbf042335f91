"""What the service answers is what the library answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sureness as sn
from sureness.sources import id_maps
from tests.service.running import Server

pytestmark = pytest.mark.filterwarnings("ignore:.*far outside:sureness.errors.SurenessWarning")
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def same_list(answer, lists, row, item_ids=None):
    """Whether a list in JSON is that of a row of the library's."""
    size = int(lists.sizes[row])
    assert answer["list_size"] == size == len(answer["item_ids"])
    assert_allclose(answer["probabilities"], lists.probabilities[row, :size], **EXACT)
    assert_allclose(answer["scores"], lists.scores[row, :size], **EXACT)
    assert_allclose(answer["expected_hits"], lists.probabilities[row, :size].sum(), **EXACT)
    if not np.isnan(lists.expected[row]):
        assert_allclose(answer["expected_utility"], lists.expected[row], **EXACT)
    assert answer["unsure"] == lists.unsure[row]
    if item_ids is not None:
        assert answer["item_ids"] == [item_ids[place] for place in lists.places[row, :size]]


def test_the_list_of_a_user(server, recommender):
    lists, ids = recommender.decide(None), id_maps(recommender.source)[1].ids.to_list()
    for user in (0, 3, 100, 239):
        same_list(server.list_of(user), lists, user, ids)


def test_many_users_at_once_in_the_order_of_the_request(server, recommender):
    users = [7, 3, 7, 200]
    found = server.post("/v1/lists", {"user_ids": users}).json
    assert [each["user_id"] for each in found["lists"]] == users
    lists = recommender.decide(users)
    for row, answer in enumerate(found["lists"]):
        same_list(answer, lists, row)


@pytest.mark.parametrize(
    ("asked", "policy"),
    [
        ({"utility": "ndcg"}, sn.ExpectedUtility("ndcg")),
        ({"utility": "pdcg", "min_size": 0, "max_size": 7}, sn.ExpectedUtility("pdcg", min_size=0, max_size=7)),
        ({"max_size": 3}, sn.ExpectedUtility("f1", max_size=3)),
        ({"size": 4}, sn.FixedSize(4)),
        ({"threshold": 0.1}, sn.Threshold(0.1, min_size=0)),
    ],
)
def test_another_policy_decides_about_the_same_candidates(server, recommender, asked, policy):
    lists = policy.decide(recommender.decide([5, 6]))
    same_list(server.list_of(5, **asked), lists, 0)
    live = [{"user_id": 900, "scores": [0.35, 0.3, 0.2]}]
    both = server.post("/v1/lists", {"user_ids": [5, 6], **asked}).json["lists"]
    same_list(both[1], lists, 1)
    same_list(
        server.post("/v1/lists", {"groups": live, **asked}).json["lists"][0],
        policy.decide(recommender.decide([900], [[None] * 3], [live[0]["scores"]], history=[0])), 0,
    )  # fmt: skip


def test_live_scores_of_users_known_and_unknown(server, recommender):
    rng = np.random.default_rng(0)
    groups = [
        {"user_id": user, "scores": rng.normal(size=n).round(6).tolist(), "item_ids": rng.permutation(200)[:n].tolist()}
        for user, n in ((3, 60), (5_000, 20), (None, 60), (4, 1))
    ]
    groups[1]["history"] = 7
    found = server.post("/v1/lists", {"groups": groups}).json
    for group, answer in zip(groups, found["lists"], strict=True):
        user = -1 if group["user_id"] is None else group["user_id"]
        history = np.array([group.get("history", np.nan)], dtype=float)
        alone = recommender.decide([user], [group["item_ids"]], [group["scores"]], history=history)
        same_list(answer, alone, 0, group["item_ids"])
        assert [group["item_ids"][place] for place in answer["places"]] == answer["item_ids"]
    assert len(found["notes"]) == 1  # scores outside the range of the map
    assert "outside" in found["notes"][0]


def test_an_explained_list_has_everything_below_the_cut(server, recommender):
    found = server.list_of(3, explain=True, utility="f1")
    lists = sn.ExpectedUtility("f1").decide(recommender.decide([3]))
    explained = found["explained"]
    assert_allclose(explained["probabilities"], lists.probabilities[0], **EXACT)
    for utility, curve in explained["expected_utility"].items():
        assert_allclose(curve, sn.ExpectedUtility(utility).expected(lists)[0], **EXACT)
    curve = explained["expected_utility"]["f1"]
    assert found["list_size"] == int(np.argmax(curve)) + 1
    assert max(curve) == pytest.approx(found["expected_utility"])


def test_probabilities_of_candidates_of_groups(server, recommender):
    rng = np.random.default_rng(1)
    scores, groups = rng.normal(size=90), np.repeat(["a", "b", "new"], 30)
    history = np.repeat([2.0, 5.0, 0.0], 30)
    asked = {"scores": scores.tolist(), "groups": groups.tolist(), "history": history.tolist()}
    found = server.post("/v1/probabilities", asked).json
    expected = recommender.map_.probability(scores, groups=groups, history=history)
    assert_allclose(found["probabilities"], expected, **EXACT)
    assert found["artefact"]["meaning"] == recommender.map_.meaning
    assert found["notes"]


def test_probabilities_of_pairs_with_a_calibrator_of_ones_own(saved, platt):
    fitted, path = platt
    with Server((saved, "--calibrator", path)) as server:
        found = server.post("/v1/probabilities", {"scores": [-1, 0, 1.5]}).json
        assert_allclose(found["probabilities"], fitted.probability([-1, 0, 1.5]), **EXACT)
        assert found["artefact"]["name"] == "platt.json"
        refused = server.post("/v1/probabilities", {"scores": [1.0], "groups": [1]})
        assert (refused.status, refused.json["code"]) == (422, "setting")


def test_a_page_shared_by_domains(server, recommender):
    scores = np.linspace(1.0, 0.2, 20).round(4).tolist()
    domains = ["books" if place % 3 else "films" for place in range(20)]
    group = {"user_id": 3, "scores": scores, "item_ids": list(range(300, 320)), "domains": domains}
    found = server.post("/v1/pages", {"slots": 6, "groups": [group]}).json["pages"][0]
    lists = recommender.decide([3], [group["item_ids"]], [scores])
    worth = []
    for domain in ("books", "films"):
        own = [p for p, place in zip(lists.probabilities[0], lists.places[0], strict=True) if domains[place] == domain]
        worth.append(np.pad(sn.expected_utility([own], "f1", max_size=len(own))[0], (0, 13 - len(own)), mode="edge"))
    lengths = [[13, 7]]
    shared = sn.allocate_domains([worth], 6, lengths=lengths)
    assert [part["size"] for part in found["parts"]] == shared.sizes[0].tolist()
    assert_allclose(found["expected_utility"], shared.value[0], **EXACT)
    assert sum(len(part["item_ids"]) for part in found["parts"]) <= 6


def test_a_budget_shared_by_all_users(server, recommender):
    for _ in range(100):
        if (found := server.get("/v1/users").json)["n_known"] == found["n_users"]:
            break
    found = server.post("/v1/budgets", {"items_per_user": 2.5}).json
    lists = recommender.decide(None)
    worth = recommender.policy_.expected(lists).astype(np.float32)
    shared = sn.allocate_budget(worth, 600, lengths=np.minimum(lists.lengths, worth.shape[1]))
    assert found["spent"] == shared.spent
    assert_allclose(found["expected_utility"], shared.value.mean(), rtol=1e-6)
    assert found["expected_utility"] >= found["expected_utility_of_equal_lists"]
    assert sum(found["users_by_size"]) == found["n_users"] == 240


def test_users_sorted_and_searched(server, recommender):
    table = recommender.sizes()
    every = server.get("/v1/users?order=longest&limit=1000").json
    assert [each["list_size"] for each in every["users"]] == sorted(table["list_size"], reverse=True)
    known = {row["user_id"]: row for row in table.to_dicts()}
    for each in every["users"]:
        assert each["list_size"] == known[each["user_id"]]["list_size"]
        assert_allclose(each["expected_hits"], known[each["user_id"]]["expected_hits"], **EXACT)
    found = server.get("/v1/users?search=23&start=1&limit=3").json
    assert found["n_found"] == len([user for user in range(240) if "23" in str(user)])
    assert [each["user_id"] for each in found["users"]] == [123, 223, 230]


def test_ids_are_read_as_the_artefact_has_them(named):
    recommender, path = named
    lists = recommender.decide(None)
    users, items = (each.ids.to_list() for each in id_maps(recommender.source))
    with Server((path,)) as server:
        for row in (0, 17):
            found = server.list_of(users[row])
            assert found["user_id"] == users[row]
            same_list(found, lists, row, items)
        plain = server.get(f"/v1/users/{quote(users[0], safe='/')}/list")  # a slash need not be escaped
        assert plain.json["list"]["user_id"] == users[0]
        assert server.get("/v1/users/7/list").status == 404


def test_words_may_be_numbers_where_ids_are(server):
    assert server.post("/v1/lists", {"user_ids": ["3"]}).json == server.post("/v1/lists", {"user_ids": [3]}).json
    assert server.get("/v1/users/007/list").status == 404


def test_every_answer_names_its_artefact(server, recommender):
    asked = {
        "/v1/lists": {"user_ids": [1]}, "/v1/budgets": {"items_per_user": 1},
        "/v1/pages": {"slots": 1, "groups": [{"scores": [1.0], "domains": ["a"]}]},
    }  # fmt: skip
    for path, body in asked.items():
        found = server.post(path, body).json["artefact"]
        assert found["name"] == "recommender.sureness"
        assert found["horizon"] == str(recommender.horizon_)
        assert found["estimand"] == "interaction"


def test_titles_domains_and_pictures_come_from_a_table(saved, folder):
    table = folder / "items.csv"
    table.write_text("item_id,title,domain,picture\n" + "".join(
        f"{item},Film {item},{'old' if item % 2 else 'new'},{'one.png' if item < 5 else '../secret.png'}\n"
        for item in range(80)
    ))  # fmt: skip
    (folder / "one.png").write_bytes(b"\x89PNG picture")
    (folder.parent / "secret.png").write_bytes(b"secret")
    with Server((saved, "--items", table)) as server:
        found = server.list_of(3, explain=True)
        assert found["explained"]["titles"] == [f"Film {item}" for item in found["explained"]["item_ids"]]
        page = server.post("/v1/pages", {"slots": 5, "user_ids": [3]}).json["pages"][0]
        assert [part["domain"] for part in page["parts"]] == ["new", "old"]
        assert server.get("/pictures/3").body == b"\x89PNG picture"
        for other in ("/pictures/6", "/pictures/900", "/pictures/../secret.png", "/pictures/"):
            assert server.get(other).status == 404


def test_answers_of_a_crowd_are_those_of_each_alone(server, recommender):
    """A thousand requests of eight threads, good and bad, each of them with its own answer."""
    lists = recommender.decide(None)
    rng = np.random.default_rng(2)

    def good(user):
        same_list(server.list_of(user), lists, user)

    def live(user):
        scores = np.sort(rng.random(12) * 0.3)[::-1].round(5).tolist()
        found = server.post("/v1/lists", {"groups": [{"user_id": 1_000 + user, "scores": scores}]})
        assert found.json["lists"][0]["user_id"] == 1_000 + user
        assert found.json["lists"][0]["scores"] == scores[: found.json["lists"][0]["list_size"]]

    def bad(user):
        found = server.get(f"/v1/users/{user + 50_000}/list")
        assert found.status == 404
        assert str(user + 50_000) in found.json["message"]

    with ThreadPoolExecutor(8) as pool:
        every = [pool.submit((good, live, bad)[number % 3], number % 240) for number in range(1_000)]
        for each in every:
            each.result()
