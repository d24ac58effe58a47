//! Which device was cut short, where a volume that lies on several is smaller than it was. A layer knows the volume below it
//! alone; a person can only change the device.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fathom_layers::writeback::Report;
use fathom_units::Bytes;
use fathom_volume::{Action, Blueprint, Error, Handle, Refusal, Remedy};

/// Every volume: what it is made of, and its size.
#[derive(Clone, Default)]
pub(crate) struct Shapes(BTreeMap<String, (Rc<dyn Blueprint>, u64)>);

impl Shapes {
    pub(crate) fn insert(&mut self, handle: &Handle, blueprint: Rc<dyn Blueprint>) {
        self.0.insert(handle.name().to_owned(), (blueprint, handle.geometry().size));
    }

    /// The volumes below one; empty if it was not built.
    pub(crate) fn children(&self, name: &str) -> Vec<String> {
        self.0.get(name).map(|(blueprint, _)| blueprint.children()).unwrap_or_default()
    }

    /// These volumes and all below them, no further than those that are not gone below.
    pub(crate) fn with_all_below(
        &self,
        mut open: Vec<String>,
        goes_below: impl Fn(&str) -> bool,
    ) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        while let Some(name) = open.pop() {
            if goes_below(&name) {
                open.extend(self.children(&name));
            }
            found.insert(name);
        }
        found
    }

    /// Whether it is an export of a server.
    pub(crate) fn is_remote(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|(blueprint, _)| blueprint.remote().is_some())
    }

    /// The error with the devices in it that were cut short.
    pub(crate) fn name_devices(&self, error: Error) -> Error {
        match error.refusal().and_then(|refusal| self.named(refusal)) {
            Some((words, refusal)) => error.ending(&words).advising(refusal),
            None => error,
        }
    }

    /// The same for what a check found.
    pub(crate) fn name_devices_in(&self, mut report: Report) -> Report {
        for finding in &mut report.findings {
            if let Some((words, refusal)) = finding.refusal.as_ref().and_then(|refusal| self.named(refusal)) {
                finding.what.push_str(&words);
                finding.refusal = Some(refusal);
            }
        }
        report
    }

    /// A refusal that names devices in place of the volumes that lie on them, and what to add to its message; None if it names
    /// none of these.
    fn named(&self, refusal: &Refusal) -> Option<(String, Refusal)> {
        let mut words = String::new();
        let mut remedies = Vec::new();
        for remedy in &refusal.remedies {
            let Action::Resize { device: volume, bytes: Some(bytes) } = &remedy.action else {
                remedies.push(remedy.clone());
                continue;
            };
            let short = self.cut_short(volume, *bytes);
            if short.is_empty() || short.iter().any(|(device, _)| device == volume) {
                remedies.push(remedy.clone());
                continue;
            }
            for (device, bytes) in short {
                let size = Bytes::new(bytes);
                let text = format!("give `{device}` at least {size:#} ({bytes} bytes) with what it held");
                words.push_str(&format!(". `{volume}` lies on `{device}`, which is too short: {text}"));
                remedies.push(Remedy {
                    action: Action::Resize { device, bytes: Some(bytes) },
                    text,
                    loses: None,
                });
            }
        }
        (!words.is_empty()).then_some((words, Refusal { code: refusal.code, remedies }))
    }

    /// The devices that are too small for a volume of that size, and the size that each must have.
    fn cut_short(&self, name: &str, bytes: u64) -> Vec<(String, u64)> {
        let Some((blueprint, _)) = self.0.get(name).filter(|(_, size)| *size < bytes) else {
            return Vec::new();
        };
        match blueprint.sizes_below(bytes) {
            Some(sizes) => {
                let below = blueprint.children().into_iter().zip(sizes);
                below.flat_map(|(child, size)| self.cut_short(&child, size)).collect()
            }
            None => vec![(name.to_owned(), bytes)],
        }
    }
}
