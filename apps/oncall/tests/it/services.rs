//! The on-call section of `docs/services.md`.

use std::path::Path;
use std::process::Command;

use keyloom_testkit::readme::Process;
use keyloom_testkit::services;

const PAGE: &str = include_str!("../../../../docs/services.md");

#[test]
fn every_request_of_the_on_call_service_returns_what_the_page_shows() {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oncall-services");
    let _ = std::fs::remove_dir_all(&data);
    let mut command = Command::new(env!("CARGO_BIN_EXE_oncall"));
    command.arg("--data").arg(data).arg("--private-webhooks");
    services::of(PAGE, "oncall").run(&Process::serve(command));
}
