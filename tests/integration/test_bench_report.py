"""The benchmark's goals and report, and what is left of a run when a part of it fails."""

import json
import re
from dataclasses import asdict, replace
from xml.etree import ElementTree

import pytest

from benchmarks import commands, tables
from benchmarks.command import Benchmark, read_results
from benchmarks.goals import Goal, goals, ratio_goal
from benchmarks.growth import settings
from benchmarks.opennmt import opennmt
from benchmarks.page import PAGE, filled, goals_table
from benchmarks.plots import plot
from benchmarks.rounds import Spread
from benchmarks.sizes import FULL, QUICK, SMALL, Plan
from wfe_plugin.whole_files import write_json


def fake_results():
    step = {"forward": 1.0, "backward": 2.0, "optimizer": 1.0}
    slower = {"forward": 1.2, "backward": 2.4, "optimizer": 4.0}
    steps = {"stock": slower, "encdec": step, "literal": slower, "shipped": slower, "votes": step, "estimate": step}
    small = {**steps, "opennmt": step}
    decoding = {"stock": 2.0, "encdec": 2.0, "literal": 8.0, "shipped": 1.8, "votes": 1.1, "shortlist": 0.8}
    names = dict(zip([*small, "shortlist", "stock_transformer", "votes_transformer"], "SELWVMONTU"))
    return {
        "names": names,
        "training": {"paper": [steps], "small": [small]},
        "decoding": {
            "paper": {5: [decoding]},
            "small": {5: [{**decoding, "opennmt": 1.0}]},
            "transformer": {5: [{"stock_transformer": 1.0, "votes_transformer": 0.7}]},
        },
        "memory": {
            "paper": {
                "encdec": {"peak": 10**9, "parameters": 0},
                "shipped": {"peak": 10**9 + 10**8, "parameters": 0},
            },
            "decoding small": {"votes": {"peak": 2 * 10**8, "parameters": 10**6}},
        },
        "pipeline": {"processes": {1: 100.0, 2: 190.0}, "experiment": {"whole": 3.0, "search": 0.5}},
        "mask": {10: [{"addition": 1.0, "mask": 1.5}], 100: [{"addition": 10.0, "mask": 12.3}]},
        "mask_work": {10: 7, 100: 9},
        "parameters": {"small": {"encdec": 100, "shipped": 90, "votes": 20}},
        "help": {"train": 0.1, "generate": 0.4},
        "preprocessing": {
            100_000: {"seconds": 10.0, "cpu": 11.0, "peak": 1.0},
            200_000: {"seconds": 20.0, "cpu": 22.0, "peak": 1.2},
        },
    }


def test_goals():
    found = {goal.what: (goal.limit, goal.figure, goal.met) for goal in goals(fake_results())}
    assert found["training step, small sizes, WFE / EncDec"] == (1.10, pytest.approx(1.9), False)
    assert found["training step, small sizes, WFE votes / fairseq lstm"] == (0.9, pytest.approx(4 / 7.6), True)
    assert found["training step, paper sizes, WFE / fairseq lstm"][0] == 0.65
    assert found["training step, small sizes, an estimate on a model / EncDec"][:2] == (0.4, 1.0)
    assert found["decoding, beam 5, small sizes, votes as auto decodes / fairseq lstm"] == (0.6, 0.55, True)
    assert found["decoding, beam 5, paper's sizes, WFE / fairseq lstm"] == (0.75, 0.9, False)
    assert found["decoding, beam 5, Transformer, votes / fairseq transformer"] == (0.8, 0.7, True)
    assert found["parameters of votes / of EncDec, small sizes"] == (0.25, 0.2, True)
    assert found["--help of the slowest command"] == (0.3, 0.4, False)
    # 0.1 s for each thousand pairs
    assert found["3.8 million pairs with BPE, two processes"] == (10, pytest.approx(380 / 60), True)
    assert found["memory of preprocessing, 2 times the pairs"] == (1.5, 1.2, True)
    assert found["training step, small sizes, WFE / OpenNMT-py"] == (1.0, pytest.approx(1.9), False)
    assert found["decoding, beam 5, small sizes, votes as auto decodes / OpenNMT-py"] == (1.0, 1.1, False)
    assert found["an experiment's fixed cost per decoding of 100 sentences"] == (5, 2.5, True)
    assert found["one process / two, sentences per second"] == (1 / 1.8, 1 / 1.9, True)
    assert len(found) == 26


