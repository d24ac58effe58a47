//! What one variant wants to find when it runs: databases, the places they stand on, the volumes below those.

use fathom_catalogue::Catalogue;
use fathom_settings::{Diagnostics, Path};
use fathom_stack::Clock;
use serde_json::{Map, Value, json};

use crate::check::{prepare, replaced};

/// What provisioning must provide before [`crate::run`]: an object with `databases`, `places` and `volumes`, each an
/// object of name to settings, every default spelled out, sizes in bytes; volumes as written. Only what the variant uses;
/// empty objects for a workload that needs nothing. `loads`: by database what the data depends on that [`crate::load`]
/// provides. `lasts_ns`: ramp and measured phases by the settings, null if the work decides how long it takes.
///
/// # Errors
/// Every mistake in the settings.
pub fn wanted(
    text: &str,
    file: &str,
    overrides: &Value,
    clock: Clock,
    catalogue: &Catalogue,
) -> Result<Value, Diagnostics> {
    let diagnostics = Diagnostics::new();
    let Some((variant, job)) = prepare(text, file, overrides, clock, catalogue, &diagnostics) else {
        return Err(diagnostics);
    };
    let used = variant.databases_of(&*job);
    let places = variant.places_of(&used);
    let roots: Vec<String> = places.iter().filter_map(|place| place.volume().map(str::to_owned)).collect();
    let tree = replaced(text, file, overrides, &diagnostics);
    let object = |pairs: Vec<(String, Value)>| Value::Object(pairs.into_iter().collect::<Map<_, _>>());
    let volumes = variant.volumes.tables(&roots).into_iter().map(|name| {
        let settings = tree
            .get(&Path::ROOT.join("volumes").join(&name))
            .map_or(Value::Null, fathom_settings::Value::to_json);
        (name, settings)
    });
    Ok(json!({
        "databases": object(used.iter().map(|database| (database.name.clone(), database.to_json())).collect()),
        "places": object(places.iter().map(|place| (place.name.clone(), place.to_json())).collect()),
        "volumes": object(volumes.collect()),
        "loads": job.loads(),
        "lasts_ns": job.lasts(),
    }))
}
