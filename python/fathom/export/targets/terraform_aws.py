"""Terraform for AWS: the EBS volumes that the settings model, attached to an instance of the right type.

What stands on them (stripes, mirrors, caches) is made on the host, by another target. The volumes are the catalogue's
`aws/gp2`, `aws/gp3`, `aws/io1`, `aws/io2`, `aws/io2-block-express`, `aws/st1` and `aws/sc1`; local NVMe comes with the
instance type.
"""

from __future__ import annotations

from collections.abc import Sequence

from fathom.export.common import FAULT, MEMORY, MODEL_FIGURES, MODEL_PROPERTIES, MODELLED, NULL, SERVING
from fathom.export.quote import hcl
from fathom.export.rules import Elsewhere, Kind, Refused, Used
from fathom.export.settings import Node
from fathom.export.target import CannotSayError, ExportRequest, File, Target, cannot

ON_HOST = Kind(whole=Elsewhere("made on the host: --to systemd, lvm or storage-spaces"))
DECIDED = Refused("AWS decides it by the type of volume", "leave the key out, or choose another model")

TYPES = {
    "aws/gp2": "gp2",
    "aws/gp3": "gp3",
    "aws/io1": "io1",
    "aws/io2": "io2",
    "aws/io2-block-express": "io2",
    "aws/st1": "st1",
    "aws/sc1": "sc1",
}
"""Catalogue model to the type of an `aws_ebs_volume`; io2 is Block Express on instances that have it."""

SETS_IOPS = ("gp3", "io1", "io2")
KNOWN_RATE = 1000 << 20
"""Bytes per second up to which every version of the provider takes a throughput."""

LETTERS = "fghijklmnop"
"""Device names /dev/sd[f-p], which AWS recommends for volumes."""

KINDS = {
    "adapter": ON_HOST,
    "fault": FAULT,
    "file": Kind(whole=Elsewhere("a device that already exists")),
    "memory": MEMORY,
    "mirror": ON_HOST,
    "model": Kind(
        {
            "model": Used(),
            "size": Used(),
            "iops": Used(),
            "throughput": Used(),
            **dict.fromkeys(MODEL_FIGURES, MODELLED),
            **dict.fromkeys(MODEL_PROPERTIES, DECIDED),
        }
    ),
    "nbd": Kind(whole=Elsewhere("another host's, and there already")),
    "null": NULL,
    "pool": Kind(whole=Elsewhere("made on the host: --to systemd")),
    "sector": ON_HOST,
    "stripe": ON_HOST,
    "throttle": Kind(
        {
            "backing": Used(),
            "model": Used(),
            **dict.fromkeys(
                ("iops", "throughput", "quantum", "merge", "iops_burst", "throughput_burst", "slack", "shared"),
                Refused(
                    "volumes and instances have no limits but their own",
                    "write them as iops and throughput of the volume",
                ),
            ),
        }
    ),
    "writeback": ON_HOST,
    "exports": Kind(whole=Elsewhere("how fathomd serves; its file stays as it is")),
    "daemon": SERVING,
}

VARIABLES = """
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "VERSION"
    }
  }
}

variable "instance_id" {
  description = "The instance that the volumes are attached to."
  type        = string
}

data "aws_instance" "host" {
  instance_id = var.instance_id
"""


def write(request: ExportRequest) -> list[File]:
    """One file with everything."""
    volumes = [node for node in request.settings.of_kind("model") if not _local(node)]
    if not volumes:
        raise CannotSayError(
            [
                (
                    "volumes",
                    "none of them is a volume of AWS",
                    'describe what is to be bought: kind = "model", model = "aws/gp3"',
                )
            ]
        )
    if len(volumes) > len(LETTERS):
        raise cannot(
            volumes[len(LETTERS)], f"more than {len(LETTERS)} volumes on one instance", "use fewer, larger ones"
        )
    kinds = sorted(_instances(request))
    if len(kinds) > 1:
        raise CannotSayError([("volumes", f"they are of two instances, {' and '.join(kinds)}", "model one instance")])
    check = ""
    if kinds:
        check = (
            "\n  lifecycle {\n    postcondition {\n"
            f"      condition     = self.instance_type == {hcl(kinds[0])}\n"
            f"      error_message = {hcl(f'The settings were made for {kinds[0]}.')}\n    }}\n  }}\n"
        )
    blocks = [VARIABLES.replace("VERSION", _version(volumes)) + check + "}\n"]
    blocks += [_volume(node, letter) for node, letter in zip(volumes, LETTERS, strict=False)]
    return [File("volumes.tf", "\n".join(blocks))]


