"""What mattered in searches of one graph, taken together (`reporting/effects.py` says how).

python benchmarks/effects.py RUN [RUN …] [--json FILE]
"""

import argparse
from dataclasses import asdict
from pathlib import Path

from interstellar.reporting.effects import find_effects, list_compared
from interstellar.reporting.reading import read_runs
from interstellar.reporting.recorded_search import RecordedSearch
from report import write_report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders of searches")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    searches = [run for run in read_runs(arguments.runs) if isinstance(run, RecordedSearch)]
    compared = [
        pair
        for search in searches
        for pair in list_compared(search.run.experiment, search.trials.ended)
    ]
    effects = find_effects([taken for taken, _ in compared], [score for _, score in compared])
    for e in effects:
        print(f"{e.choice:20} {e.option:20} {e.n:4}  mean {e.mean:.3f}  alone {e.alone:.3f}")
    write_report(
        arguments.json,
        {"runs": list(map(str, arguments.runs)), "effects": list(map(asdict, effects))},
    )


if __name__ == "__main__":
    main()
