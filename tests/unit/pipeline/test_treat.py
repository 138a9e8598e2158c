"""The treatment of text, and its undoing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subword_nmt.learn_bpe import learn_bpe

from helpers.text_sets import WORDS
from wfe_plugin.pipeline import treat
from wfe_plugin.pipeline.treat import Settings, Treatment

TYPICAL = [
    "Standard & Poor's said \"it won't\" rise 5% to $3.50 (US), U.S. officials said.",
    "He left... The firms' results: and/or, 10,000 tonnes; isn't it? Yes!",
    "Write to a@b.org or see http://example.org/a?b=1, e.g. at 8:30 -- with C++ and snake_case.",
    "Mr. Smith vs. Dr. Jones: 5.5-6.0 pct, up 1/2 pct.",
    "the S&P's state-of-the-art [1] x | y",
    "GTK+ and C# read #11 of /usr/share/dict with malloc(3) and exit().",
    "Größe, naïve, 東京, Москва.",
    "a token",
    "",
]


@pytest.mark.parametrize("line", TYPICAL)
def test_tokenising_is_undone_on_typical_text(line):
    treatment = Treatment(Settings(tokenize=True))
    assert treatment.undo(treatment.apply(line, "source")) == line


def test_tokens_are_separate_words():
    treatment = Treatment(Settings(tokenize=True))
    assert treatment.apply("It's 5% (or so), he said.", "source") == "It 's 5 % ( or so ) , he said ."
    assert treatment.apply("\u201cIt\u2019s\u201d", "source") == '" It \'s "'
    assert treatment.apply("a <unk> b<unk>.", "source") == "a <unk> b<unk> ."


def test_gigaword_conventions():
    treatment = Treatment(Settings(unk=True, lowercase=True, digits=True))
    assert treatment.apply("UNK says <unk> rose 12.5 % in 1987 -lrb- UNKNOWN -rrb-", "source") == (
        "<unk> says <unk> rose ##.# % in #### -lrb- unknown -rrb-"
    )


def test_words_that_fairseq_reserves_are_taken_apart():
    assert Treatment(Settings()).apply("<s> a </s> <pad> <unk> x<s>", "source") == "< s > a < /s > < pad > <unk> x<s>"


def test_a_line_with_thousands_of_protected_words_still_passes():
    assert Treatment(Settings(tokenize=True)).apply("a/b " * 2000, "source").startswith("a / b")


def learnt(directory, text, made):
    """A treatment with BPE learnt from `text`, as preprocess.py does it, but without the rest."""
    for side in treat.SIDES:
        with open(treat.codes_file(directory, made, side), "w", encoding="utf-8") as codes:
            learn_bpe(text, codes, made.merges)
    return Treatment(made, treat.load_segmenters(directory, made, pieces=False))


@pytest.fixture(scope="module")
def bpe(tmp_path_factory):
    text = [" ".join(WORDS)] * 5
    return learnt(tmp_path_factory.mktemp("codes"), text, Settings(bpe="joint", merges=20))


@given(st.text(alphabet=st.sampled_from("abt@hejpn<unk>/s #&'\"é東"), max_size=40))
@settings(max_examples=200, deadline=None)
def test_bpe_is_undone_on_any_text(bpe, line):
    line = " ".join(line.split())
    treated = bpe.apply(line, "target")
    assert bpe.undo(treated) == bpe.normalize(line)
    assert "  " not in treated


def test_bpe_keeps_the_unknown_word_whole_and_undoes_a_dangling_piece(bpe):
    assert "<unk>" in bpe.apply("bank <unk>", "source").split()
    assert bpe.undo("ban@@ k will gro@@") == "bank will gro"
