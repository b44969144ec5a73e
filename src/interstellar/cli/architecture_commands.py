"""`interstellar space` and `interstellar show`: the search space and its points."""

from pathlib import Path
from typing import Annotated

import typer

from interstellar.cli.output import AsJson, print_fields, print_json, report, say


def measure_space(
    subspace: Annotated[
        str | None, typer.Option(help="P1, P2, P3 or P4 of the paper's Countries study.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the architectures, and how many of them are different networks.

    Example: `interstellar space --subspace P1`.
    """
    from interstellar.architecture.search_space import SearchSpace
    from interstellar.architecture.subspaces import read_subspace

    space = SearchSpace(read_subspace(subspace) if subspace else None)
    facts = {
        "macro": space.n_macro,
        "micro": space.n_micro,
        "total": space.n_total,
        "distinct": space.count_distinct(),
        "distinct_macro": space.count_distinct_macros(),
    }
    if as_json:
        print_json(facts)
    else:
        print_fields(facts)


def show(
    architecture: Annotated[
        str,
        typer.Argument(
            metavar="ARCH", help="A name (TransE), 11-number code, formula, JSON file, or a RUN."
        ),
    ],
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw it into this SVG file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show an architecture in formulas, in every notation, and as a picture.

    Examples: `interstellar show RSN --svg rsn.svg`,
    `interstellar show "[0,4,10,1,1,0,0,1,1,0,1]"`,
    `interstellar show "O_r = tanh(h + W4 r); v = s ⊗ W6 O_r"`, `interstellar show found`, where
    `found` is the folder of a search or a training.
    """
    from interstellar.architecture.canonical_form import canonical_form
    from interstellar.architecture.drawing import draw_svg
    from interstellar.architecture.literature import name_of
    from interstellar.architecture.notation import (
        code_text,
        formulas,
        read_architecture,
        to_code,
        to_formula,
        to_json,
    )
    from interstellar.records.safe_files import refuse_taken, replacing_file
    from interstellar.workflow.written_architecture import read_written

    point = read_architecture(read_written(architecture))
    canonical = canonical_form(point)
    if svg is not None:
        refuse_taken(svg, (architecture,))
        with replacing_file(svg) as file:
            file.write(draw_svg(point).encode())
        report(f"drawn into {svg}")
    facts = {
        "code": to_code(point),
        "canonical": to_code(canonical),
        "name": name_of(point),
        "formula": to_formula(point),
    }
    if as_json:
        print_json(facts | {"formulas": list(formulas(point)), "json": to_json(point)})
        return
    for line in formulas(point):
        say(line)
    say("")
    print_fields(
        {
            "code": code_text(point),
            "canonical": code_text(canonical),
            "name": facts["name"] or "none",
            "formula": facts["formula"],
        }
    )
