//! Volumes for the layers' own tests.

use fathom_runtime::{Context, Nanos};
use fathom_settings::{Diagnostics, Section, Tree};
use fathom_volume::{Buf, Geometry, Handle, Request, Result, Volume};

/// Answers every request after a span and keeps nothing.
struct Slow {
    geometry: Geometry,
    context: Context,
    span: Nanos,
}

/// A volume that answers after `span` ns and keeps nothing.
pub(crate) fn slow(context: &Context, name: &str, geometry: Geometry, span: Nanos) -> Handle {
    let volume = Slow { geometry, context: context.clone(), span };
    Handle::new(context, name, "slow", volume).expect("the test's geometry is sound")
}

/// A volume that answers at once and keeps nothing.
pub(crate) fn null(context: &Context, name: &str, geometry: Geometry) -> Handle {
    slow(context, name, geometry, 0)
}

/// What a layer's reader makes of a text, or every mistake it finds there.
pub(crate) fn read<T>(
    text: &str,
    read: impl Fn(&mut Section<'_>) -> Option<T>,
) -> std::result::Result<T, Vec<String>> {
    let diagnostics = Diagnostics::new();
    let tree = Tree::parse("test.toml", text, &diagnostics);
    let mut section = tree.section(&diagnostics);
    let config = read(&mut section);
    let whole = section.finish();
    assert_eq!(config.is_some() && whole, diagnostics.is_empty(), "None and a mistake go together");
    config.filter(|_| whole).ok_or_else(|| diagnostics.list().iter().map(ToString::to_string).collect())
}

impl Slow {
    async fn answer(&self) -> Result<()> {
        self.context.sleep(self.span).await;
        Ok(())
    }
}

impl Volume for Slow {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    async fn read(&self, _: &Request, _: Buf) -> Result<()> {
        self.answer().await
    }

    async fn write(&self, _: &Request, _: Buf) -> Result<()> {
        self.answer().await
    }

    async fn flush(&self, _: &Request) -> Result<()> {
        self.answer().await
    }

    async fn trim(&self, _: &Request) -> Result<()> {
        self.answer().await
    }

    async fn write_zeroes(&self, _: &Request) -> Result<()> {
        self.answer().await
    }
}
