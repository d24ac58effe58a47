"""`fathom doc`: the manual of a layer, device or workload, from the source of the very build that runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command, completing
from fathom.errors import UsageError


def _kinds() -> list[str]:
    from fathom.engine import core

    return [str(entry["name"]) for entry in core().describe()["kinds"]]


Kind = Annotated[
    str | None,
    typer.Argument(
        metavar="KIND",
        help="The value of `kind = ...` in a study; a list if not given.",
        show_default=False,
        autocompletion=completing(_kinds),
    ),
]


def doc(kind: Kind = None, as_json: AsJson = False) -> None:
    """Show the manual of a kind.

    Shows what a layer, device or workload does and why, its keys with units, an example and its limits. For a
    workload it lists the metrics that `[compare]`, `[goals]` and `[published]` can name.
    """
    from fathom.cli.output import print_json
    from fathom.engine import core

    described = core().describe()
    kinds = described["kinds"]
    if kind is None:
        print_json(kinds) if as_json else _print_list(kinds)
        return
    found = [entry for entry in kinds if entry["name"] == kind]
    if not found:
        raise UsageError(f'there is no layer, device or workload "{kind}"', _choices(kind, _kinds()))
    print_json(found) if as_json else _print_manuals(found, described["observed"])


def _choices(written: str, names: Sequence[str]) -> str:
    """The name that was meant, or all of them. A hyphen more or less is nothing to a person."""
    from difflib import get_close_matches

    plain = {name.replace("-", ""): name for name in names}
    near = get_close_matches(written.lower().replace("-", "").replace("_", ""), plain, n=1, cutoff=0.7)
    return f"did you mean `{plain[near[0]]}`?" if near else f"choose one of {', '.join(names)}"


def _print_list(kinds: list[dict[str, Any]]) -> None:
    width = max(len(entry["name"]) for entry in kinds)
    for group in dict.fromkeys(entry["group"] for entry in kinds):
        typer.echo(f"{group}s")
        for entry in kinds:
            if entry["group"] == group:
                typer.echo(f"  {entry['name']:<{width}}  {entry['summary']}")


def _print_manuals(found: list[dict[str, Any]], observed: list[str]) -> None:
    text = "\n\n".join(manual(entry, observed) for entry in found)
    if not sys.stdout.isatty():
        typer.echo(text)
        return
    from rich.markdown import Markdown

    from fathom.cli.output import console

    console().print(Markdown(text))


def manual(entry: dict[str, Any], observed: Sequence[str] = ()) -> str:
    """A manual as Markdown: heading, text, tables of keys and metrics; `observed` are the metrics beside databases."""
    rows = [
        f"| `{key['name']}` | {key['takes']} | {_default(key)} | {key['summary']} |".replace("``", "`")
        for key in entry["keys"]
    ]
    head = ["| key | takes | if left out | what it does |", "| --- | --- | --- | --- |"] if rows else []
    title = f"# {entry['name']} ({entry['group']})"
    metrics = list(entry["metrics"])
    if any(key["name"] == "database" for key in entry["keys"]):
        metrics += [name for name in observed if name not in metrics]
    return "\n".join([title, "", entry["manual"].strip(), "", *head, *rows, "", *_metrics(metrics)]).rstrip()


def _metrics(names: list[str]) -> list[str]:
    from fathom.metrics import metric

    if not names:
        return []
    better = {True: "higher", False: "lower", None: "neither"}
    known = [metric(name) for name in names]
    rows = [f"| `{one.name}` | {one.label} | {one.unit} | {better[one.higher_is_better]} |" for one in known]
    return ["| metric | what it is | unit | better |", "| --- | --- | --- | --- |", *rows]


def _default(key: dict[str, Any]) -> str:
    return "must be given" if key["default"] is None else str(key["default"])


COMMAND = Command("doc", 80, doc, ("fathom doc", "fathom doc stripe", "fathom doc model | less"))
