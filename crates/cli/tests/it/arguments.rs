//! Help and errors of the command line, and a clean stop.

use crate::process::{Served, run, scratch};

#[test]
fn help_shows_how_to_start() {
    let help = String::from_utf8(run(&["dynamodb", "--help"]).stdout).unwrap();
    for part in [
        "keyloom dynamodb --data ./data",
        "--credentials",
        "--tls-cert",
        "[default: 127.0.0.1:8000]",
    ] {
        assert!(help.contains(part), "{part}\n{help}");
    }
}

#[test]
fn invalid_arguments_are_errors_that_say_what_is_wrong() {
    let data = scratch("refused");
    let data = data.to_str().unwrap();
    let missing = scratch("no-such-file");
    let missing = missing.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["dynamodb"], "--data <DIR>"),
        (&["dynamodb", "--data", data, "--listen", "nowhere"], "invalid value 'nowhere'"),
        (&["dynamodb", "--data", data, "--tls-cert", "x"], "--tls-key <FILE>"),
        (&["dynamodb", "--data", data, "--listen", "0.0.0.0:0"], "without authentication"),
        (&["dynamodb", "--data", data, "--credentials", missing], "cannot use"),
        (&["dynamodb", "--data", "/dev/null/x"], "keyloom dynamodb: "),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && err.contains(expected), "{arguments:?}: {err}");
    }
    let _ = std::fs::remove_dir_all(data);
}

#[test]
fn a_server_stops_on_sigterm() {
    let mut served = Served::start("stops");
    assert!(served.stop());
}
