//! On-demand and continuous backups, and what is restored from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyloom_dynamodb::{Endpoint, EndpointOptions};
use keyloom_store::{Background, Clock, Engine, Feed, Options, TableName};
use keyloom_testkit::{ManualClock, SimDisk};
use pollster::block_on;
use proptest::prelude::*;

use crate::service::{Service, member};

fn put(service: &Service, id: &str, n: u32) {
    service.ok("PutItem", &format!(r#"{{"TableName":"tasks","Item":{{"list":{{"S":"a"}},"id":{{"S":"{id}"}},"due":{{"N":"{n}"}}}}}}"#));
}

fn delete(service: &Service, id: &str) {
    service.ok(
        "DeleteItem",
        &format!(r#"{{"TableName":"tasks","Key":{{"list":{{"S":"a"}},"id":{{"S":"{id}"}}}}}}"#),
    );
}

/// All items of a table, by the index on `due`.
fn items(service: &Service, table: &str) -> String {
    let body = format!(
        r##"{{"TableName":"{table}","IndexName":"by_due","KeyConditionExpression":"#l = :a","ExpressionAttributeNames":{{"#l":"list"}},"ExpressionAttributeValues":{{":a":{{"S":"a"}}}}}}"##
    );
    service.ok("Query", &body)
}

fn create_backup(service: &Service, name: &str) -> String {
    let body =
        service.ok("CreateBackup", &format!(r#"{{"TableName":"tasks","BackupName":"{name}"}}"#));
    assert_eq!(member(&body, "BackupStatus"), "AVAILABLE");
    member(&body, "BackupArn").to_owned()
}

fn restore(service: &Service, arn: &str, to: &str) -> String {
    let body = format!(r#"{{"BackupArn":"{arn}","TargetTableName":"{to}"}}"#);
    service.ok("RestoreTableFromBackup", &body)
}

#[test]
fn a_backup_is_created_described_listed_restored_and_deleted() {
    let service = Service::with_tasks();
    (0..60).for_each(|n| put(&service, &format!("{n:02}"), n));
    let before = items(&service, "tasks");
    let arn = create_backup(&service, "first");
    (0..60).for_each(|n| put(&service, &format!("{n:02}"), 99));
    let describe = format!(r#"{{"BackupArn":"{arn}"}}"#);
    let described = service.ok("DescribeBackup", &describe);
    assert!(described.contains(r#""ItemCount":60"#), "{described}");
    assert!(described.contains(r#""IndexName":"by_due""#), "{described}");
    assert!(described.contains(r#""BillingMode":"PAY_PER_REQUEST""#), "{described}");
    let restored = restore(&service, &arn, "again");
    assert_eq!(member(&restored, "SourceBackupArn"), arn);
    assert_eq!(items(&service, "again"), before);
    // The backup outlives its table.
    service.ok("DeleteTable", r#"{"TableName":"tasks"}"#);
    restore(&service, &arn, "third");
    assert_eq!(items(&service, "third"), before);
    let listed = service.ok("ListBackups", r#"{"TableName":"tasks"}"#);
    assert_eq!(member(&listed, "BackupArn"), arn);
    assert_eq!(service.ok("ListTables", "{}"), r#"{"TableNames":["again","third"]}"#);
    let deleted = service.ok("DeleteBackup", &describe);
    assert_eq!(member(&deleted, "BackupStatus"), "DELETED");
    let gone = format!("!BackupNotFoundException: Backup not found: {arn}");
    service.check(&[
        ("DescribeBackup", &describe, &gone),
        ("DeleteBackup", &describe, &gone),
        (
            "RestoreTableFromBackup",
            &format!(r#"{{"BackupArn":"{arn}","TargetTableName":"x-x"}}"#),
            &gone,
        ),
        ("ListBackups", "{}", r#"{"BackupSummaries":[]}"#),
    ]);
}

#[test]
fn backups_are_listed_in_pages_and_by_time() {
    let service = Service::with_tasks();
    let mut arns = Vec::new();
    for n in 0..5 {
        arns.push(create_backup(&service, &format!("backup-{n}")));
        // Two of them at the same time.
        service.clock.advance_ms(if n == 2 { 0 } else { 1000 });
    }
    let (mut found, mut after) = (Vec::new(), String::new());
    while found.len() < 5 {
        let body = service.ok("ListBackups", &format!(r#"{{"Limit":2{after}}}"#));
        let page = body.split(r#""BackupArn":""#).skip(1);
        found.extend(page.map(|rest| rest.split('"').next().unwrap().to_owned()));
        if found.len() < 5 {
            let last = member(&body, "LastEvaluatedBackupArn");
            after = format!(r#","ExclusiveStartBackupArn":"{last}""#);
        } else {
            assert!(!body.contains("LastEvaluatedBackupArn"));
        }
    }
    assert_eq!(found, arns);
    let now = Clock::now(&service.clock).secs();
    let count = |range: &str| {
        service.ok("ListBackups", &format!("{{{range}}}")).matches("BackupArn").count()
    };
    assert_eq!(count(&format!(r#""TimeRangeLowerBound":{}"#, now - 2)), 3);
    assert_eq!(count(&format!(r#""TimeRangeUpperBound":{}.5"#, now - 4)), 1);
    assert_eq!(count(r#""BackupType":"SYSTEM""#), 0);
}

#[test]
fn invalid_requests_about_backups_are_rejected() {
    let service = Service::with_tasks();
    let arn = create_backup(&service, "first");
    let restore = |rest: &str| format!(r#"{{"BackupArn":"{arn}","TargetTableName":"new"{rest}}}"#);
    let invalid = "!ValidationException: Invalid Request: ";
    service.check(&[
        ("CreateBackup", r#"{"TableName":"none","BackupName":"abc"}"#, "!TableNotFoundException: Table not found: none"),
        (
            "CreateBackup",
            r#"{"TableName":"tasks","BackupName":"a"}"#,
            "!ValidationException: 1 validation error detected: Value 'a' at 'backupName' failed to satisfy constraint: Member must have length greater than or equal to 3",
        ),
        (
            "DescribeBackup",
            r#"{"BackupArn":"nonsense"}"#,
            "!ValidationException: 1 validation error detected: Value 'nonsense' at 'backupArn' failed to satisfy constraint: Member must have length greater than or equal to 37",
        ),
        (
            "DescribeBackup",
            r#"{"BackupArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tasks"}"#,
            "!ValidationException: Invalid Backup ARN",
        ),
        (
            "RestoreTableFromBackup",
            &restore("").replace("\"new\"", "\"tasks\""),
            "!TableAlreadyExistsException: Table already exists: tasks",
        ),
        (
            "RestoreTableFromBackup",
            &restore(r#","GlobalSecondaryIndexOverride":[{"IndexName":"other"}]"#),
            &format!("{invalid}Index other does not match a secondary index that existed in the source table and cannot be created during the restore operation"),
        ),
        (
            "RestoreTableFromBackup",
            &restore(r#","BillingModeOverride":"PROVISIONED""#),
            &format!("{invalid}Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"),
        ),
        ("DescribeContinuousBackups", r#"{"TableName":"none"}"#, "!TableNotFoundException: Table not found: none"),
        (
            "RestoreTableToPointInTime",
            r#"{"SourceTableName":"tasks","TargetTableName":"new","UseLatestRestorableTime":true}"#,
            "!PointInTimeRecoveryUnavailableException: Point in time recovery is not enabled for table 'tasks'",
        ),
        (
            "RestoreTableToPointInTime",
            r#"{"SourceTableName":"tasks","TargetTableName":"new"}"#,
            &format!("{invalid}Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both"),
        ),
    ]);
    // Fewer indexes, and another throughput.
    let body = service.ok("RestoreTableFromBackup", &restore(r#","GlobalSecondaryIndexOverride":[],"BillingModeOverride":"PROVISIONED","ProvisionedThroughputOverride":{"ReadCapacityUnits":3,"WriteCapacityUnits":4}"#));
    assert!(!body.contains("by_due") && body.contains("by_title"), "{body}");
    assert!(body.contains(r#""ReadCapacityUnits":3"#), "{body}");
}

fn enable_recovery(service: &Service) {
    let body = r#"{"TableName":"tasks","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}"#;
    let body = service.ok("UpdateContinuousBackups", body);
    assert_eq!(member(&body, "PointInTimeRecoveryStatus"), "ENABLED");
}

#[test]
fn continuous_backups_are_described_enabled_and_disabled() {
    let service = Service::with_tasks();
    let describe = r#"{"TableName":"tasks"}"#;
    let off = r#"{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}"#;
    service.check(&[("DescribeContinuousBackups", describe, off)]);
    enable_recovery(&service);
    // It is no stream.
    assert_eq!(service.ok("ListStreams", "{}"), r#"{"Streams":[]}"#);
    assert!(!service.ok("DescribeTable", describe).contains("Stream"));
    let name = TableName::new("tasks").unwrap();
    let feed = || {
        let table = keyloom_store::Read::describe_table(&*service.store, name.clone());
        block_on(table).unwrap().spec.feed
    };
    assert_eq!(feed(), Feed::Images);
    let disable = r#"{"TableName":"tasks","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":false}}"#;
    service.check(&[("UpdateContinuousBackups", disable, off)]);
    assert_eq!(feed(), Feed::Off);
}

/// What was written, deleted, written again and expired is as it was.
/// Readers and writers of a table that is there must not notice that somebody wants its name.
#[test]
fn restoring_into_a_table_that_exists_leaves_it_as_it_is() {
    let service = Service::with_tasks();
    put(&service, "a", 1);
    let arn = create_backup(&service, "first");
    put(&service, "b", 2);
    let before = items(&service, "tasks");
    let into = format!(r#"{{"BackupArn":"{arn}","TargetTableName":"tasks"}}"#);
    for _ in 0..2 {
        let exists = "!TableAlreadyExistsException: Table already exists: tasks";
        service.check(&[("RestoreTableFromBackup", &into, exists)]);
        assert_eq!(items(&service, "tasks"), before);
    }
}

#[test]
fn a_table_is_restored_to_every_second_of_its_past() {
    let service = Service::with_tasks();
    put(&service, "old", 1);
    put(&service, "kept", 1);
    service.clock.advance_ms(1000);
    enable_recovery(&service);
    let mut states = BTreeMap::new();
    for n in 0..20_u32 {
        put(&service, &format!("{}", n % 7), n);
        if n % 3 == 0 {
            delete(&service, &format!("{}", (n + 2) % 7));
        }
        if n == 5 {
            delete(&service, "old");
        }
        states.insert(Clock::now(&service.clock).secs(), items(&service, "tasks"));
        service.clock.advance_ms(1000);
    }
    for (at, expected) in states {
        let table = format!("at-{at}");
        service.ok("RestoreTableToPointInTime", &format!(r#"{{"SourceTableName":"tasks","TargetTableName":"{table}","RestoreDateTime":{at}}}"#));
        assert_eq!(items(&service, &table), expected, "{at}");
    }
    service.check(&[(
        "RestoreTableToPointInTime",
        r#"{"SourceTableName":"tasks","TargetTableName":"new","RestoreDateTime":1}"#,
        "!InvalidRestoreTimeException: Invalid Request: RestoreDateTime is out of the recovery window",
    )]);
}

/// An id that was too long for a key was a server error.
#[test]
fn long_names_of_backups_are_refused() {
    let service = Service::with_tasks();
    let arn = |length: usize| {
        let start = "arn:aws:dynamodb:us-east-1:000000000000:table/tasks/backup/";
        format!("{start}{}", "1".repeat(length - start.len()))
    };
    for operation in ["DescribeBackup", "DeleteBackup", "RestoreTableFromBackup"] {
        let call = |arn: &str| {
            let body = format!(r#"{{"BackupArn":"{arn}","TargetTableName":"new"}}"#);
            service.call(operation, &body).body
        };
        assert!(call(&arn(1024)).contains("#BackupNotFoundException"), "{operation}");
        for length in [1025, 5000] {
            let body = call(&arn(length));
            assert!(body.contains("Member must have length less than or equal to 1024"), "{body}");
        }
    }
}

proptest! {
    /// On the engine too, whatever was written.
    #[test]
    fn a_random_past_is_restored(writes in proptest::collection::vec((0..6_u32, 0..3_u32), 1..40), cut in 0..40_usize) {
        let (engine, endpoint, clock) = opened(&SimDisk::new(1));
        let call = |name: &str, body: &str| {
            let reply = block_on(endpoint.call(&format!("DynamoDB_20120810.{name}"), body.as_bytes()));
            assert_eq!(reply.status, 200, "{name} {body}: {}", reply.body);
            reply.body
        };
        call("CreateTable", r#"{"TableName":"any","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"key","AttributeType":"N"}],"KeySchema":[{"AttributeName":"key","KeyType":"HASH"}]}"#);
        call("UpdateContinuousBackups", r#"{"TableName":"any","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}}"#);
        let mut state = (Clock::now(&clock).secs(), call("Scan", r#"{"TableName":"any"}"#));
        for (n, (key, value)) in writes.iter().enumerate() {
            clock.advance_ms(1000);
            match value {
                0 => call("DeleteItem", &format!(r#"{{"TableName":"any","Key":{{"key":{{"N":"{key}"}}}}}}"#)),
                value => call("PutItem", &format!(r#"{{"TableName":"any","Item":{{"key":{{"N":"{key}"}},"v":{{"N":"{value}"}}}}}}"#)),
            };
            if n == cut {
                state = (Clock::now(&clock).secs(), call("Scan", r#"{"TableName":"any"}"#));
            }
        }
        let (at, expected) = state;
        call("RestoreTableToPointInTime", &format!(r#"{{"SourceTableName":"any","TargetTableName":"past","RestoreDateTime":{at}}}"#));
        prop_assert_eq!(call("Scan", r#"{"TableName":"past"}"#), expected);
        drop(endpoint);
        drop(engine);
    }
}

fn opened(disk: &SimDisk) -> (Arc<Engine>, Endpoint, ManualClock) {
    let clock = ManualClock::new();
    let (disk, shared) = (Arc::new(disk.clone()), Arc::new(clock.clone()));
    let options = Options {
        disk,
        clock: shared.clone(),
        memory_bytes: 8 << 20,
        log_segment_bytes: 1 << 20,
        background: Background::Manual,
        ..Options::default()
    };
    let engine = Arc::new(Engine::open("data", options).unwrap());
    let options = EndpointOptions { clock: shared, ..EndpointOptions::default() };
    (engine.clone(), Endpoint::new(engine, options), clock)
}

/// A server that was killed while it copied leaves neither half a backup nor half a table.
#[test]
fn unfinished_copies_are_dropped_when_the_server_starts() {
    let disk = SimDisk::new(1);
    let (engine, endpoint, _) = opened(&disk);
    let call = |endpoint: &Endpoint, name: &str, body: &str| {
        block_on(endpoint.call(&format!("DynamoDB_20120810.{name}"), body.as_bytes())).body
    };
    let key = r#""BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"key","AttributeType":"N"}],"KeySchema":[{"AttributeName":"key","KeyType":"HASH"}]"#;
    call(&endpoint, "CreateTable", &format!(r#"{{"TableName":"any",{key}}}"#));
    for n in 0..30 {
        call(
            &endpoint,
            "PutItem",
            &format!(r#"{{"TableName":"any","Item":{{"key":{{"N":"{n}"}}}}}}"#),
        );
    }
    let made = call(&endpoint, "CreateBackup", r#"{"TableName":"any","BackupName":"whole"}"#);
    let arn = member(&made, "BackupArn").to_owned();
    // As if the copies had been cut: both are marked as being made by an opening that is gone.
    mark_unfinished(&engine, "keyloom.dynamodb.backups", |row| {
        row.insert("copied_by", "1");
    });
    call(&endpoint, "CreateTable", &format!(r#"{{"TableName":"half",{key}}}"#));
    mark_unfinished(&engine, "keyloom.dynamodb.tables", |row| {
        if row.get("table").and_then(keyloom_value::Value::as_s) == Some("half") {
            let mut restored = keyloom_value::Item::from([("table", "any"), ("copied_by", "1")]);
            restored.insert("at", 0_u64);
            row.insert("restored", restored);
        }
    });
    // What only a restore used, and the items of a backup whose record is deleted already.
    for name in ["keyloom.dynamodb.absent.x", "keyloom.dynamodb.backup.y"] {
        let key = keyloom_store::KeySchema::partition("key", keyloom_store::KeyType::N);
        let spec = keyloom_store::TableSpec::new(TableName::new(name).unwrap(), key);
        block_on(keyloom_store::Store::create_table(&*engine, spec)).unwrap();
    }
    block_on(endpoint.recover()).unwrap();
    assert_eq!(call(&endpoint, "ListTables", "{}"), r#"{"TableNames":["any"]}"#);
    assert_eq!(call(&endpoint, "ListBackups", "{}"), r#"{"BackupSummaries":[]}"#);
    let described = call(&endpoint, "DescribeBackup", &format!(r#"{{"BackupArn":"{arn}"}}"#));
    assert!(described.contains("BackupNotFoundException"), "{described}");
    let tables = block_on(keyloom_store::Read::list_tables(&*engine)).unwrap();
    let names: Vec<&str> = tables.iter().map(TableName::as_str).collect();
    assert_eq!(names, ["any", "keyloom.dynamodb.backups", "keyloom.dynamodb.tables"]);
}

fn mark_unfinished(engine: &Engine, table: &str, change: impl Fn(&mut keyloom_value::Item)) {
    let table = TableName::new(table).unwrap();
    let page = block_on(keyloom_store::Read::scan(engine, keyloom_store::Scan::new(&table)));
    for mut row in page.unwrap().items {
        change(&mut row);
        let put = keyloom_store::Put::new(&table, row);
        block_on(keyloom_store::Store::put(engine, put)).unwrap();
    }
}

/// Completed ones survive a restart.
#[test]
fn backups_survive_a_restart() {
    let disk = SimDisk::new(1);
    let (engine, endpoint, _) = opened(&disk);
    let call = |endpoint: &Endpoint, name: &str, body: &str| {
        block_on(endpoint.call(&format!("DynamoDB_20120810.{name}"), body.as_bytes())).body
    };
    call(
        &endpoint,
        "CreateTable",
        r#"{"TableName":"any","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"key","AttributeType":"N"}],"KeySchema":[{"AttributeName":"key","KeyType":"HASH"}]}"#,
    );
    call(&endpoint, "PutItem", r#"{"TableName":"any","Item":{"key":{"N":"1"}}}"#);
    let made = call(&endpoint, "CreateBackup", r#"{"TableName":"any","BackupName":"whole"}"#);
    let arn = member(&made, "BackupArn").to_owned();
    drop((endpoint, engine));
    let (_engine, endpoint, _) = opened(&disk);
    block_on(endpoint.recover()).unwrap();
    call(
        &endpoint,
        "RestoreTableFromBackup",
        &format!(r#"{{"BackupArn":"{arn}","TargetTableName":"again"}}"#),
    );
    assert_eq!(
        call(&endpoint, "Scan", r#"{"TableName":"again"}"#),
        r#"{"Items":[{"key":{"N":"1"}}],"Count":1,"ScannedCount":1}"#
    );
}

/// A table too large for one request is copied on a thread, and not found before it is whole.
#[test]
fn a_large_table_is_copied_in_the_background() {
    let (_engine, endpoint, _) = opened(&SimDisk::new(1));
    let call = |name: &str, body: &str| {
        block_on(endpoint.call(&format!("DynamoDB_20120810.{name}"), body.as_bytes())).body
    };
    call(
        "CreateTable",
        r#"{"TableName":"any","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"key","AttributeType":"N"}],"KeySchema":[{"AttributeName":"key","KeyType":"HASH"}]}"#,
    );
    for chunk in 0..440 {
        let puts = (0..25).map(|n| {
            format!(r#"{{"PutRequest":{{"Item":{{"key":{{"N":"{}"}}}}}}}}"#, chunk * 25 + n)
        });
        let puts = puts.collect::<Vec<_>>().join(",");
        call("BatchWriteItem", &format!(r#"{{"RequestItems":{{"any":[{puts}]}}}}"#));
    }
    let body = call("CreateBackup", r#"{"TableName":"any","BackupName":"large"}"#);
    let arn = member(&body, "BackupArn").to_owned();
    assert_eq!(member(&body, "BackupStatus"), "CREATING");
    let describe = format!(r#"{{"BackupArn":"{arn}"}}"#);
    while member(&call("DescribeBackup", &describe), "BackupStatus") == "CREATING" {
        std::thread::yield_now();
    }
    call(
        "RestoreTableFromBackup",
        &format!(r#"{{"BackupArn":"{arn}","TargetTableName":"again"}}"#),
    );
    let describe = r#"{"TableName":"again"}"#;
    while member(&call("DescribeTable", describe), "TableStatus") == "CREATING" {
        let found = call("Scan", r#"{"TableName":"again","Select":"COUNT"}"#);
        let is_whole = found.contains(r#""Count":11000"#);
        assert!(is_whole || found.contains("ResourceNotFoundException"), "{found}");
        std::thread::yield_now();
    }
    let table = call("DescribeTable", describe);
    let is_restored = table.contains(r#""RestoreInProgress":false"#);
    assert!(table.contains(r#""ItemCount":11000"#) && is_restored, "{table}");
}
