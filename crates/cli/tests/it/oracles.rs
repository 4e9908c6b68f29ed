//! Random requests to our endpoint and to two foreign servers beside it: where they agree against
//! us, somebody looks up who is right.

use std::process::Command;

use crate::clients::{succeed, suite};
use crate::foreign::Foreign;
use crate::process::Served;

const REQUESTS: &str = "2000";

#[test]
fn where_foreign_servers_agree_ours_does_too() {
    let (dynoxide, ministack) = (Foreign::dynoxide(), Foreign::ministack());
    let ours = Served::start("oracles");
    let mut script = Command::new("python3");
    script.arg(suite("oracles.py")).args([REQUESTS, &ours.url]);
    script.arg(format!("dynoxide={}", dynoxide.url));
    script.arg(format!("ministack={}", ministack.url));
    succeed("Differences from foreign servers", &mut script);
}
