"""Who does what: shares of the work, and what a worker leaves behind."""

import json

from wfe_plugin.experiment import worker
from wfe_plugin.experiment.steps import Step, fingerprint
from wfe_plugin.experiment.work import is_done, shares


def items(**counts):
    return [{"model": model, "name": f"{model}{n}"} for model, count in counts.items() for n in range(count)]


def names(groups):
    return [[item["name"] for item in group] for group in groups]


def test_a_worker_has_one_model():
    assert names(shares(items(a=2, b=1), at_once=2)) == [["a0", "a1"], ["b0"]]
    assert names(shares(items(a=1, b=1, c=1), at_once=2)) == [["a0"], ["b0"], ["c0"]]


def test_the_largest_share_is_cut_where_workers_would_be_idle():
    assert sorted(names(shares(items(a=3), at_once=2))) == [["a0"], ["a1", "a2"]]
    assert sorted(map(len, shares(items(a=5, b=1), at_once=4))) == [1, 1, 2, 2]
    assert names(shares(items(a=1), at_once=4)) == [["a0"]] and shares([], 4) == []


def item(folder, **more):
    return {
        "kind": "decode", "name": "EncDec", "record": str(folder / "record.json"), "description": {"beam": 5},
        "model": "m", "split": "test", "arguments": [], "command": "wfe-generate", "versions": {}, **more,
    }  # fmt: skip


def test_a_decoding_is_there_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "start", lambda threads: None)
    monkeypatch.setattr(worker, "search", lambda data, item, every=1: (["one", "", "three"], 2.5))
    folder = tmp_path / "EncDec-seed1-beam5"
    job = item(folder)
    (tmp_path / "work.json").write_text(json.dumps({"data": "data", "threads": 1, "items": [job]}))
    assert not is_done(job)
    assert worker.main([str(tmp_path / "work.json")]) == 0
    assert (folder / "summaries.txt").read_text() == "one\n\nthree\n"
    stored = Step("EncDec", folder / "record.json", {"beam": 5}).stored()
    assert is_done(job) and not is_done({**job, "description": {"beam": 1}})
    assert (stored["sentences"], stored["seconds"]) == (3, 2.5)
    assert stored["summaries"] == fingerprint(folder / "summaries.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["EncDec-seed1-beam5", "work.json"]


def test_a_round_of_speed_is_one_record(tmp_path, monkeypatch):
    seconds = {"fast": 1.0, "slow": 4.0}
    monkeypatch.setattr(worker, "search", lambda data, item, every=1: (["a"] * 2, seconds[item["model"]]))
    systems = [{"system": name, "model": name, "arguments": []} for name in seconds]
    worker.speed(tmp_path, item(tmp_path, systems=systems, every=1))
    stored = json.loads((tmp_path / "record.json").read_text())
    assert stored["milliseconds"] == {"fast": 500, "slow": 2000}
