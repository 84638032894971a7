"""``torch.utils.model_zoo``: the older name of ``torch.hub``'s files."""

from urllib.parse import urlparse as urlparse

from tensorbus.hub import HASH_REGEX as HASH_REGEX
from tensorbus.hub import load_state_dict_from_url as load_url
from tensorbus.hub import tqdm as tqdm

__all__ = ["load_url"]
