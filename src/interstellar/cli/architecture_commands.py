"""`interstellar space` and `interstellar show`: the search space and its points."""

from pathlib import Path
from typing import Annotated

import typer

from interstellar.cli.output import AsJson, print_fields, print_json, report, say, show_facts


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
    from interstellar.architecture.drawing import draw_svg
    from interstellar.architecture.literature import name_of
    from interstellar.architecture.notation import (
        code_text,
        formulas,
        read_architecture,
        to_code,
        to_json,
    )
    from interstellar.records.safe_files import refuse_taken, replacing_file
    from interstellar.searching.search_journal import read_network, read_written
    from interstellar.searching.tried_network import cell_of, formula_of

    point, network = read_architecture(read_written(architecture)), read_network(architecture)
    canonical, name, formula = cell_of(network), name_of(network), formula_of(network)
    if svg is not None:
        refuse_taken(svg, (architecture,))
        with replacing_file(svg) as file:
            file.write(draw_svg(point).encode())
        report(f"drawn into {svg}")
    lines = formulas(point) if network == canonical else formula.split("; ")
    if as_json:
        codes = {"code": to_code(point), "canonical": to_code(canonical)}
        notations = {"name": name, "formula": formula, "formulas": lines, "json": to_json(point)}
        print_json(codes | notations)
        return
    say("\n".join([*lines, ""]))
    shown = {"code": code_text(point), "canonical": code_text(canonical)}
    print_fields(shown | {"name": name or "none", "formula": formula})
