"""`fathom new`: a working starting point for a study or a plug-in of each kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.command import Command, completing
from fathom.errors import UsageError


@dataclass(frozen=True)
class Skeleton:
    """One kind of thing that can be begun.

    Attributes:
        template: file in the folder `skeletons`.
        target: where it goes, relative to the current directory or, if `source`, to a checkout of Fathom.
        then: what is left to do, with the same placeholders, and @verb@ for what carries out a study of its clock.
    """

    template: str
    target: str
    then: tuple[str, ...]
    source: bool = True


SKELETONS = {
    "study": Skeleton("study.toml", "@name@.toml", ("fathom @verb@ @name@.toml --quick",), source=False),
    "model": Skeleton("model.toml", "@file@.toml", ("fathom catalogue @name@ --file @file@.toml",), source=False),
    "layer": Skeleton(
        "skeleton_layer.rs",
        "crates/layers/src/@file@.rs",
        (
            "in crates/layers/src/lib.rs: `pub mod @file@;`, and `@file@::KIND` in KINDS (sorted)",
            "cargo test -p fathom-layers @file@",
        ),
    ),
    "device": Skeleton(
        "skeleton_device.rs",
        "crates/devices/src/@file@.rs",
        (
            "in crates/devices/src/lib.rs: `pub mod @file@;`, and `@file@::KIND` in KINDS (sorted)",
            "cargo test -p fathom-devices @file@",
        ),
    ),
    "workload": Skeleton(
        "skeleton_workload.rs",
        "crates/workload/src/@file@.rs",
        (
            "in crates/workload/src/lib.rs: `pub mod @file@;`",
            "in crates/study/src/workloads.rs: `fathom_workload::@file@::KIND` in KINDS (sorted)",
            "cargo test -p fathom-workload @file@",
        ),
    ),
    "section": Skeleton("section.py", "python/fathom/report/sections/@file@.py", ("give it a unique `order`",)),
    "command": Skeleton("command.py", "python/fathom/cli/commands/@file@.py", ("make docs",)),
}

STUDIES = {
    "cache": "a write-back cache on a local drive, against none",
    "volume-swap": "the same load on another volume",
    "wal": "commits of a log writer on a disk",
    "sweep": "rising load, up to saturation",
    "probe": "the cells of `fathom probe`, with intervals",
}
"""Questions that a study can begin from, each a file `study_NAME.toml` of the skeletons."""

Kind = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        autocompletion=completing(lambda: SKELETONS),
        help=f"One of {', '.join(SKELETONS)}.",
        show_default=False,
    ),
]
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Lower-case words joined by hyphens (a model: vendor/name).", show_default=False
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="QUESTION",
        autocompletion=completing(lambda: STUDIES),
        help=f"Template of a study: {'; '.join(f'{name} ({about})' for name, about in STUDIES.items())}.",
        show_default=False,
    ),
]


def new(kind: Kind, name: Name, question: From = None) -> None:
    """Create a study or a plug-in.

    Writes one file that works as it is, and says what is left to do. Never overwrites a file.
    """
    skeleton = SKELETONS.get(kind)
    if skeleton is None:
        raise UsageError(f'there is no skeleton for "{kind}"', f"choose one of {', '.join(SKELETONS)}")
    if question is not None and (kind != "study" or question not in STUDIES):
        what = f'no study begins from "{question}"' if kind == "study" else f"--from is for studies, not for a {kind}"
        raise UsageError(what, f"fathom new study NAME --from {'|'.join(STUDIES)}")
    pattern = r"[a-z][a-z0-9-]*/[a-z][a-z0-9-]*" if kind == "model" else r"[a-z][a-z0-9-]*"
    if not re.fullmatch(pattern, name):
        example = "acme/fast-disk" if kind == "model" else "my-idea"
        # The name of a file is the most likely mistake.
        if re.fullmatch(pattern, stem := name.removesuffix(".toml")):
            example = stem
        raise UsageError(f'"{name}" is no name for a {kind}', f"write lower-case words joined by hyphens, as {example}")
    if skeleton.source and not Path("crates/layers/src/lib.rs").is_file():
        raise UsageError(f"a {kind} is part of Fathom's source", "go to the top of a checkout of Fathom")
    target = Path(filled(skeleton.target, name, kind))
    if target.exists():
        raise UsageError(f"{target} exists already", "choose another name")
    template = skeleton.template if question is None else f"study_{question.replace('-', '_')}.toml"
    text = (files("fathom.cli") / "skeletons" / template).read_text(encoding="utf-8")
    target.write_text(filled(text, name, kind), encoding="utf-8")
    typer.echo(target)
    verb = "run" if 'clock = "real"' in text else "simulate"
    for line in skeleton.then:
        typer.echo(f"then: {filled(line, name, kind).replace('@verb@', verb)}", err=True)


def filled(text: str, name: str, kind: str) -> str:
    """The text with its placeholders replaced: @name@ as typed, @file@ and @words@ made from it.

    Skeletons of Rust have names instead, so that they compile as they are.
    """
    last = name.rsplit("/", 1)[-1]
    words = last.split("-")
    made = {
        "@name@": name,
        "@file@": "_".join(words),
        "@words@": " ".join(words).capitalize(),
        f"skeleton-{kind}": name,
        f"skeleton_{kind}": "_".join(words),
        f"Skeleton{kind.capitalize()}": "".join(word.capitalize() for word in words),
    }
    for placeholder, replacement in made.items():
        text = text.replace(placeholder, replacement)
    return text


COMMAND = Command(
    "new",
    90,
    new,
    (
        "fathom new study my-question",
        "fathom new study log-disk --from wal",
        "fathom new model acme/fast-disk",
        "fathom new layer compress",
    ),
)
