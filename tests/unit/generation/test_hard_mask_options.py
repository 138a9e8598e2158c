"""Options of generation that a hard mask could break: each does what users expect."""

import copy
import math
from argparse import Namespace

import pytest
import torch
from fairseq.ngram_repeat_block import NGramRepeatBlock
from fairseq.token_generation_constraints import pack_constraints

from helpers.literal_search import LiteralSearch
from helpers.toy import FIRST_WORD, FixedEstimates, generate, toy_batch, toy_model, toy_sources, toy_task, words_of

WORDS = 8
VOCABULARY = FIRST_WORD + WORDS
EOS, UNK = 2, 3
INF = float("inf")
WIDE_OPEN = [[INF] * VOCABULARY]


def budget(**words):
    """r of one sentence: w0=1.0 gives the first word a budget of one."""
    r = [0.0] * VOCABULARY
    for word, value in words.items():
        r[FIRST_WORD + int(word[1:])] = value
    return [r]


def bounded_model(task, seed=0, **words):
    model = toy_model(task, seed)
    model.wfe_head = FixedEstimates(budget(**words), WIDE_OPEN)
    return model


def outputs(task, model, **options):
    (hypotheses,) = generate(task, [model], toy_batch(task, [[4, 5, 6]]), **options)
    assert all(math.isfinite(h["score"].item()) for h in hypotheses)
    return [words_of(h, EOS) for h in hypotheses]


class TestPrefix:
    def test_prefix_beyond_its_budget_is_kept(self):
        """`--prefix-size 3` with a word that has no budget, twice."""
        task = toy_task(WORDS)
        model = bounded_model(task, w1=1.0, w2=1.0)
        prefix = torch.tensor([[4, 5, 4]])
        found = outputs(task, model, prefix_tokens=prefix)
        assert found and all(words[:3] == [4, 5, 4] for words in found)
        # What the prefix used is spent: only w2 may follow.
        assert {tuple(words[3:]) for words in found} == {(), (6,)}

    def test_prefix_wins_over_a_budget_of_zero(self):
        """The user's own budgets: w0 may not be said at all, and w1 once, but the prefix says w0 and twice w1."""
        task = toy_task(WORDS)
        model = bounded_model(task, w0=1.0, w1=2.0, w2=1.0)
        never, once = (task.target_dictionary[word] for word in (4, 5))
        prefix = torch.tensor([[5, 4, 5]])
        found = outputs(task, model, prefix_tokens=prefix, budget=f"{never}=0 {once}=1")
        assert {tuple(words) for words in found} == {(5, 4, 5), (5, 4, 5, 6)}

    def test_prefixes_stay_with_their_sentences(self):
        """Also when another sentence of the batch is finished and leaves it."""
        task = toy_task(WORDS)
        model = toy_model(task, 1)
        batch = toy_batch(task, [[4, 5, 6], [7, 8], [9]])
        model.wfe_head = FixedEstimates(budget() * 3, WIDE_OPEN * 3)
        prefix = torch.tensor([[4, EOS, 1, 1], [5, 6, 5, 5], [7, 7, 7, 8]])
        found = generate(task, [model], batch, prefix_tokens=prefix, no_repeat_ngram_size=1)
        starts = [found[number] for number in batch["id"].tolist()]
        outputs = [words_of(hypotheses[0], EOS) for hypotheses in starts]
        assert outputs == [[4], [5, 6, 5, 5], [7, 7, 7, 8]]


class TestMinimumLength:
    def test_spent_budgets_end_the_output_early(self):
        task = toy_task(WORDS)
        model = bounded_model(task, w0=1.0, w1=1.0)
        found = outputs(task, model, min_len=5)
        assert sorted(map(sorted, found)) == [[4, 5], [4, 5]]

    def test_nothing_to_say_at_all(self):
        """fairseq's default minimum is one word; a sentence with no budget has none."""
        task = toy_task(WORDS)
        assert outputs(task, bounded_model(task), min_len=1) == [[]]