def test_goal_without_a_figure():
    results = fake_results()
    del results["decoding"]["paper"][5][0]["shortlist"]
    missing = [goal.what for goal in goals(results) if goal.met is None]
    assert missing == ["decoding, beam 5, paper's sizes, WFE with the shortlist / fairseq lstm"]


def test_goals_of_a_run_that_failed():
    assert all(goal.met is None for goal in goals({}))


def test_a_section_that_fails_leaves_the_others(tmp_path, capsys):
    benchmark = Benchmark(QUICK, 100, None)
    benchmark.sections.update(help=lambda: {"train": 0.1}, mask=lambda: 1 / 0)
    saved = []
    results = benchmark.run({"parameters": {"small": {}}}, ["mask", "help"], lambda found: saved.append(dict(found)))
    assert results["failed"] == {"mask": "ZeroDivisionError: division by zero"}
    assert results["help"] == {"train": 0.1} and results["parameters"] == {"small": {}} and len(saved) == 2
    file = tmp_path / "bench.json"
    write_json(file, fake_results())
    assert read_results(file) == fake_results()  # numbers are keys again


def test_the_page_is_filled():
    page = "a\n<!-- goals -->\nold\n<!-- end of goals -->\nb\n"
    results = fake_results()
    found = [{**asdict(goal), "met": goal.met} for goal in goals(results)]
    shown = filled(page, {"goals": goals_table(found)})
    assert "old" not in shown and shown.startswith("a\n<!-- goals -->\n| what") and shown.endswith("b\n")
    assert "| --help of the slowest command | 0.30 s | 0.40 s | generate | **missed** |" in shown
    assert all("| ---:" in one.markdown() for one in tables.all_tables(results))
    marks = set(re.findall(r"<!-- end of (.*) -->", PAGE.read_text(encoding="utf-8")))
    assert marks == {"run", "goals", "tables", "plots"}


def test_opennmt_in_an_environment_that_fails(tmp_path):
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with opennmt(tmp_path, replace(SMALL, batch=2, decoding_batch=2)) as rival, pytest.raises(ChildProcessError):
        rival.training_step()
    with opennmt(None, SMALL) as rival:
        assert rival is None


def test_help_and_preprocessing_are_measured(monkeypatch):
    assert {"generate", "preprocess"} < set(commands.command_modules())
    monkeypatch.setattr(commands, "command_modules", lambda: ["user_dir"])
    assert commands.measure_help()["user_dir"] > 0
    measured = commands.measure_preprocessing([200])
    assert measured[200]["cpu"] > 0 and measured[200]["peak"] > 10**7


def test_goal_lines():
    assert ratio_goal("a / b", 1.0, Spread(0.876, 0.85, 0.9)).line() == (
        "met           a / b: 0.88 (goal: at most 1.00; half of the rounds: 0.85 to 0.90)"
    )
    assert Goal("memory", 141.1, 150.2, unit=" MB").line() == "MISSED        memory: 150 MB (goal: at most 141 MB)"
    assert ratio_goal("c", 0.33, None).line() == "not measured  c: - (goal: at most 0.33)"


def test_report_has_the_figures():
    shown = tables.report(fake_results())
    assert "1.90 (1.90 to 1.90)" in shown  # WFE's whole step
    assert "17.8" in shown  # 32 sentences in 1.8 s
    assert "1,100" in shown  # MB
    assert "decoding small: V" in shown
    json.dumps(fake_results())


def test_plot_is_a_picture_of_its_own():
    picture = plot({5: {"a": 1.0, "b": 2.0}, 10: {"a": 2.0}}, {"a": "A & Co", "b": "B"}, "words", "seconds")
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "A & Co" in texts and "B" not in texts  # B lacks a point
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 1


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_plans_measure_what_the_goals_need(plan: Plan):
    assert plan.training_rounds["paper"] >= 3 and plan.decoding_rounds["paper", 5] >= 3
    assert {("encdec", "paper", 0), ("shipped", "paper", 0)} <= set(plan.memory_of)
    assert {beam for size, beam in plan.decoding_rounds if size == "small"} == {1, 5, 10}
    assert {curve for curve, _, _ in settings(plan)} == {"vocabulary", "batch", "length"}
