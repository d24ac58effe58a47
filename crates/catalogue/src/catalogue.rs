//! The collection: built-in models, users' files over them, look-up by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fathom_units::Bytes;
use serde::Serialize;

use crate::embedded;
use crate::error::CatalogueError;
use crate::figure::Quantity;
use crate::instance::{Family, Size};
use crate::model::{Body, Model};
use crate::overrides::Overrides;
use crate::resolved::{AdapterLimits, InstanceLimits, Resolved};
use crate::similar::similar;

/// What a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A cloud volume.
    Volume,
    /// A machine whose caps all its volumes share.
    Instance,
    /// A virtual host bus adapter.
    Adapter,
    /// A physical drive, an instance's local one included.
    Device,
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The name to ask for.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What it is called.
    pub title: String,
    /// What to know in one line.
    pub summary: String,
}

/// All models, by name. The default has none.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    models: BTreeMap<String, Model>,
}

/// What a name refers to.
pub(crate) enum Found<'a> {
    Model(&'a Model),
    Instance(&'a Model, &'a Family, &'a Size),
    Drive(&'a Model, &'a Family, &'a Size),
}

impl Catalogue {
    /// The models that come with Fathom.
    ///
    /// # Panics
    /// Never: the test suite reads every built-in file.
    #[must_use]
    pub fn builtin() -> Self {
        let models = embedded::FILES.iter().map(|(path, text)| {
            let model = Model::parse(path, text).expect("built-in files are read by the tests");
            (model.name().to_owned(), model)
        });
        Self { models: models.collect() }
    }

    /// A catalogue of one model.
    #[cfg(test)]
    pub(crate) fn of(model: Model) -> Self {
        Self { models: BTreeMap::from([(model.name().to_owned(), model)]) }
    }

    /// Adds one file. A model of the same name is replaced.
    ///
    /// # Errors
    /// The file can not be read or is not a model.
    pub fn with_file(self, path: impl AsRef<Path>) -> Result<Self, CatalogueError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| CatalogueError::Read { path: path.to_owned(), source })?;
        self.with_text(&path.display().to_string(), &text)
    }

    /// Adds the text of one file; `file` is its name in messages. A model of the same name is replaced.
    ///
    /// # Errors
    /// The text is not a model.
    pub fn with_text(mut self, file: &str, text: &str) -> Result<Self, CatalogueError> {
        let model = Model::parse(file, text)?;
        self.models.insert(model.name().to_owned(), model);
        Ok(self)
    }

    /// Adds every `.toml` file of a folder and its folders, in the order of their paths.
    ///
    /// # Errors
    /// The folder or a file in it can not be read, a file is not a model, or there is none.
    pub fn with_directory(mut self, path: impl AsRef<Path>) -> Result<Self, CatalogueError> {
        let mut files = Vec::new();
        collect(path.as_ref(), &mut files)?;
        if files.is_empty() {
            return Err(CatalogueError::Empty(path.as_ref().to_owned()));
        }
        files.sort();
        for file in files {
            self = self.with_file(file)?;
        }
        Ok(self)
    }

    /// The volume or drive of that name, with that size and those provisioned values. Drives have a size of their own;
    /// volumes need one.
    ///
    /// # Errors
    /// There is no such model, it is of another kind, or the vendor does not offer it so: the error says the limit.
    pub fn resolve(
        &self,
        name: &str,
        size: Option<Bytes>,
        overrides: &Overrides,
    ) -> Result<Resolved, CatalogueError> {
        let wrong = |is, remedy| wrong_kind(name, is, "a volume or drive", remedy);
        let found = self.find(name)?;
        let header = &found.model().header;
        let (caveats, successor) = (header.caveats.clone(), header.successor.clone());
        let resolved = match found {
            Found::Drive(_, family, row) => family.drive(name, row, size, overrides).unwrap_or_else(|| {
                Err(CatalogueError::Unknown { name: name.to_owned(), suggestions: vec![] })
            }),
            Found::Instance(_, _, row) if row.store.is_some() => Err(wrong(
                "an instance",
                "for one of its local drives add /nvme to the name; its caps belong in a throttle",
            )),
            Found::Instance(..) => {
                Err(wrong("an instance", "its caps belong in a throttle above its volumes"))
            }
            Found::Model(model) => match &model.body {
                Body::Volume(volume) => volume.resolve(name, size, overrides),
                Body::Device(device) => device.resolve(name, size, overrides),
                Body::Instance(_) => {
                    Err(wrong("a family of instances", "name one, such as aws/r5d.4xlarge/nvme"))
                }
                Body::Adapter(_) => {
                    Err(wrong("an adapter", "put a layer of kind = \"adapter\" above a volume"))
                }
            },
        };
        match (resolved, successor) {
            (Ok(resolved), _) => Ok(Resolved { caveats, ..resolved }),
            (Err(CatalogueError::Refused { name, problem, remedy }), Some(successor)) => {
                let remedy = format!("{remedy}, or take {successor}, which is sold instead today");
                Err(CatalogueError::Refused { name, problem, remedy })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The adapter of that name.
    ///
    /// # Errors
    /// There is no such model or it is of another kind.
    pub fn adapter(&self, name: &str) -> Result<AdapterLimits, CatalogueError> {
        match self.find(name)? {
            Found::Model(Model { body: Body::Adapter(adapter), .. }) => Ok(adapter.resolve(name)),
            found => Err(wrong_kind(
                name,
                found.article(),
                "an adapter",
                "adapters are listed by: fathom catalogue",
            )),
        }
    }

    /// The caps of the instance of that name, such as "aws/r5d.4xlarge".
    ///
    /// # Errors
    /// There is no such model or it is of another kind.
    pub fn instance(&self, name: &str) -> Result<InstanceLimits, CatalogueError> {
        match self.find(name)? {
            Found::Instance(_, family, row) => Ok(family.limits(name, row)),
            found => {
                let remedy = "name one size of a family, such as aws/r5d.4xlarge";
                Err(wrong_kind(name, found.article(), "an instance", remedy))
            }
        }
    }

    /// Every name that can be asked for, in order.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        self.models.values().flat_map(entries).collect()
    }

    pub(crate) fn find(&self, name: &str) -> Result<Found<'_>, CatalogueError> {
        if let Some(model) = self.models.get(name) {
            return Ok(Found::Model(model));
        }
        self.find_size(name).ok_or_else(|| {
            let names: Vec<String> = self.list().into_iter().map(|entry| entry.name).collect();
            let suggestions = similar(name, names.iter().map(String::as_str));
            CatalogueError::Unknown { name: name.to_owned(), suggestions }
        })
    }

    /// "aws/r5d.4xlarge" and "aws/r5d.4xlarge/nvme".
    fn find_size(&self, name: &str) -> Option<Found<'_>> {
        let (instance, drive) = name.strip_suffix("/nvme").map_or((name, false), |instance| (instance, true));
        let (family, size) = instance.split_once('.')?;
        let model = self.models.get(family)?;
        let Body::Instance(family) = &model.body else { return None };
        let size = family.size(size)?;
        match drive {
            true if size.store.is_none() => None,
            true => Some(Found::Drive(model, family, size)),
            false => Some(Found::Instance(model, family, size)),
        }
    }
}

