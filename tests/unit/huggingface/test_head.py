"""Estimators on top of models of transformers: what they read, how they learn, what is stored."""

import pytest
import torch

pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from helpers.tiny_hf import EOS, tiny_bart, tiny_gpt2, tiny_tokenizer
from wfe_plugin.cli import hf_train
from wfe_plugin.errors import UserError
from wfe_plugin.huggingface import FrequencyHead
from wfe_plugin.huggingface.texts import model_inputs, padded, prompt_tokens, summarize, summary_tokens
from wfe_plugin.huggingface.train import NO_TOKEN, HeadTraining, load_model, loss_of_estimate, train_head
from wfe_plugin.method.calibration import Calibration
from wfe_plugin.method.estimator import FrequencyEstimate, PendingEstimate, WordLogits
from wfe_plugin.method.hurdle import HurdleEstimate

MODELS = {"bart": tiny_bart, "gpt2": tiny_gpt2}
each_model = pytest.mark.parametrize("kind", MODELS)
TEMPLATE = "w7 {source} w6"
SOURCES = ["w0 w1 w2 w3 w4", "w5", "w2 w2 w1"]


def both(kind: str):
    return MODELS[kind](), tiny_tokenizer(ends=kind == "bart")


def random_head(model, estimator: str = "votes", template: str = "") -> FrequencyHead:
    head = FrequencyHead.for_model(model, estimator, template)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_(0, 0.5, generator=generator)
    return head.eval()


# What the model is given


def test_the_article_of_a_prompt():
    tokenizer = tiny_tokenizer(ends=False)
    assert prompt_tokens(tokenizer, "w1 w2 w3", TEMPLATE) == ([11, 5, 6, 7, 10], [0, 1, 1, 1, 0])
    assert prompt_tokens(tokenizer, "w1 w2 w3", TEMPLATE, max_tokens=2) == ([11, 5, 6, 10], [0, 1, 1, 0])
    assert prompt_tokens(tokenizer, "", TEMPLATE) == ([11, 10], [0, 0])
    with pytest.raises(UserError, match="source"):
        prompt_tokens(tokenizer, "w1", "w7")


