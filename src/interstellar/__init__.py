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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interstellar.architecture.architecture import Architecture, Macro, Micro
    from interstellar.architecture.canonical_form import canonical_form
    from interstellar.architecture.drawing import draw_svg
    from interstellar.architecture.notation import read_architecture
    from interstellar.architecture.search_space import SearchSpace
    from interstellar.data.frames import pairs_to_frame, to_frame
    from interstellar.data.graph import Graph, GraphPair, KnowledgeGraph
    from interstellar.data.loading import load
    from interstellar.data.splitting import Split
    from interstellar.data.writing.any_form import write_graph, write_text
    from interstellar.errors import InterstellarError
    from interstellar.paths.biased_walk import sample_paths
    from interstellar.paths.path_table import PathTable
    from interstellar.paths.walk_graph import WalkGraph
    from interstellar.paths.walk_settings import WalkSettings
    from interstellar.tasks.embedding_export import export
    from interstellar.tasks.run_prediction import Prediction
    from interstellar.training.settings import TrainingSettings
    from interstellar.workflow.alignment import Alignment
    from interstellar.workflow.found import Found
    from interstellar.workflow.model import Model
    from interstellar.workflow.opening import open  # noqa: A004
    from interstellar.workflow.searching import search, tune
    from interstellar.workflow.training import train

_MODULE_BY_NAME = {
    "Alignment": "workflow.alignment",
    "Architecture": "architecture.architecture",
    "Found": "workflow.found",
    "Graph": "data.graph",
    "GraphPair": "data.graph",
    "InterstellarError": "errors",
    "KnowledgeGraph": "data.graph",
    "Macro": "architecture.architecture",
    "Micro": "architecture.architecture",
    "Model": "workflow.model",
    "PathTable": "paths.path_table",
    "Prediction": "tasks.run_prediction",
    "SearchSpace": "architecture.search_space",
    "Split": "data.splitting",
    "TrainingSettings": "training.settings",
    "WalkGraph": "paths.walk_graph",
    "WalkSettings": "paths.walk_settings",
    "canonical_form": "architecture.canonical_form",
    "draw_svg": "architecture.drawing",
    "export": "tasks.embedding_export",
    "load": "data.loading",
    "open": "workflow.opening",
    "pairs_to_frame": "data.frames",
    "read_architecture": "architecture.notation",
    "sample_paths": "paths.biased_walk",
    "search": "workflow.searching",
    "to_frame": "data.frames",
    "train": "workflow.training",
    "tune": "workflow.searching",
    "write_graph": "data.writing.any_form",
    "write_text": "data.writing.any_form",
}

__all__ = [
    "Alignment",
    "Architecture",
    "Found",
    "Graph",
    "GraphPair",
    "InterstellarError",
    "KnowledgeGraph",
    "Macro",
    "Micro",
    "Model",
    "PathTable",
    "Prediction",
    "SearchSpace",
    "Split",
    "TrainingSettings",
    "WalkGraph",
    "WalkSettings",
    "canonical_form",
    "draw_svg",
    "export",
    "load",
    "open",
    "pairs_to_frame",
    "read_architecture",
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
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'interstellar' has no attribute {name!r}")
    value = getattr(import_module(f"interstellar.{_MODULE_BY_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
