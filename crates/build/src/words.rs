//! Words of names: `menu_item` → `MenuItem`.

/// The form that names of types have: `by-product_2` → `ByProduct2`.
pub(crate) fn camel(name: &str) -> String {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    words(name).filter_map(capitalized).collect()
}

/// The form that names of functions and fields have: `menu__Item_` → `menu_item`.
pub(crate) fn snake(name: &str) -> String {
    words(name).collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words() {
        for (name, as_type, as_function) in [
            ("task", "Task", "task"),
            ("menu_item", "MenuItem", "menu_item"),
            ("a__b_", "AB", "a_b"),
            ("by-product_2", "ByProduct2", "by_product_2"),
            ("UPPER", "UPPER", "upper"),
            ("-", "", ""),
        ] {
            assert_eq!((camel(name).as_str(), snake(name).as_str()), (as_type, as_function));
        }
    }
}
