"""examples/debian/prepare.py on package lists that we wrote, in apt's layout."""

import gzip
import lzma
import shutil
import subprocess

import pytest

from helpers import ROOT
from helpers.scripts import module_of, run_script

SCRIPT = ROOT / "examples" / "debian" / "prepare.py"
prepare = module_of(SCRIPT)

TEXT = "A small program that waters the plants of your garden by a plan which you can write down in a plain file."


def package(
    name="gardener", source="gardener", section="utils", synopsis="program to water plants", paragraphs=(TEXT,)
):
    return prepare.Package(name, source, section, synopsis, list(paragraphs))


def test_stanzas_keep_continuation_lines():
    lines = ["Package: a\n", "Description: x: y\n", " one\n", "  two\n", "\n", "\n", "Package: b\n"]
    assert list(prepare.stanzas(lines)) == [{"Package": "a", "Description": "x: y\n one\n  two"}, {"Package": "b"}]


def test_paragraphs_are_the_prose_alone():
    body = (
        " First line\n goes on.\n .\n Features:\n  - watering\n  * weeding\n - mowing\n After the list.\n .\n    code()"
    )
    assert list(prepare.paragraphs(body)) == ["First line goes on.", "Features:", "After the list."]


@pytest.mark.parametrize(
    "synopsis, clean",
    [
        ("watering library (development files)", "watering library"),
        ("watering library - shared libraries", "watering library"),
        ("garden planner -- documentation", "garden planner"),
        ("garden planner - Rust source code", "garden planner"),
        ("garden planner (Python 3)", "garden planner"),
        ("program that draws  gardens.", "program that draws gardens"),
        ("tool (and toy) for gardens", "tool (and toy) for gardens"),
        ("plants of the world (tropical)", "plants of the world (tropical)"),
    ],
)
def test_synopsis_loses_what_tells_sister_packages_apart(synopsis, clean):
    assert prepare.clean_synopsis(synopsis) == clean


def test_description_has_whole_useful_sentences():
    texts = ["Waters plants.", "See https://example.org/ for more. It has these parts:", TEXT, "Never reached."]
    assert prepare.describe(texts) == "Waters plants. " + TEXT
    assert prepare.describe([TEXT + " This package contains the development files."]) == TEXT
    assert prepare.describe(["Words come first. And" + " so on" * 60 + "."]) == "Words come first."


def test_a_good_package_becomes_a_pair():
    assert prepare.make_pair(package(), set()) == prepare.Pair("gardener", TEXT, "program to water plants")


@pytest.mark.parametrize(
    "change",
    [
        {"synopsis": "plants"},
        {"synopsis": "transitional package to water plants"},
        {"synopsis": "unrelated thing entirely"},
        {"paragraphs": ["Too short."]},
        {"paragraphs": [TEXT.replace("program", "package for the Rust program crate, by debcargo,")]},
        {"paragraphs": ["plants: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22."]},
    ],
)
def test_useless_packages_are_left_out(change):
    assert prepare.make_pair(package(**change), set()) is None


def test_paragraphs_of_several_sources_are_boilerplate():
    shared = "Gardens 2 are nice."
    packages = [package(name, source, paragraphs=[shared, name]) for name, source in zip("abcd", "xyzz")]
    packages += [package("e", "z", paragraphs=["Of one source only."]) for _ in range(5)]
    assert prepare.common_paragraphs(packages) == {"gardens are nice"}
    pair = prepare.make_pair(package(paragraphs=["Gardens 3 are nice.", TEXT]), {"gardens are nice"})
    assert pair.description == TEXT


def test_the_main_package_comes_first():
    names = ["libgarden-dev", "garden-doc", "garden-data", "garden", "libgarden1"]
    sections = ["libdevel", "doc", "utils", "utils", "libs"]
    packages = [package(name, "garden", section) for name, section in zip(names, sections)]
    order = [p.name for p in sorted(packages, key=prepare.main_first)]
    assert order == ["garden", "libgarden1", "garden-data", "garden-doc", "libgarden-dev"]


