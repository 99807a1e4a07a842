"""What the metrics of known exporters count: bytes or packets, of which port, in which direction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from profiler.store.series import Series

__all__ = ["NODES", "Metric", "known_metric", "series_of"]

NODES: Final = {"infiniband_switch_info": "switch", "infiniband_hca_info": "hca"}
"""Metrics that tell what a node is called whose counters are labelled by its GUID alone, and the label that does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One kind of metric.

    Parameters
    ----------
    name
        Pattern of its name, without a final ``_total``.
    metric, direction, kind, layer
        As in `profiler.store.Series`; a gauge is a rate in bytes/s.
    hosts, devices, ports
        Labels that name them, the first that is there counts. An ``hca`` is a description: a host and a device.
    spaces
        Labels within whose value the name of a port is the only one of its kind; it is put before it.
    width_bits
        Width at which the counter behind it wraps; 64 where the exporter keeps more than the device.
    """

    name: str
    metric: Literal["bytes", "packets"] = "bytes"
    direction: Literal["receive", "transmit"]
    kind: Literal["counter", "gauge"] = "counter"
    layer: str
    hosts: tuple[str, ...] = ("node", "nodename", "host", "hostname", "instance")
    devices: tuple[str, ...] = ("device",)
    ports: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()
    width_bits: int = 64


def _both(name: str, *, receive: str, transmit: str, **same: object) -> tuple[Metric, Metric]:
    """Return a metric of each direction, whose words take the place of ``{}`` in the name."""
    return (
        Metric(name=name.format(receive), direction="receive", **same),  # type: ignore[arg-type]
        Metric(name=name.format(transmit), direction="transmit", **same),  # type: ignore[arg-type]
    )


def _amounts(name: str, *, receive: str, transmit: str, **same: object) -> tuple[Metric, ...]:
    """Return the metrics of bytes and of packets of both directions; their unit takes the place of ``[]``."""
    return tuple(
        found
        for unit in ("bytes", "packets")
        for found in _both(name.replace("[]", unit), receive=receive, transmit=transmit, metric=unit, **same)
    )


_METRICS: Final[tuple[Metric, ...]] = (
    # node_exporter, https://github.com/prometheus/node_exporter; its _bytes are bytes, scaled from words already.
    *_amounts("node_network_{}_[]", receive="receive", transmit="transmit", layer="netdev"),
    *_both(
        "node_infiniband_(?:legacy|port)_data_{}_bytes",
        receive="received", transmit="transmitted", layer="rdma_vport", ports=("port",),
    ),
    *_both(
        "node_infiniband_(?:legacy|port)_packets_{}",
        receive="received", transmit="transmitted", metric="packets", layer="rdma_vport", ports=("port",),
    ),
    *_both("node_ethtool_{}_bytes_phy", receive="rx", transmit="tx", layer="wire"),
    *_both("node_ethtool_{}_vport_rdma_unicast_bytes", receive="rx", transmit="tx", layer="rdma_vport"),
    *_amounts("node_ethtool_{}_[]", receive="received", transmit="transmitted", layer="netdev"),
    # infiniband_exporter, https://github.com/treydock/infiniband_exporter; its instance is the host that asks. Ports
    # are named as `ibnetdiscover` files name the ends of links: switch and port, or host, device and port.
    *_both(
        "infiniband_hca_port_{}_data_bytes",
        receive="receive", transmit="transmit", layer="rdma_vport",
        hosts=("hca", "guid"), devices=("hca", "guid"), ports=("port",),
    ),
    *_both(
        "infiniband_hca_port_{}_packets",
        receive="receive", transmit="transmit", metric="packets", layer="rdma_vport",
        hosts=("hca", "guid"), devices=("hca", "guid"), ports=("port",),
    ),
    *_both(
        "infiniband_switch_port_{}_data_bytes",
        receive="receive", transmit="transmit", layer="wire", hosts=("switch", "guid"), devices=("port",),
    ),
    *_both(
        "infiniband_switch_port_{}_packets",
        receive="receive", transmit="transmit", metric="packets", layer="wire",
        hosts=("switch", "guid"), devices=("port",),
    ),
    # cAdvisor, https://github.com/google/cadvisor: one network namespace, that of a pod.
    *_amounts(
        "container_network_{}_[]",
        receive="receive", transmit="transmit", layer="netdev",
        devices=("interface",), ports=("pod", "id"), spaces=("namespace",),
    ),
    # snmp_exporter, IF-MIB of RFC 2863.
    *_both("ifHC{}Octets", receive="In", transmit="Out", layer="wire", devices=("ifName", "ifDescr", "ifIndex")),
    *_both(
        "if{}Octets",
        receive="In", transmit="Out", layer="wire", devices=("ifName", "ifDescr", "ifIndex"), width_bits=32,
    ),
    # Telegraf, https://github.com/influxdata/telegraf, plugin net.
    *_both(
        "net_bytes_{}", receive="recv", transmit="sent", layer="netdev", hosts=("host",), devices=("interface",)
    ),
    # dcgm-exporter, https://github.com/NVIDIA/dcgm-exporter; rates, whatever its pages call them.
    *_both(
        "DCGM_FI_PROF_NVLINK_{}_BYTES",
        receive="RX", transmit="TX", kind="gauge", layer="nvlink",
        hosts=("Hostname", "hostname", "instance"), devices=("device", "gpu"), ports=("GPU_I_ID",),
    ),
    *_both(
        "DCGM_FI_PROF_PCIE_{}_BYTES",
        receive="RX", transmit="TX", kind="gauge", layer="pcie",
        hosts=("Hostname", "hostname", "instance"), devices=("device", "gpu"), ports=("GPU_I_ID",),
    ),
)  # fmt: skip
_PATTERNS: Final = tuple((re.compile(f"(?:{metric.name})(?:_total)?"), metric) for metric in _METRICS)


def known_metric(name: str) -> Metric | None:
    """Return what a metric of this name counts; None if it is not traffic, or not known.

    Examples
    --------
    >>> known_metric("node_network_receive_bytes_total").direction
    'receive'
    >>> known_metric("node_load1") is None
    True
    """
    return next((metric for pattern, metric in _PATTERNS if pattern.fullmatch(name)), None)


def series_of(metric: Metric, labels: Mapping[str, str], *, name: str, host: str, source: str) -> Series:
    """Return the series that a metric's labels name.

    Parameters
    ----------
    metric
        As found by `known_metric`.
    labels
        Names and values.
    name
        Of the metric.
    host
        Host where no label tells it.
    source
        File it came from.
    """
    return Series(
        host=_host(_label(labels, metric.hosts)) or host,
        device=_device(_label(labels, metric.devices)) or "unknown",
        port=_port(labels, metric),
        direction=metric.direction,
        metric="bytes_per_s" if metric.kind == "gauge" else metric.metric,
        unit="bytes/s" if metric.kind == "gauge" else metric.metric,
        kind=metric.kind,
        layer=metric.layer,
        raw_name=name,
        width_bits=None if metric.kind == "gauge" else metric.width_bits,
        source=source,
    )


def _label(labels: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _port(labels: Mapping[str, str], metric: Metric) -> str:
    port, space = _label(labels, metric.ports), _label(labels, metric.spaces)
    return f"{space}/{port}" if port and space else port


def _device(text: str) -> str:
    """Return a device, of an HCA's description what follows the host."""
    return text.partition(" ")[2] or text


def _host(text: str) -> str:
    """Return a host without the port that an ``instance`` has, and without what follows it in an HCA's description."""
    return re.sub(r"(?<=[^:]):\d+$", "", text.split(" ")[0])
