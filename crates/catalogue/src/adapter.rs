//! Virtual host bus adapters: queue depths, and the largest transfer they pass on whole.

use fathom_units::Bytes;
use serde::Deserialize;

use crate::figure::{Figure, figures};
use crate::resolved::{AdapterLimits, Depth};

/// `[adapter]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adapter {
    pub per_device: Option<DepthRange>,
    pub per_adapter: Option<DepthRange>,
    pub max_transfer: Option<Figure<Bytes>>,
    pub devices_per_adapter: Figure<u32>,
    pub adapters_per_host: Figure<u32>,
    pub ring_pages: Option<DepthRange>,
}

figures!(Adapter: per_device, per_adapter, max_transfer, devices_per_adapter, adapters_per_host, ring_pages);

/// As delivered, and as far as it can be raised.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DepthRange {
    pub default: Figure<u32>,
    pub max: Figure<u32>,
}

figures!(DepthRange: default, max);

impl From<&DepthRange> for Depth {
    fn from(range: &DepthRange) -> Self {
        Self { default: range.default.value, max: range.max.value }
    }
}

impl Adapter {
    pub(crate) fn resolve(&self, name: &str) -> AdapterLimits {
        AdapterLimits {
            name: name.to_owned(),
            per_device: self.per_device.as_ref().map(Depth::from),
            per_adapter: self.per_adapter.as_ref().map(Depth::from),
            max_transfer: self.max_transfer.as_ref().map(|figure| figure.value),
            devices_per_adapter: self.devices_per_adapter.value,
            adapters_per_host: self.adapters_per_host.value,
            ring_pages: self.ring_pages.as_ref().map(Depth::from),
        }
    }

    /// The key and the mistake, if the figures contradict each other.
    pub(crate) fn problem(&self) -> Option<(String, &'static str)> {
        let ranges = [
            ("per_device", &self.per_device),
            ("per_adapter", &self.per_adapter),
            ("ring_pages", &self.ring_pages),
        ];
        let wrong = |range: &DepthRange| range.default.value == 0 || range.default.value > range.max.value;
        if let Some((key, _)) = ranges.iter().find(|(_, range)| range.as_ref().is_some_and(wrong)) {
            return Some((format!("adapter.{key}"), "default must be above zero and at most max"));
        }
        if self.max_transfer.as_ref().is_some_and(|figure| figure.value.get() < 512) {
            return Some(("adapter.max_transfer".to_owned(), "the largest transfer is at least a sector"));
        }
        None
    }
}
