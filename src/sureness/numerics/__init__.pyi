# Written by `make stubs` from the table in __init__.py.
from sureness.numerics.checks import LARGEST as LARGEST
from sureness.numerics.checks import check_choice as check_choice
from sureness.numerics.checks import check_ids as check_ids
from sureness.numerics.checks import check_labels as check_labels
from sureness.numerics.checks import check_probabilities as check_probabilities
from sureness.numerics.checks import check_probability_rows as check_probability_rows
from sureness.numerics.checks import check_propensity as check_propensity
from sureness.numerics.checks import check_rate as check_rate
from sureness.numerics.checks import check_rows as check_rows
from sureness.numerics.checks import check_scores as check_scores
from sureness.numerics.checks import check_share as check_share
from sureness.numerics.checks import check_weight as check_weight
from sureness.numerics.checks import one_dimension as one_dimension
from sureness.numerics.checks import same_length as same_length
from sureness.numerics.grouping import fold_of_groups as fold_of_groups
from sureness.numerics.grouping import group_codes as group_codes
from sureness.numerics.grouping import ranks_within as ranks_within
from sureness.numerics.grouping import top_n as top_n
from sureness.numerics.histogram import ScoreHistogram as ScoreHistogram
from sureness.numerics.histogram import WeightedScores as WeightedScores
from sureness.numerics.histogram import require_both_classes as require_both_classes
from sureness.numerics.intensity import once_gone as once_gone
from sureness.numerics.intensity import over_periods as over_periods
from sureness.numerics.intensity import over_shares as over_shares
from sureness.numerics.logistic import GaussianPrior as GaussianPrior
from sureness.numerics.logistic import fit_logistic as fit_logistic
from sureness.numerics.logistic import logit as logit
from sureness.numerics.logistic import sigmoid as sigmoid
from sureness.numerics.poisson import fit_poisson as fit_poisson
from sureness.numerics.poisson_binomial import Gains as Gains
from sureness.numerics.poisson_binomial import expected_gains as expected_gains
from sureness.numerics.poisson_binomial import log_odds_shifts as log_odds_shifts
from sureness.numerics.poisson_binomial import poisson_binomial_pmf as poisson_binomial_pmf
from sureness.numerics.poisson_binomial import power_sums as power_sums
from sureness.numerics.ranking import NOTHING as NOTHING
from sureness.numerics.ranking import draw_absent as draw_absent
from sureness.numerics.ranking import draw_by_ranks as draw_by_ranks
from sureness.numerics.ranking import exact_ranks as exact_ranks
from sureness.numerics.ranking import members as members
from sureness.numerics.ranking import ranks_of as ranks_of
from sureness.numerics.ranking import top_k as top_k
from sureness.numerics.ratios import holm as holm
from sureness.numerics.ratios import ratio_of_sums as ratio_of_sums
from sureness.numerics.small_logistic import fit_small_logistics as fit_small_logistics
from sureness.numerics.threads import at_most_threads as at_most_threads

__all__ = [
    "Gains",
    "GaussianPrior",
    "LARGEST",
    "NOTHING",
    "ScoreHistogram",
    "WeightedScores",
    "at_most_threads",
    "check_choice",
    "check_ids",
    "check_labels",
    "check_probabilities",
    "check_probability_rows",
    "check_propensity",
    "check_rate",
    "check_rows",
    "check_scores",
    "check_share",
    "check_weight",
    "draw_absent",
    "draw_by_ranks",
    "exact_ranks",
    "expected_gains",
    "fit_logistic",
    "fit_poisson",
    "fit_small_logistics",
    "fold_of_groups",
    "group_codes",
    "holm",
    "log_odds_shifts",
    "logit",
    "members",
    "once_gone",
    "one_dimension",
    "over_periods",
    "over_shares",
    "poisson_binomial_pmf",
    "power_sums",
    "ranks_of",
    "ranks_within",
    "ratio_of_sums",
    "require_both_classes",
    "same_length",
    "sigmoid",
    "top_k",
    "top_n",
]
