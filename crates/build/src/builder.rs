//! Reads a model file and writes the module.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::module::module;
use crate::names::is_module_name;

/// Generates the module of a model file, as [`Builder::compile`] does with the default options.
///
/// # Errors
///
/// As [`Builder::compile`].
pub fn compile(model: impl AsRef<Path>) -> Result<(), Error> {
    Builder::new().compile(model)
}

/// Options of generated modules.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    out_dir: Option<PathBuf>,
    module: Option<String>,
}

impl Builder {
    /// The default options.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The folder to write to [default: `OUT_DIR`, which Cargo sets].
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.out_dir = Some(folder.into());
        self
    }

    /// The name of the module, and of its file without `.rs` [default: that of the model file].
    #[must_use]
    pub fn module(mut self, name: impl Into<String>) -> Builder {
        self.module = Some(name.into());
        self
    }

    /// Reads a model file, relative to the package, and writes its module. Cargo runs the build script again
    /// when the file changes.
    ///
    /// # Errors
    ///
    /// If the model has errors, or a file cannot be read or written.
    #[expect(clippy::print_stdout, reason = "it is how a build script talks to Cargo")]
    pub fn compile(&self, model: impl AsRef<Path>) -> Result<(), Error> {
        let path = model.as_ref();
        println!("cargo:rerun-if-changed={}", path.display());
        let failed = |done, path: &Path, error| Error::File { path: path.to_owned(), done, error };
        let text = fs::read_to_string(path).map_err(|error| failed("read", path, error))?;
        let code = self.generate(&text, &path.display().to_string())?;
        let target = self.target(path)?;
        fs::write(&target, code).map_err(|error| failed("written", &target, error))
    }

    /// Returns the code of the module of a model. `file_name` is only for errors.
    ///
    /// # Errors
    ///
    /// If the model has errors.
    pub fn generate(&self, model: &str, file_name: &str) -> Result<String, Error> {
        let checked = keyloom_model::check(model);
        let checked =
            checked.map_err(|errors| Error::Model(keyloom_model::render(&errors, file_name)))?;
        Ok(module(&checked, model))
    }

    fn target(&self, model: &Path) -> Result<PathBuf, Error> {
        let stem = || Some(model.file_stem()?.to_string_lossy().into_owned());
        let name = self.module.clone().or_else(stem).unwrap_or_default();
        if !is_module_name(&name) {
            return Err(Error::ModuleName { name });
        }
        let folder = self.out_dir.clone().or_else(|| env::var_os("OUT_DIR").map(PathBuf::from));
        Ok(folder.ok_or(Error::NoOutDir)?.join(format!("{name}.rs")))
    }
}
