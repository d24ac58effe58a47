"""`fathom catalogue`: the models of volumes, instances, adapters and drives, with the source of every figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command, completing
from fathom.errors import UsageError


def _models() -> list[str]:
    from fathom.engine import core

    return [str(entry["name"]) for entry in core().catalogue_list(())]


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="A model, such as aws/gp3; all if not given.",
        show_default=False,
        autocompletion=completing(_models),
    ),
]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        "-f",
        metavar="PATH",
        help="Add your own models: a TOML file, or a folder of them.",
        show_default=False,
    ),
]


def catalogue(name: Name = None, files: Files = None, as_json: AsJson = False) -> None:
    """List storage models, or explain one.

    Shows every figure with its source and date, and what the model leaves out.
    """
    from fathom.cli.output import print_json
    from fathom.engine import core

    engine = core()
    models = tuple(files or ())
    try:
        answer: Any = engine.catalogue_list(models) if name is None else engine.catalogue_explain(name, models)
    except engine.BadInput as problem:
        raise UsageError(str(problem)) from None
    if as_json:
        print_json(answer)
    elif name is None:
        _print_list(answer)
    else:
        _print_model(answer)


def _print_list(entries: list[dict[str, Any]]) -> None:
    width = max(len(entry["name"]) for entry in entries)
    for kind in dict.fromkeys(entry["kind"] for entry in entries):
        typer.echo(f"{kind}s")
        for entry in entries:
            if entry["kind"] == kind:
                typer.echo(f"  {entry['name']:<{width}}  {entry['summary']}")


def _print_model(model: dict[str, Any]) -> None:
    typer.echo(f"{model['name']}: {model['title']} ({model['kind']})\n{model['summary']}\n")
    width = max((len(figure["key"]) for figure in model["figures"]), default=0)
    values = max((len(figure["value"]) for figure in model["figures"]), default=0)
    for figure in model["figures"]:
        assumed = ", assumed" if figure["assumed"] else ""
        remark = f"  {figure['note']}" if figure["note"] else ""
        typer.echo(f"  {figure['key']:<{width}}  {figure['value']:<{values}}  [{figure['source']}{assumed}]{remark}")
    for heading, lines in (
        ("How limits follow", model["formulas"]),
        ("Left out", model["caveats"]),
        ("Sources", [_source(source) for source in model["sources"]]),
    ):
        if lines:
            typer.echo(f"\n{heading}")
            for line in lines:
                typer.echo(f"  {line}")
    typer.echo(f"\nFrom {model['origin']}")


def _source(source: dict[str, Any]) -> str:
    rest = [source[key] for key in ("where", "date", "reason") if source[key]]
    return f"[{source['id']}] {source['title']} ({source['kind']}){': ' if rest else ''}{', '.join(rest)}"


COMMAND = Command(
    "catalogue",
    70,
    catalogue,
    (
        "fathom catalogue",
        "fathom catalogue aws/gp3",
        "fathom catalogue acme/fast --file my-models/",
    ),
)
