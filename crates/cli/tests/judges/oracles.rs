//! Random requests, PartiQL included, to our endpoint and to two third-party servers. If those agree with
//! each other but not with ours, the test fails unless the difference is listed as known.

use std::process::Command;

use crate::clients::{succeed, suite};
use crate::foreign::Foreign;
use crate::process::Served;
use crate::size::{Size, seed, size};

#[test]
fn our_endpoint_agrees_where_third_party_servers_agree() {
    let (dynoxide, ministack) = (Foreign::dynoxide(), Foreign::ministack());
    let ours = Served::start("oracles");
    let requests = match size() {
        Size::Reduced => "2000",
        Size::Full => "20000",
    };
    let mut script = Command::new("python3");
    // Its parts are imported from the folder of the sources.
    script.env("PYTHONDONTWRITEBYTECODE", "1");
    script.arg(suite("oracles.py")).args([requests, &seed().to_string(), &ours.url]);
    script.arg(format!("dynoxide={}", dynoxide.url));
    script.arg(format!("ministack={}", ministack.url));
    succeed("Differences from third-party servers", &mut script);
}
