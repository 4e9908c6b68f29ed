//! What a panic prints.

use std::panic::{PanicHookInfo, set_hook, take_hook};

/// Suppresses the output of panics in redb: the engine catches them and reports the damage that caused
/// them.
pub fn hide_those_of_damage() {
    let before = take_hook();
    set_hook(Box::new(move |panic| {
        if !is_of_tree(panic) {
            before(panic);
        }
    }));
}

fn is_of_tree(panic: &PanicHookInfo<'_>) -> bool {
    panic.location().is_some_and(|location| location.file().contains("/redb-"))
}
