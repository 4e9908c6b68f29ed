//! How much the judges try.

/// By `KEYLOOM_JUDGES`, which is `reduced` or `full`; reduced without it.
pub(crate) enum Size {
    /// What a change must pass, in minutes.
    Reduced,
    /// What a long run tries.
    Full,
}

pub(crate) fn size() -> Size {
    match std::env::var("KEYLOOM_JUDGES").as_deref() {
        Ok("full") => Size::Full,
        Ok("reduced") | Err(std::env::VarError::NotPresent) => Size::Reduced,
        other => panic!("KEYLOOM_JUDGES is `reduced` or `full`, not {other:?}"),
    }
}

/// The seed of random requests: the same in every run, unless `KEYLOOM_SEED` names another.
pub(crate) fn seed() -> u64 {
    let named = std::env::var("KEYLOOM_SEED");
    named.map_or(7, |seed| seed.parse().expect("KEYLOOM_SEED is a number"))
}
