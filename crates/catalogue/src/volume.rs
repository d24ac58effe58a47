//! Cloud volumes: the limits that follow from size and provisioned performance, and what the vendor refuses.

use fathom_units::{Bytes, Iops, Rate, Span};
use serde::Deserialize;
use toml::Spanned;

use crate::figure::{Figure, Figures, Line, Quantity, figures};
use crate::resolved::{Burst, Limits, Resolved};
use crate::rule::{self, Amount, Rule};
use crate::service::{Accounting, Geometry, Promise, VolumeService};
use crate::{CatalogueError, Overrides};

/// `[volume]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Volume {
    pub shared_with: Option<String>,
    pub size: SizeRange,
    pub iops: Allowance<Iops>,
    pub throughput: Allowance<Rate>,
    pub accounting: Accounting,
    pub compliance: Option<Promise>,
    pub service: VolumeService,
    pub geometry: Geometry,
    /// Which setting picks a row of `tiers`.
    pub tiers_by: Option<TierKey>,
    #[serde(default)]
    pub tiers: Vec<Tier>,
}

figures!(Volume: size, iops, throughput, accounting, compliance, service, geometry, tiers);

/// `[volume.size]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizeRange {
    pub min: Figure<Bytes>,
    pub max: Figure<Bytes>,
}

figures!(SizeRange: min, max);

/// `[volume.iops]` or `[volume.throughput]`: what the volume has without asking, and what can be asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct Allowance<T> {
    /// Without asking; absent where the vendor has no default or tiers give it.
    #[serde(default = "Vec::new")]
    pub granted: Vec<Rule<T>>,
    /// The range that can be asked for; absent where the size decides.
    pub settable: Option<Settable<T>>,
    pub burst: Option<BurstRule<T>>,
}

figures!(Allowance<T>: granted, settable, burst);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct Settable<T> {
    pub min: Vec<Rule<T>>,
    pub max: Vec<Rule<T>>,
}

figures!(Settable<T>: min, max);

/// Burst credits: a bucket of that many, so many for each GiB, or one that lasts that long at the peak. The peak is the same
/// for every volume, follows from the size (`peaks`), or is given by the tiers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct BurstRule<T> {
    pub peak: Option<Figure<T>>,
    #[serde(default = "Vec::new")]
    pub peaks: Vec<Rule<T>>,
    pub bucket: Option<Figure<u64>>,
    pub bucket_per_gib: Option<Figure<u64>>,
    pub duration: Option<Figure<Span>>,
}

figures!(BurstRule<T>: peak, peaks, bucket, bucket_per_gib, duration);

impl<T: Amount + Copy> BurstRule<T> {
    fn peak(&self, size: Bytes, iops: f64, tier: Option<T>) -> Option<f64> {
        let stated = self.peak.as_ref().map(|peak| peak.value).or(tier).map(|peak| peak.amount());
        stated.or_else(|| rule::evaluate(&self.peaks, size, iops))
    }

    fn problem(&self) -> Option<&'static str> {
        let buckets = [self.bucket.is_some(), self.bucket_per_gib.is_some(), self.duration.is_some()];
        if buckets.iter().filter(|given| **given).count() != 1 {
            return Some("burst needs one of bucket, bucket_per_gib and duration");
        }
        if self.peak.is_some() && !self.peaks.is_empty() {
            return Some("burst has either one peak or rows of peaks");
        }
        rule::problem(&self.peaks)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TierKey {
    /// The smallest tier that holds the size asked for.
    Size,
    /// The tier whose throughput is asked for.
    Throughput,
}

/// One row of `[[volume.tiers]]`; its source covers every figure of the row.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tier {
    pub name: String,
    pub size: Option<Bytes>,
    pub iops: Iops,
    pub throughput: Rate,
    pub burst_iops: Option<Iops>,
    pub burst_throughput: Option<Rate>,
    pub source: Spanned<String>,
}

impl Figures for Tier {
    fn figures(&self, key: &str, lines: &mut Vec<Line>) {
        let size = self.size.map_or(String::new(), |size| format!("{}: ", size.show()));
        let mut value = format!("{size}{}, {}", self.iops.show(), self.throughput.show());
        if let (Some(iops), Some(rate)) = (self.burst_iops, self.burst_throughput) {
            value += &format!("; in bursts {}, {}", iops.show(), rate.show());
        }
        let key = format!("{} {}", key.split('[').next().unwrap_or(key), self.name);
        lines.push(Line { key, value, source: self.source.clone(), note: None, range: None });
    }
}