def test_near_duplicates_and_surplus_go():
    texts = [
        f"{word} " * 3 + f"does {word} things for {word} people and {word} pets"
        for word in "abc def ghi jkl mno".split()
    ]
    pairs = [prepare.Pair("one", text, f"synopsis {i} of {text[:3]}") for i, text in enumerate(texts)]
    near = prepare.Pair("two", texts[0].replace("pets", "cats"), "another synopsis")
    same = prepare.Pair("three", "an entirely new text with no words known", pairs[0].synopsis)
    assert prepare.drop_duplicates([*pairs, near, same]) == pairs[: prepare.MAX_PER_SOURCE]


def test_versions_of_a_source_share_a_split_and_shares_are_kept():
    pairs = [
        prepare.Pair(f"tool{chr(97 + i % 26)}{'x' * (i // 26)}-{v}", "d", "s")
        for i in range(1500)
        for v in (11, "12.1")
    ]
    splits = prepare.split_by_source(pairs)
    assert splits == prepare.split_by_source(pairs)
    families = [{pair.source.partition("-")[0] for pair in split} for split in splits.values()]
    assert not (families[0] & families[1] or families[0] & families[2] or families[1] & families[2])
    for name in ("valid", "test"):
        assert 0.02 < len(splits[name]) / len(pairs) < 0.06


# The whole script

ADJECTIVES = "red blue green old new fast slow small large quiet loud plain clever sharp round flat soft hard".split()
NOUNS = (
    "mail photo music clock garden game chess paint radio map font poem recipe budget puzzle letter movie star".split()
)


def write_lists(directory):
    """Packages of many sources, each with a -dev package that all but repeats the main one."""
    directory.mkdir()
    lists, translations = [], []
    for i, noun in enumerate(NOUNS):
        for j, adjective in enumerate(ADJECTIVES):
            source = f"{adjective}{noun}"
            other, third = ADJECTIVES[(i + 3 * j) % 18], NOUNS[(5 * i + j) % 18]
            for name, note, ending in ((source, "", ""), (f"lib{source}-dev", " (development files)", " To build.")):
                lists.append(
                    f"Package: {name}\nSource: {source} (1.0)\nSection: utils\nDescription: {adjective} {noun}{note}\n"
                    f"Description-md5: {name}\n"
                )
                translations.append(
                    f"Package: {name}\nDescription-md5: {name}\n"
                    f"Description-en: {adjective} {noun} manager for {other} {third}{note}\n"
                    f" A {adjective} {noun} manager with {other} {noun} and {third} {noun} for {adjective} {third}\n"
                    f" people, {other} {third} people and {noun} {adjective} machines.{ending}\n .\n  * a list\n"
                )
    stem = "example.org_debian_dists_stable_main"
    with gzip.open(directory / f"{stem}_binary-amd64_Packages.gz", "wt") as file:
        file.write("\n".join(lists))
    with lzma.open(directory / f"{stem}_i18n_Translation-en.xz", "wt") as file:
        file.write("\n".join(translations))
    (directory / f"{stem}_InRelease").write_text("no list")


def test_the_script_on_a_directory(tmp_path):
    write_lists(tmp_path / "my lists")
    out = tmp_path / "out dir"
    done = run_script(SCRIPT, "--out", out, "--lists", tmp_path / "my lists")
    assert done.returncode == 0 and done.stdout.startswith(f"{2 * 18 * 18} packages, ")
    files = sorted(path.name for path in out.iterdir())
    assert files == ["test.article", "test.title", "train.article", "train.title", "valid.article", "valid.title"]
    text = {file: (out / file).read_text().splitlines() for file in files}
    for name in ("train", "valid", "test"):
        assert len(text[f"{name}.article"]) == len(text[f"{name}.title"]) > 0
    titles = [title for file in files if file.endswith("title") for title in text[file]]
    assert 200 < len(titles) == len(set(titles)) <= 18 * 18
    assert not any("development" in title for title in titles)


def test_lists_without_descriptions_are_refused(tmp_path):
    with pytest.raises(SystemExit, match="no package lists"):
        prepare.read_packages(tmp_path)
    (tmp_path / "example.org_main_binary-amd64_Packages").write_text("Package: a\nDescription: short\n")
    with pytest.raises(SystemExit, match="no long descriptions"):
        prepare.read_packages(tmp_path)


