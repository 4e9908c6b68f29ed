//! How many random cases a property runs.

use proptest::test_runner::Config;

/// The number of cases that `PROPTEST_CASES` is compared with: proptest's own default.
const ORDINARY: u64 = 256;

/// Returns the number of cases of a property that usually runs so many. `PROPTEST_CASES` scales it:
/// 512 doubles it, so every property stays in proportion to what its cases cost.
pub fn cases(usual: u32) -> u32 {
    scaled(usual, Config::default().cases)
}

fn scaled(usual: u32, asked: u32) -> u32 {
    let cases = u64::from(usual) * u64::from(asked) / ORDINARY;
    u32::try_from(cases).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn the_default_changes_nothing_and_other_numbers_scale() {
        let cases = [(400, 256, 400), (400, 512, 800), (40, 256_000, 40_000), (100, 1, 1)];
        for (usual, asked, expected) in cases {
            assert_eq!(scaled(usual, asked), expected, "{usual} with {asked}");
        }
        assert_eq!(scaled(u32::MAX, u32::MAX), u32::MAX);
    }
}
