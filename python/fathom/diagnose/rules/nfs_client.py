"""D35: an NFS mount whose requests wait in the client for a slot or a connection, or are lost on the way.

A client has slots for requests: of a connection (`sunrpc.tcp_max_slot_table_entries`), and with NFSv4.1 of a session
(`nfs.max_session_slots`, 64 unless it is set; the server may grant fewer). What finds none waits, and `avg queue` of
nfsiostat counts that; `rpc bklog` counts those without a slot of the connection only. Over TCP a request is sent again
after `timeo` (60 s) or when the connection broke. Sources: nfsiostat(8), nfs(5); Microsoft, "Linux concurrency best
practices for Azure NetApp Files" (session slots and slot table entries).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.mounts import at_server, export_of, in_client, point_of, server_of
from fathom.diagnose.evidence.slow_time import in_part
from fathom.diagnose.evidence.starved import starved
from fathom.diagnose.evidence.surroundings import is_mount
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.nfsiostat import RECORD
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_MOST = 0.5
"""Part of the latency that is spent in the client's queue."""
_PART = 0.05
"""Part of the time from which it matters."""
_OFTEN = 0.5
"""Part of these moments in which requests lack a slot of the connection."""
_LEVEL = 0.2
"""How much the number of requests on their way scatters, as a part of it, where slots hold it."""
_LOST, _FEWEST_LOST = 0.003, 5.0
"""Part of the requests that were sent again or failed, and how many at least."""
_WAYS = (("retransmits_per_s", "sent again", 0.75), ("failed_per_s", "ended with an error", 0.6))
"""Metrics of what is lost, in words, and how sure it is that the network loses it."""
_SLOTS_OF_SESSION = 180
"""What Azure NetApp Files and NetApp's Cloud Volumes grant a session; other servers may grant fewer."""


def examine(system: System) -> Iterator[Finding]:
    """Every mount: what is lost on the way makes others wait, so it comes first."""
    for mount in (each for each in system.of(Layer.GUEST_VOLUME) if is_mount(each)):
        found = _lost(system, mount) or _waits(system, mount)
        if found is not None:
            yield found


def _waits(system: System, mount: Device) -> Finding | None:
    """Requests that wait in the client for most of their time."""
    latency, queue, held = mount.values("latency_s"), in_client(mount), mount.values("queued_mean")
    chosen = worked(mount) & (latency > tier_of(system, mount).target_s) & (queue >= _MOST * latency)
    part = mount.seconds[chosen].sum() / max(mount.seconds[worked(mount)].sum(), 1e-9)
    if chosen.sum() < FEWEST or part < _PART or starved(system, mount, chosen) is not None:
        return None
    on_way = at_server(mount)[chosen]
    level, waiting = middle(on_way), middle((mount.values("iops") * queue)[chosen])
    slots = bool((held[chosen] > 0).mean() >= _OFTEN)
    steady = middle(on_way, 90) - middle(on_way, 10) <= _LEVEL * level
    where = "for a free slot of its connection" if slots else "before they are sent"
    when = in_part(mount, chosen, ", ")
    trip = middle(mount.values("device_latency_s")[chosen])
    evidence = [
        seen(mount, f"{time(middle(queue[chosen]))} of {time(middle(latency[chosen]))} are spent in the client, "
             f"{time(trip)} on the network and the file server. {number(waiting)} requests wait, {number(level)} are "
             "on their way.", chosen),
    ]  # fmt: skip
    if slots:
        evidence.append(seen(mount, f"Each request sent meets {number(middle(held[chosen]))} without a slot.", chosen))
    elif steady:
        words = f"No slot of the connection is short (`rpc bklog`), and {number(level)} are on their way all the time: "
        evidence.append(seen(mount, f"{words}as many as NFSv4.1's session has slots, or one connection sends.", chosen))
    harm = of_storage(system, mount)
    return Finding(
        "D35",
        mount.name,
        f"The NFS client holds back the requests of {mount.name}: they wait {time(middle(queue[chosen]))} {where}"
        f"{when}, and the round trip takes {time(trip)}.",
        harm.severity,
        0.85 if slots else 0.7 if steady else 0.55,
        tuple(evidence),
        harm.sentence,
        "buffered writes are flushed and nobody waits for them; or the server was away (dmesg: nfs: server not "
        "responding), or slows down as much with more requests at once: then the round trip rises instead",
        tuple(_more(system, mount, slots=slots)),
    )


