"""What experiment files of version 0.1 say, as it is said now."""

from collections.abc import Mapping

from interstellar.runs.search_plan import MEANT_FOR, StrategyName
from interstellar.training.settings import FORMER_NAMES


def modernise_plan(table: object) -> object:
    """Return the table [search] of version 0.1 as it is written now, any other as it is."""
    if not isinstance(table, dict):
        return table
    table = {key: value for key, value in table.items() if key not in ("n_together", "together")}
    if table.get("strategy") != StrategyName.TUNE:
        table.setdefault("from_scratch", True)  # searches had no other way
    if "is_faithful" not in table:
        return table
    renamed = rename(table, {"is_macro_only": "macro_only"})
    assert isinstance(renamed, dict)
    renamed["prune"] = renamed.pop("is_faithful") is False
    for name in ("try_first", "keep"):
        renamed[name] = str(renamed.get(name, "none")).removeprefix("none").split()
    renamed["keep"] = [FORMER_NAMES.get(name, name) for name in renamed["keep"]]
    for name, meant in MEANT_FOR.items():
        if renamed.get("strategy") not in meant or (
            renamed.get("strategy") == StrategyName.HYBRID
            and renamed.get("macro_only") is True
            and name != "macro_updates"
        ):
            renamed.pop(name, None)  # it was written down whether it meant anything or not
    return renamed


def rename(table: object, names: Mapping[str, str]) -> object:
    """Return a table with its keys as they are called now."""
    if not isinstance(table, dict):
        return table
    return {names.get(key, key): value for key, value in table.items()}