/// A refusal without the name of the model, which the caller adds.
struct Refusal {
    problem: String,
    remedy: String,
}

impl Volume {
    /// The volume of that size with those settings.
    pub(crate) fn resolve(
        &self,
        name: &str,
        size: Option<Bytes>,
        overrides: &Overrides,
    ) -> Result<Resolved, CatalogueError> {
        self.limits(size, overrides)
            .map(|(size, limits)| Resolved {
                name: name.to_owned(),
                size,
                limits,
                service: self.service.resolve(overrides.assumed),
                geometry: self.geometry.resolve(),
                shared_with: self.shared_with.clone(),
                assumptions: self.service.assumptions(),
                caveats: Vec::new(),
            })
            .map_err(|Refusal { problem, remedy }| CatalogueError::Refused {
                name: name.to_owned(),
                problem,
                remedy,
            })
    }

    fn limits(&self, size: Option<Bytes>, overrides: &Overrides) -> Result<(Bytes, Limits), Refusal> {
        let size = self.checked_size(size)?;
        let tier = self.tier(size, overrides.throughput)?;
        let by_throughput = self.tiers_by == Some(TierKey::Throughput);
        let iops = self.iops.sustained("iops", size, 0.0, overrides.iops, tier.map(|tier| tier.iops))?;
        let asked = overrides.throughput.filter(|_| !by_throughput);
        let rate =
            self.throughput.sustained("throughput", size, iops, asked, tier.map(|tier| tier.throughput))?;
        let limits = Limits {
            iops: Some(iops),
            bytes_per_s: Some(rate),
            burst: self.iops.burst(size, iops, iops, tier.and_then(|tier| tier.burst_iops)),
            throughput_burst: self.throughput.burst(
                size,
                iops,
                rate,
                tier.and_then(|tier| tier.burst_throughput),
            ),
            quantum: self.accounting.quantum.value,
            merge_sequential: self.accounting.merge_sequential.value,
            compliance: self.compliance.as_ref().map(Promise::resolve),
        };
        Ok((size, limits))
    }

    fn checked_size(&self, size: Option<Bytes>) -> Result<Bytes, Refusal> {
        let (min, max) = (self.size.min.value, self.size.max.value);
        let remedy = format!("set size from {min:#} to {max:#}");
        match size {
            None => Err(Refusal { problem: "it needs a size".to_owned(), remedy }),
            Some(size) if size < min || size > max => {
                Err(Refusal { problem: format!("the vendor offers no volume of {size:#}"), remedy })
            }
            Some(size) => Ok(size),
        }
    }

    fn tier(&self, size: Bytes, throughput: Option<Rate>) -> Result<Option<&Tier>, Refusal> {
        let found = match self.tiers_by {
            None => return Ok(None),
            Some(TierKey::Size) => self.tiers.iter().find(|tier| tier.size.is_some_and(|held| size <= held)),
            Some(TierKey::Throughput) => self.tiers.iter().find(|tier| Some(tier.throughput) == throughput),
        };
        if found.is_some() {
            return Ok(found);
        }
        let steps: Vec<&str> = self.tiers.iter().map(|tier| tier.name.as_str()).collect();
        let problem = match throughput {
            Some(rate) => format!("a throughput of {rate:#} is not offered"),
            None => "it needs a throughput".to_owned(),
        };
        Err(Refusal { problem, remedy: format!("set throughput to one of {}", steps.join(", ")) })
    }

