"""The page of rivals says what the catalogue and the files in results say."""

from typing import Any

from interstellar.rivals.catalogue import known_models
from tests.manual_page import load_writer

writer = load_writer("rivals_page")


def result(data: str, model: str, hits: float, *, seed: int = 0, label: str = "") -> Any:
    """Return what `benchmarks/rivals.py` keeps of a run."""
    return {
        "data": data,
        "model": model,
        "label": label,
        "seed": seed,
        "parameters": 1234,
        "metrics": {"test": {"hits@1": hits, "mrr": hits}},
    }


def trained(*results: Any) -> Any:
    found: dict[Any, list[Any]] = {}
    for each in results:
        found.setdefault((each["data"], each["model"], each["label"]), []).append(each)
    return {key: writer.Trained(of_key) for key, of_key in found.items()}


def row_of(page: str, start: str) -> str:
    return next(line for line in page.splitlines() if line.startswith(start))


def test_the_page_is_what_the_files_say() -> None:
    page = writer.PAGE.read_text(encoding="utf-8")

    assert page == writer.write_page(writer.read_results()), "run `make rivals`"


def test_every_model_has_a_paragraph_but_what_only_the_papers_searches_found() -> None:
    page = writer.write_page({})

    for model in known_models():
        assert (f"### {model.name}\n" in page) is ("Interstellar" not in model.name)


def test_seeds_are_means_beside_what_was_printed_and_labels_are_columns_of_their_own() -> None:
    seeds = [result("WN18RR", "RotatE", hits, seed=n) for n, hits in enumerate((0.4, 0.5, 0.6))]
    page = writer.write_page(trained(*seeds, result("WN18RR", "RotatE", 0.7, label="doubled")))

    assert row_of(page, "| MRR") == "| MRR | printed | by rule | doubled |"
    assert row_of(page, "| [RotatE]") == "| [RotatE](#rotate) | .47 | .500 ± .100 | .700 |"
    assert "On WN18RR it has 1,234 parameters." in page


def test_ways_to_align_are_columns() -> None:
    aligned = result("EN-FR", "BootEA", 0.3) | {
        "decoded": {"csls": {"hits@1": 0.35}, "sinkhorn": {"hits@1": 0.4}},
        "iterated": [{"test": {"hits@1": 0.3}}, {"test": {"hits@1": 0.45}}],
        "best_round": 1,
    }
    page = writer.write_page(trained(aligned))

    assert row_of(page, "| Hits@1").endswith("| printed | cosine | CSLS | Sinkhorn | iterated |")
    assert row_of(page, "| [BootEA]").endswith("| 31.3 | 30.0 | 35.0 | 40.0 | 45.0 |")


def test_what_is_printed_and_was_not_measured_is_a_sentence_and_no_row() -> None:
    page = writer.write_page(trained(result("WN18RR", "RotatE", 0.4)))

    [named] = [line for line in page.splitlines() if "TransE .18" in line]
    assert "ComplEx .44" in named
    assert "RotatE" not in named
    assert "| [ComplEx]" not in page


def test_what_differs_from_a_paper_is_what_the_file_of_the_model_says() -> None:
    page = writer.write_page({})

    assert "An inverse relation has angles of its own." in page.replace("\n", " ")