def test_batches_of_both_kinds():
    inputs = model_inputs(*both("bart"), ["w0 w1 w2", "w3"], max_tokens=3)
    assert inputs["input_ids"].tolist() == [[4, 5, EOS], [7, EOS, 1]]
    assert inputs["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    inputs = model_inputs(*both("gpt2"), ["w0 w1", "w3"], template=TEMPLATE)
    assert inputs["input_ids"].tolist() == [[11, 4, 5, 10], [1, 11, 7, 10]]
    assert inputs["attention_mask"].tolist() == [[1, 1, 1, 1], [0, 1, 1, 1]]
    assert inputs["source_mask"].tolist() == [[0, 1, 1, 0], [0, 0, 1, 0]]


@each_model
def test_summaries_have_no_special_tokens(kind):
    assert summary_tokens(*both(kind), ["w0 w0 w1", "w2"], max_tokens=2) == [[4, 4], [6]]


# What the head reads


@each_model
def test_the_states_of_the_article_are_read(kind):
    """One article at a time, against the estimator itself."""
    model, tokenizer = both(kind)
    template = "" if kind == "bart" else TEMPLATE
    head = random_head(model, template=template)
    together = head.estimate(model, **model_inputs(model, tokenizer, SOURCES, template))
    for number, source in enumerate(SOURCES):
        words = [4 + int(word[1:]) for word in source.split()]
        with torch.no_grad():
            if kind == "bart":
                words = [*words, EOS]
                states = model.get_encoder()(torch.tensor([words])).last_hidden_state
            else:
                states = model.transformer(torch.tensor([[11, *words, 10]])).last_hidden_state[:, 1:-1]
            padding = torch.zeros(len(words), 1, dtype=torch.bool)
            alone = head.estimator(states.transpose(0, 1), padding, torch.tensor([words]).t())
        assert torch.allclose(together.r[number], alone.r[0], atol=1e-4)
        assert torch.allclose(together.g[number], alone.g[0], atol=1e-4)


def test_states_that_are_there_are_used():
    model, tokenizer = both("bart")
    head = random_head(model)
    inputs = model_inputs(model, tokenizer, SOURCES)
    states = torch.randn(3, inputs["input_ids"].size(1), 4)
    assert not torch.allclose(
        head.estimate(model, **inputs, encoder_outputs=(states,)).g, head.estimate(model, **inputs).g
    )


def test_a_model_in_training_mode_is_refused():
    model, tokenizer = both("bart")
    with pytest.raises(UserError, match="eval"):
        random_head(model).estimate(model.train(), **model_inputs(model, tokenizer, SOURCES))


@each_model
def test_no_word_is_said_more_often_than_estimated(kind):
    model, tokenizer = both(kind)
    template = "" if kind == "bart" else TEMPLATE
    head = random_head(model, "paper", template)
    estimate = head.estimate(model, **model_inputs(model, tokenizer, SOURCES, template))
    search = dict(min_new_tokens=2, max_new_tokens=20, num_beams=3, suppress_tokens=[0, 1, 3])
    texts = summarize(model, tokenizer, SOURCES, head.processor, batch_size=2, template=template, **search)
    unbounded = summarize(model, tokenizer, SOURCES, batch_size=2, template=template, **search)
    assert texts != unbounded and all(texts)
    for text, r_hat in zip(texts, estimate.r_hat):
        for word in text.split():
            assert text.split().count(word) < r_hat[4 + int(word[1:])] + 1


def test_an_article_without_words_has_an_estimate():
    model, tokenizer = both("gpt2")
    head = random_head(model, template=TEMPLATE)
    estimate = head.estimate(model, **model_inputs(model, tokenizer, ["", "w1"], TEMPLATE))
    assert estimate.g.isfinite().all()


# The loss


@pytest.mark.parametrize("kind", [FrequencyEstimate, HurdleEstimate])
def test_padding_of_summaries_is_no_word(kind):
    """Two summaries together, against each alone; of Equation 6 one by hand."""
    features, weight = torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.5, -1.0]])
    logits = WordLogits(features, weight)
    pending = PendingEstimate(logits, WordLogits(features, 0 * weight + 40.0), kind)
    together = loss_of_estimate(pending, padded([[0, 0, 1], [2]], NO_TOKEN))
    alone = [
        loss_of_estimate(
            PendingEstimate(*(part._replace(features=part.features[row : row + 1]) for part in pending[:2]), kind),
            torch.tensor([words]),
        )
        for row, words in enumerate([[0, 0, 1], [2]])
    ]
    assert together.item() == pytest.approx(sum(alone).item())
    if kind is FrequencyEstimate:
        # â = 1, 0, ½ against 2, 1, 0: under by 1, 1, and over by ½, each less ¼.
        assert alone[0].item() == pytest.approx(0.75**2 + 0.75**2 + 0.2 * 0.25**2)


# Training


def copied_words(count: int, seed: int) -> list[tuple[str, str]]:
    """Articles of six of the words w0 to w15; a summary has those below w8."""
    generator = torch.Generator().manual_seed(seed)
    pairs = []
    for _ in range(count):
        words = torch.randperm(16, generator=generator)[:6].tolist()
        pairs.append((" ".join(f"w{word}" for word in words), " ".join(f"w{word}" for word in words if word < 8)))
    return pairs


@each_model
def test_training_learns_which_words_are_copied(kind, tmp_path):
    model = MODELS[kind](words=16)
    tokenizer = tiny_tokenizer(16, ends=kind == "bart")
    before = {name: weights.clone() for name, weights in model.state_dict().items()}
    lines: list[str] = []
    options = HeadTraining(epochs=3, batch_size=8, learning_rate=0.02, template="{source} w15")
    head = train_head(
        model, tokenizer, copied_words(160, 0), copied_words(20, 1), options, tmp_path, report=lines.append
    )
    assert len(lines) == 3
    assert all(torch.equal(weights, before[name]) for name, weights in model.state_dict().items())
    test = copied_words(20, 2)
    estimate = head.estimate(model, **model_inputs(model, tokenizer, [source for source, _ in test], head.template))
    for (source, summary), gates in zip(test, estimate.g_hat):
        for word in range(16):
            gate = gates[4 + word].item()
            assert gate > 0.5 if f"w{word}" in summary.split() else gate < 0.5, (source, word)
    stored = FrequencyHead.load(tmp_path, model)
    assert torch.equal(stored.estimator.base_counts, head.estimator.base_counts)
    assert stored.estimator.base_pairs == 160
    assert all(torch.equal(value, stored.state_dict()[name]) for name, value in head.state_dict().items())


