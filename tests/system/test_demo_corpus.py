"""The demo corpus: what make_corpus.py promises about its files and its headlines."""

import importlib.util
import random
import subprocess
import sys
from collections import Counter

import pytest

from helpers import ROOT

SCRIPT = ROOT / "examples" / "demo" / "make_corpus.py"
SIZES = {"train": 4000, "valid": 300, "test": 300}
FUNCTION_WORDS = set(", : and as after for from in of on over the to with".split())


@pytest.fixture(scope="module")
def maker():
    """The script as a module (it lies outside the package)."""
    spec = importlib.util.spec_from_file_location("make_corpus", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def corpus(maker):
    return maker.make_corpus(1, SIZES)


def run(*args):
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, args)], capture_output=True, text=True)


def repeats(headline):
    """Whether a content word occurs more than once."""
    counts = Counter(word for word in headline.split() if word not in FUNCTION_WORDS)
    return any(count > 1 for count in counts.values())


def words(pairs, column):
    return {word for pair in pairs for word in pair[column].split()}


def test_same_seed_same_files(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        done = run("--out", tmp_path / name, "--seed", seed, "--train", 500, "--valid", 20, "--test", 30)
        assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == sorted(f"{s}.{side}" for s in SIZES for side in ("article", "title"))  # no temporary files left
    for name in files:
        text = (tmp_path / "a" / name).read_bytes()
        assert text == (tmp_path / "b" / name).read_bytes()
        assert text != (tmp_path / "c" / name).read_bytes()


def test_lines_match_the_sizes_asked_for(tmp_path):
    assert run("--out", tmp_path, "--train", 500, "--valid", 20, "--test", 30).returncode == 0
    for split, size in (("train", 500), ("valid", 20), ("test", 30)):
        for side in ("article", "title"):
            lines = (tmp_path / f"{split}.{side}").read_text().split("\n")
            assert lines.pop() == "" and len(lines) == size and all(lines)


def test_text_is_lower_case_and_fully_expanded(corpus):
    for pairs in corpus.values():
        for article, title in pairs:
            for text in (article, title):
                assert text == text.lower() and text == " ".join(text.split())
                assert not set("{}()|/_*=>") & set(text)


def test_lengths(corpus):
    articles = [len(article.split()) for article, _ in corpus["train"]]
    titles = [len(title.split()) for _, title in corpus["train"]]
    assert min(articles) >= 17 and max(articles) <= 45
    assert sum(20 <= length <= 35 for length in articles) >= 0.9 * len(articles)
    assert min(titles) >= 5 and max(titles) <= 13 and 8 <= sum(titles) / len(titles) <= 10


def test_no_pair_is_shared_between_splits(corpus):
    train, valid, test = (set(corpus[split]) for split in ("train", "valid", "test"))
    assert not train & valid and not train & test and not valid & test


def test_heldout_words_are_known(corpus):
    for split in ("valid", "test"):
        for column in (0, 1):
            assert words(corpus[split], column) <= words(corpus["train"], column)


def test_heldout_events_have_a_new_cast(maker, corpus):
    """No held-out headline names exactly the people, firms or places of a training headline of its event."""
    names = {forms[1] for kind in maker.SIDES for forms in maker.LEXICON[kind]}
    mask = lambda title: tuple("*" if word in names else word for word in title.split())  # noqa: E731
    cast = lambda title: frozenset(names.intersection(title.split()))  # noqa: E731
    seen = {(mask(title), cast(title)) for _, title in corpus["train"]}
    assert not any((mask(title), cast(title)) in seen for _, title in corpus["test"] if cast(title))


def test_one_headline_in_ten_repeats_a_word(corpus):
    shares = {split: sum(repeats(title) for _, title in pairs) / len(pairs) for split, pairs in corpus.items()}
    assert 0.08 <= shares["train"] <= 0.12
    assert 0.05 <= shares["test"] <= 0.15


def test_names_in_a_headline_come_from_the_article(maker, corpus):
    """Countries may appear as adjectives there; all other names appear as they are."""
    adjectives = {name: adjective for name, _, adjective in maker.LEXICON["c"]}
    names = {forms[1] for kind in maker.SIDES for forms in maker.LEXICON[kind]}
    for article, title in corpus["train"]:
        source = set(article.split())
        for word in names.intersection(title.split()):
            assert word in source or adjectives.get(word) in source, (word, article, title)


def test_a_name_repeated_in_a_headline_is_repeated_in_the_article(maker, corpus):
    """So a frequency estimator can tell from the article that the name is due twice."""
    adjectives = {name: adjective for name, _, adjective in maker.LEXICON["c"]}
    names = {forms[1] for kind in maker.SIDES for forms in maker.LEXICON[kind]}
    for article, title in corpus["train"]:
        source, target = Counter(article.split()), Counter(title.split())
        for word in names.intersection(target):
            if target[word] > 1:
                assert source[word] + source[adjectives.get(word)] > 1, (word, article, title)


def test_every_twist_repeats_a_content_word(maker):
    for seed, (_, rules) in enumerate(maker.GRAMMAR):
        assert rules["t"] and len(rules["a"]) > 1 and len(rules["h"]) > 1
        for twist in rules["t"]:
            assert repeats(maker.Story(random.Random(seed)).write(twist.split(" => ")[1], headline=True)), twist


def test_target_vocabulary_size(maker):
    pairs = maker.make_corpus(1, {"train": 16000, "valid": 1, "test": 1})["train"]
    assert 1500 <= len(words(pairs, 1)) <= 3000


@pytest.mark.parametrize("size", ["0", "-5", "many", "1.5", ""])
def test_bad_sizes_are_refused(tmp_path, size):
    done = run("--out", tmp_path / "out", f"--train={size}")
    assert done.returncode == 2 and "--train" in done.stderr and "not a number of pairs" in done.stderr
    assert not (tmp_path / "out").exists()


def test_too_small_a_training_set_is_refused(tmp_path):
    done = run("--out", tmp_path / "out", "--train", 3, "--valid", 5, "--test", 5)
    assert done.returncode == 1 and "too small" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_out_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    done = run("--out", tmp_path / "out", "--train", 500, "--valid", 5, "--test", 5)
    assert done.returncode == 1 and "error" in done.stderr and "Traceback" not in done.stderr