impl Found<'_> {
    /// The file's, of which it may be one size.
    fn model(&self) -> &Model {
        let (Self::Model(model) | Self::Instance(model, ..) | Self::Drive(model, ..)) = self;
        model
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Instance(..) => Kind::Instance,
            Self::Drive(..) => Kind::Device,
            Self::Model(model) => kind_of(&model.body),
        }
    }

    fn article(&self) -> &'static str {
        match self.kind() {
            Kind::Volume => "a volume",
            Kind::Adapter => "an adapter",
            Kind::Device => "a drive",
            Kind::Instance if matches!(self, Self::Model(_)) => "a family of instances",
            Kind::Instance => "an instance",
        }
    }
}

pub(crate) fn kind_of(body: &Body) -> Kind {
    match body {
        Body::Volume(_) => Kind::Volume,
        Body::Instance(_) => Kind::Instance,
        Body::Adapter(_) => Kind::Adapter,
        Body::Device(_) => Kind::Device,
    }
}

/// The lines of one file: one per model, for a family one per size and one per size with drives.
fn entries(model: &Model) -> Vec<Entry> {
    let entry = |name: String, kind, title: String, summary: String| Entry { name, kind, title, summary };
    let (name, title) = (model.name(), &model.header.title);
    let Body::Instance(family) = &model.body else {
        let summary = model.header.summary.clone();
        return vec![entry(name.to_owned(), kind_of(&model.body), title.clone(), summary)];
    };
    let mut lines = Vec::new();
    for size in &family.sizes {
        let full = format!("{name}.{}", size.name);
        lines.push(entry(full.clone(), Kind::Instance, format!("{title} {}", size.name), size.in_words()));
        if let Some(store) = &size.store {
            let summary = match store.count {
                1 => format!("the local drive of {}", store.size.show()),
                count => format!("one of {count} local drives of {}", store.size.show()),
            };
            lines.push(entry(
                format!("{full}/nvme"),
                Kind::Device,
                format!("{title} {} local NVMe", size.name),
                summary,
            ));
        }
    }
    lines
}

fn wrong_kind(name: &str, is: &'static str, wanted: &'static str, remedy: &'static str) -> CatalogueError {
    CatalogueError::WrongKind { name: name.to_owned(), is, wanted, remedy }
}

/// The `.toml` files below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CatalogueError> {
    let failed = |source| CatalogueError::Read { path: folder.to_owned(), source };
    for item in std::fs::read_dir(folder).map_err(failed)? {
        let item = item.map_err(failed)?;
        let path = item.path();
        // A link to a folder is not followed: it may lead back up.
        if item.file_type().map_err(failed)?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(())
}