def _more(system: System, mount: Device, *, slots: bool) -> Iterator[Remedy]:
    """More connections, and more slots of each or of the session."""
    point, server = point_of(mount), server_of(system, mount)
    connections = system.fact("connections", mount.device)
    checked = f"nfsiostat 5 {point}: `avg queue` is a small part of `avg exe`, and `rpc bklog` is 0."
    if connections is None:
        yield Remedy(
            f"Mount {mount.name} with several connections (nconnect, Linux 5.3; ask the server's maker whether it is "
            "supported). All mounts of one server have those of the first one: unmount them all.",
            (
                f"Linux: umount {point}; mount -t nfs -o OPTIONS,nconnect=8 {export_of(system, mount)} {point}",
                f"Linux: ss -tn dst {server} dport = :2049 # as many lines as connections",
            ),
            "The database must be stopped for it.",
            checked,
        )
    session = Remedy(
        "NFSv4.1 and later: raise the slots of the session (64 unless set). It holds for all connections together, and "
        "the server may grant fewer.",
        (
            f"Linux: echo 'options nfs max_session_slots={_SLOTS_OF_SESSION}' > /etc/modprobe.d/nfs-slots.conf",
            "Linux: cat /sys/module/nfs/parameters/max_session_slots # after a restart",
            "Linux: nfsstat -m # vers= tells the version",
        ),
        "Needs a restart.",
        checked,
    )
    table = Remedy(
        "NFSv3 and 4.0: see what limits the slots of a connection, and raise it to what the server takes (128 for "
        "NetApp's).",
        (
            "Linux: sysctl sunrpc.tcp_max_slot_table_entries",
            "Linux: sysctl -w sunrpc.tcp_max_slot_table_entries=128 # and in /etc/sysctl.d; then mount again",
        ),
        "More requests than the server takes at once slow its connections down.",
        checked,
    )
    yield from (table, session) if slots else (session, table)
    if connections is not None:
        yield Remedy(
            f"It has {connections} connections already: place data and log on file systems with addresses of their "
            "own, each mounted by itself.",
            (f"Linux: ss -tn dst {server} dport = :2049",),
            None,
            checked,
        )


def _lost(system: System, mount: Device) -> Finding | None:
    """Requests that were sent again, or failed."""
    done = float(np.nansum(mount.values("iops") * mount.seconds))
    for metric, words, sure in _WAYS:
        counts = np.nan_to_num(mount.values(metric)) * mount.seconds
        count, chosen = float(counts.sum()), counts > 0
        if count < max(_FEWEST_LOST, _LOST * done):
            continue
        harm = of_storage(system, mount)
        return Finding(
            "D35",
            mount.name,
            f"The network to the file server of {mount.name} loses requests: {number(count)} of {number(done)} were "
            f"{words}.",
            harm.severity,
            sure,
            (seen(mount, _where_lost(mount, chosen, words, count / max(done, 1.0)), chosen),),
            harm.sentence,
            "the server was restarted or failed over in these times, or a firewall drops idle connections",
            (_network(system, mount),),
        )
    return None


def _where_lost(mount: Device, chosen: Flags, words: str, part: float) -> str:
    latency = mount.values("latency_s")
    rest = middle(latency[worked(mount) & ~chosen])
    otherwise = f", {time(rest)} in the others" if np.isfinite(rest) else ""
    return (
        f"{number(1000 * part)} per mille were {words}, in {share(chosen.mean())} of the intervals; latency is "
        f"{time(middle(latency[chosen]))} in them{otherwise}."
    )


def _network(system: System, mount: Device) -> Remedy:
    server = server_of(system, mount)
    return Remedy(
        "Find where packets are lost: errors and drops of the interface, the size of packets (MTU) along the path, the "
        "limits of the instance's network; and whether the server was away.",
        (
            "Linux: dmesg -T | grep 'nfs: server'",
            "Linux: ip -s link; nstat -az TcpRetransSegs TcpExtTCPTimeouts",
            f"Linux: ping -c 20 -M do -s 8972 {server} # passes where the MTU is 9,000; -s 1472 for 1,500",
            "Linux: ethtool -S DEVICE | grep -E 'exceeded|drop|err' # AWS: bw_in_allowance_exceeded and the like",
        ),
        None,
        f"nfsiostat 5 {point_of(mount)}: `retrans` and `errors` are 0 in every interval.",
    )


RULE = Rule(
    "D35",
    "NFS client without slots, or a network that loses requests",
    Kind.CAUSE,
    (Need((Layer.GUEST_VOLUME,), ("queued_mean",), f"{RECORD}, where files lie on NFS"),),
    examine,
)
