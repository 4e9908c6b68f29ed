//! Along the list, fetching entities whose ordinals match: of the others only the index row is read.
//! If the matches seem to be at the end of the list, it continues along the facets or the column, or
//! sorts them.

use keyloom_value::Item;

use super::along_column::AlongColumn;
use super::chosen::Chosen;
use super::cost::Chooser;
use crate::facets::Facets;
use crate::list_part::Entry;
use crate::list_scan::ListScan;
use crate::nodes::NodeRef;
use crate::{End, Error};

/// How many index rows are compared with the matches at once, at most.
const ROWS_AT_ONCE_MAX: usize = 1000;

/// The list, and the matches in it.
#[derive(Clone, Debug)]
pub(crate) struct AlongList {
    pub(crate) node: NodeRef,
    /// The number of rows after which another strategy takes over, if one can.
    pub(crate) rows_max: Option<u64>,
}

impl AlongList {
    /// Reads more rows with each request: the rows before have shown that few match.
    pub(super) async fn run(&self, scan: &mut ListScan<'_>) -> Result<End, Error> {
        let mut rows = scan.wanted().saturating_mul(2).min(ROWS_AT_ONCE_MAX);
        // Of each shard, as many rows may be read.
        let rows_max = self.rows_max.map(|rows| rows.saturating_mul(scan.part.shards() as u64));
        let mut rows_max = rows_max.map(|rows| scan.state.cost.rows.saturating_add(rows));
        loop {
            if rows_max.take_if(|rows_max| scan.state.cost.rows > *rows_max).is_some()
                && let Some(end) = self.go_on(scan).await?
            {
                return Ok(end);
            }
            // An entity costs up to two rows: one of the index and its own.
            let affordable = scan.request.budget.rows.saturating_sub(scan.state.cost.rows) / 2;
            let limit = rows.min(usize::try_from(affordable).unwrap_or(usize::MAX)).max(1);
            let page = scan.page(limit).await?;
            let matching = self.matching(scan, page.items).await?;
            if let Some(end) = scan.fetch_in_order(&matching).await? {
                return Ok(end);
            }
            let Some(position) = page.last else { return Ok(End::Exhausted) };
            // A full page ends behind its last entity, but whether more follow is looked up beyond.
            match scan.wanted() {
                0 => scan.part.skip(position),
                _ => scan.pass(position),
            }
            if scan.is_spent() {
                return Ok(if scan.wanted() == 0 { End::Limit } else { End::Budget });
            }
            rows = rows.saturating_mul(2).min(ROWS_AT_ONCE_MAX);
        }
    }

    /// Continues along the index keys by facet or along the column, or by sorting; none if nothing of
    /// that is possible.
    async fn go_on(&self, scan: &mut ListScan<'_>) -> Result<Option<End>, Error> {
        let request = scan.request;
        if let Some(facets) = Facets::of(scan.reader, request) {
            let mut chooser = Chooser::new(scan.search(), request);
            match chooser.merge(&facets).await? {
                Some(Chosen::AlongFacets(strategy)) => {
                    scan.ran.record(Chosen::AlongFacets(strategy.clone()));
                    return strategy.run(scan).await.map(Some);
                }
                Some(_) => return Ok(Some(End::Exhausted)),
                None => {}
            }
        }
        if !scan.search().has_columns() {
            let mut chooser = Chooser::new(scan.search(), request);
            let Some(Chosen::SmallSet(strategy)) = chooser.sort(&self.node).await? else {
                return Ok(None);
            };
            scan.ran.record(Chosen::SmallSet(strategy.clone()));
            return strategy.run(scan).await.map(Some);
        }
        let along_column = AlongColumn { node: self.node.clone() };
        scan.ran.record(Chosen::AlongColumn(along_column.clone()));
        along_column.run(scan).await
    }

    /// Returns the entries of index rows whose ordinals match. Rows without an ordinal are kept.
    async fn matching(
        &self,
        scan: &mut ListScan<'_>,
        rows: Vec<Item>,
    ) -> Result<Vec<Entry>, Error> {
        let (layout, of) = (scan.reader.layout, (scan.request.entity, scan.request.list));
        let ordinal = |row: &Item| layout.lists().ordinal_at(of, scan.part.position(row).ok()?);
        let ordinals: Vec<Option<u64>> = rows.iter().map(ordinal).collect();
        let matches = scan.which_match(&*self.node, &ordinals).await?;
        let kept = rows.into_iter().zip(matches).filter(|(_, matches)| *matches);
        kept.map(|(row, _)| scan.part.entry(row)).collect()
    }
}
