"""The processor for transformers against literal loops, and against our own generator for fairseq."""

import math
from collections import Counter

import pytest
import torch

pytest.importorskip("transformers")
pytest.importorskip("safetensors")

from transformers import GenerationConfig

from helpers.tiny_hf import EOS, PAD, bart_of_fairseq, tiny_bart, tiny_gpt2
from wfe_plugin.errors import UserError
from wfe_plugin.huggingface import WFELogitsProcessor
from wfe_plugin.huggingface.processor import special_tokens
from wfe_plugin.method.calibration import PAPER, Calibration

INF = float("inf")
WORDS = 8
VOCABULARY = WORDS + 4
MODELS = {"bart": tiny_bart, "gpt2": tiny_gpt2}
each_model = pytest.mark.parametrize("kind", MODELS)
CALIBRATIONS = [PAPER, Calibration(gate_weight=0.75, base_rate_weight=0.5, word_reward=0.5)]
each_calibration = pytest.mark.parametrize("calibration", CALIBRATIONS, ids=str)


def numbers(sentences: int, seed: int = 0):
    """Budgets, gates and base rates; some budgets are 0, some are beyond 2."""
    generator = torch.Generator().manual_seed(seed)
    budget = (4 * torch.rand(sentences, VOCABULARY, generator=generator) - 1).clamp(min=0)
    gate = torch.rand(sentences, VOCABULARY, generator=generator)
    return budget, gate, torch.rand(VOCABULARY, generator=generator).log()


def prompts(kind: str, seed: int = 0):
    """Three sources of different lengths, as a tokenizer gives them: a decoder-only model's are padded on the left."""
    generator = torch.Generator().manual_seed(seed)
    input_ids = torch.randint(4, VOCABULARY, (3, 6), generator=generator)
    mask = torch.ones_like(input_ids)
    for sentence, padding in enumerate((0, 2, 4)):
        places = slice(6 - padding, 6) if kind == "bart" else slice(0, padding)
        mask[sentence, places] = 0
    return dict(input_ids=input_ids.masked_fill(mask.eq(0), PAD), attention_mask=mask)


class LiteralBound:
    """Equations 4 and 5 for one sentence, over plain numbers."""

    def __init__(self, budget, gate, log_base_rate, calibration=PAPER, free=(0, 1, 2)):
        self.budget = [INF if word in free else b for word, b in enumerate(budget.tolist())]
        self.reward = calibration.word_reward
        self.weight = []
        for word, (g, p) in enumerate(zip(gate.tolist(), log_base_rate.tolist())):
            weight = calibration.gate_weight * math.log(g) - calibration.base_rate_weight * p
            self.weight.append(0.0 if word in free else weight)

    def mask(self, words: list[int]) -> list[float]:
        """What a step adds to each word; one that was said gains nothing."""
        counts = Counter(words)
        mask = []
        for word, (budget, weight) in enumerate(zip(self.budget, self.weight)):
            left = min(max(budget - counts[word], 0.0), 1.0)
            reward = 0.0 if word == EOS else self.reward
            if counts[word]:
                weight, reward = min(weight, 0.0), min(reward, 0.0)
            mask.append(math.log(left) + weight + reward if left > 0 else -INF)
        return mask


