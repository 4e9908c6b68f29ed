//! Static pages served next to the API: the files of a folder, read once at start.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use keyloom_server::OwnPage;

/// Maximum size of all pages together: they are kept in memory.
const BYTES_MAX: u64 = 64 << 20;

const MEDIA_TYPES: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("txt", "text/plain; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("webp", "image/webp"),
    ("ico", "image/x-icon"),
    ("woff2", "font/woff2"),
];

/// The option `--pages`.
pub fn argument() -> Arg {
    Arg::new("pages")
        .long("pages")
        .value_name("DIR")
        .action(ArgAction::Append)
        .value_parser(value_parser!(PathBuf))
        .help(
            "Also serve the files of this folder, without authentication;\n\
             index.html is served at / [default: the folder `page` next to\n\
             the model, if there is one]",
        )
}

/// Reads the pages of the folders in `--pages`.
///
/// # Errors
///
/// If a file cannot be read or has an unknown type, or the files are too large.
pub fn named(arguments: &ArgMatches) -> Result<Vec<OwnPage>, String> {
    let mut pages: Vec<OwnPage> = vec![];
    let mut bytes = 0;
    for folder in arguments.get_many::<PathBuf>("pages").into_iter().flatten() {
        for page in of_folder(folder)? {
            bytes += page.body.len() as u64;
            if bytes > BYTES_MAX {
                return Err(format!(
                    "the pages exceed {} MiB: serve large files elsewhere.",
                    BYTES_MAX >> 20
                ));
            }
            if pages.iter().any(|other| other.path == page.path) {
                return Err(format!("two files would be served at `{}`: rename one.", page.path));
            }
            pages.push(page);
        }
    }
    Ok(pages)
}

/// Reads the files of a folder as pages.
///
/// # Errors
///
/// If a file cannot be read or has an unknown type.
pub fn of_folder(folder: &Path) -> Result<Vec<OwnPage>, String> {
    let failed = |path: &Path, error| format!("cannot read {}: {error}.", path.display());
    let files = std::fs::read_dir(folder).map_err(|error| failed(folder, error))?;
    let mut pages = vec![];
    for file in files {
        let path = file.map_err(|error| failed(folder, error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() || name.starts_with('.') {
            continue;
        }
        let body = std::fs::read(&path).map_err(|error| failed(&path, error))?;
        pages.push(page(name, body)?);
    }
    Ok(pages)
}

/// Pages from files that are embedded in the program.
///
/// # Errors
///
/// If the extension of a name is not known.
pub fn embedded(files: &[(&str, &str)]) -> Result<Vec<OwnPage>, String> {
    files.iter().map(|(name, text)| page(name, text.as_bytes().to_vec())).collect()
}

/// A file as a page.
fn page(name: &str, body: Vec<u8>) -> Result<OwnPage, String> {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let known = MEDIA_TYPES.iter().find(|(known, _)| *known == ending);
    let (_, media_type) = known.ok_or_else(|| {
        let endings: Vec<&str> = MEDIA_TYPES.iter().map(|(ending, _)| *ending).collect();
        format!("unknown file type: `{name}`. Supported extensions: {}.", endings.join(", "))
    })?;
    let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
    Ok(OwnPage { path, media_type, body })
}
