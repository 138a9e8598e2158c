"""Small dictionaries, models and batches for the tests, made from a seed."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Optional

import torch
from fairseq.data import Dictionary
from fairseq.models.lstm import LSTMDecoder, LSTMEncoder, LSTMModel
from fairseq.models.transformer import TransformerConfig, TransformerModelBase

from wfe_plugin.method.estimator import FrequencyEstimate
from wfe_plugin.models.wfe_lstm import WFELSTMConfig, WFELSTMModel
from wfe_plugin.tasks.summarization_wfe import SummarizationWFEConfig, SummarizationWFETask

FIRST_WORD = 4  # after fairseq's <s>, <pad>, </s> and <unk>


def toy_dictionary(words: int) -> Dictionary:
    dictionary = Dictionary()
    for number in range(words):
        dictionary.add_symbol(f"w{number}")
    return dictionary


def toy_task(words: int = 8, **config) -> SummarizationWFETask:
    dictionary = toy_dictionary(words)
    return SummarizationWFETask(
        SummarizationWFEConfig(source_lang="article", target_lang="title", **config), dictionary, toy_dictionary(words)
    )


def toy_model(task, seed: int = 0, hidden_size: int = 5, weight_scale: float = 1.0, **config) -> WFELSTMModel:
    """A random model whose logits and estimates spread widely, in evaluation mode."""
    settings = WFELSTMConfig(
        dropout=0.1,
        encoder_embed_dim=4,
        encoder_hidden_size=hidden_size,
        decoder_embed_dim=4,
        decoder_hidden_size=hidden_size,
        wfe_estimator="literal",  # whose budgets and gates spread most
    )
    for name, value in config.items():
        setattr(settings, name, value)
    return random_model(WFELSTMModel, settings, task, seed, 0.8 * weight_scale)


def random_model(model_class, config, task, seed: int = 0, spread: float = 0.8):
    """A model in evaluation mode, its weights drawn from a normal distribution."""
    torch.manual_seed(seed)
    config.max_source_positions = config.max_target_positions = 1024
    model = model_class.build_model(config, task)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, spread)
    return model.eval()


def stock_lstm(task, attention: bool = True) -> LSTMModel:
    """fairseq's own, which knows nothing of WFE."""
    torch.manual_seed(1)
    encoder = LSTMEncoder(task.source_dictionary, 4, 5, dropout_in=0, dropout_out=0)
    decoder = LSTMDecoder(task.target_dictionary, 4, 5, 5, encoder_output_units=5, attention=attention)
    return LSTMModel(encoder, decoder).eval()


def stock_transformer(task) -> TransformerModelBase:
    torch.manual_seed(1)
    config = TransformerConfig(dropout=0.0, max_source_positions=20, max_target_positions=20)
    for side in (config.encoder, config.decoder):
        side.embed_dim, side.ffn_embed_dim, side.layers, side.attention_heads = 8, 8, 1, 2
    config.decoder.input_dim = config.decoder.output_dim = 8
    return TransformerModelBase.build_model(config, task).eval()


class FixedEstimates(torch.nn.Module):
    """Stands in for a WFE head: the estimates are given, one row a sentence."""

    def __init__(self, r: Sequence[Sequence[float]], g: Sequence[Sequence[float]]):
        super().__init__()
        self.estimate = FrequencyEstimate(torch.tensor(r), torch.tensor(g))

    def read(self, states, padding, source_words=None) -> "FixedEstimates":
        assert states.size(1) == self.estimate.r.size(0)
        return self

    def log_base_rate(self) -> None:
        return None

    def whole(self) -> FrequencyEstimate:
        return FrequencyEstimate(self.estimate.r.clone(), self.estimate.g.clone())


def toy_sources(count: int, words: int, seed: int = 0, longest: int = 7) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    sources = []
    for _ in range(count):
        length = int(torch.randint(1, longest + 1, (1,), generator=generator))
        source = torch.randint(FIRST_WORD, FIRST_WORD + words, (length,), generator=generator)
        sources.append(source.tolist())
    return sources


def toy_batch(task, sources: list[list[int]], targets: Optional[list[list[int]]] = None):
    """A batch as fairseq collates it: sentences sorted by length, padded left."""
    eos = task.source_dictionary.eos()
    tensors = [torch.tensor(source + [eos]) for source in sources]
    dataset = task.build_dataset_for_inference(tensors, torch.tensor([len(tensor) for tensor in tensors]))
    if targets is not None:
        dataset.tgt = [torch.tensor(target + [eos]) for target in targets]
        dataset.tgt_sizes = torch.tensor([len(target) + 1 for target in targets])
    return dataset.collater([dataset[i] for i in range(len(sources))])


def padded_on_the_right(batch):
    """The same batch; fairseq pads sources on the left."""
    net_input = dict(batch["net_input"])
    rows = [row.roll(int(length)) for row, length in zip(net_input["src_tokens"], net_input["src_lengths"])]
    return {**batch, "net_input": {**net_input, "src_tokens": torch.stack(rows)}}


def estimates(model, batch) -> FrequencyEstimate:
    tokens = batch["net_input"]["src_tokens"]
    encoder_out = model.encoder(tokens, batch["net_input"]["src_lengths"])
    return model.estimate_frequencies(encoder_out, tokens)


def generate(task, models, batch, prefix_tokens=None, constraints=None, **options):
    """Hypotheses of each sentence, in the order that the sentences were given in."""
    settings = dict(beam=4, max_len_b=8, min_len=0, unnormalized=True)
    settings.update(options)
    generator = task.build_generator(models, Namespace(**settings))
    hypotheses = task.inference_step(generator, models, batch, prefix_tokens=prefix_tokens, constraints=constraints)
    by_id = dict(zip(batch["id"].tolist(), hypotheses))
    return [by_id[number] for number in sorted(by_id)]


def words_of(hypothesis, eos: int) -> list[int]:
    words = hypothesis["tokens"].tolist()
    assert words[-1] == eos and eos not in words[:-1]
    return words[:-1]
