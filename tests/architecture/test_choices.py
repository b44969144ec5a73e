"""Tests of the choices: their numbers in the code are their places here."""

from interstellar.architecture.choices import Activation, Combinator, Source


def test_the_order_of_the_choices_is_that_of_the_11_number_code() -> None:
    assert [c.symbol for c in Combinator] == ["+", "⊙", "⊗", "gated"]
    assert [s.symbol for s in Source] == ["s", "h", "O_s", "0"]
    assert list(Activation) == ["identity", "tanh", "sigmoid"]
