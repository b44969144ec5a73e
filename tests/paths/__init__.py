"""Tests of `interstellar.paths`; a package, so that they share graphs and the literal walk."""
