"""What is asked and answered, as types; the only module that knows how JSON is read, checked and written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from sureness._registry import names
from sureness.errors import SurenessError

MOST_USERS = 1_000
"""Users, groups or pages of one request."""

MOST_PAIRS = 100_000
"""Scores of one request."""

_WHOLE = 2**63 - 1

Order = Literal["user_id", "unsure", "longest", "shortest", "most_expected", "least_expected"]
"""How users may be sorted."""

By = Literal["window", "rank", "probability", "group"]
"""What the promise may be judged by."""

Id = Annotated[int, Meta(ge=-_WHOLE, le=_WHOLE)] | Annotated[str, Meta(max_length=1_000)]
Score = Annotated[float, Meta(ge=-1e30, le=1e30)]
Scores = Annotated[list[Score], Meta(min_length=1, max_length=MOST_PAIRS)]
Size = Annotated[int, Meta(ge=0, le=1_000_000)]
UtilityName = Annotated[str, Meta(extra_json_schema={"enum": list(names("utility"))})]

T = TypeVar("T")


class RefusedError(Exception):
    """What cannot be answered, as a status, a code that programs rely on, and one sentence for people."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers

    @classmethod
    def of(cls, error: SurenessError, status: int = 422) -> RefusedError:
        """A refusal of the library."""
        return cls(status, error.code, str(error))


class Complaint(Struct, frozen=True):
    """Why a request was refused."""

    code: str
    message: str


class ProtocolComplaint(Struct, frozen=True):
    """Why a request of the Open Inference Protocol was refused."""

    error: str
    code: str
    message: str


class _Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


# --- what is asked --------------------------------------------------------------------------------------------------


class Cut(_Asked, frozen=True, kw_only=True):
    """How long lists are; what is left out is as the recommender decides."""

    utility: UtilityName | None = None  # what a list is worth
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None  # in place of a utility: items at least this likely
    size: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None  # in place of a utility: this many for everybody
    min_size: Size | None = None
    max_size: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class Group(_Asked, frozen=True, kw_only=True):
    """Live scores of the candidates of a user, query or session, whom the recommender need not know."""

    scores: Scores
    item_ids: Annotated[list[Id], Meta(min_length=1, max_length=MOST_PAIRS)] | None = None
    user_id: Id | None = None
    history: Annotated[float, Meta(ge=0, le=1e12)] | None = None  # how many items the other system was trained on


class ListQuery(Cut, frozen=True, kw_only=True):
    """How lists are cut, and whether they are explained."""

    explain: bool = False  # also what is below the cut, and the expected utility of every size


class ListsAsked(ListQuery, frozen=True, kw_only=True):
    """Lists of many users of the recommender, or of groups with live scores."""

    user_ids: Annotated[list[Id], Meta(min_length=1, max_length=MOST_USERS)] | None = None
    groups: Annotated[list[Group], Meta(min_length=1, max_length=MOST_USERS)] | None = None


class UsersQuery(_Asked, frozen=True, kw_only=True):
    """Which users, in which order."""

    search: Annotated[str, Meta(max_length=1_000)] = ""
    order: Order = "user_id"
    start: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    limit: Annotated[int, Meta(ge=0, le=1_000)] = 100


class ProbabilitiesAsked(_Asked, frozen=True, kw_only=True):
    """Scores, and for each what the map looks at besides."""

    scores: Scores
    groups: Annotated[list[Id], Meta(max_length=MOST_PAIRS)] | None = None
    users: Annotated[list[Id], Meta(max_length=MOST_PAIRS)] | None = None
    segments: Annotated[list[Id], Meta(max_length=MOST_PAIRS)] | None = None
    history: Annotated[list[Annotated[float, Meta(ge=0, le=1e12)]], Meta(max_length=MOST_PAIRS)] | None = None
    traits: dict[str, list[float | str | None]] | None = None


class PageGroup(Group, frozen=True, kw_only=True):
    """A group, and the domain of each of its candidates."""

    domains: Annotated[list[str], Meta(min_length=1, max_length=MOST_PAIRS)]