DAMAGED = {
    "Packages": b"Package: a\nDescription: b\n\nDescription: lost\n",
    "Packages.gz": b"x",
    "Packages.xz": lzma.compress(b"Package: a\n" * 99)[:-20],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_lists_are_refused_by_name(tmp_path, name):
    (tmp_path / "example.org_main_binary-amd64_Packages").write_text(f"Package: a\nSource:\nDescription: b\n {TEXT}\n")
    path = tmp_path / f"example.org_contrib_{name}"
    path.write_bytes(DAMAGED[name])
    out = tmp_path / "out"
    done = run_script(SCRIPT, "--out", out, "--lists", tmp_path)
    assert done.returncode == 1 and not out.exists()
    assert done.stderr.startswith(f"prepare: {path}: cannot be read as a package list (")
    assert "run apt-get update" in done.stderr and done.stderr.count("\n") == 1


def test_too_few_descriptions_are_refused(tmp_path):
    (tmp_path / "example.org_main_binary-amd64_Packages").write_text(f"Package: a\nDescription: b\n {TEXT}\n")
    out = tmp_path / "out"
    done = run_script(SCRIPT, "--out", out, "--lists", tmp_path)
    assert done.returncode == 1 and not out.exists()
    assert f"prepare: {tmp_path}: 0 usable descriptions of 1 packages, too few for train text" in done.stderr


# run.sh


def recipe(tmp_path, *options):
    """A copy of the recipe, beside a stub of what runs the experiment."""
    shutil.copytree(SCRIPT.parent.parent, tmp_path / "examples", dirs_exist_ok=True)
    (tmp_path / "scripts").mkdir(exist_ok=True)
    stub = tmp_path / "scripts" / "run_main.sh"
    stub.write_text('#!/bin/sh\necho "ran $2"\n')
    stub.chmod(0o755)
    return subprocess.run(["examples/debian/run.sh", *options], cwd=tmp_path, capture_output=True, text=True)


def test_the_configuration_that_the_recipe_has_copied_can_be_edited(tmp_path):
    write_lists(tmp_path / "lists")
    done = recipe(tmp_path, "--out", "o", "--lists", "lists")
    assert done.returncode == 0 and f"ran {tmp_path}/o/experiment.ini" in done.stdout and done.stderr == ""
    (tmp_path / "o/experiment.ini").write_text("mine")
    done = recipe(tmp_path, "--out", "o", "--config", "o/experiment.ini")
    assert (done.returncode, done.stderr) == (0, "") and f"ran {tmp_path}/o/experiment.ini" in done.stdout
    assert (tmp_path / "o/experiment.ini").read_text() == "mine"


def test_lists_that_come_too_late_are_not_passed_over_silently(tmp_path):
    write_lists(tmp_path / "lists")
    (tmp_path / "empty").mkdir()
    done = recipe(tmp_path, "--out", "o", "--lists", "empty")
    assert done.returncode == 1 and "no package lists there" in done.stderr and "ran" not in done.stdout
    # Nothing was prepared, so that the next try does it.
    assert recipe(tmp_path, "--out", "o", "--lists", "lists").returncode == 0
    done = recipe(tmp_path, "--out", "o", "--lists", "empty")
    assert done.returncode == 0 and "ran" in done.stdout
    assert f"{tmp_path}/o/text: the text is there already, so that --lists is not used" in done.stderr


def test_full_descriptions_in_the_list_itself_are_enough(tmp_path):
    (tmp_path / "example.org_main_binary-amd64_Packages").write_text(
        f"Package: a\nSource: b (2)\nSection: contrib/net\nDescription: short one\n {TEXT}\n"
    )
    assert prepare.read_packages(tmp_path) == [prepare.Package("a", "b", "net", "short one", [TEXT])]


def test_lists_are_fetched_once_into_a_directory_of_their_own(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(prepare.subprocess, "run", lambda command, check: calls.append(command))
    monkeypatch.setattr(prepare.shutil, "which", lambda name: name)
    for _ in range(2):
        assert prepare.download(tmp_path) == tmp_path / "lists"
    assert len(calls) == 1 and f"Dir::State::Lists={tmp_path / 'lists.unfinished'}" in calls[0]
    assert [path.name for path in tmp_path.iterdir()] == ["lists"]
