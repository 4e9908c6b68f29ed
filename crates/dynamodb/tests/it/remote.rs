//! The remote store where requests and answers get lost, are refused and come late.

mod faults;
mod faulty;
mod histories;
mod items;
