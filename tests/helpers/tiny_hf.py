"""Tiny random models of transformers, made from a configuration."""

# isort: off
import torch

import wfe_plugin.huggingface  # noqa: F401  (before transformers, which may find a torchaudio that does not load)
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import BartConfig, BartForConditionalGeneration, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

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


def tiny_tokenizer(words: int = 8, ends: bool = True) -> PreTrainedTokenizerFast:
    """For words w0, w1 and so on; *ends* says whether a text is given an end, as an encoder wants it."""
    symbols = ["<s>", "<pad>", "</s>", "<unk>", *(f"w{number}" for number in range(words))]
    tokenizer = Tokenizer(WordLevel({symbol: number for number, symbol in enumerate(symbols)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    if ends:
        tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", EOS)])
    named = dict(bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)
