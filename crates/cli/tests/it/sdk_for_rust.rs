//! The AWS SDK for Rust, unmodified, against the endpoint: published single-table designs with their
//! queries, as in the suites of boto3 and of the SDK for JavaScript.

use std::collections::HashMap;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement,
    KeyType, KeysAndAttributes, Projection, ProjectionType, Put, PutRequest, ScalarAttributeType,
    TransactWriteItem, WriteRequest,
};
use aws_sdk_dynamodb::{Client, Config};
use aws_smithy_http_client::Builder;

use crate::process::Served;

type Item = HashMap<String, AttributeValue>;

/// Runs a test with a client and a new server.
fn with_client<F: Future<Output = ()>>(name: &str, test: impl FnOnce(Client) -> F) {
    let served = Served::start(name);
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(&served.url)
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("made", "up", None, None, "a test"))
        .retry_config(RetryConfig::disabled())
        .http_client(Builder::new().build_http())
        .build();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test(Client::from_conf(config)));
}

fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn item(attributes: &[(&str, &str)]) -> Item {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), text(*value))).collect()
}

fn texts(items: &[Item], attribute: &str) -> Vec<String> {
    items.iter().map(|item| item[attribute].as_s().unwrap().clone()).collect()
}

fn key(names: &[&str]) -> Vec<KeySchemaElement> {
    let kinds = [KeyType::Hash, KeyType::Range];
    let element = |(name, kind): (&&str, KeyType)| {
        KeySchemaElement::builder().attribute_name(*name).key_type(kind).build().unwrap()
    };
    names.iter().zip(kinds).map(element).collect()
}

/// Creates a table with text keys; an index is its name, its key and its projection, if not all.
async fn make(
    client: &Client,
    name: &str,
    table_key: &[&str],
    indexes: &[(&str, &[&str], &[&str])],
) {
    let mut attributes: Vec<&str> = table_key.to_vec();
    attributes.extend(indexes.iter().flat_map(|(_, index_key, _)| *index_key));
    attributes.sort_unstable();
    attributes.dedup();
    let mut request = client.create_table().table_name(name);
    for attribute in attributes {
        let definition = AttributeDefinition::builder().attribute_name(attribute);
        let definition = definition.attribute_type(ScalarAttributeType::S).build().unwrap();
        request = request.attribute_definitions(definition);
    }
    for (index, index_key, kept) in indexes {
        let projection = match kept {
            [] => Projection::builder().projection_type(ProjectionType::All),
            kept => kept.iter().fold(
                Projection::builder().projection_type(ProjectionType::Include),
                |projection, kept| projection.non_key_attributes(*kept),
            ),
        };
        let index = GlobalSecondaryIndex::builder().index_name(*index);
        let index = index.set_key_schema(Some(key(index_key))).projection(projection.build());
        request = request.global_secondary_indexes(index.build().unwrap());
    }
    let request = request.set_key_schema(Some(key(table_key)));
    request.billing_mode(BillingMode::PayPerRequest).send().await.unwrap();
}

/// A query with placeholders `:0`, `:1`, … for its values.
fn query(client: &Client, table: &str, condition: &str, values: &[&str]) -> QueryFluentBuilder {
    let request = client.query().table_name(table).key_condition_expression(condition);
    values.iter().enumerate().fold(request, |request, (number, value)| {
        request.expression_attribute_values(format!(":{number}"), text(*value))
    })
}

/// A put on condition that the item does not exist.
fn put_new(attributes: &[(&str, &str)]) -> TransactWriteItem {
    let put = Put::builder().table_name("recipes").set_item(Some(item(attributes)));
    let put = put.condition_expression("attribute_not_exists(PK)").build().unwrap();
    TransactWriteItem::builder().put(put).build()
}

fn ingredient(number: &str, name: &str) -> Vec<TransactWriteItem> {
    let (by_id, by_name) = (format!("INGREDIENT#{number}"), format!("INGREDIENTNAME#{name}"));
    let named: &[(&str, &str)] = &[("id", number), ("name", name)];
    let own: &[(&str, &str)] = &[
        ("PK", "CATEGORY#1"),
        ("SK", &by_id),
        ("GSI1PK", &by_id),
        ("GSI1SK", &by_id),
        ("GSI2PK", &by_name),
        ("GSI2SK", &by_name),
    ];
    let guard: &[(&str, &str)] = &[("PK", &by_name), ("SK", &by_name)];
    [own, guard].iter().map(|keys| put_new(&[keys, named].concat())).collect()
}

/// The client that `docs/wire.md` shows; `guides.rs` compares it.
#[expect(clippy::let_and_return, reason = "as on the page")]
async fn as_configured() -> Client {
    let config = aws_config::defaults(aws_config::BehaviorVersion::latest())
        .endpoint_url("http://127.0.0.1:8000")
        .region("us-east-1")
        .test_credentials()
        .load()
        .await;
    let client = aws_sdk_dynamodb::Client::new(&config);
    client
}

