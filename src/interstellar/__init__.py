"""AutoML for knowledge graphs: search, train and use recurrent networks over relational paths.

>>> import interstellar as ist
>>> graph = ist.load("geography-S1")
>>> len(graph.answers)
5
>>> model = ist.train(graph, "TransE", dim=8, epochs=1, progress=False)
>>> len(model.predict(subject="france", relation="neighbor", k=3))
3

Names are imported when they are first used, so that `import interstellar` costs nothing.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interstellar.architecture.architecture import Architecture, Macro, Micro
    from interstellar.architecture.canonical_form import canonical_form
    from interstellar.architecture.drawing import draw_svg
    from interstellar.architecture.notation import read_architecture
    from interstellar.architecture.picture_file import draw
    from interstellar.architecture.search_space import SearchSpace, Subspace
    from interstellar.data.graph import Graph, GraphPair, KnowledgeGraph
    from interstellar.data.loading import load
    from interstellar.data.splitting import SplitShares
    from interstellar.data.tables import pairs_to_frame, to_frame
    from interstellar.data.writing import write_graph, write_text
    from interstellar.errors import InterstellarError
    from interstellar.inference.alignment import Alignment
    from interstellar.inference.prediction import Answers, Prediction
    from interstellar.paths.biased_walk import sample_paths
    from interstellar.paths.path_table import PathTable
    from interstellar.paths.walk_graph import WalkGraph
    from interstellar.paths.walk_settings import WalkSettings
    from interstellar.reporting.comparison import Comparison
    from interstellar.reporting.writing import compare, report
    from interstellar.rivals.catalogue import KnownModel, find_model, known_models
    from interstellar.runs.search_plan import Budget, Retraining, SearchPlan, StrategyName
    from interstellar.searching.trial import Trial, TrialResult
    from interstellar.training.settings import TrainingSettings
    from interstellar.workflow.exporting import export
    from interstellar.workflow.model import Model, open  # noqa: A004
    from interstellar.workflow.search_result import SearchResult
    from interstellar.workflow.searching import search, tune
    from interstellar.workflow.training import train

_NAMES_BY_MODULE = {
    "architecture.architecture": "Architecture Macro Micro",
    "architecture.canonical_form": "canonical_form",
    "architecture.drawing": "draw_svg",
    "architecture.picture_file": "draw",
    "architecture.notation": "read_architecture",
    "architecture.search_space": "SearchSpace Subspace",
    "data.tables": "pairs_to_frame to_frame",
    "data.graph": "Graph GraphPair KnowledgeGraph",
    "data.loading": "load",
    "data.splitting": "SplitShares",
    "data.writing": "write_graph write_text",
    "errors": "InterstellarError",
    "inference.alignment": "Alignment",
    "inference.prediction": "Answers Prediction",
    "paths.biased_walk": "sample_paths",
    "rivals.catalogue": "KnownModel find_model known_models",
    "paths.path_table": "PathTable",
    "paths.walk_graph": "WalkGraph",
    "paths.walk_settings": "WalkSettings",
    "reporting.comparison": "Comparison",
    "reporting.writing": "compare report",
    "runs.search_plan": "Budget Retraining SearchPlan StrategyName",
    "searching.trial": "Trial TrialResult",
    "training.settings": "TrainingSettings",
    "workflow.exporting": "export",
    "workflow.model": "Model open",
    "workflow.search_result": "SearchResult",
    "workflow.searching": "search tune",
    "workflow.training": "train",
}
_MODULE_BY_NAME = {
    name: module for module, names in _NAMES_BY_MODULE.items() for name in names.split()
}
_FORMER_NAMES = {"Found": "SearchResult", "Split": "SplitShares"}
"""Names of version 0.1, which go in version 0.3."""

__all__ = [
    "Alignment",
    "Answers",
    "Architecture",
    "Budget",
    "Comparison",
    "Graph",
    "GraphPair",
    "InterstellarError",
    "KnowledgeGraph",
    "KnownModel",
    "Macro",
    "Micro",
    "Model",
    "PathTable",
    "Prediction",
    "Retraining",
    "SearchPlan",
    "SearchResult",
    "SearchSpace",
    "SplitShares",
    "StrategyName",
    "Subspace",
    "TrainingSettings",
    "Trial",
    "TrialResult",
    "WalkGraph",
    "WalkSettings",
    "canonical_form",
    "compare",
    "draw",
    "draw_svg",
    "export",
    "find_model",
    "known_models",
    "load",
    "open",
    "pairs_to_frame",
    "read_architecture",
    "report",
    "sample_paths",
    "search",
    "to_frame",
    "train",
    "tune",
    "write_graph",
    "write_text",
]

__version__: str


def __getattr__(name: str) -> Any:
    """Import a public name from its module, or find the version, when it is first used."""
    if name == "__version__":
        find_version = import_module("interstellar.records.environment").find_version
        return find_version("interstellar-kg") or "unknown: it is not installed"
    if name in _FORMER_NAMES:
        now = _FORMER_NAMES[name]
        warnings.warn(
            f"{name} is now called {now}; the old name goes in version 0.3.",
            DeprecationWarning,
            stacklevel=2,
        )
        return __getattr__(now)
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'interstellar' has no attribute {name!r}")
    value = getattr(import_module(f"interstellar.{_MODULE_BY_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