@each_calibration
def test_a_step_of_several_hypotheses(calibration):
    budget, gate, log_base_rate = numbers(sentences=2)
    processor = WFELogitsProcessor.from_numbers(tiny_bart(), budget, gate, calibration, log_base_rate)
    words = [[4, 4, 5], [6, 7, 6], [8, 9, 10], [11, 11, 11], [3, 3, 4], [5, 5, 5]]
    scores = torch.randn(6, VOCABULARY, generator=torch.Generator().manual_seed(1))
    before = scores.clone()
    found = processor(torch.tensor([[EOS, *row] for row in words]), scores)
    for row, hypothesis in enumerate(words):
        mask = LiteralBound(budget[row // 3], gate[row // 3], log_base_rate, calibration).mask(hypothesis)
        assert found[row].tolist() == pytest.approx([s + m for s, m in zip(before[row].tolist(), mask)], abs=1e-5)
    assert torch.equal(scores, before)  # transformers may still need them


def test_the_rule_without_training():
    processor = WFELogitsProcessor.from_source(
        tiny_bart(), torch.tensor([[4, 5, EOS], [6, 6, EOS]]), out_of_source_penalty=2.0, word_cap=2, exempt_tokens=[11]
    )
    scores = torch.zeros(2, VOCABULARY)
    found = processor(torch.tensor([[EOS, 5, 7, 5, 11, 11], [EOS, 7, 7, 6, 11, 11]]), scores)
    assert found[0].tolist() == [0, 0, 0, -2, 0, -INF, -2, -2, -2, -2, -2, 0]
    assert found[1].tolist() == [0, 0, 0, -2, -2, -2, 0, -INF, -2, -2, -2, 0]


def test_no_cap_and_a_reward():
    processor = WFELogitsProcessor.from_source(tiny_bart(), torch.tensor([[4, EOS]]), word_cap=0, word_reward=0.5)
    found = processor(torch.tensor([[EOS, 4, 4, 4]]), torch.zeros(1, VOCABULARY))
    assert found[0].tolist() == [0.5, 0.5, 0, -1.5, 0, *[-1.5] * 7]


def test_only_the_article_of_a_prompt_is_the_source():
    prompt = torch.tensor([[PAD, 4, 5, 6, 7]])
    processor = WFELogitsProcessor.from_source(tiny_gpt2(), prompt, source_mask=torch.tensor([[0, 1, 1, 0, 0]]))
    found = processor(torch.cat((prompt, torch.tensor([[5, 6]])), dim=1), torch.zeros(1, VOCABULARY))
    assert found[0].tolist() == [0, 0, 0, -2, 0, -INF, -INF, *[-2] * 5]


def literal_lprobs(model, inputs, sentence: int, words: list[int]) -> list[float]:
    """log P of the next word, without a cache and without a batch."""
    source = inputs["input_ids"][sentence][inputs["attention_mask"][sentence].bool()].unsqueeze(0)
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            logits = model(input_ids=source, decoder_input_ids=torch.tensor([[EOS, *words]])).logits
        else:
            logits = model(torch.cat((source, torch.tensor([words], dtype=torch.long)), dim=1)).logits
    return torch.log_softmax(logits[0, -1], dim=-1).tolist()


def generated(model, inputs, sequence: torch.Tensor) -> list[int]:
    """The words of an output, its end included."""
    start = 1 if model.config.is_encoder_decoder else inputs["input_ids"].size(1)
    words = sequence[start:].tolist()
    return words[: words.index(EOS) + 1] if EOS in words else words


@each_model
@each_calibration
def test_every_score_of_a_beam_search(kind, calibration):
    model = MODELS[kind](seed=1)
    inputs = prompts(kind)
    budget, gate, log_base_rate = numbers(sentences=3)
    length = 1 if kind == "bart" else inputs["input_ids"].size(1)
    processor = WFELogitsProcessor.from_numbers(
        model, budget, gate, calibration, log_base_rate, exempt_tokens=[3], prompt_length=length
    )
    result = model.generate(
        **inputs,
        logits_processor=[processor],
        num_beams=4,
        num_return_sequences=2,
        length_penalty=0.0,
        max_new_tokens=8,
        return_dict_in_generate=True,
        output_scores=True,
    )
    for number, (sequence, score) in enumerate(zip(result.sequences, result.sequences_scores.tolist())):
        sentence = number // 2
        literal = LiteralBound(budget[sentence], gate[sentence], log_base_rate, calibration, free=range(4))
        words = generated(model, inputs, sequence)
        expected = 0.0
        for step, word in enumerate(words):
            lprobs = literal_lprobs(model, inputs, sentence, words[:step])
            expected += lprobs[word] + literal.mask(words[:step])[word]
        assert math.isfinite(expected)
        assert score == pytest.approx(expected, abs=1e-3)


@each_model
def test_sampling_stays_within_budgets(kind):
    model = MODELS[kind]()
    inputs = prompts(kind)
    processor = WFELogitsProcessor.from_source(model, **inputs_of_rule(inputs), out_of_source_penalty=0.0, word_cap=1)
    torch.manual_seed(0)
    found = model.generate(
        **inputs,
        logits_processor=[processor],
        do_sample=True,
        num_return_sequences=20,
        top_k=0,
        max_new_tokens=20,
        suppress_tokens=[0, PAD],
    )
    outputs = [generated(model, inputs, sequence) for sequence in found]
    assert len({tuple(words) for words in outputs}) > 20
    assert max(len(words) for words in outputs) > 3
    for words in outputs:
        assert len(set(words)) == len(words)


def inputs_of_rule(inputs):
    return dict(input_ids=inputs["input_ids"], source_mask=inputs["attention_mask"])


def test_greedy_search_takes_the_best_words():
    model = tiny_bart(seed=3)
    inputs = prompts("bart")
    budget, gate, log_base_rate = numbers(3, seed=3)
    processor = WFELogitsProcessor.from_numbers(model, budget, gate)
    found = model.generate(**inputs, logits_processor=[processor], max_new_tokens=6)
    for sentence, sequence in enumerate(found):
        literal = LiteralBound(budget[sentence], gate[sentence], log_base_rate)
        words = generated(model, inputs, sequence)
        for step, word in enumerate(words):
            scores = zip(literal_lprobs(model, inputs, sentence, words[:step]), literal.mask(words[:step]))
            scores = [lprob + mask for lprob, mask in scores]
            assert scores[word] == max(scores)


def test_a_minimum_length_beyond_all_budgets():
    """More words than may be said: words come again, and the search does not fail."""
    model = tiny_bart()
    inputs = prompts("bart")
    for search in (dict(num_beams=3), dict(do_sample=True)):
        processor = WFELogitsProcessor.from_source(model, inputs["input_ids"], word_cap=1)
        found = model.generate(
            **inputs,
            logits_processor=[processor],
            min_new_tokens=12,
            max_new_tokens=14,
            suppress_tokens=[0, PAD],
            **search,
        )
        for sequence in found:
            words = generated(model, inputs, sequence)
            assert len(words) > 12
            assert len(set(words[:9])) == 9  # all that there are, before one comes again


def test_special_tokens_are_those_of_both_configurations():
    model = tiny_bart()
    model.generation_config = GenerationConfig(eos_token_id=[EOS, 7], forced_bos_token_id=5, pad_token_id=1000)
    assert special_tokens(model) == {0, 1, 2, 5, 7}


def test_a_processor_of_another_batch_is_refused():
    processor = WFELogitsProcessor.from_source(tiny_bart(), torch.tensor([[4], [5]]))
    for shape in ((3, VOCABULARY), (2, VOCABULARY + 1)):
        with pytest.raises(UserError, match="a processor for each batch"):
            processor(torch.zeros(shape[0], 1, dtype=torch.long), torch.zeros(shape))


def test_a_prompt_of_unknown_length_is_refused():
    with pytest.raises(UserError, match="prompt_length"):
        WFELogitsProcessor.from_numbers(tiny_gpt2(), torch.ones(1, VOCABULARY))


@pytest.mark.parametrize("beam", [1, 4])
def test_the_same_outputs_and_scores_as_ours(beam):
    """fairseq's BART and ours for it, and the same weights in transformers."""
    families = pytest.importorskip("helpers.families")
    from helpers.toy import FixedEstimates, generate, toy_batch, toy_sources, toy_task

    task = toy_task(WORDS)
    ours = families.toy_of("bart", task, seed=4)
    sources = toy_sources(6, WORDS)
    budget, gate, _ = numbers(len(sources))
    batch = toy_batch(task, sources)
    order = batch["id"]
    ours.wfe_head = FixedEstimates(budget[order].tolist(), torch.logit(gate)[order].tolist())
    expected = generate(task, [ours], batch, beam=beam, max_len_b=9)
    theirs = bart_of_fairseq(ours, WORDS)
    rows = [torch.tensor([*source, EOS]) for source in sources]
    input_ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    found = theirs.generate(
        input_ids=input_ids,
        attention_mask=input_ids.ne(PAD).long(),
        logits_processor=[WFELogitsProcessor.from_numbers(theirs, budget, gate)],
        num_beams=beam,
        length_penalty=0.0,
        early_stopping=beam > 1,
        max_new_tokens=10,
        suppress_tokens=[PAD],
        return_dict_in_generate=True,
        output_scores=True,
    )
    for sentence, hypotheses in enumerate(expected):
        words = found.sequences[sentence, 1:].tolist()
        assert words[: words.index(EOS) + 1] == hypotheses[0]["tokens"].tolist()
        if beam > 1:
            score = found.sequences_scores[sentence].item()
            assert score == pytest.approx(hypotheses[0]["score"].item(), abs=1e-3)
