"""``torch.utils.model_zoo``: the older name of ``torch.hub``'s files."""

from tensorbus.hub import HASH_REGEX as HASH_REGEX
from tensorbus.hub import load_state_dict_from_url as load_url
from tensorbus.hub import tqdm as tqdm
from tensorbus.hub import urlparse as urlparse

__all__ = ["load_url"]
