"""`interstellar dashboard` and `interstellar serve`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from interstellar.cli.flags import Device, Run, stop_on_sigterm
from interstellar.cli.output import AsJson, print_json, report, say

if TYPE_CHECKING:
    from interstellar.dashboard.listening import Address

Port = Annotated[
    int, typer.Option(metavar="N", min=0, max=65535, help="Where it listens; 0 for a free port.")
]
Host = Annotated[str, typer.Option(help="Another than 127.0.0.1 lets others ask, with the token.")]
Token = Annotated[
    str | None,
    typer.Option(help="Who asks must know it. [default: made where others can ask]"),
]


def show_dashboard(
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="Folder with runs in it.")],
    port: Port = 8080,
    host: Host = "127.0.0.1",
    token: Token = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Show all runs in a folder in a browser, while they are under way.

    Runs as they go on, chosen ones side by side, the best architecture of a search, curves as they
    grow; trained models can be asked. It only reads, and can disturb no run. Ctrl-C ends it.

    Examples: `interstellar dashboard runs`, `interstellar dashboard . --port 0`,
    `interstellar dashboard runs --host 0.0.0.0` (for others too: prints a token).
    """
    from interstellar.dashboard.listening import Place, serve_dashboard

    stop_on_sigterm()
    place = Place(host=host, port=port, token=token)
    serve_dashboard(runs, place, device, lambda found: _announce(found, as_json=as_json))


def serve(
    run: Run,
    port: Port = 8080,
    host: Host = "127.0.0.1",
    token: Token = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Answer the questions of `predict` or `align` over HTTP, as JSON.

    `GET /predict?subject=…&relation=…` of a run of link prediction, `GET /align?source=…` of an
    alignment; `/openapi.json` describes it. Who asks at once is answered together. Ctrl-C ends it.

    Examples: `interstellar serve model`, `interstellar serve found/final --port 8000`,
    `interstellar serve model --host 0.0.0.0 --token "$TOKEN"`.
    """
    from interstellar.dashboard.listening import Place, serve_model

    stop_on_sigterm()
    place = Place(host=host, port=port, token=token)
    serve_model(run, place, device, lambda found: _announce(found, as_json=as_json))


def _announce(found: "Address", *, as_json: bool) -> None:
    """Say where a server listens, at once: it prints nothing more."""
    if as_json:
        print_json({"address": found.address, "token": found.token})
    else:
        say(f"Listening at {found.link}")
        report("Ctrl-C ends it.")
