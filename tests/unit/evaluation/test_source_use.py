"""Whether summaries have anything to do with their sources."""

from wfe_plugin.evaluation.source_use import uses_source

REFERENCES = [[f"city{number} wins"] for number in range(10)]


def test_outputs_that_fit_their_own_references():
    assert uses_source([f"city{number} wins" for number in range(10)], REFERENCES)


def test_the_same_for_all_or_those_of_others():
    assert not uses_source(["city wins"] * 10, REFERENCES)
    assert not uses_source([f"city{(number + 5) % 10} wins" for number in range(10)], REFERENCES)
    assert not uses_source([""] * 10, REFERENCES)


def test_one_of_ten_is_enough_and_few_are_too_few():
    # One output has 1/2 more F1 than against the next reference: 5 points on average, above 2.
    assert uses_source(["city0 wins", *["city wins"] * 9], REFERENCES)
    assert uses_source(["x"] * 9, REFERENCES[:9])
