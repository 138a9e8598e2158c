"""wfe-experiment: options tuned on the validation set, speeds, and all systems side by side."""

import re

import pytest

from wfe_plugin.experiment.report import html
from wfe_plugin.experiment.report.content import build
from wfe_plugin.experiment.speed import Speeds, Spread
from wfe_plugin.experiment.tuning import Candidate, Tuning

# The stand-in repeats words below 2, says nothing from 4, and is right between.
TUNED = "[system Length penalty]\ntraining = EncDec\ntune = --lenpen 1 2 3 4\n"


def add(lab, text):
    lab.config.write_text(lab.config.read_text() + text)


def markdown_rows(lab):
    lines = (lab.out / "cats.md").read_text().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


# Tuning


def test_the_best_value_on_the_validation_set_decodes_the_test_set(lab, capsys):
    add(lab, TUNED)
    assert lab.run() == 0
    assert "tuning: 8 to do" in capsys.readouterr().out
    calls = lab.calls()
    tuned = [call for call in calls if call.startswith("tune")]
    # Four values, two seeds; the middle beam.
    assert len(tuned) == 8 and all("--beam 5" in call for call in tuned)
    decoded = [call for call in calls if call.startswith("generate") and "--lenpen" in call]
    # 2 and 3 are equally good: the first, for both seeds and both beams.
    assert len(decoded) == 4 and all(call.endswith(" --lenpen 2") for call in decoded)
    (tuning,) = lab.results().tunings
    assert [candidate.values for candidate in tuning.candidates] == [("1",), ("2",), ("3",), ("4",)]
    assert tuning.candidates[1].rouge == {"gigaword": {"rouge-1": 100, "rouge-2": 100, "rouge-l": 100}}
    assert tuning.chosen("gigaword") is tuning.candidates[1]
    assert lab.run() == 0 and lab.calls() == []


def test_the_report_shows_the_grid_and_the_choice(lab):
    add(lab, TUNED)
    assert lab.run() == 0
    rows = [row for row in markdown_rows(lab) if "chosen" in row[-1]]
    (row,) = rows
    assert row == ["", "2", "**100.00**", "**100.00**", "**100.00**", "**100.00** (chosen)"]
    assert ["", "4", "0.00", "0.00", "0.00", "0.00"] in markdown_rows(lab)
    text = (lab.out / "cats.md").read_text()
    assert (
        "Length penalty: --lenpen" in text
        and "ROUGE on the validation set by full-length F1, beam 5, mean over 2 seeds" in text
    )
    assert "-- --lenpen 4" in text  # among the commands


def test_new_values_and_another_beam_are_tried_without_doing_the_others_again(lab):
    add(lab, TUNED)
    assert lab.run() == 0
    lab.calls()
    lab.edit("--lenpen 1 2 3 4", "--lenpen 1 2.5 2 3 4")
    assert lab.run() == 0
    calls = lab.calls()
    assert len(calls) == 2 + 4 + 2 and all("--lenpen 2.5" in call for call in calls if "perplexity" not in call)
    lab.edit("speed rounds", "tuning beam = 3\nspeed rounds")
    assert lab.run() == 0
    calls = lab.calls()
    assert len(calls) == 10 and all("--beam 3" in call and call.startswith("tune") for call in calls)


def test_two_options_are_tuned_as_a_grid(lab):
    add(lab, "[system Two]\ntraining = EncDec\noptions = --unkpen 1\ntune = --lenpen 1 2\n  --max-len-b 5 9\n")
    assert lab.run() == 0
    calls = lab.calls()
    tried = [call.partition(" off ")[2] for call in calls if call.startswith("tune")]
    grid = [f"--unkpen 1 --lenpen {a} --max-len-b {b}" for a in (1, 2) for b in (5, 9)]
    assert sorted(tried) == sorted(2 * grid)
    (chosen,) = {call.partition(" off ")[2] for call in calls if call.startswith("generate") and "--lenpen" in call}
    assert chosen == grid[2]


def test_the_choice_is_made_by_the_mean_of_the_metrics():
    scores = [(30, 10, 20), (31, 9, 20), (30, 13, 20), (29, 14, 20)]
    metrics = ("rouge-1", "rouge-2", "rouge-l")
    candidates = [Candidate((str(n),), {"p": dict(zip(metrics, values))}) for n, values in enumerate(scores)]
    assert Tuning(None, candidates).chosen("p").values == ("2",)  # and not its equal after it


# Several configurations in one directory


def test_another_configuration_uses_the_same_models_and_decodings(lab):
    assert lab.run() == 0
    lab.calls()
    first, second = lab.config, lab.folder / "compare.ini"
    trainings = "[training EncDec]\nbaseline = yes\n[training EncDec+WFE]\n[training New]\nbaseline = yes\n"
    more = trainings + "options = --epochs 2\n" + TUNED + "[system N]\ntraining = New\n"
    second.write_text(first.read_text().replace("beams = 1 5", "beams = 5") + more)
    lab.config = second
    assert lab.run() == 0
    calls = lab.calls()
    assert sorted(re.findall(r"--out \S+/models/(\S+)", " ".join(calls))) == ["New-seed1", "New-seed2"]
    decoded = [call.split()[1] for call in calls if call.startswith("generate")]
    assert sorted(decoded) == ["EncDec-seed1", "EncDec-seed2", "New-seed1", "New-seed2"]
    for config in (first, second):
        lab.config = config
        assert lab.run() == 0 and lab.calls() == []
    assert (lab.out / "cats.html").is_file() and (lab.out / "compare.html").is_file()


# Speed


