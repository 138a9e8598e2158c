"""wfe-explain: the explanation adds up to what the search has computed, and the pages show it."""

import html.parser
import json
import re
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest

from helpers.raw_text_model import TEXTS
from wfe_plugin.cli import explain as command
from wfe_plugin.cli import generate
from wfe_plugin.method.word_budgets import words_of


@pytest.fixture(scope="module")
def explain():
    from wfe_plugin.pipeline.explain import explain

    return explain


@pytest.mark.parametrize(
    "options", [{}, {"decoding": "off"}, {"decoding": "off", "word_cap": 1, "out_of_source_penalty": 2.0}]
)
def test_adds_up_to_the_score_of_the_search(summarizer, explain, options):
    (found,) = explain(summarizer, TEXTS[:1], beam=3, max_len_b=8, **options)
    (best, *_), *_ = summarizer.summarize(TEXTS[:1], beam=3, nbest=2, max_len_b=8, **options)
    assert found.summary == best.text
    assert found.without == summarizer.summarize(TEXTS[0], beam=3, max_len_b=8, decoding="off")
    total = sum(step.log_prob + sum(step.changes.values()) for step in found.steps)
    assert total / len(found.steps) / 0.6931472 == pytest.approx(best.score, abs=1e-3)
    assert found.steps[-1].word == ""
    assert bool(found.words) == (options == {})


def test_estimates_of_the_source(summarizer):
    (found,) = summarizer.explain(TEXTS[:1])
    model = summarizer.decoder.models[0]
    reading = summarizer.read(TEXTS[:1])
    tokens = reading.sentences[0].unsqueeze(0)
    encoder_out = model.encoder(tokens, src_lengths=tokens.new_tensor([tokens.size(1)]))
    gates = model.estimate_frequencies(encoder_out, tokens).g_hat[0]
    for word, token in zip(found.source, tokens[0].tolist()):
        index = model.target_of_source[token].item()
        assert word.gate == (None if index < 0 else pytest.approx(gates[index].item(), abs=1e-5))


def test_nothing_to_explain(summarizer, explain):
    assert explain(summarizer, [""])[0].summary == ""


def test_command(model, tmp_path, capsys):
    assert command.main(["--model", str(model), "--json", TEXTS[0]]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"summary", "without", "source", "words", "steps"} <= set(found)
    assert command.main(["--model", str(model), "--html", str(tmp_path / "why.html"), TEXTS[0]]) == 0
    page = (tmp_path / "why.html").read_text(encoding="utf-8")
    html.parser.HTMLParser().feed(page)
    shown = page[page.index('class="summary"') :].split("</div>")[0]
    assert re.sub("<.*?>", "", html.unescape("<" + shown)).split() == found["summary"].split()
    assert "http:" not in page and "https:" not in page and "<script" not in page
    assert command.main(["--model", str(model), TEXTS[0]]) == 0
    assert found["summary"] in capsys.readouterr().out


def test_what_was_wanted_and_forbidden(summarizer, explain):
    free = explain(summarizer, TEXTS[:1], decoding="off", max_len_b=8)[0]
    assert free.blocked == {} and free.budgets == []
    word = free.steps[0].word
    (found,) = explain(summarizer, TEXTS[:1], decoding="off", max_len_b=8, word_cap=1, budget=f"{word}=0")
    assert word not in words_of([step.word for step in found.steps])[0]
    assert found.blocked[word] >= 1 and found.without == free.summary
    first = next(one for one in found.steps[0].wanted if one.word == word)
    assert first.change is None and first.forbidden_by == "within own budgets"


def test_budgets_are_spent(summarizer, explain):
    (found,) = explain(summarizer, TEXTS[:1], decoding="strict", min_len=5, max_len_b=8)
    said = [step.word for step in found.steps]
    for word, left in found.budgets:
        for place, (before, after) in enumerate(zip(left, left[1:])):
            assert before - after == pytest.approx(min(1.0, before) if said[place] == word else 0.0, abs=1e-5)


@pytest.mark.parametrize("prefix", [0, 2])
def test_of_a_generation(model, tmp_path, prefix):
    out = tmp_path / "out"
    options = ["--max-len-b", "9", "--prefix-size", str(prefix)]
    assert generate.main(["--model", str(model), "--out", str(out), "--explain", "2", "--", *options]) == 0
    found = [json.loads(line) for line in (out / "explanations.jsonl").read_text(encoding="utf-8").splitlines()]
    summaries = (out / "summaries.txt").read_text(encoding="utf-8").splitlines()
    assert [one["summary"] for one in found] == summaries[:2]
    assert found[0]["text"] == (model / "data/text/test.source").read_text().splitlines()[0]
    assert summaries[1].split()[0] in (out / "explanations.html").read_text(encoding="utf-8")


def test_playground(summarizer):
    from wfe_plugin.pipeline.playground import make_server

    with make_server(summarizer, 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"

        def ask(data=None, headers=None):
            encoded = None if data is None else urllib.parse.urlencode(data).encode()
            request = urllib.request.Request(address, encoded, headers or {})
            return urllib.request.urlopen(request).read().decode("utf-8")

        assert "<form" in ask()
        shown = re.sub("<.*?>", "", html.unescape(ask({"text": TEXTS[0], "beam": "3"})))
        assert summarizer.summarize(TEXTS[0], beam=3) in shown
        assert "from 1 to 20" in ask({"text": TEXTS[0], "beam": "0"})
        assert "<script>alert" not in ask({"text": "<script>alert(1)</script> said"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask(headers={"Host": "elsewhere.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask({"text": "a"}, {"Origin": "http://elsewhere.example"})
        with pytest.raises(urllib.error.HTTPError, match="413"):
            ask({"text": "x" * 200_000})
        server.shutdown()
