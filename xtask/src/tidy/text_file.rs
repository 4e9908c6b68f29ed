//! A text file of the workspace.

/// A UTF-8 file.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// Relative to the root of the workspace, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}
