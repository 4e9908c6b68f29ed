//! Style and scripts of the pages. Their hashes are in the content security policy.

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("style.css");
/// Makes the forms of the API reference work.
pub(crate) const SCRIPT: &str = include_str!("script.js");
/// Shows example requests with the address that the page was loaded from.
pub(crate) const WELCOME_SCRIPT: &str = "\
for (const example of document.querySelectorAll('pre')) {
  example.textContent = example.textContent.replaceAll('http://127.0.0.1:8080', location.origin);
}
";
