"""Writes `gallery.md` and its drawings: every network with a name that can be drawn.

`make gallery` writes them anew; a test fails where they are not what the package draws.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from interstellar.architecture.architecture import Architecture
from interstellar.architecture.canonical_form import canonical_form
from interstellar.architecture.drawing import draw_svg
from interstellar.architecture.formula import to_formula
from interstellar.architecture.literature import ALIGNERS, LITERATURE, NAMED, PROPAGATIONS
from interstellar.architecture.propagation import Propagation, from_text, to_text
from interstellar.rivals.catalogue import find_model

Network: TypeAlias = Architecture | Propagation
DOCS = Path(__file__).parent
PAGE = DOCS / "gallery.md"
DRAWINGS = DOCS / "drawings"
HEAD = """# Gallery

Every network with a name that lies in the search space, drawn as `interstellar show` draws any:

```sh
interstellar show RSN --draw rsn.svg
interstellar show "O_r = tanh(W3 h + W4 r); v = s ⊗ W6 O_r" --draw mine.svg
```

A name that ends in `.png` or `.pdf` gives these, for slides and papers; text of a PDF stays text
(`pip install "interstellar-kg[plots]"`). In Python that is `ist.draw(architecture, "rsn.pdf")`.

A circle is an operator, and its sign says how it combines its inputs: + adds, ⊙ multiplies entry
by entry, ⊗ multiplies complex numbers, a gate weighs one against the other. Red are the activation
at the upper right of an operator, and a matrix that is trained on a link; links without one pass on
what they are given. What nobody reads is left out.
"""
PEOPLE = "\n## Designed by people\n"
SEARCHES = """
## Found by searches

Those named Interstellar are what the paper's search found on each data set.
"""
PROPAGATED = """
## Propagations

With `--model propagation` the cell is the message along an edge from v′ to v, and goes along
[all paths at once](propagation.md). To the right of it is what v makes of the messages that reach
it, and of h_0, which is 0 but at the query's subject. After the last layer v_t is read.
"""


def write_page() -> str:
    """Return the whole page."""
    people = {**LITERATURE, **ALIGNERS}
    searches = {name: network for name, network in NAMED.items() if name not in people}
    propagations = {name: from_text(line) for name, line in PROPAGATIONS.items()}
    parts = [HEAD, PEOPLE, *describe(people), SEARCHES, *describe(searches)]
    return "\n".join([*parts, PROPAGATED, *describe(propagations)])


def write_drawings() -> dict[str, str]:
    """Return the drawings by the names of their files."""
    propagations = {name: from_text(line) for name, line in PROPAGATIONS.items()}
    networks: dict[str, Network] = {**NAMED, **propagations}
    return {file_of(names[0]): draw_svg(networks[names[0]]) for names in alike(networks)}


def describe(networks: Mapping[str, Network]) -> Iterator[str]:
    """Yield the paragraph of each network, once for all its names."""
    for names in alike(networks):
        network = networks[names[0]]
        formula = to_text(network) if isinstance(network, Propagation) else to_formula(network)
        yield f"### {', '.join(names)}\n"
        if said := find_paper(names[0]):
            yield f"{said}\n"
        yield f"![{formula}](drawings/{file_of(names[0])})\n"
        yield f"    {formula}\n"


def find_paper(name: str) -> str:
    """Return who made a network, and the idea."""
    model = find_model(name)
    if model is None:
        return "Found by [our own search](method.md)."
    return " ".join(filter(None, (f"{model.paper}.", model.idea, model.remark)))


def alike(networks: Mapping[str, Network]) -> list[list[str]]:
    """Return the names, those of one network together."""
    names: dict[Network, list[str]] = {}
    for name, network in networks.items():
        same = canonical_form(network) if isinstance(network, Architecture) else network
        names.setdefault(same, []).append(name)
    return list(names.values())


def file_of(name: str) -> str:
    """Return the name of a drawing's file."""
    return f"{name.lower().replace('-', '_')}.svg"


def main() -> None:
    """Write the page and its drawings."""
    PAGE.write_text(write_page(), encoding="utf-8")
    for file in DRAWINGS.glob("*.svg"):
        file.unlink()
    for name, svg in write_drawings().items():
        (DRAWINGS / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
