//! The size of these tests.

/// The value of `KEYLOOM_JUDGES`: `reduced` (the default) or `full`.
pub(crate) enum Size {
    /// For every change; takes minutes.
    Reduced,
    /// For long runs.
    Full,
}

pub(crate) fn size() -> Size {
    match std::env::var("KEYLOOM_JUDGES").as_deref() {
        Ok("full") => Size::Full,
        Ok("reduced") | Err(std::env::VarError::NotPresent) => Size::Reduced,
        other => panic!("KEYLOOM_JUDGES is `reduced` or `full`, not {other:?}"),
    }
}

/// The seed of random requests: fixed, unless `KEYLOOM_SEED` sets another.
pub(crate) fn seed() -> u64 {
    let named = std::env::var("KEYLOOM_SEED");
    named.map_or(7, |seed| seed.parse().expect("KEYLOOM_SEED is a number"))
}
