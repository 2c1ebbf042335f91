"""Requests of several threads against a running server, each compared with what the library answers."""

from __future__ import annotations

import http.client
import json
import threading
from collections import Counter

import numpy as np

TOLERANCE = 1e-12


class Crowd:
    """Threads that ask without a pause; `wrong` has every answer that is not what it should be."""

    def __init__(self, server, answers, *, threads=4):
        self.server, self.answers = server, answers  # by user: the lists of the library that may be in force
        self.statuses, self.wrong = Counter(), []
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(threads)]

    def __enter__(self):
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for each in self._threads:
            each.join()

    def _run(self, seed):
        rng = np.random.default_rng(seed)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        kinds = (self._known, self._unknown, self._live, self._broken)
        while not self._ends.is_set():
            try:
                kinds[int(rng.integers(4))](connection, rng)
            except Exception as error:  # a connection that breaks is a failure too
                self.wrong.append(repr(error))
                connection.close()
        connection.close()

    def _ask(self, connection, method, path, body=None):
        connection.request(method, path, body)
        answer = connection.getresponse()
        content = answer.read()
        self.statuses[answer.status] += 1
        return answer.status, json.loads(content)

    def _known(self, connection, rng):
        user = int(rng.integers(len(self.answers[0])))
        status, found = self._ask(connection, "GET", f"/v1/users/{user}/list")
        probabilities = np.array(found["list"]["probabilities"]) if status == 200 else None
        same = probabilities is not None and any(
            len(every[user]) == len(probabilities) and np.allclose(every[user], probabilities, TOLERANCE, TOLERANCE)
            for every in self.answers
        )
        if not same or found["list"]["user_id"] != user:
            self.wrong.append((user, status, found))

    def _unknown(self, connection, rng):
        user = int(rng.integers(10**6, 10**9))
        status, found = self._ask(connection, "GET", f"/v1/users/{user}/list")
        if status != 404 or str(user) not in found["message"]:
            self.wrong.append((user, status, found))

    def _live(self, connection, rng):
        user = int(rng.integers(10**6, 10**9))
        scores = np.sort(rng.random(int(rng.integers(1, 40))))[::-1].tolist()
        status, found = self._ask(
            connection, "POST", "/v1/lists", json.dumps({"groups": [{"user_id": user, "scores": scores}]})
        )
        own = found["lists"][0] if status == 200 else {}
        if status != 200 or own["user_id"] != user or own["scores"] != scores[: own["list_size"]]:
            self.wrong.append((user, status, found))

    def _broken(self, connection, rng):
        body = ("{", '{"scores": ["x"]}', '{"groups": [{"scores": [1, 1], "item_ids": [5, 5]}]}')[int(rng.integers(3))]
        status, found = self._ask(connection, "POST", "/v1/lists", body)
        if not 400 <= status < 500 or set(found) != {"code", "message"}:
            self.wrong.append((body, status, found))


def shown_by(recommender):
    """The probabilities that each user is shown."""
    lists = recommender.decide(None)
    return [row[:size] for row, size in zip(lists.probabilities, lists.sizes, strict=True)]
