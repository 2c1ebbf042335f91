# Written by `make stubs` from the table in __init__.py.
from sureness.truncation.networks.attn_cut import AttnCutNetwork as AttnCutNetwork
from sureness.truncation.networks.inputs import Inputs as Inputs
from sureness.truncation.networks.inputs import Labels as Labels
from sureness.truncation.networks.mt_cut import MtCutNetwork as MtCutNetwork
from sureness.truncation.networks.mt_cut import PublicMtCutNetwork as PublicMtCutNetwork
from sureness.truncation.networks.network import CutNetwork as CutNetwork
from sureness.truncation.networks.training import CutTraining as CutTraining
from sureness.truncation.networks.training import Schedule as Schedule

__all__ = [
    "AttnCutNetwork",
    "CutNetwork",
    "CutTraining",
    "Inputs",
    "Labels",
    "MtCutNetwork",
    "PublicMtCutNetwork",
    "Schedule",
]
