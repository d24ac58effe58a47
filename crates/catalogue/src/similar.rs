//! Names like the one given, for messages.

/// Up to three names like the one given, best first.
pub(crate) fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let azure = of_azure(name);
    let name = azure.as_deref().unwrap_or(name);
    // A name without its vendor is as good as spelt right.
    let last = |name: &str| name.split_once('/').map_or(name, |(_, rest)| rest).to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|known| {
            let (full, tail) =
                (strsim::jaro_winkler(name, known), strsim::jaro_winkler(&last(name), &last(known)));
            (full.max(tail), known)
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}

/// `edsv6.e8ds` of `Standard_E8ds_v6`: how Azure names a size, as the catalogue names it.
fn of_azure(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    let (size, version) = name.strip_prefix("standard_")?.rsplit_once("_v")?;
    let family: String = size.chars().filter(|c| !c.is_ascii_digit()).collect();
    // An isolated size (E192ids) belongs to the family without the letter.
    Some(format!("{}v{version}.{size}", family.replacen('i', "", 1)))
}

#[cfg(test)]
mod tests {
    use super::of_azure;

    #[test]
    fn azures_own_names_lead_to_the_catalogues() {
        for (name, known) in [
            ("Standard_E8ds_v6", Some("edsv6.e8ds")),
            ("standard_e192ibds_v6", Some("ebdsv6.e192ibds")),
            ("Standard_L80s_v3", Some("lsv3.l80s")),
            ("Standard_DS13", None),
            ("azure/edsv6.e8ds", None),
        ] {
            assert_eq!(of_azure(name).as_deref(), known, "{name}");
        }
    }
}