#[test]
fn the_settings_of_the_guide_are_accepted() {
    let served = Served::start("rust-guide");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // Here the server has another port, and the SDK is built without an HTTP client of its own.
        let config = as_configured().await.config().to_builder();
        let config = config.http_client(Builder::new().build_http()).endpoint_url(&served.url);
        let tables = Client::from_conf(config.build()).list_tables().send().await.unwrap();
        assert!(tables.table_names().is_empty());
    });
}

#[test]
fn names_of_ingredients_are_unique_and_found_by_index() {
    with_client("rust-recipes", |client| async move {
        let indexes: &[(&str, &[&str], &[&str])] = &[
            ("GSI1", &["GSI1PK", "GSI1SK"], &[]),
            ("GSI2", &["GSI2PK", "GSI2SK"], &["id", "name"]),
        ];
        make(&client, "recipes", &["PK", "SK"], indexes).await;
        let write = |items| client.transact_write_items().set_transact_items(Some(items)).send();
        for (number, name) in [("1", "tomatoes"), ("2", "leeks"), ("3", "mushrooms")] {
            write(ingredient(number, name)).await.unwrap();
        }
        let refused = write(ingredient("9", "tomatoes")).await.unwrap_err().into_service_error();
        let aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError::TransactionCanceledException(canceled) = refused
        else {
            panic!("{refused:?}")
        };
        let codes: Vec<_> = canceled.cancellation_reasons().iter().map(|why| why.code()).collect();
        assert_eq!(codes, [Some("None"), Some("ConditionalCheckFailed")]);

        let category = query(&client, "recipes", "PK = :0", &["CATEGORY#1"]).send().await.unwrap();
        assert_eq!(texts(category.items(), "name"), ["tomatoes", "leeks", "mushrooms"]);
        let by_name = query(&client, "recipes", "GSI2PK = :0", &["INGREDIENTNAME#mushrooms"])
            .index_name("GSI2")
            .projection_expression("id, #n")
            .expression_attribute_names("#n", "name");
        let by_name = by_name.send().await.unwrap();
        assert_eq!(by_name.items(), [item(&[("id", "3"), ("name", "mushrooms")])]);
    });
}

#[test]
fn tasks_are_found_by_tag_and_read_in_a_batch() {
    with_client("rust-tagging", |client| async move {
        make(&client, "tagging", &["pk", "sk"], &[("by_kind", &["kind", "sk"], &[])]).await;
        let mut rows = Vec::new();
        for number in 0..12 {
            let task = format!("task#{number:03}");
            let project = if number % 2 == 0 { "alpha" } else { "beta" };
            rows.push(item(&[
                ("pk", &task),
                ("sk", &task),
                ("kind", "task"),
                ("project", project),
            ]));
            rows.push(item(&[("pk", "tag#project"), ("sk", &format!("{project}#{task}"))]));
        }
        for rows in rows.chunks(25) {
            let put = |row: &Item| PutRequest::builder().set_item(Some(row.clone())).build();
            let write = |row| WriteRequest::builder().put_request(put(row).unwrap()).build();
            let writes = rows.iter().map(write).collect();
            let written = client.batch_write_item().request_items("tagging", writes).send().await;
            assert!(written.unwrap().unprocessed_items().unwrap().is_empty());
        }
        let pages = query(&client, "tagging", "kind = :0", &["task"]).index_name("by_kind");
        let all: Result<Vec<Item>, _> =
            pages.into_paginator().page_size(5).items().send().collect().await;
        assert_eq!(
            texts(&all.unwrap(), "sk"),
            (0..12).map(|n| format!("task#{n:03}")).collect::<Vec<_>>()
        );

        let condition = "pk = :0 AND begins_with(sk, :1)";
        let tagged = query(&client, "tagging", condition, &["tag#project", "alpha#"]);
        let ids = texts(tagged.send().await.unwrap().items(), "sk");
        let keys = ids.iter().map(|id| id.strip_prefix("alpha#").unwrap());
        let keys = keys.map(|task| item(&[("pk", task), ("sk", task)])).collect();
        let keys = KeysAndAttributes::builder().set_keys(Some(keys)).build().unwrap();
        let got = client.batch_get_item().request_items("tagging", keys).send().await.unwrap();
        assert_eq!(texts(&got.responses().unwrap()["tagging"], "project"), ["alpha"; 6]);
    });
}