class TestConstraints:
    @pytest.mark.parametrize("kind", ["ordered", "unordered"])
    @pytest.mark.parametrize("ngram", [0, 1, 2])
    def test_constrained_words_are_placed_whatever_their_budget(self, kind, ngram):
        task = toy_task(WORDS)
        for seed in range(5):
            model = bounded_model(task, seed, w1=1.0, w2=1.0)
            constraints = pack_constraints([[torch.tensor([9, 10]), torch.tensor([9, 11])]])
            found = self.constrained(task, model, constraints, kind, ngram)
            assert found
            for words in found:
                text = "".join(f"{word:02d} " for word in words)
                assert "09 10 " in text and "09 11 " in text
                # Others still keep to their budgets.
                assert words.count(5) <= 1 and words.count(6) <= 1
                assert not {4, 7, 8} & set(words)
            # So do constrained words, unless there is no other way.
            assert [found[0].count(word) for word in (9, 10, 11)] == [2, 1, 1]

    def test_an_empty_output_meets_no_constraint(self):
        """fairseq would let it pass with --min-len 0."""
        task = toy_task(WORDS)
        constraints = pack_constraints([[torch.tensor([9])], []])
        batch = toy_batch(task, [[4, 5, 6], [7]])
        model = toy_model(task)
        # No word but by force: what is free to end does so at once.
        model.wfe_head = FixedEstimates(budget() * 2, WIDE_OPEN * 2)
        options = Namespace(beam=2, max_len_b=5, constraints="ordered", min_len=0)
        constrained, free = task.inference_step(
            task.build_generator([model], options), [model], batch, constraints=constraints
        )
        assert [words_of(h, EOS) for h in free] == [[]]
        assert constrained and all(9 in words_of(h, EOS) for h in constrained)

    def test_a_beam_too_wide_for_constraints(self):
        """fairseq would fail inside torch."""
        task = toy_task(WORDS)
        constraints = pack_constraints([[torch.tensor([9])]])
        options = Namespace(beam=VOCABULARY - 1, max_len_b=5, constraints="ordered")
        with pytest.raises(ValueError, match="--beam 11 is too wide.*at most 6"):
            generator = task.build_generator([toy_model(task)], options)
            batch = toy_batch(task, [[4, 5, 6]])
            task.inference_step(generator, [toy_model(task)], batch, constraints=constraints)

    def test_constraints_that_do_not_fit_are_refused(self):
        task = toy_task(WORDS)
        constraints = pack_constraints([[torch.tensor([9, 10, 11])]])
        with pytest.raises(ValueError, match="--max-len-b"):
            self.constrained(task, bounded_model(task), constraints, "ordered", 0, max_len_b=2)

    def test_no_constraints_given(self):
        task = toy_task(WORDS)
        with pytest.raises(ValueError, match="fairseq-interactive"):
            self.constrained(task, bounded_model(task), None, "ordered", 0)

    def test_constraints_stay_with_their_sentences(self):
        """Also when another sentence of the batch is finished and leaves it."""
        task = toy_task(WORDS)
        model = toy_model(task, 3)
        sources = [[4, 5, 6], [7, 8], [9]]
        batch = toy_batch(task, sources)
        model.wfe_head = FixedEstimates(budget() * 3, WIDE_OPEN * 3)
        wishes = [[9], [10, 5, 10, 4], [11, 4, 6]]
        constraints = pack_constraints([[torch.tensor(wish)] for wish in wishes])
        options = Namespace(beam=3, max_len_b=9, constraints="ordered", no_repeat_ngram_size=1)
        found = task.inference_step(task.build_generator([model], options), [model], batch, constraints=constraints)
        assert [words_of(hypotheses[0], EOS) for hypotheses in found] == wishes

    @staticmethod
    def constrained(task, model, constraints, kind, ngram, max_len_b=12):
        options = Namespace(beam=6, max_len_b=max_len_b, constraints=kind, no_repeat_ngram_size=ngram)
        generator = task.build_generator([model], options)
        batch = toy_batch(task, [[4, 5, 6]])
        (hypotheses,) = task.inference_step(generator, [model], batch, constraints=constraints)
        assert all(math.isfinite(h["score"].item()) for h in hypotheses)
        return [words_of(h, EOS) for h in hypotheses]


class TestSampling:
    def test_top_p_is_taken_of_a_distribution(self):
        """Gates of 1e-4 leave so little mass that 0.5 of the whole never comes
        together; top-p must be of what is left: here the best word alone."""
        task = toy_task(WORDS)
        model = toy_model(task, 0)
        r = budget(w0=1.0, w1=1.0, w2=1.0)
        model.wfe_head = FixedEstimates(r, [[-9.2] * VOCABULARY])
        literal = LiteralSearch(task, model, [4, 5, 6], bound_eos=True)
        scores = literal.step_scores([], literal.r_hat)
        best = max(range(VOCABULARY), key=lambda word: scores[word])
        total = sum(math.exp(score) for score in scores)
        if math.exp(scores[best]) / total < 0.5:
            pytest.fail("the test needs a model that is sure of its first word")
        torch.manual_seed(0)
        bounded = toy_task(WORDS, wfe_bound_eos=True)
        found = outputs(bounded, model, beam=8, sampling=True, sampling_topp=0.5, max_len_b=1)
        assert {words[0] for words in found} == {best}

    def test_scores_are_of_a_distribution(self):
        """The probabilities of all possible first words add up to one."""
        task = toy_task(WORDS)
        model = toy_model(task, weight_scale=0.1)  # unsure of itself
        model.wfe_head = FixedEstimates(budget(w0=1.0, w1=0.4), WIDE_OPEN)
        batch = toy_batch(task, [[4, 5, 6]])
        first = {}
        for seed in range(5):
            torch.manual_seed(seed)
            (found,) = generate(task, [model], batch, beam=11, sampling=True, max_len_b=1)
            for h in found:
                first[h["tokens"][0].item()] = h["positional_scores"][0].item()
        assert set(first) == {4, 5, EOS}
        assert sum(map(math.exp, first.values())) == pytest.approx(1.0, abs=1e-4)


