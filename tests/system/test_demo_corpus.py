"""The demo corpus: what make_corpus.py promises about its files and its headlines."""

from collections import Counter

import pytest

from helpers import ROOT
from helpers.scripts import module_of, run_script

SCRIPT = ROOT / "examples" / "demo" / "make_corpus.py"
SIZES = {"train": 4000, "valid": 300, "test": 300}
maker = module_of(SCRIPT)
FUNCTION_WORDS = set(", : and as after for from in of on over the to with".split())


@pytest.fixture(scope="module")
def corpus():
    return maker.make_corpus(1, SIZES)


def repeats(headline):
    """Whether a content word occurs more than once."""
    counts = Counter(word for word in headline.split() if word not in FUNCTION_WORDS)
    return any(count > 1 for count in counts.values())


def words(pairs, column):
    return {word for pair in pairs for word in pair[column].split()}


def test_same_seed_same_files(tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        done = run_script(SCRIPT, "--out", tmp_path / name, "--seed", seed, "--train", 500, "--valid", 20, "--test", 30)
        assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == sorted(f"{s}.{side}" for s in SIZES for side in ("article", "title"))  # no temporary files left
    for name in files:
        text = (tmp_path / "a" / name).read_bytes()
        assert text == (tmp_path / "b" / name).read_bytes()
        assert text != (tmp_path / "c" / name).read_bytes()
        assert text.count(b"\n") == {"train": 500, "valid": 20, "test": 30}[name.split(".")[0]]


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


def test_heldout_events_have_a_new_cast(corpus):
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


def test_names_in_a_headline_are_as_often_in_the_article(corpus):
    """So a frequency estimator can tell from the article that a name is due twice; countries may be adjectives there."""
    adjectives = {name: adjective for name, _, adjective in maker.LEXICON["c"]}
    names = {forms[1] for kind in maker.SIDES for forms in maker.LEXICON[kind]}
    for article, title in corpus["train"]:
        source, target = Counter(article.split()), Counter(title.split())
        for word in names.intersection(target):
            found = source[word] + source[adjectives.get(word)]
            assert found >= min(target[word], 2), (word, article, title)


@pytest.mark.parametrize("size", ["0", "many", ""])
def test_bad_sizes_are_refused(tmp_path, size):
    done = run_script(SCRIPT, "--out", tmp_path / "out", f"--train={size}")
    assert done.returncode == 2 and "--train" in done.stderr and "not a number of pairs" in done.stderr
    assert not (tmp_path / "out").exists()


def test_too_small_a_training_set_is_refused(tmp_path):
    done = run_script(SCRIPT, "--out", tmp_path / "out", "--train", 3, "--valid", 5, "--test", 5)
    assert done.returncode == 1 and "too small" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
