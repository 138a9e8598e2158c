"""Options of decoding that do not go together. (Values alone: test_options.py.)"""

from argparse import Namespace

import pytest

from helpers.toy import toy_model, toy_task
from wfe_plugin.errors import UserError

REFERENCES = dict(score_reference=True)


@pytest.mark.parametrize("decoding", ["off", "full"])
@pytest.mark.parametrize(
    "options, message",
    [
        (dict(no_repeat_ngram_size=31, max_len_b=30), "31 is larger than .* --max-len-b 30"),
        (dict(ignore_when_blocking="w1"), "give --no-repeat-ngram-size"),
        (
            dict(no_repeat_ngram_size=2, ignore_when_blocking="w1 the w2 of"),
            "--ignore-when-blocking: not in the target dictionary: the of;",
        ),
        ({**REFERENCES, "no_repeat_ngram_size": 2}, "--score-reference.*leave out --no-repeat-ngram-size"),
        ({**REFERENCES, "word_cap": 1}, "--score-reference.*leave out --word-cap"),
        ({**REFERENCES, "coverage_penalty": 0.5, "gnmt_length_penalty": 0.8}, "leave out --coverage-penalty"),
        (dict(match_source_len=True, word_cap=1), "--match-source-len.*off without --word-cap 1"),
    ],
)
def test_with_and_without_an_estimate(options, message, decoding):
    task = toy_task(8, wfe_decoding=decoding)
    with pytest.raises(UserError, match=message):
        task.build_generator([toy_model(task)], Namespace(**options))


@pytest.mark.parametrize(
    "options, message",
    [
        ({**REFERENCES, "print_alignment": "hard"}, "--print-alignment"),
        (dict(match_source_len=True), "--match-source-len"),
        (dict(prefix_allowed_tokens_fn=lambda *_: [4]), "prefix_allowed_tokens_fn"),
        (dict(min_len=9, max_len_b=8), "--min-len 9.*--max-len-b 8"),
        (dict(wfe_shortlist=5, **REFERENCES), "--score-reference"),
        (dict(wfe_shortlist=5, constraints="ordered"), "--constraints"),
    ],
)
def test_under_the_bound(options, message):
    task = toy_task(8)
    with pytest.raises(UserError, match=message):
        task.build_generator([toy_model(task)], Namespace(**options))