def test_rounds_alternate_and_are_measured_once(lab):
    lab.edit("speed rounds = 0", "speed rounds = 3")
    assert lab.run() == 0
    timed = lab.calls("speed")
    models = [call.split()[1].partition("-seed1")[0] for call in timed]
    assert models == ["EncDec", "EncDec+WFE", "EncDec+WFE", "EncDec", "EncDec", "EncDec+WFE"]
    assert all("--beam 5" in call for call in timed)
    speeds = lab.results().speeds
    # The stand-in says 3 sentences in 1.5 s, and in 3.0 s.
    assert speeds.milliseconds("EncDec") == (500, 500, 500) and speeds.ratio("EncDec+WFE") == (2, 2, 2)
    assert ["EncDec+WFE", "1000.0 (1000.0 to 1000.0)", "2.00 (2.00 to 2.00)"] in markdown_rows(lab)
    assert lab.run() == 0 and lab.calls() == []
    (lab.out / "speed/cats/round2.json").unlink()
    lab.edit("speed rounds = 3", "speed rounds = 4")
    assert lab.run() == 0
    assert len(lab.calls()) == 4  # the lost round and the new one, of two systems


def test_a_new_system_is_timed_beside_all_others(lab):
    lab.edit("speed rounds = 0", "speed rounds = 1")
    assert lab.run() == 0
    lab.calls()
    add(lab, "[system N]\ntraining = EncDec\noptions = --no-repeat-ngram-size 3\n")
    assert lab.run() == 0
    assert len(lab.calls("speed")) == 3


def test_ratios_are_taken_within_a_round():
    """By hand: the machine was twice as slow in the second round, and the ratio does not show it."""
    speeds = Speeds("a", [{"a": 10, "b": 12}, {"a": 20, "b": 24}, {"a": 10, "b": 11}])
    assert speeds.milliseconds("b") == Spread(12, 11, 24)
    assert speeds.ratio("b") == pytest.approx(Spread(1.2, 1.1, 1.2)) and speeds.ratio("a") == (1, 1, 1)


# Side by side


@pytest.fixture
def compared(lab):
    """EncDec repeats words; an alternative that does, too; one that does not; WFE; an oracle."""
    add(lab, "[system Blocking]\ntraining = EncDec\noptions = --no-repeat-ngram-size 3\n")
    add(lab, "[system Second WFE]\ntraining = EncDec+WFE\nrole = alternative\n")
    add(lab, "[system Perfect]\ntraining = EncDec+WFE\nrole = oracle\n" + TUNED)
    lab.edit("speed rounds = 0", "speed rounds = 2")
    assert lab.run() == 0
    return lab


def section_of(results):
    """The explanation and the table."""
    blocks = build(results).blocks
    (at,) = [n for n, block in enumerate(blocks) if getattr(block, "text", "") == "Side by side"]
    return blocks[at + 1].text, blocks[at + 2]


def test_the_table_has_all_systems_by_role(compared):
    explanation, table = section_of(compared.results())
    assert [(row.group, row.label) for row in table.rows] == [
        ("", "References"),
        ("Baseline", "EncDec"),
        ("Alternatives", "Blocking"),
        ("Alternatives", "Second WFE"),
        ("Alternatives", "Length penalty (2)"),
        ("With word-frequency estimation", "EncDec+WFE"),
        ("With the references' own frequencies", "Perfect"),
    ]
    assert all(len(row.cells) == len(table.columns) - 1 for row in table.rows)
    assert "ROUGE-1 recall at 75 bytes" in table.columns and table.columns[-1] == "words"
    assert "then from Second WFE, the best alternative" in explanation and "In brackets" in explanation


def test_the_numbers_of_the_table(compared):
    """By hand, for three sentences of which the first two repeat a word without WFE."""
    rows = {row.label: row.cells for row in section_of(compared.results())[1].rows}
    baseline, wfe, best = rows["EncDec"], rows["EncDec+WFE"], rows["Second WFE"]
    assert (baseline[0].detail, best[0].second) == ("–", "–")
    gain = float(wfe[0].text) - float(baseline[0].text)
    assert float(wfe[0].detail.strip("†‡")) == pytest.approx(gain, abs=0.011) and gain > 0
    assert float(baseline[0].second.strip("†‡")) == pytest.approx(-gain, abs=0.011)
    assert wfe[0].second == "+0.00"  # equal to the best alternative, and not significant
    assert wfe[0].strong and best[0].strong and not rows["Perfect"][0].strong and not baseline[0].strong
    # Recall of unigrams within 75 bytes: 1/2 ("&" is no word), 1/2 ("b" is one), 1/2; with WFE 1, 1 and 1/2.
    assert (baseline[3].text, wfe[3].text) == ("50.00", "83.33")
    # A word is repeated in two of three.
    assert [cell.text for cell in baseline[6:]] == ["66.7", "2.3"]
    assert [cell.text for cell in wfe[6:]] == ["0.0", "2.0"] and rows["References"][6].text == "0.0"


def test_the_table_in_html_and_markdown(compared):
    page = html.render(build(compared.results()))
    box = re.search(r'<div class="scroll"><table>(?:(?!</div>).)*recall at 75 bytes', page, flags=re.S)
    assert box  # scrolls within itself on a phone
    row = next(row for row in markdown_rows(compared) if row[:2] == ["With word-frequency estimation", "EncDec+WFE"])
    assert re.fullmatch(r"\*\*[\d.]+\*\* \(\+[\d.]+[†‡]?; \+0\.00\)", row[2])


def test_without_alternatives_and_speeds(lab):
    assert lab.run() == 0
    explanation, table = section_of(lab.results())
    assert [row.label for row in table.rows] == ["References", "EncDec", "EncDec+WFE"]
    assert all(not cell.second for row in table.rows for cell in row.cells)
    assert "alternative" not in explanation and "## Speed" not in (lab.out / "cats.md").read_text()
    assert "## Tuning" not in (lab.out / "cats.md").read_text()
