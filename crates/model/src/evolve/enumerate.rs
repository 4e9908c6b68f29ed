//! Lists of names in messages.

/// Formats names as `a`, `b` and `c`.
pub(super) fn enumerate(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        quoted => quoted.concat(),
    }
}