class TestScoreReference:
    def test_a_reference_beyond_the_budget_is_impossible(self):
        task = toy_task(WORDS)
        model = bounded_model(task, w0=1.0)
        batch = toy_batch(task, [[4, 5]], [[4, 4]])
        ((reference,),) = generate(task, [model], batch, score_reference=True)
        assert reference["score"].item() == -INF
        finite = torch.isfinite(reference["positional_scores"]).tolist()
        assert finite == [True, False, True]

    def test_off_is_stock(self):
        task = toy_task(WORDS, wfe_decoding="off")
        model = bounded_model(task, w0=1.0)
        batch = toy_batch(task, [[4, 5]], [[4, 4]])
        ((reference,),) = generate(task, [model], batch, score_reference=True)
        assert math.isfinite(reference["score"].item())


class TestNgramBlocking:
    def test_single_words_blocked_but_not_eos(self):
        """fairseq has EOS at the start of every hypothesis, where n=1 finds it."""
        task = toy_task(WORDS)
        found = outputs(task, bounded_model(task, w0=9.0, w1=9.0), beam=9, no_repeat_ngram_size=1)
        assert sorted(found) == [[], [4], [4, 5], [5], [5, 4]]

    def test_stock_fairseq_blocks_nothing_without_its_extension(self):
        """The reason for our own; when fairseq mends this, ours can go."""
        tokens = torch.tensor([[EOS, 5, 6, 5, 1, 1, 1]])  # step 3 of at most 5
        lprobs = NGramRepeatBlock(2, use_extension=False)(
            tokens, torch.zeros(1, VOCABULARY), bsz=1, beam_size=1, step=3
        )
        assert lprobs[0, 6] == 0.0  # "5 6" would occur again


class TestAlignment:
    def test_alignment_of_every_hypothesis(self):
        """Also where a sentence has fewer hypotheses than the beam is wide."""
        task = toy_task(WORDS)
        model = bounded_model(task, w0=1.0)
        batch = toy_batch(task, [[4, 5, 6]])
        for kind in ("hard", "soft"):
            ((longer, shorter),) = sorted_by_length(generate(task, [model], batch, print_alignment=kind))
            assert len(longer["alignment"]) == (1 if kind == "hard" else 2)


def sorted_by_length(found):
    return [sorted(h, key=lambda h: -len(h["tokens"])) for h in found]


class TestDiverseBeamSearch:
    def test_works_on_sentences_from_anywhere_in_a_data_set(self):
        """fairseq's own takes data-set numbers for places in the batch."""
        task = toy_task(WORDS)
        model = toy_model(task, 1)
        batch = toy_batch(task, toy_sources(3, WORDS, 1))
        options = dict(beam=4, diverse_beam_groups=2, diverse_beam_strength=0.3)
        expected = generate(task, [model], batch, **options)
        batch["id"] = batch["id"] + 1000
        found = generate(task, [model], batch, **options)
        tokens = [[h["tokens"].tolist() for h in hypotheses] for hypotheses in found]
        assert tokens == [[h["tokens"].tolist() for h in hs] for hs in expected]
        with pytest.raises(IndexError):
            generate(task, [model], batch, wfe_decoding="off", **options)


class TestBoundedEos:
    def test_eos_without_budget_is_the_last_resort(self):
        task = toy_task(WORDS, wfe_bound_eos=True)
        (words,) = outputs(task, bounded_model(task, w0=1.0, w1=1.0), beam=1)
        # EOS has no budget: the output ends when there is nothing else to say.
        assert sorted(words) == [4, 5]


def test_hub_models_can_align_although_fairseq_switched_attention_off():
    task = toy_task(WORDS)
    model = toy_model(task, 0)
    model.decoder.make_generation_fast_(need_attn=False)
    ((best, *_),) = generate(task, [model], toy_batch(task, [[4, 5]]), print_alignment="hard", min_len=1)
    assert best["alignment"]


def test_generators_can_be_copied():
    task = toy_task(WORDS)
    generator = task.build_generator([toy_model(task)], Namespace(beam=3))
    assert copy.deepcopy(generator).search.eos == EOS
