# Written by `make stubs` from the table in __init__.py.
from sureness.truncation.networks.attn_cut import AttnCutNetwork as AttnCutNetwork
from sureness.truncation.networks.inputs import Inputs as Inputs
from sureness.truncation.networks.inputs import Labels as Labels
from sureness.truncation.networks.mt_cut import MtCutNetwork as MtCutNetwork
from sureness.truncation.networks.network import CutNetwork as CutNetwork
from sureness.truncation.networks.training import Schedule as Schedule
from sureness.truncation.networks.training import train_cut as train_cut

__all__ = [
    "AttnCutNetwork",
    "CutNetwork",
    "Inputs",
    "Labels",
    "MtCutNetwork",
    "Schedule",
    "train_cut",
]