class PagesAsked(_Asked, frozen=True, kw_only=True):
    """Pages whose slots are shared by domains: of users, or of groups with live scores."""

    slots: Annotated[int, Meta(ge=0, le=10_000)]
    user_ids: Annotated[list[Id], Meta(min_length=1, max_length=MOST_USERS)] | None = None
    groups: Annotated[list[PageGroup], Meta(min_length=1, max_length=MOST_USERS)] | None = None
    utility: UtilityName | None = None
    min_size: Size = 0  # of each domain
    max_size: Annotated[int, Meta(ge=1, le=10_000)] | None = None  # of each domain


class BudgetAsked(_Asked, frozen=True, kw_only=True):
    """A budget of items, shared by the users that the service has looked at."""

    items_per_user: Annotated[float, Meta(ge=0, le=1_000_000)]


# --- what is answered -----------------------------------------------------------------------------------------------


class Artefact(Struct, frozen=True):
    """The file that answered, and what its probabilities are about."""

    name: str
    version: str
    estimand: str
    horizon: str
    meaning: str


class Answer(Struct, frozen=True, kw_only=True):
    """What all answers of the library say."""

    artefact: Artefact
    notes: list[str]  # what the library has to say about it


class Explained(Struct, frozen=True, kw_only=True):
    """All candidates of a list, best first, and what each size of it is worth."""

    item_ids: list[Id | None]
    titles: list[str | None]
    scores: list[float]
    probabilities: list[float]
    expected_utility: dict[str, list[float]]  # by utility; the first number is that of one item
    below: float  # relevant items to expect below these


class User(Struct, frozen=True, kw_only=True):
    """A list in numbers."""

    user_id: Id | None
    list_size: int
    expected_utility: float | None  # of this list; null where the policy does not look at it
    expected_hits: float  # how many of its items will be relevant: the sum of their probabilities
    unsure: bool  # whether no list is worth showing


class List(User, frozen=True, kw_only=True):
    """What to show, best first."""

    item_ids: list[Id | None]
    scores: list[float]
    probabilities: list[float]
    places: list[int] | UnsetType = UNSET  # of live scores: their positions in the request
    explained: Explained | UnsetType = UNSET


class ListAnswer(Answer, frozen=True, kw_only=True):
    """The list of one user."""

    list: List


class ListsAnswer(Answer, frozen=True, kw_only=True):
    """Lists in the order of the request."""

    lists: list[List]


class ProbabilitiesAnswer(Answer, frozen=True, kw_only=True):
    """Probabilities in the order of the scores."""

    probabilities: list[float]


class PagePart(Struct, frozen=True, kw_only=True):
    """The items of one domain on a page, best first."""

    domain: str
    size: int
    expected_utility: float
    item_ids: list[Id | None]
    titles: list[str | None]
    probabilities: list[float]


class Page(Struct, frozen=True, kw_only=True):
    """How the slots of one page are shared."""

    user_id: Id | None
    expected_utility: float
    parts: list[PagePart]


class PagesAnswer(Answer, frozen=True, kw_only=True):
    """Pages in the order of the request."""

    pages: list[Page]


class BudgetAnswer(Answer, frozen=True, kw_only=True):
    """How a budget is shared, and what equal lists would be worth."""

    n_users: int
    utility: str
    longest: int
    spent: float
    price: float  # expected utility of one more item
    expected_utility: float  # mean over users
    expected_utility_of_equal_lists: float
    users_by_size: list[int]  # users with no item, with one, ...


class UsersAnswer(Answer, frozen=True, kw_only=True):
    """Some of the users, in the order that was asked for."""

    n_users: int  # of the recommender
    n_known: int  # whose lists have been looked at so far
    n_found: int  # that match
    users_by_size: list[int]
    n_unsure: int
    users: list[User]


class Kept(Struct, frozen=True):
    """How many relevant items were promised, and how many came; null where the ratio or its interval is not known."""

    name: str
    promised: float
    realised: float
    ratio: float | None
    low: float | None
    high: float | None


class PromiseTable(Struct, frozen=True, kw_only=True):
    """The promise by windows, ranks, probabilities or groups."""

    by: By
    of: str  # the field of groups, or which of several probabilities; may be empty
    rows: list[Kept]