@pytest.mark.parametrize(
    "wrong", [dict(epochs=0), dict(batch_size=0), dict(learning_rate=float("nan")), dict(estimator="best")]
)
def test_options_that_cannot_work_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(UserError, match=name.replace("_", " ")):
        HeadTraining(**wrong).validate()


def test_a_diverged_training_is_refused():
    model, tokenizer = both("bart")
    pairs = [("w0 w1", "w0")]
    with pytest.raises(UserError, match="learning rate"):
        train_head(model, tokenizer, pairs, pairs, HeadTraining(epochs=2, learning_rate=1e30), report=lambda line: None)


# The file


def test_everything_is_stored(tmp_path):
    model, tokenizer = both("gpt2")
    head = random_head(model, template=TEMPLATE)
    head.estimator.count_base_rates([torch.tensor([4, 4, 5])])
    head.calibration = Calibration(0.75, 0.5, 0.25, "f1")
    path = head.save(tmp_path / "my.safetensors")
    stored = FrequencyHead.load(path, model)
    assert (stored.name, stored.template, stored.calibration) == ("votes", TEMPLATE, head.calibration)
    inputs = model_inputs(model, tokenizer, SOURCES, TEMPLATE)
    assert torch.equal(stored.estimate(model, **inputs).g, head.estimate(model, **inputs).g)
    expected = head.processor(model, **inputs, calibration=Calibration(0.75, 0.5, 0.25))
    found = stored.processor(model, **inputs)
    assert torch.equal(found.bound.log_weight, expected.bound.log_weight)
    assert torch.equal(found.rewards, expected.rewards)
    assert [file.name for file in tmp_path.iterdir()] == ["my.safetensors"]


def test_files_that_do_not_fit_are_refused(tmp_path):
    path = random_head(tiny_bart()).save(tmp_path / "head.safetensors")
    with pytest.raises(UserError, match="another model"):
        FrequencyHead.load(path, tiny_bart(words=9))
    (tmp_path / "damaged").write_bytes(path.read_bytes()[:200])
    for name in ("damaged", "missing"):
        with pytest.raises(UserError, match=name):
            FrequencyHead.load(tmp_path / name, tiny_bart())


# The command


@pytest.fixture
def saved(tmp_path):
    """A directory with a model, and text files."""
    tiny_bart().save_pretrained(tmp_path / "model")
    tiny_tokenizer().save_pretrained(tmp_path / "model")
    for name, lines in (("a", ["w0 w1 w2", "w3 w4"]), ("b", ["w0", "w3"]), ("c", ["w0"])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def command(saved, *further, summaries="b"):
    files = [str(saved / "a"), str(saved / summaries)]
    return hf_train.main(
        ["--model", str(saved / "model"), "--train", *files, "--valid", *files, "--epochs", "1", *further]
    )


def test_the_command_writes_one_file_beside_the_model(saved, capsys):
    before = {file.name for file in (saved / "model").iterdir()}
    assert command(saved) == 0
    assert {file.name for file in (saved / "model").iterdir()} - before == {"wfe.safetensors"}
    assert "epoch 1" in capsys.readouterr().out
    model, tokenizer = load_model(str(saved / "model"))
    head = FrequencyHead.load(saved / "model", model)
    assert head.name == "votes" and head.estimator.base_pairs == 2


@pytest.mark.parametrize(
    "further, said",
    [
        (dict(summaries="c"), "partner"),
        (dict(summaries="nothing"), "nothing"),
        (["--estimator", "best"], "best"),
        (["--model", "no/such/model"], "--out"),
        (["--model", "no/such/model", "--out", "x"], "no/such/model"),
    ],
)
def test_mistakes_are_one_line(saved, capsys, further, said):
    status = command(saved, **further) if isinstance(further, dict) else command(saved, *further)
    assert status == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("wfe-hf-train: error:")]
    assert said in line
