"""Tiny random models of transformers, made from a configuration."""

# isort: off
import torch

import wfe_plugin.huggingface  # noqa: F401  (before transformers, which may find a torchaudio that does not load)
from transformers import BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel

# isort: on

BOS, PAD, EOS, UNK = range(4)
SPECIAL = dict(bos_token_id=BOS, pad_token_id=PAD, eos_token_id=EOS)


def tiny_bart(words: int = 8, seed: int = 0, size: int = 4) -> BartForConditionalGeneration:
    """With logits that spread widely, in evaluation mode; nothing is forced at its first or last step."""
    sizes = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in dict(layers=2, attention_heads=2, ffn_dim=6).items()
    }
    config = BartConfig(
        vocab_size=words + 4,
        d_model=size,
        max_position_embeddings=64,
        decoder_start_token_id=EOS,
        forced_eos_token_id=None,
        **sizes,
        **SPECIAL,
    )
    return randomized(BartForConditionalGeneration(config), seed)


def tiny_gpt2(words: int = 8, seed: int = 0) -> GPT2LMHeadModel:
    config = GPT2Config(vocab_size=words + 4, n_embd=4, n_layer=2, n_head=2, n_positions=64, **SPECIAL)
    return randomized(GPT2LMHeadModel(config), seed)


def randomized(model, seed: int):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.8, generator=generator)
    return model.eval()


def bart_of_fairseq(stock, words: int) -> BartForConditionalGeneration:
    """The same model, from fairseq's BART of the same sizes."""
    model = tiny_bart(words)
    theirs = stock.state_dict()
    theirs["shared.weight"] = theirs["encoder.embed_tokens.weight"]
    mine = model.model.state_dict()
    # Theirs has room for longer texts.
    model.model.load_state_dict({name: theirs[name][: len(weights)] for name, weights in mine.items()})
    return model
