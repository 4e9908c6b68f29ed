//! By sorting: a few matches are fetched and put into the order of the list. For stores without
//! columns.

use keyloom_store::Members;

use crate::list_scan::ListScan;
use crate::nodes::NodeRef;
use crate::{End, Error};

/// All matches, of which there are few.
#[derive(Debug)]
pub(crate) struct SmallSet {
    pub(crate) node: NodeRef,
    pub(crate) ordinals: Members,
}

impl SmallSet {
    pub(super) async fn run(&self, scan: &mut ListScan<'_>) -> Result<End, Error> {
        let ordinals: Vec<u64> = self.ordinals.iter().collect();
        let entries = scan.entries_with(&ordinals).await?;
        Ok(scan.fetch_in_order(&entries).await?.unwrap_or(End::Exhausted))
    }
}
