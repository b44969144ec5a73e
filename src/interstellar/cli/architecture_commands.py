"""`interstellar space`, `show` and `models`: the search space, its points, and what has a name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interstellar.cli.output import (
    AsJson,
    print_fields,
    print_json,
    print_rows,
    report,
    say,
    show_facts,
)
from interstellar.errors import ArchitectureError

if TYPE_CHECKING:
    from interstellar.rivals.catalogue import KnownModel


def measure_space(
    subspace: Annotated[
        str | None, typer.Option(help="P1, P2, P3 or P4 of the paper's Countries study.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the architectures, and how many of them are different networks.

    Example: `interstellar space --subspace P1`.
    """
    from interstellar.architecture.search_space import SearchSpace, read_subspace

    space = SearchSpace(read_subspace(subspace) if subspace else None)
    counts = {"macro": space.n_macro, "micro": space.n_micro, "total": space.n_total}
    counts |= {"distinct": space.count_distinct(), "distinct_macro": space.count_distinct_macros()}
    show_facts(counts, as_json=as_json)


def show(
    architecture: Annotated[
        str,
        typer.Argument(
            metavar="ARCH", help="A name (TransE), 11-number code, formula, JSON file, or a RUN."
        ),
    ],
    draw: Annotated[
        Path | None,
        typer.Option(
            "--draw", "--svg", metavar="FILE", help="Also draw it: into FILE.svg, .png or .pdf."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show an architecture in formulas, in every notation, and as a picture; or what a rival is.

    Examples: `interstellar show RSN --draw rsn.pdf`, `interstellar show RotatE`,
    `interstellar show "[0,4,10,1,1,0,0,1,1,0,1]"`,
    `interstellar show "O_r = tanh(h + W4 r); v = s ⊗ W6 O_r"`, `interstellar show found`, where
    `found` is the folder of a search or a training.
    """
    from interstellar.rivals.catalogue import facts_of, find_rival
    from interstellar.searching.search_journal import read_written

    rival = find_rival(read_written(architecture))
    if rival is None:
        show_network(architecture, draw, as_json=as_json)
        return
    if draw is not None:
        raise ArchitectureError(
            f"{rival} is outside the search space, and only what is in it can be drawn. Leave the "
            "file out."
        )
    model = plain_model(facts_of(rival))
    if as_json:
        print_json(model)
    else:
        print_fields(model | {"tasks": ", ".join(facts_of(rival).tasks)})


def show_network(architecture: str, picture: Path | None, *, as_json: bool) -> None:
    """Show a point of the search space, or of that of propagations."""
    from interstellar.architecture.literature import find_propagation, name_of
    from interstellar.architecture.notation import (
        code_text,
        formulas,
        read_architecture,
        to_code,
        to_json,
    )
    from interstellar.architecture.picture_file import draw
    from interstellar.architecture.propagation import (
        Propagation,
        propagation_formulas,
        split_choices,
    )
    from interstellar.records.safe_files import refuse_taken
    from interstellar.rivals.catalogue import Rival, find_model
    from interstellar.searching.search_journal import read_network, read_written
    from interstellar.searching.tried_network import cell_of, formula_of

    point = read_architecture(split_choices(find_propagation(read_written(architecture)))[0])
    network = read_network(architecture)
    assert not isinstance(network, Rival), "those are shown otherwise"
    canonical, name, formula = cell_of(network), name_of(network), formula_of(network)
    drawn = network if isinstance(network, Propagation) else point
    lines = propagation_formulas(drawn) if isinstance(drawn, Propagation) else formulas(drawn)
    if picture is not None:
        refuse_taken(picture, (architecture,))
        draw(drawn, picture)
        report(f"drawn into {picture}")
    model = None if name is None else find_model(name)
    if as_json:
        codes = {"code": to_code(point), "canonical": to_code(canonical)}
        notations = {"name": name, "formula": formula, "formulas": lines, "json": to_json(point)}
        print_json(({} if model is None else plain_model(model)) | codes | notations)
        return
    say("\n".join([*lines, ""]))
    fields = {"code": code_text(point), "canonical": code_text(canonical)}
    fields |= {"name": name or "none", "formula": formula}
    if model is not None:
        fields |= {"place": model.place, "idea": model.idea, "complexity": model.complexity}
        fields |= {"paper": model.paper, "tasks": ", ".join(model.tasks)}
        fields |= {"remark": model.remark} if model.remark else {}
    print_fields(fields)


def list_models(
    task: Annotated[
        str | None, typer.Option(help="Only those for link-prediction, or for entity-alignment.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List every model with a name: what it is for, in the search space or not, and who made it.

    Examples: `interstellar models`, `interstellar models --task entity-alignment`.
    `interstellar show NAME` says more; `interstellar train DATA --architecture NAME` trains it.
    """
    from interstellar.data.graph import Task
    from interstellar.rivals.catalogue import known_models
    from interstellar.words import choose

    wanted = None if task is None else choose("task", task, Task)
    models = [m for m in known_models() if wanted is None or wanted in m.tasks]
    if as_json:
        print_json({"models": [plain_model(model) for model in models]})
        return
    rows = [(m.name, m.place.value, ", ".join(m.tasks), m.complexity, m.paper) for m in models]
    print_rows([("name", "in", "tasks", "complexity", "paper"), *rows])


def show_model(model: "KnownModel", *, as_json: bool) -> None:
    """Print what is known of a model."""
    plain = plain_model(model)
    if as_json:
        print_json(plain)
        return
    print_fields(plain | {"tasks": ", ".join(model.tasks)})


def plain_model(model: "KnownModel") -> dict[str, object]:
    """Return what is known of a model as plain values."""
    return {
        "name": model.name,
        "tasks": [str(task) for task in model.tasks],
        "in_space": model.is_in_space,
        "place": str(model.place),
        "idea": model.idea,
        "formula": model.formula,
        "complexity": model.complexity,
        "paper": model.paper,
        "remark": model.remark,
    }
