//! Known differences of third-party servers from the conformance suite.

use crate::it::remote::differences::{Difference, differs};

/// A case that fails depending on timing.
const fn may_differ(case: &'static str, what: &'static str) -> Difference {
    Difference { case, what, is_certain: false }
}

/// Third-party servers have a clock of their own.
pub(crate) const FOREIGN: &[Difference] = &[
    differs("tables::a_created_table_is_described_as_requested", CLOCK),
    differs("tables::settings_are_altered_one_at_a_time", CLOCK),
    differs("ttl::", CLOCK),
    differs("tokens::a_token_expires_after_ten_minutes", CLOCK),
    differs("tokens::sending_again_does_not_prolong_a_token", CLOCK),
];

/// A server that runs all cases remembers the tokens of earlier ones.
pub(crate) const ONE_SERVER: &[Difference] = &[
    differs("tokens::a_token_is_for_one_transaction", "an earlier case has used the token"),
    differs("tokens::a_failed_transaction_leaves_its_token_free", "the same"),
];

/// The suite reads an index at once, and an engine on disk builds it in the background.
pub(crate) const FILLED_LATER: &[Difference] = &[
    may_differ("indexes::an_added_index_skips_items_with_invalid_keys", STILL_FILLED),
    may_differ("indexes::a_dropped_index_can_be_added_again", STILL_FILLED),
    may_differ("indexes::an_index_added_to_a_table_in_use_is_built", STILL_FILLED),
];

const STILL_FILLED: &str = "the index is still being built";
const CLOCK: &str = "it has a clock of its own";

pub(crate) const MINISTACK: &[Difference] = &[
    differs("tables::a_description_counts_items_and_bytes", "200 bytes an item"),
    differs("tables::a_description_counts_what_each_index_projects", "0 items in an index"),
    differs("updates::remove_add_and_delete_change_what_they_should", REMOVED_ONE_BY_ONE),
    differs("updates::an_update_that_only_removes_creates_nothing", AN_ITEM),
    differs("returned_images::what_an_update_touched_is_its_paths", WHOLE_LIST),
    differs("returned_images::a_touched_element_is_the_one_at_its_path_then", WHOLE_LIST),
    differs("indexes::a_filter_sees_what_the_index_projects", "the filter sees the whole item"),
    differs("indexes::an_index_added_to_a_table_in_use_is_built", "0 items in an index"),
    differs("indexes::an_added_index_skips_items_with_invalid_keys", "they are in the index"),
    differs("batches::a_batch_read_of_too_many_bytes_leaves_some_for_later", "no limit of 16 MB"),
    differs("transactions::an_update_that_cannot_be_applied_is_a_reason", "only the first reason"),
];

const AN_ITEM: &str = "it creates an item from its key";
const WHOLE_LIST: &str = "the whole list of an element";
const REMOVED_ONE_BY_ONE: &str = "elements of a list are removed one by one, each moving the next";

pub(crate) const DYNOXIDE: &[Difference] = &[
    differs("tables::tables_are_listed_in_order", "`b.2` and `B.2` are one name"),
    differs("tables::a_recreated_table_is_empty", OLD_CHANGES),
    differs("tables::a_description_counts_items_and_bytes", "0 bytes"),
    differs("tables::a_description_counts_what_each_index_projects", "0 items in an index"),
    differs("updates::set_writes_what_it_should", "a list is filled up with nulls"),
    differs("updates::remove_add_and_delete_change_what_they_should", REMOVED_ONE_BY_ONE),
    differs("updates::an_update_that_only_removes_creates_nothing", AN_ITEM),
    differs("returned_images::an_update_of_nothing_has_no_old_image", "the key is one"),
    differs("returned_images::what_an_update_touched_is_its_paths", WHOLE_LIST),
    differs("returned_images::a_touched_element_is_the_one_at_its_path_then", WHOLE_LIST),
    differs("queries::texts_sort_by_their_bytes", "begins_with takes no notice of letter case"),
    differs("query_paging::a_page_reads_at_most_one_megabyte", OVER_THE_LIMIT),
    differs("query_paging::an_item_over_the_rest_of_a_page_is_on_the_next", OVER_THE_LIMIT),
    differs("index_paging::an_index_page_counts_what_the_index_projects", OVER_THE_LIMIT),
    differs("scans::a_scan_page_reads_at_most_one_megabyte", OVER_THE_LIMIT),
    differs("indexes::an_index_added_to_a_table_in_use_is_built", "0 items in an index"),
    differs("indexes::an_added_index_skips_items_with_invalid_keys", "they are in the index"),
    differs("index_keys::a_key_of_eight_attributes_is_ordered_from_left_to_right", ONE_ATTRIBUTE),
    differs("index_keys::a_key_of_eight_attributes_pages_at_every_size", ONE_ATTRIBUTE),
    differs("index_keys::sort_attributes_are_tested_from_left_to_right", ONE_ATTRIBUTE),
    differs("index_keys::an_item_needs_all_eight_attributes", ONE_ATTRIBUTE),
    differs("index_keys::values_of_two_attributes_never_run_together", ONE_ATTRIBUTE),
    differs("transactions::reads_come_back_in_the_order_of_the_request", "parts with the key"),
    differs("tokens::tokens_have_1_to_36_characters", "36 bytes"),
    differs("feed::what_changes_nothing_is_not_in_the_feed", "every write is a change"),
    differs("feed::a_feed_begins_when_it_is_turned_on", OLD_CHANGES),
    differs("feed::the_feed_continues_from_any_change", OPEN_SHARD_ENDS),
    differs("feed::pages_of_every_size_add_up", OPEN_SHARD_ENDS),
    differs("feed::now_is_after_everything_so_far", OPEN_SHARD_ENDS),
];

const OPEN_SHARD_ENDS: &str = "an open shard has a last sequence number, the greatest as text";
const OLD_CHANGES: &str = "changes of the feed before are in the new one";
const OVER_THE_LIMIT: &str = "the item that passes 1 MB is on the page";
const ONE_ATTRIBUTE: &str = "index keys have one attribute of each kind in conditions";
