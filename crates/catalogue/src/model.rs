//! One catalogue file: its form, and the checks that a parser cannot make.

use serde::Deserialize;
use toml::Spanned;

use crate::CatalogueError;
use crate::adapter::Adapter;
use crate::device::Device;
use crate::figure::{Figures, Line, Source, SourceKind};
use crate::instance::Family;
use crate::position::Text;
use crate::volume::Volume;

/// A file as written: a header, its sources, and one section that says what it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    model: Spanned<Header>,
    #[serde(default)]
    sources: Vec<Source>,
    volume: Option<Volume>,
    instance: Option<Family>,
    adapter: Option<Adapter>,
    device: Option<Device>,
}

/// `[model]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// vendor/name
    pub name: Spanned<String>,
    pub title: String,
    /// One line for lists.
    pub summary: String,
    /// What the model leaves out, or where it is known to be wrong.
    #[serde(default)]
    pub caveats: Vec<String>,
    /// The model of what the vendor sells instead today.
    pub successor: Option<String>,
}

/// A checked model.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub header: Header,
    pub sources: Vec<Source>,
    pub body: Body,
    /// The file it came from, for people.
    pub origin: String,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Volume(Box<Volume>),
    Instance(Box<Family>),
    Adapter(Box<Adapter>),
    Device(Box<Device>),
}

impl Figures for Body {
    fn figures(&self, _: &str, lines: &mut Vec<Line>) {
        match self {
            Self::Volume(volume) => volume.figures("volume", lines),
            Self::Instance(family) => family.figures("instance", lines),
            Self::Adapter(adapter) => adapter.figures("adapter", lines),
            Self::Device(device) => device.figures("device", lines),
        }
    }
}

impl Model {
    /// Reads and checks the text of one file; `file` is its name for messages.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, CatalogueError> {
        let text = Text { file, text };
        let document: Document = toml::from_str(text.text).map_err(|error| syntax(text, &error))?;
        let header = document.model.get_ref();
        if !is_name(header.name.get_ref()) {
            let message = format!("\"{}\" is not a model's name", header.name.get_ref().escape_debug());
            let remedy = "write it vendor/name, in small letters, digits, dots and hyphens".to_owned();
            return Err(text.error(header.name.span(), message, remedy).into());
        }
        let mut bodies: Vec<Body> = Vec::new();
        bodies.extend(document.volume.map(|volume| Body::Volume(Box::new(volume))));
        bodies.extend(document.instance.map(|family| Body::Instance(Box::new(family))));
        bodies.extend(document.adapter.map(|adapter| Body::Adapter(Box::new(adapter))));
        bodies.extend(document.device.map(|device| Body::Device(Box::new(device))));
        let Ok([body]) = <[Body; 1]>::try_from(bodies) else {
            let message = "the file does not say what the model is".to_owned();
            let remedy = "give it exactly one of [volume], [instance], [adapter], [device]".to_owned();
            return Err(text.error(document.model.span(), message, remedy).into());
        };
        check_sources(text, &document.sources, &body)?;
        check_body(text, &body)?;
        Ok(Self {
            header: document.model.into_inner(),
            sources: document.sources,
            body,
            origin: file.to_owned(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        self.header.name.get_ref()
    }
}

fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    name.split_once('/').is_some_and(|(vendor, model)| part(vendor) && part(model))
}

/// Each entry of `[[sources]]` is complete and named once, and each figure names one of them.
fn check_sources(text: Text<'_>, sources: &[Source], body: &Body) -> Result<(), CatalogueError> {
    for (i, source) in sources.iter().enumerate() {
        let id = source.id.get_ref();
        if let Some(missing) = source.lacks() {
            let message = format!("the source \"{}\" is not complete", id.escape_debug());
            return Err(text.error(source.id.span(), message, format!("add {missing}")).into());
        }
        if sources[..i].iter().any(|other| other.id.get_ref() == id) {
            let message = format!("the source \"{}\" is listed twice", id.escape_debug());
            let remedy = "give each source an id of its own".to_owned();
            return Err(text.error(source.id.span(), message, remedy).into());
        }
    }
    let mut lines = Vec::new();
    body.figures("", &mut lines);
    if let Some(line) = lines.iter().find(|line| line.range.is_some() && !may_have_range(line, sources)) {
        let message = format!("{} has a range", line.key);
        let remedy = "only assumed latencies and distributions have one; leave it out, or name the assumption as source";
        return Err(text.error(line.source.span(), message, remedy.to_owned()).into());
    }
    let known = |line: &&Line| sources.iter().all(|source| source.id.get_ref() != line.source.get_ref());
    let Some(line) = lines.iter().find(known) else {
        return Ok(());
    };
    let ids: Vec<&str> = sources.iter().map(|source| source.id.get_ref().as_str()).collect();
    let message = format!("there is no source \"{}\"", line.source.get_ref().escape_debug());
    let remedy = match ids[..] {
        [] => "add a [[sources]] entry with that id".to_owned(),
        _ => format!("name one of {}, or add a [[sources]] entry", ids.join(", ")),
    };
    Err(text.error(line.source.span(), message, remedy).into())
}

/// A published figure is what it is, and of the others only times and shapes are tried at the ends of their ranges.
fn may_have_range(line: &Line, sources: &[Source]) -> bool {
    let tried = ["service.read", "service.write", "latency", "distribution"];
    let assumed = |source: &Source| {
        source.kind == SourceKind::Assumption && source.id.get_ref() == line.source.get_ref()
    };
    tried.iter().any(|key| line.key.ends_with(key)) && sources.iter().any(assumed)
}

fn check_body(text: Text<'_>, body: &Body) -> Result<(), CatalogueError> {
    let problem = match body {
        Body::Volume(volume) => volume.problem(),
        Body::Instance(family) => family.problem(),
        Body::Adapter(adapter) => adapter.problem(),
        Body::Device(device) => device.problem(),
    };
    let Some((key, message)) = problem else {
        return Ok(());
    };
    let remedy = "correct the figure; docs/CATALOGUE.md explains each key".to_owned();
    Err(text.error_at_key(&key, message.to_owned(), remedy).into())
}

/// A text that is not TOML, or has a wrong, missing or unknown key.
fn syntax(text: Text<'_>, error: &toml::de::Error) -> CatalogueError {
    let message = error.message().replace('\n', " ");
    let remedy = if message.contains("missing field `source`") {
        "every figure says where it is from: add source = \"the id of a [[sources]] entry\"".to_owned()
    } else if let Some(name) = suggestion(&message) {
        format!("did you mean {name}?")
    } else {
        "docs/CATALOGUE.md shows the form of a file, with examples".to_owned()
    };
    text.error(error.span().unwrap_or(0..0), message, remedy).into()
}

/// For "unknown field `a`, expected one of `b`, `c`": the expected name most like it.
fn suggestion(message: &str) -> Option<String> {
    let rest =
        message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("unknown variant `"))?;
    let (unknown, expected) = rest.split_once('`')?;
    let names = expected.split('`').skip(1).step_by(2);
    crate::similar::similar(unknown, names).into_iter().next()
}

#[cfg(test)]
mod tests;