#[test]
fn comments_come_newest_first_by_four_indexes() {
    with_client("rust-comments", |client| async move {
        let indexes: Vec<(&str, &[&str], &[&str])> = vec![
            ("gsi1", &["gsi1pk", "cd"], &[]),
            ("gsi2", &["gsi2pk", "cd"], &[]),
            ("gsi3", &["gsi3pk", "cd"], &[]),
            ("gsi4", &["gsi4pk", "cd"], &[]),
        ];
        make(&client, "comments", &["pk", "sk"], &indexes).await;
        for number in 0..45 {
            let (language, rating) = (["en", "de", "fr"][number % 3], number % 5 + 1);
            let row = item(&[
                ("pk", &format!("COMMENT#{number}")),
                ("sk", "PRODUCT#42"),
                ("cd", &format!("2020-11-09 12:{number:02}")),
                ("gsi1pk", &format!("42/{language}/{rating}")),
                ("gsi2pk", &format!("42/{language}/~")),
                ("gsi3pk", &format!("42/~/{rating}")),
                ("gsi4pk", "42/~/~"),
            ]);
            client.put_item().table_name("comments").set_item(Some(row)).send().await.unwrap();
        }
        let newest = |index: usize, value: &str| {
            let request = query(&client, "comments", &format!("gsi{index}pk = :0"), &[value]);
            request.index_name(format!("gsi{index}")).scan_index_forward(false)
        };
        for (index, value, count) in
            [(1, "42/en/1", 3), (2, "42/de/~", 15), (3, "42/~/5", 9), (4, "42/~/~", 45)]
        {
            let dates = texts(newest(index, value).send().await.unwrap().items(), "cd");
            assert!(
                dates.len() == count && dates.is_sorted_by(|left, right| left > right),
                "{dates:?}"
            );
        }
        // The eleventh shows whether there is a next page.
        let first = newest(4, "42/~/~").limit(11).send().await.unwrap();
        assert_eq!((first.count(), &*texts(first.items(), "cd")[0]), (11, "2020-11-09 12:44"));
        let second =
            newest(4, "42/~/~").limit(11).set_exclusive_start_key(first.last_evaluated_key);
        assert_eq!(texts(second.send().await.unwrap().items(), "cd")[0], "2020-11-09 12:33");
    });
}

#[test]
fn every_query_of_the_on_call_table_is_answered() {
    with_client("rust-manhunt", |client| async move {
        let indexes: &[(&str, &[&str], &[&str])] =
            &[("GSI1", &["GSI1PK", "GSI1SK"], &[]), ("GSI2", &["GSI2PK", "GSI1SK"], &[])];
        make(&client, "manhunt", &["PK", "SK"], indexes).await;
        let search = |id, date, status| {
            [("PK", id), ("SK", "search"), ("GSI1PK", "c1"), ("GSI1SK", date), ("GSI2PK", status)]
        };
        let rows: &[&[(&str, &str)]] = &[
            &[("PK", "c1"), ("SK", "contact"), ("GSI1PK", "d1"), ("GSI1SK", "Zoe")],
            &[("PK", "c2"), ("SK", "contact"), ("GSI1PK", "d1"), ("GSI1SK", "Adam")],
            &[("PK", "c1"), ("SK", "contactMethod#1")],
            &[("PK", "c1"), ("SK", "contactMethod#2")],
            &search("s1", "2019-03-01", "active#c1"),
            &search("s2", "2019-01-01", "done#c1"),
            &search("s3", "2019-02-01", "active#c1"),
            &[("PK", "s1"), ("SK", "searchAttempt#1")],
        ];
        for row in rows {
            client.put_item().table_name("manhunt").set_item(Some(item(row))).send().await.unwrap();
        }
        type Case =
            (&'static str, &'static [&'static str], Option<&'static str>, &'static [&'static str]);
        let cases: &[Case] = &[
            ("PK = :0 AND SK = :1", &["s1", "search"], None, &["s1/search"]),
            ("PK = :0", &["s1"], None, &["s1/search", "s1/searchAttempt#1"]),
            ("PK = :0 AND SK = :1", &["c1", "contact"], None, &["c1/contact"]),
            ("PK = :0", &["c1"], None, &["c1/contact", "c1/contactMethod#1", "c1/contactMethod#2"]),
            ("GSI1PK = :0", &["d1"], Some("GSI1"), &["c2/contact", "c1/contact"]),
            ("GSI1PK = :0", &["c1"], Some("GSI1"), &["s2/search", "s3/search", "s1/search"]),
            (
                "GSI1PK = :0 AND GSI1SK < :1",
                &["c1", "2019-03-01"],
                Some("GSI1"),
                &["s2/search", "s3/search"],
            ),
            (
                "GSI1PK = :0 AND GSI1SK > :1",
                &["c1", "2019-01-01"],
                Some("GSI1"),
                &["s3/search", "s1/search"],
            ),
            ("GSI2PK = :0", &["active#c1"], Some("GSI2"), &["s3/search", "s1/search"]),
            (
                "GSI2PK = :0 AND GSI1SK < :1",
                &["active#c1", "2019-03-01"],
                Some("GSI2"),
                &["s3/search"],
            ),
        ];
        for (condition, values, index, expected) in cases {
            let request = query(&client, "manhunt", condition, values);
            let found = request.set_index_name(index.map(str::to_owned)).send().await.unwrap();
            let (first, second) = (texts(found.items(), "PK"), texts(found.items(), "SK"));
            let ids: Vec<_> =
                first.iter().zip(second).map(|(pk, sk)| format!("{pk}/{sk}")).collect();
            assert_eq!(ids, *expected, "{condition}");
        }
    });
}
