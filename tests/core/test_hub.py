"""``torch.hub`` reads folders and files; what is not here is told with what to do."""

from __future__ import annotations

import hashlib
import sys

import pytest

import tensorbus as torch
from tensorbus.utils import model_zoo

HUBCONF = """
import helper
dependencies = ["numpy"]

def scaled(factor, *, offset=0):
    "A number, scaled."
    return helper.BASE * factor + offset

_private = len
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    found = tmp_path / "home" / "hub" / "someone_models_main"
    found.mkdir(parents=True)
    (found / "hubconf.py").write_text(HUBCONF)
    (found / "helper.py").write_text("BASE = 7\n")
    yield found
    sys.modules.pop("helper", None)


def test_a_folder_offers_the_functions_of_its_hubconf(folder):
    before = list(sys.path)
    assert torch.hub.load(str(folder), "scaled", 3, offset=1, source="local") == 22
    assert torch.hub.load("someone/models", "scaled", 2) == 14
    assert torch.hub.load("someone/models:main", "scaled", 2) == 14
    assert torch.hub.list("someone/models") == ["scaled"]
    assert torch.hub.help("someone/models", "scaled") == "A number, scaled."
    assert sys.path == before


def test_what_a_folder_does_not_offer_is_named(folder):
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        torch.hub.load(str(folder), "other", source="local")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        torch.hub.load(str(folder), "scaled", source="web")
    with pytest.raises(FileNotFoundError, match="hubconf.py"):
        torch.hub.load(str(folder / "nowhere"), "scaled", source="local")
    with pytest.raises(RuntimeError, match=r"clone it to .*someone_others_v1"):
        torch.hub.load("someone/others:v1", "scaled")
    with pytest.raises(ValueError, match="owner/name"):
        torch.hub.list("models")
    (folder / "hubconf.py").write_text("dependencies = ['no_such_package_7']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package_7"):
        torch.hub.list("someone/models")


def test_weights_are_fetched_once_and_their_digest_is_checked(folder, tmp_path):
    path = tmp_path / "weights.pth"
    torch.save({"w": torch.arange(3.0)}, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    named = tmp_path / f"net-{digest[:8]}.pth"
    path.rename(named)
    for fetch in (torch.hub.load_state_dict_from_url, model_zoo.load_url):
        got = fetch(named.as_uri(), check_hash=True)
        assert torch.equal(got["w"], torch.arange(3.0))
        named.unlink(missing_ok=True)  # the second finds what the first has kept
    kept = tmp_path / "home" / "hub" / "checkpoints"
    assert [p.name for p in kept.iterdir()] == [named.name]


def test_a_file_that_can_not_be_had_leaves_nothing(folder, tmp_path):
    wrong = tmp_path / "net-00000000.pth"
    wrong.write_bytes(b"other")
    with pytest.raises(RuntimeError, match='invalid hash value .expected "00000000"'):
        torch.hub.load_state_dict_from_url(wrong.as_uri(), check_hash=True)
    with pytest.raises(RuntimeError, match=r"can't be fetched .* put the file at .*missing.pth"):
        torch.hub.load_state_dict_from_url((tmp_path / "missing.pth").as_uri())
    assert list((tmp_path / "home" / "hub" / "checkpoints").iterdir()) == []


def test_the_folder_can_be_chosen(folder, tmp_path, monkeypatch):
    assert torch.hub.get_dir() == str(tmp_path / "home" / "hub")
    torch.hub.set_dir(tmp_path / "elsewhere")
    assert torch.hub.get_dir() == str(tmp_path / "elsewhere")
    monkeypatch.setattr(torch.hub, "_dir", None)
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert torch.hub.get_dir() == str(tmp_path / "cache" / "torch" / "hub")


def test_the_configuration_is_told():
    assert f"tensorbus: {torch.__version__}" in torch.__config__.show()
    assert f"get_num_threads() : {torch.get_num_threads()}" in torch.__config__.parallel_info()
    assert "devices and overlays:" in torch.utils.collect_env.get_pretty_env_info()