def _version(volumes: Sequence[Node]) -> str:
    """The provider's: 6.8.0 still refuses more than 1,000 MiB/s (its issue 44762), where gp3 has 2,000."""
    return ">= 6.9" if any((node.rate() or 0) > KNOWN_RATE for node in volumes) else ">= 5.0"


def _local(node: Node) -> bool:
    model = str(node.keys.get("model", ""))
    return model.startswith("aws/") and model.endswith("/nvme")


def _instances(request: ExportRequest) -> set[str]:
    """Types of instance that the settings speak of: caps, and local drives."""
    caps = {str(node.keys["model"]) for node in request.settings.of_kind("throttle") if "model" in node.keys}
    drives = {
        str(node.keys["model"]).removesuffix("/nvme") for node in request.settings.of_kind("model") if _local(node)
    }
    for model in caps:
        if not model.startswith("aws/"):
            raise CannotSayError([("throttle", f"{model} is no instance of AWS", "model an instance of AWS")])
    return {model.removeprefix("aws/") for model in caps | drives}


def _volume(node: Node, letter: str) -> str:
    kind = TYPES.get(str(node.keys.get("model", "")))
    if kind is None:
        raise cannot(node, f"{node.keys.get('model', 'it')} is no EBS volume", f"use one of {', '.join(sorted(TYPES))}")
    size = node.size()
    if size is None or size % (1 << 30):
        raise cannot(node, "volumes are whole GiB", "write `size` as GiB or TiB")
    lines = [
        "  availability_zone = data.aws_instance.host.availability_zone",
        f"  type              = {hcl(kind)}",
        f"  size              = {size >> 30}",
    ]
    iops = node.per_second()
    if iops is not None:
        if kind not in SETS_IOPS or iops != int(iops):
            raise cannot(node, f"{kind} has no {iops:g} IOPS to choose", "leave `iops` out, or write a whole number")
        lines.append(f"  iops              = {int(iops)}")
    elif kind in {"io1", "io2"}:
        raise cannot(node, f"{kind} needs its IOPS", "write `iops`")
    rate = node.rate()
    if rate is not None:
        if kind != "gp3" or rate % (1 << 20):
            raise cannot(
                node, "only gp3 has throughput to choose, in whole MiB/s", "leave `throughput` out, or write MiB/s"
            )
        lines.append(f"  throughput        = {rate >> 20}")
    label = f"fathom-{node.name}" if not node.name[0].isalpha() else node.name
    lines += [
        "  encrypted         = true",
        "  final_snapshot    = true",
        f"  tags              = {{ Name = {hcl(node.name)} }}",
        "",
        "  # Another zone, as of another `instance_id`, would replace the volume with all it holds: such a plan fails.",
        "  lifecycle {",
        "    prevent_destroy = true",
        "  }",
    ]
    return (
        f'resource "aws_ebs_volume" {hcl(label)} {{\n' + "\n".join(lines) + "\n}\n\n"
        f'resource "aws_volume_attachment" {hcl(label)} {{\n'
        f"  device_name = {hcl(f'/dev/sd{letter}')}\n"
        f"  volume_id   = aws_ebs_volume.{label}.id\n"
        "  instance_id = data.aws_instance.host.id\n"
        "  # A volume whose cache was not drained must not be torn off by a plan.\n"
        "  stop_instance_before_detaching = true\n}\n"
    )


TARGET = Target(
    name="terraform-aws",
    title="Terraform for AWS",
    order=40,
    differs={},
    kinds=KINDS,
    options=frozenset(),
    write=write,
)
