//! Random requests to our endpoint and to two foreign servers beside it: where they agree against
//! us, somebody looks up who is right.

use std::process::Command;

use crate::clients::{succeed, suite};
use crate::foreign::Foreign;
use crate::process::Served;
use crate::size::{Size, seed, size};

#[test]
fn where_foreign_servers_agree_ours_does_too() {
    let (dynoxide, ministack) = (Foreign::dynoxide(), Foreign::ministack());
    let ours = Served::start("oracles");
    let requests = match size() {
        Size::Reduced => "2000",
        Size::Full => "20000",
    };
    let mut script = Command::new("python3");
    script.arg(suite("oracles.py")).args([requests, &seed().to_string(), &ours.url]);
    script.arg(format!("dynoxide={}", dynoxide.url));
    script.arg(format!("ministack={}", ministack.url));
    succeed("Differences from foreign servers", &mut script);
}
