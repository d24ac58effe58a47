//! A model explained to a person: each figure with its source, the formulas in words, what the model leaves out.

use serde::Serialize;

use crate::catalogue::{Catalogue, Found, Kind};
use crate::error::CatalogueError;
use crate::figure::{Figures, Line, Source, SourceKind};
use crate::model::{Body, Model};
use crate::rule::{self, Amount, Rule};
use crate::volume::{Allowance, TierKey, Volume};

/// Everything the catalogue knows of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The name asked for.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What it is called.
    pub title: String,
    /// What to know in one line.
    pub summary: String,
    /// The file it came from.
    pub origin: String,
    /// Every figure.
    pub figures: Vec<ExplainedFigure>,
    /// How limits follow from size and provisioned values.
    pub formulas: Vec<String>,
    /// What the model leaves out.
    pub caveats: Vec<String>,
    /// The sources of the figures, in the order of the file.
    pub sources: Vec<ExplainedSource>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedFigure {
    /// Its dotted key in the file.
    pub key: String,
    /// Its value with its unit.
    pub value: String,
    /// The id of its source.
    pub source: String,
    /// Whether the source is an assumption.
    pub assumed: bool,
    /// A remark on it.
    pub note: Option<String>,
    /// What else is plausible, from low to high, where it is assumed.
    pub range: Option<(String, String)>,
}

/// One source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedSource {
    /// The id that figures refer to.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it is.
    pub kind: SourceKind,
    /// An address or a publication.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// When it said so.
    pub date: Option<String>,
    /// Why the value was assumed.
    pub reason: Option<String>,
}

impl Catalogue {
    /// All that is known of a model, an instance or an instance's drive.
    ///
    /// # Errors
    /// There is no model of that name.
    pub fn explain(&self, name: &str) -> Result<Explanation, CatalogueError> {
        let found = self.find(name)?;
        let kind = found.kind();
        let mut lines = Vec::new();
        let (model, title, summary) = match found {
            Found::Model(model) => {
                model.body.figures("", &mut lines);
                (model, model.header.title.clone(), model.header.summary.clone())
            }
            Found::Instance(model, family, size) | Found::Drive(model, family, size) => {
                family.figures("instance", &mut lines);
                lines.retain(|line| !line.key.starts_with("instance.sizes "));
                size.figures("instance.sizes", &mut lines);
                if kind == Kind::Device {
                    lines.retain(|line| line.key.starts_with("instance.s"));
                }
                let what = if kind == Kind::Device { " local NVMe" } else { "" };
                let summary = match kind {
                    Kind::Device => family.drive_in_words(name, size)?,
                    _ => size.in_words(),
                };
                (model, format!("{} {}{what}", model.header.title, size.name), summary)
            }
        };
        let sources = used(&model.sources, &lines);
        Ok(Explanation {
            name: name.to_owned(),
            kind,
            title,
            summary,
            origin: model.origin.clone(),
            formulas: formulas(model, kind),
            caveats: model.header.caveats.clone(),
            figures: lines.into_iter().map(|line| explained(line, &model.sources)).collect(),
            sources,
        })
    }
}

fn explained(line: Line, sources: &[Source]) -> ExplainedFigure {
    let id = line.source.into_inner();
    let assumed = sources.iter().any(|s| *s.id.get_ref() == id && s.kind == SourceKind::Assumption);
    ExplainedFigure {
        key: line.key,
        value: line.value,
        source: id,
        assumed,
        note: line.note,
        range: line.range,
    }
}

fn used(sources: &[Source], lines: &[Line]) -> Vec<ExplainedSource> {
    let is_used = |source: &&Source| lines.iter().any(|line| line.source.get_ref() == source.id.get_ref());
    let told = |source: &Source| ExplainedSource {
        id: source.id.get_ref().clone(),
        title: source.title.clone(),
        kind: source.kind,
        place: source.place.clone(),
        date: source.date.clone(),
        reason: source.reason.clone(),
    };
    sources.iter().filter(is_used).map(told).collect()
}

fn formulas(model: &Model, kind: Kind) -> Vec<String> {
    match &model.body {
        Body::Volume(volume) => volume_formulas(volume),
        Body::Instance(_) if kind == Kind::Device => vec![
            "one drive has the IOPS of all drives divided by their number".to_owned(),
            "throughput = IOPS x 4 KiB x read_stream_ratio or write_stream_ratio".to_owned(),
            SERVERS.to_owned(),
        ],
        Body::Instance(family) => family
            .burst_duration
            .iter()
            .map(|figure| {
                format!(
                    "burst credits: (maximum - baseline) x {:#}, earned back at the baseline, full at the start",
                    figure.value
                )
            })
            .collect(),
        Body::Device(_) => vec![SERVERS.to_owned()],
        Body::Adapter(_) => Vec::new(),
    }
}

const SERVERS: &str =
    "requests in service at once = IOPS x latency, rounded up (Little's law), the larger of reads and writes";

fn volume_formulas(volume: &Volume) -> Vec<String> {
    let mut list = Vec::new();
    allowance(&mut list, "IOPS", &volume.iops);
    allowance(&mut list, "throughput", &volume.throughput);
    match volume.tiers_by {
        Some(TierKey::Size) => list.push("the smallest tier that holds the size gives the limits".to_owned()),
        Some(TierKey::Throughput) => {
            list.push("the throughput asked for picks the tier, whose figures cap the others".to_owned());
        }
        None => {}
    }
    if volume.iops.burst.is_some() || volume.throughput.burst.is_some() {
        list.push("a burst takes one credit per operation (or byte), the sustained limit earns them back, full at the start".to_owned());
    }
    list
}

fn allowance<T: Amount>(list: &mut Vec<String>, what: &str, allowance: &Allowance<T>) {
    let mut add = |verb: &str, rows: &[Rule<T>]| {
        if !rows.is_empty() {
            list.push(format!("{what} {verb}: {}", rule::in_words(rows)));
        }
    };
    add("without asking", &allowance.granted);
    if let Some(burst) = &allowance.burst {
        add("in bursts", &burst.peaks);
    }
    if let Some(settable) = &allowance.settable {
        add("that can be asked for, at least", &settable.min);
        add("that can be asked for, at most", &settable.max);
    }
}