class Coming(Struct, frozen=True):
    """What is promised for the window that comes next, with a 90% interval."""

    what: str
    promised: float
    low: float
    high: float


class PromiseAnswer(Answer, frozen=True, kw_only=True):
    """What was found by a backtest, its cautions as notes; empty if the service was started without one."""

    tables: list[PromiseTable]
    coming: list[Coming]


class Loaded(Struct, frozen=True, kw_only=True):
    """A file in force."""

    artefact: Artefact
    path: str
    loaded_at: str
    facts: dict[str, str]


class ArtefactsAnswer(Struct, frozen=True, kw_only=True):
    """The files in force, and why the last reload was refused, if it was."""

    recommender: Loaded
    calibrator: Loaded | None
    reloads: int
    problem: Complaint | None
    about: dict[str, Any]


class State(Struct, frozen=True):
    """Whether the service is there."""

    status: Literal["live", "ready"]


_Cell = int | float | str


class Tensor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An input or output of the Open Inference Protocol; its data may be nested or flat."""

    name: str
    shape: Annotated[list[Annotated[int, Meta(ge=0, le=MOST_PAIRS)]], Meta(min_length=1, max_length=2)]
    datatype: Literal["FP64", "FP32", "INT64", "INT32", "BYTES"]
    data: Annotated[Sequence[_Cell | list[_Cell]], Meta(max_length=MOST_PAIRS)]
    parameters: dict[str, Any] = {}


class InferAsked(Struct, frozen=True, kw_only=True):
    """An inference request of the Open Inference Protocol."""

    inputs: Annotated[list[Tensor], Meta(min_length=1, max_length=20)]
    id: str | None = None
    outputs: list[dict[str, Any]] | None = None
    parameters: dict[str, Any] | None = None


class InferAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An inference answer of the Open Inference Protocol."""

    model_name: str
    model_version: str
    outputs: list[Tensor]
    id: str | None = None
    parameters: dict[str, Any] = {}


class ModelAnswer(Struct, frozen=True, kw_only=True):
    """The metadata of a model, as in the Open Inference Protocol."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]


class ServerAnswer(Struct, frozen=True):
    """The metadata of the server, as in the Open Inference Protocol."""

    name: str
    version: str
    extensions: list[str]


# --- reading and writing --------------------------------------------------------------------------------------------


def encode(answer: object) -> bytes:
    """As JSON."""
    return msgspec.json.encode(answer)


_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def decode(body: bytes, kind: type[T]) -> T:
    """A request out of JSON; anything else is refused."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    try:
        found: T = decoder.decode(body)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "request", f"the request does not fit: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(400, "json", f"the body must be JSON: {error}") from None
    except RecursionError:
        raise RefusedError(400, "json", "the body must be JSON of few levels, got too many; flatten it") from None
    return found


def converted(pairs: Sequence[tuple[str, str]], kind: type[T]) -> T:
    """A request out of the names and words of a query string."""
    texts = dict(pairs)
    if len(texts) < len(pairs):
        raise RefusedError(422, "request", "the query does not fit: a parameter is given twice")
    try:
        found = msgspec.convert(texts, kind, strict=False)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "request", f"the query does not fit: {error}") from None
    if empty := [name for name in texts if getattr(found, name) is None]:  # the word null
        raise RefusedError(422, "request", f"the query does not fit: {empty[0]} has no value; leave it out")
    return found


def schemas(kinds: Iterable[type]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """JSON Schema of types: a reference to each, and all definitions."""
    found, components = msgspec.json.schema_components(list(kinds), ref_template="#/components/schemas/{name}")
    return list(found), components


def cut_of(asked: Cut) -> Cut:
    """How long lists are to be, without the rest of a request."""
    return Cut(**{name: getattr(asked, name) for name in Cut.__struct_fields__})


def problem_of(refused: RefusedError, kind: type) -> object:
    """A refusal as it is sent."""
    if kind is ProtocolComplaint:
        return ProtocolComplaint(refused.message, refused.code, refused.message)
    return Complaint(refused.code, refused.message)


def number_or_none(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
