"""wfe-generate by several processes, and in parts."""

import json
from dataclasses import replace

import pytest

from helpers.raw_text_model import TEXTS, make_model
from wfe_plugin.cli import generate
from wfe_plugin.errors import UserError
from wfe_plugin.pipeline import processes
from wfe_plugin.pipeline.generate import Request
from wfe_plugin.pipeline.parts import Part
from wfe_plugin.pipeline.processes import command, directory_of_parts, fingerprint, own_gpu, what_failed

FILES = ("summaries.txt", "nbest.tsv")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Options, and the directory with what one process makes of three windows of texts."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "input.txt").write_text("".join(f"{text}\n" for text in TEXTS * 12), encoding="utf-8")
    (folder / "references").write_text("".join("bank\n" for _ in TEXTS * 12))
    options = ["--model", str(make_model(folder)), "--input", str(folder / "input.txt"), "--nbest", "2"]
    options += ["--references", str(folder / "references"), "--threads", "1", "--beam", "2"]
    assert generate.main([*options, "--out", str(folder / "whole"), "--", "--max-len-b", "5"]) == 0
    return options, folder / "whole"


def test_parts_joined_by_cat_are_the_whole(whole, tmp_path):
    options, expected = whole
    for part in ("2/2", "1/2", "2/2"):  # one is done again
        assert generate.main([*options, "--out", str(tmp_path), "--part", part, "--", "--max-len-b", "5"]) == 0
    for stem, suffix in (name.split(".") for name in FILES):
        joined = b"".join(path.read_bytes() for path in sorted(tmp_path.glob(f"{stem}.*-of-2.{suffix}")))
        assert joined == (expected / f"{stem}.{suffix}").read_bytes()
    assert not list(tmp_path.glob("scores*"))


def test_several_processes_write_what_one_writes(whole, tmp_path):
    options, expected = whole
    assert generate.main([*options, "--out", str(tmp_path), "--processes", "2", "--", "--max-len-b", "5"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "generation.json", "nbest.tsv", "scores.json", "summaries.txt",
    ]  # fmt: skip
    records = [json.loads((folder / "generation.json").read_text()) for folder in (expected, tmp_path)]
    assert records[0]["request"] == records[1]["request"]
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (expected / name).read_bytes()


def test_an_error_of_a_process_is_the_error(whole, tmp_path, capfd):
    options, _ = whole
    arguments = [*options, "--out", str(tmp_path), "--processes", "2", "--decoding", "full", "--", "--constraints"]
    assert generate.main(arguments) == 1
    error = capfd.readouterr().err
    assert error.count("error:") == 1 and "constraints" in error
    assert not any(tmp_path.iterdir())


def test_a_part_that_died_is_done_again_alone(whole, tmp_path, monkeypatch, capfd):
    options, expected = whole
    arguments = [*options, "--out", str(tmp_path), "--processes", "2", "--", "--max-len-b", "5"]
    dying = "if '2/2' in sys.argv: import os; os.kill(os.getpid(), 9)\n"
    monkeypatch.setattr(processes, "CODE", processes.CODE.replace("\n", f"\n{dying}"))
    assert generate.main(arguments) == 1
    assert "ended by signal 9" in capfd.readouterr().err
    assert [path.name[:7] for path in tmp_path.iterdir()] == [".parts-"]
    only_the_dead = "assert '2/2' in sys.argv\n"
    monkeypatch.setattr(processes, "CODE", processes.CODE.replace(dying, only_the_dead))
    assert generate.main(arguments) == 0
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (expected / name).read_bytes()
    assert not list(tmp_path.glob(".parts-*"))


def test_parts_of_another_request_are_not_kept(whole, tmp_path):
    request = Request(whole[0][1], "out", input=whole[0][3])
    first = fingerprint(request, 2, 1)
    assert fingerprint(request, 2, 1) == first
    others = [fingerprint(replace(request, beam=6), 2, 1), fingerprint(request, 3, 1), fingerprint(request, 2, 2)]
    assert first not in others
    with pytest.raises(OSError), directory_of_parts(tmp_path, first) as work:
        (work / "generation.1-of-2.json").touch()
        raise OSError
    with directory_of_parts(tmp_path, first) as work:
        assert (work / "generation.1-of-2.json").exists()
        with pytest.raises(UserError, match="another"), directory_of_parts(tmp_path, first):
            pass
        (tmp_path / ".parts-other").mkdir()
        with pytest.raises(UserError), directory_of_parts(tmp_path, first):
            pass
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [["--part", "3/2"], ["--part", "1/2", "--processes", "2"]])
def test_wrong_parts(whole, tmp_path, wrong):
    try:
        assert generate.main([*whole[0], "--out", str(tmp_path), *wrong]) == 1
    except SystemExit as error:  # of argparse
        assert error.code == 2


def test_the_command_of_a_part():
    request = Request("m", "out", references=["a", "b"], part=Part(1, 2), fairseq_options=["--lenpen", "2"])
    arguments, extra = generate.parse(command(request))
    assert (arguments.model, arguments.references, arguments.part) == ("m", ["a", "b"], "1/2")
    assert (arguments.split, arguments.threads, extra) == (None, None, ["--lenpen", "2"])


def test_gpus_go_round(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert [own_gpu(number)["CUDA_VISIBLE_DEVICES"] for number in range(3)] == ["4", "6", "4"]


def test_a_process_that_was_killed():
    assert "memory" in what_failed(-9, "")
    assert what_failed(1, "warning\nwfe-generate: error: no room\n") == "no room"
    assert "ValueError: x" in what_failed(1, "Traceback\nValueError: x\n")