    /// The key and the mistake, if the figures contradict each other.
    pub(crate) fn problem(&self) -> Option<(String, &'static str)> {
        let own = |(key, problem): (&str, &'static str)| (format!("volume.{key}"), problem);
        if self.size.min.value > self.size.max.value {
            return Some(own(("size", "min is above max")));
        }
        let (quantum, ordered) = (self.accounting.quantum.value, self.tiers_in_order());
        if quantum == Bytes::ZERO {
            return Some(own(("accounting.quantum", "a request can not be counted in units of nothing")));
        }
        if self.tiers_by.is_some() == self.tiers.is_empty() || !ordered {
            return Some(own((
                "tiers",
                "tiers_by and a list of tiers, from small to large, belong together",
            )));
        }
        let tiered = !self.tiers.is_empty();
        (self.iops.problem(tiered).map(|problem| ("iops", problem)))
            .or_else(|| self.throughput.problem(tiered).map(|problem| ("throughput", problem)))
            .or_else(|| self.service.problem())
            .or_else(|| self.geometry.problem())
            .map(own)
    }

    fn tiers_in_order(&self) -> bool {
        let by_size = self.tiers_by == Some(TierKey::Size);
        let largest = self.tiers.last().and_then(|tier| tier.size);
        self.tiers.is_sorted_by_key(|tier| {
            if by_size { tier.size.map_or(0, Bytes::get) } else { tier.throughput.get() }
        }) && (!by_size || largest.is_some_and(|largest| largest >= self.size.max.value))
    }
}

impl<T: Amount + Copy> Allowance<T> {
    /// What the volume sustains per second: what was asked for if it may be, otherwise what is granted; never more than
    /// the tier has.
    fn sustained(
        &self,
        what: &str,
        size: Bytes,
        iops: f64,
        asked: Option<T>,
        tier: Option<T>,
    ) -> Result<f64, Refusal> {
        let tier = tier.map(|tier| tier.amount());
        let granted = rule::evaluate(&self.granted, size, iops);
        let granted = match (granted, tier) {
            (Some(granted), Some(tier)) => Some(granted.min(tier)),
            (granted, tier) => granted.or(tier.filter(|_| self.settable.is_none())),
        };
        let Some(settable) = &self.settable else {
            return match (asked, granted) {
                (Some(_), granted) => Err(Refusal {
                    problem: format!("its {what} follows from its size and can not be set"),
                    remedy: format!(
                        "leave {what} out; {size:#} has {}",
                        granted.map_or("none".to_owned(), T::show_amount)
                    ),
                }),
                (None, Some(granted)) => Ok(granted),
                (None, None) => Err(Refusal {
                    problem: format!("it has no {what}"),
                    remedy: "correct the catalogue file".to_owned(),
                }),
            };
        };
        let least = rule::evaluate(&settable.min, size, iops).unwrap_or(0.0);
        let most = rule::evaluate(&settable.max, size, iops).unwrap_or(f64::INFINITY);
        let most = tier.map_or(most, |tier| most.min(tier)).max(least);
        let basis = if what == "iops" { String::new() } else { format!(" and {}", Iops::show_amount(iops)) };
        let remedy = || {
            format!(
                "with {size:#}{basis} set {what} from {} to {} ({})",
                T::show_amount(least),
                T::show_amount(most),
                rule::in_words(&settable.max)
            )
        };
        match asked.map(|asked| asked.amount()) {
            None => granted.ok_or_else(|| Refusal { problem: format!("it needs {what}"), remedy: remedy() }),
            Some(asked) if asked < least || asked > most => Err(Refusal {
                problem: format!("{what} of {} is outside what the vendor offers", T::show_amount(asked)),
                remedy: remedy(),
            }),
            Some(asked) => Ok(asked),
        }
    }

    fn burst(&self, size: Bytes, iops: f64, sustained: f64, tier_peak: Option<T>) -> Option<Burst> {
        let rule = self.burst.as_ref()?;
        let peak = rule.peak(size, iops, tier_peak)?;
        let bucket = if let Some(bucket) = &rule.bucket {
            bucket.value as f64
        } else if let Some(credits) = &rule.bucket_per_gib {
            credits.value as f64 * size.as_gib()
        } else {
            (peak - sustained) * rule.duration.as_ref()?.value.as_secs_f64()
        };
        (peak > sustained).then_some(Burst {
            peak_per_s: peak,
            bucket,
            earn_per_s: sustained,
            initial: bucket,
        })
    }

    fn problem(&self, tiered: bool) -> Option<&'static str> {
        if self.granted.is_empty() && self.settable.is_none() && !tiered {
            return Some("it needs granted, settable or tiers");
        }
        if let Some(Settable { min, max }) = &self.settable {
            if min.is_empty() || max.is_empty() {
                return Some("settable needs at least one row of min and one of max");
            }
            if let Some(problem) = rule::problem(min).or_else(|| rule::problem(max)) {
                return Some(problem);
            }
        }
        if let Some(problem) = self.burst.as_ref().and_then(BurstRule::problem) {
            return Some(problem);
        }
        rule::problem(&self.granted)
    }
}
