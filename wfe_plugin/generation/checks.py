"""Which options of decoding go together, with each other, with fairseq's, and with the models."""

from wfe_plugin.errors import UserError
from wfe_plugin.generation.options import DecodingConfig
from wfe_plugin.generation.shortlist import output_layer_name


def rules_of(options: DecodingConfig, args) -> list[str]:
    """The options beside the mask that change outputs, fairseq's included."""
    size = getattr(args, "no_repeat_ngram_size", 0)
    rules = options.rules() + ([f"--no-repeat-ngram-size {size}"] if size else [])
    return rules + (["budgets of sentences"] if any(getattr(args, "sentence_budgets", ())) else [])


def check_search(options: DecodingConfig, args, models) -> None:
    """Raise UserError for what cannot work in any search."""
    size, longest = getattr(args, "no_repeat_ngram_size", 0), getattr(args, "max_len_b", 200)
    if getattr(args, "max_len_a", 0) == 0 and size > max(longest, 0):
        raise UserError(
            f"--no-repeat-ngram-size {size} is larger than the maximum length, "
            f"--max-len-b {longest}: it could never block anything"
        )
    if options.ignore_when_blocking and size == 0:
        raise UserError("--ignore-when-blocking exempts words from n-gram blocking: also give --no-repeat-ngram-size")
    if options.wfe_shortlist > 0:
        check_shortlist(options, args, models)


def check_shortlist(options: DecodingConfig, args, models) -> None:
    if options.wfe_decoding == "off":
        raise UserError("--wfe-shortlist takes its words from the estimate, but the model has none: leave it out")
    for option, name in (
        ("--constraints", "constraints"),
        ("--score-reference", "score_reference"),
        ("--lm-path", "lm_path"),
    ):
        if getattr(args, name, None):
            raise UserError(f"{option} may ask for words that are not in --wfe-shortlist: leave one out")
    for model in models:
        output_layer_name(model.decoder)


def check_ruled_search(options: DecodingConfig, args, models, prefix_allowed_tokens_fn) -> None:
    """Raise UserError for what could only fail later, under rules of a step."""
    if options.coverage_penalty > 0 and any(getattr(m.decoder, "attention", m) is None for m in models):
        raise UserError("--coverage-penalty needs attention to the source, but the model has none: leave it out")
    rules = rules_of(options, args)
    stock = "use --wfe-decoding off"
    if rules:
        stock += f" without {', '.join(rules)}"
    if getattr(args, "score_reference", False):
        rules = [rule for rule in rules if not rule.startswith("--word-reward")]
        if rules:
            raise UserError(
                f"--score-reference scores given summaries and searches for none: leave out {', '.join(rules)}"
            )
        if options.wfe_decoding == "oracle":
            raise UserError(
                "--score-reference with --wfe-decoding oracle: a reference is always "
                "within its own frequencies; use --wfe-decoding off for the same scores"
            )
        if getattr(args, "print_alignment", None):
            raise UserError("--print-alignment aligns generated text; with --score-reference, use --wfe-decoding off")
    if getattr(args, "match_source_len", False):
        raise UserError(
            "--match-source-len fixes the length of the output, and the allowed words "
            f"may not be enough for it; {stock}"
        )
    if prefix_allowed_tokens_fn is not None or getattr(args, "prefix_allowed_tokens_fn", None) is not None:
        raise UserError(f"prefix_allowed_tokens_fn may leave only words that the budget forbids; {stock}")
    min_len, max_len_b = getattr(args, "min_len", 1), getattr(args, "max_len_b", 200)
    if getattr(args, "max_len_a", 0) == 0 and min_len > max_len_b:
        raise UserError(f"--min-len {min_len} is larger than the maximum length, --max-len-b {max_len_b}")
