"""``wfe-hf-train``: train an estimator on top of a model of Hugging Face's transformers."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from wfe_plugin.cli.common import Parser, run
from wfe_plugin.errors import UserError

DESCRIPTION = """\
Train an estimator of word frequencies on top of a model of Hugging Face's transformers. The model
stays as it is. The estimator is one file beside it. docs/huggingface.md shows how to decode with it.
"""


def build_parser() -> Parser:
    parser = Parser("wfe-hf-train", description=DESCRIPTION)
    parser.add_argument("--model", required=True, help="directory of a model, or its name on the Hugging Face Hub")
    for name, use in (("train", "to train on"), ("valid", "to choose the best epoch by")):
        parser.add_argument(
            f"--{name}",
            required=True,
            nargs=2,
            metavar=("ARTICLES", "SUMMARIES"),
            help=f"text files {use}, one text per line",
        )
    parser.add_argument(
        "--out", metavar="FILE", help="file to write (default: wfe.safetensors in the model's directory)"
    )
    parser.add_argument("--estimator", default="votes", help="votes or paper (default: %(default)s)")
    parser.add_argument(
        "--template",
        default="",
        help="prompt of a decoder-only model, with {source} for the article (default: the article, a line break, TL;DR:)",
    )
    parser.add_argument("--epochs", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--batch-size", type=int, default=16, help="pairs per update (default: %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="default: %(default)s")
    parser.add_argument("--max-source-tokens", type=int, help="cut articles after this many tokens")
    parser.add_argument("--max-summary-tokens", type=int, help="cut summaries after this many tokens")
    parser.add_argument(
        "--calibration",
        default="",
        help="weights of the mask to store, such as 'gate=0.75 base-rate=0.5 reward=0.5' (default: Equation 4)",
    )
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--device", default="", help="such as cuda:1 (default: a GPU if there is one)")
    return parser


def main(argv: Optional[Sequence[str]] = None) -> int:
    options = build_parser().parse_args(argv)
    return run("wfe-hf-train", lambda: train(options))


def train(options) -> None:
    for package in ("transformers", "safetensors"):
        if importlib.util.find_spec(package) is None:
            raise UserError(f"{package} is not installed: pip install 'wfe_plugin[hf]'")
    if not options.out and not Path(options.model).is_dir():
        raise UserError("--out: name the file to write; --model is not a local directory")

    from wfe_plugin.huggingface.head import file_in
    from wfe_plugin.huggingface.train import HeadTraining, load_model, train_head
    from wfe_plugin.pipeline.inputs import read_pairs

    training = HeadTraining(
        **{name: value for name, value in vars(options).items() if name in HeadTraining.__dataclass_fields__}
    )
    training.validate()
    pairs, validation = (list(read_pairs(*files)) for files in (options.train, options.valid))
    model, tokenizer = load_model(options.model, options.device)
    out = file_in(options.out or options.model)
    train_head(model, tokenizer, pairs, validation, training, out)
    print(f"wrote {out}")


if __name__ == "__main__":
    sys.exit(main())
