//! The service that mutated requests are sent to, and valid requests for every operation.

use crate::service::{Service, member};

/// A request that is accepted as it is.
#[derive(Clone, Debug)]
pub(super) struct Seed {
    pub(super) operation: &'static str,
    pub(super) body: String,
}

/// What the service of [`staged`] has named, always the same way.
struct Names {
    stream: String,
    shard: String,
    iterator: String,
    sequence: String,
    backup: String,
    token: String,
}

/// Creates a service with a table that has items, a stream and a backup.
pub(super) fn staged() -> Service {
    named().0
}

/// Returns valid requests for the service of [`staged`], at least one for every operation.
pub(super) fn seeds() -> Vec<Seed> {
    let (_, names) = named();
    let places = [
        ("$STREAM", &names.stream),
        ("$SHARD", &names.shard),
        ("$ITERATOR", &names.iterator),
        ("$SEQUENCE", &names.sequence),
        ("$BACKUP", &names.backup),
        ("$TOKEN", &names.token),
    ];
    let filled = |body: &str| {
        places.iter().fold(body.to_owned(), |body, (place, name)| body.replace(place, name))
    };
    let of = |&(operation, body): &(&'static str, &str)| Seed { operation, body: filled(body) };
    [READS, WRITES, LEGACY, PARTIQL, TABLES, STREAMS, BACKUPS]
        .iter()
        .flat_map(|seeds| seeds.iter().map(of))
        .collect()
}

fn named() -> (Service, Names) {
    let service = Service::with_tasks();
    let stream =
        r#""StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}"#;
    let table = service.ok("UpdateTable", &format!(r#"{{"TableName":"tasks",{stream}}}"#));
    for (id, more) in ITEMS {
        let key = format!(r#""list":{{"S":"a"}},"id":{{"S":"{id}"}}"#);
        service.ok("PutItem", &format!(r#"{{"TableName":"tasks","Item":{{{key}{more}}}}}"#));
    }
    let backup = service.ok("CreateBackup", r#"{"TableName":"tasks","BackupName":"first"}"#);
    let continuous = r#""PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}"#;
    service.ok("UpdateContinuousBackups", &format!(r#"{{"TableName":"tasks",{continuous}}}"#));
    service.clock.advance_ms(3000);
    let page = service.ok("ExecuteStatement", r#"{"Statement":"SELECT * FROM tasks","Limit":1}"#);
    let stream = member(&table, "LatestStreamArn").to_owned();
    let shards = service.ok("DescribeStream", &format!(r#"{{"StreamArn":"{stream}"}}"#));
    let shard = member(&shards, "ShardId").to_owned();
    let from = r#""ShardIteratorType":"TRIM_HORIZON""#;
    let iterator = service.ok(
        "GetShardIterator",
        &format!(r#"{{"StreamArn":"{stream}","ShardId":"{shard}",{from}}}"#),
    );
    let iterator = member(&iterator, "ShardIterator").to_owned();
    let records = service.ok("GetRecords", &format!(r#"{{"ShardIterator":"{iterator}"}}"#));
    let names = Names {
        sequence: member(&records, "SequenceNumber").to_owned(),
        backup: member(&backup, "BackupArn").to_owned(),
        token: member(&page, "NextToken").to_owned(),
        stream,
        shard,
        iterator,
    };
    (service, names)
}

const ITEMS: &[(&str, &str)] = &[
    ("1", r#","due":{"N":"1"},"title":{"S":"t"},"a":{"N":"1"},"f":{"SS":["a","b"]}"#),
    (
        "2",
        r#","a":{"N":"3"},"f":{"SS":["q"]},"due":{"N":"-2.5"},"x":{"L":[{"N":"1"},{"M":{"c":{"S":"d"}}}]},"b":{"L":[]}"#,
    ),
    ("3", r#","title":{"S":"t"},"m":{"M":{"k":{"L":[{"BOOL":true}]},"z":{"NULL":true}}}"#),
    ("4", r#","due":{"N":"1"},"y":{"B":"AQID"},"bs":{"BS":["AQ=="]},"ns":{"NS":["1","2"]}"#),
];

const READS: &[(&str, &str)] = &[
    (
        "GetItem",
        r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ProjectionExpression":"a, #b.c[1], m.k","ExpressionAttributeNames":{"#b":"b"},"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}"##,
    ),
    (
        "Query",
        r##"{"TableName":"tasks","IndexName":"by_due","KeyConditionExpression":"#l = :a AND due BETWEEN :n AND :m","ExpressionAttributeNames":{"#l":"list"},"FilterExpression":"NOT (id IN (:a) OR begins_with(id, :a)) AND (attribute_type(id, :t) OR size(id) >= :n)","ExpressionAttributeValues":{":a":{"S":"a"},":n":{"N":"0"},":m":{"N":"9.5e2"},":t":{"S":"S"}},"Limit":3,"ScanIndexForward":false,"ExclusiveStartKey":{"list":{"S":"a"},"id":{"S":"4"},"due":{"N":"1"}}}"##,
    ),
    (
        "Query",
        r##"{"TableName":"tasks","IndexName":"by_title","KeyConditionExpression":"#l = :a AND begins_with(title, :t)","ExpressionAttributeNames":{"#l":"list"},"ExpressionAttributeValues":{":a":{"S":"a"},":t":{"S":"t"}},"Select":"SPECIFIC_ATTRIBUTES","ProjectionExpression":"id, m.k[0]","ConsistentRead":true,"ReturnConsumedCapacity":"INDEXES"}"##,
    ),
    (
        "Scan",
        r##"{"TableName":"tasks","FilterExpression":"attribute_exists(m.k) AND contains(f, :s) OR x[1].c <> :s AND attribute_not_exists(q)","ExpressionAttributeValues":{":s":{"S":"a"}},"Segment":0,"TotalSegments":2,"Limit":4,"Select":"ALL_ATTRIBUTES"}"##,
    ),
    (
        "Scan",
        r##"{"TableName":"tasks","IndexName":"by_due","Select":"COUNT","ExclusiveStartKey":{"list":{"S":"a"},"id":{"S":"1"},"due":{"N":"1"}}}"##,
    ),
    (
        "BatchGetItem",
        r##"{"RequestItems":{"tasks":{"Keys":[{"list":{"S":"a"},"id":{"S":"1"}},{"list":{"S":"a"},"id":{"S":"9"}}],"ProjectionExpression":"a, b.c","ConsistentRead":false}},"ReturnConsumedCapacity":"TOTAL"}"##,
    ),
    (
        "TransactGetItems",
        r##"{"TransactItems":[{"Get":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ProjectionExpression":"#x","ExpressionAttributeNames":{"#x":"a"}}},{"Get":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"7"}}}}],"ReturnConsumedCapacity":"INDEXES"}"##,
    ),
];

const WRITES: &[(&str, &str)] = &[
    (
        "PutItem",
        r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"5"},"due":{"N":"1.5e3"},"x":{"L":[{"M":{"a":{"NULL":true}}},{"B":"AQID"},{"NS":["1","2"]},{"BS":["AQ==","Ag=="]},{"BOOL":false}]}},"ConditionExpression":"attribute_not_exists(#a) OR size(x) > :n","ExpressionAttributeNames":{"#a":"id"},"ExpressionAttributeValues":{":n":{"N":"0"}},"ReturnConsumedCapacity":"INDEXES","ReturnValues":"ALL_OLD","ReturnItemCollectionMetrics":"SIZE","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}"##,
    ),
    (
        "UpdateItem",
        r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"2"}},"UpdateExpression":"SET a = if_not_exists(a, :n) + :n, x[1].c = :n, b = list_append(b, :l) REMOVE d, x[0] ADD e :n DELETE f :s","ConditionExpression":"#x[1].c <> :s AND (a > :n OR attribute_not_exists(a))","ExpressionAttributeNames":{"#x":"x"},"ExpressionAttributeValues":{":n":{"N":"1"},":s":{"SS":["a"]},":l":{"L":[{"S":"y"}]}},"ReturnValues":"UPDATED_NEW"}"##,
    ),
    (
        "DeleteItem",
        r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"3"}},"ConditionExpression":"m.k[0] = :t AND title BETWEEN :a AND :z","ExpressionAttributeValues":{":t":{"BOOL":true},":a":{"S":"a"},":z":{"S":"z"}},"ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"TOTAL"}"##,
    ),
    (
        "BatchWriteItem",
        r##"{"RequestItems":{"tasks":[{"PutRequest":{"Item":{"list":{"S":"a"},"id":{"S":"2"},"due":{"N":"3"}}}},{"DeleteRequest":{"Key":{"list":{"S":"a"},"id":{"S":"3"}}}}]},"ReturnConsumedCapacity":"TOTAL","ReturnItemCollectionMetrics":"SIZE"}"##,
    ),
    (
        "TransactWriteItems",
        r##"{"TransactItems":[{"Put":{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"6"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}},{"ConditionCheck":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"ConditionExpression":"attribute_exists(id)"}},{"Update":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"2"}},"UpdateExpression":"SET #a = :v","ExpressionAttributeNames":{"#a":"a"},"ExpressionAttributeValues":{":v":{"N":"2"}}}},{"Delete":{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"3"}}}}],"ClientRequestToken":"t","ReturnConsumedCapacity":"TOTAL"}"##,
    ),
];

const LEGACY: &[(&str, &str)] = &[
    (
        "UpdateItem",
        r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"AttributeUpdates":{"a":{"Value":{"N":"1"}},"b":{"Action":"ADD","Value":{"L":[{"N":"1"}]}},"c":{"Action":"DELETE"},"f":{"Action":"DELETE","Value":{"SS":["a"]}}},"Expected":{"q":{"Exists":false},"a":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"2"}]},"title":{"Value":{"S":"t"}}},"ConditionalOperator":"OR","ReturnValues":"ALL_NEW"}"##,
    ),
    (
        "PutItem",
        r##"{"TableName":"tasks","Item":{"list":{"S":"a"},"id":{"S":"1"}},"Expected":{"due":{"ComparisonOperator":"LE","AttributeValueList":[{"N":"1"}]},"f":{"ComparisonOperator":"CONTAINS","AttributeValueList":[{"S":"a"}]},"z":{"ComparisonOperator":"NULL"}}}"##,
    ),
    (
        "DeleteItem",
        r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"3"}},"Expected":{"title":{"ComparisonOperator":"BEGINS_WITH","AttributeValueList":[{"S":"t"}]},"m":{"ComparisonOperator":"NOT_NULL"}},"ConditionalOperator":"AND","ReturnValues":"ALL_OLD"}"##,
    ),
    (
        "Query",
        r##"{"TableName":"tasks","IndexName":"by_title","KeyConditions":{"list":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"a"}]},"title":{"ComparisonOperator":"GE","AttributeValueList":[{"S":"1"}]}},"QueryFilter":{"due":{"ComparisonOperator":"IN","AttributeValueList":[{"N":"1"},{"N":"2"}]},"f":{"ComparisonOperator":"NOT_CONTAINS","AttributeValueList":[{"S":"x"}]}},"ConditionalOperator":"OR","AttributesToGet":["id","due"],"Limit":3}"##,
    ),
    (
        "Scan",
        r##"{"TableName":"tasks","ScanFilter":{"id":{"ComparisonOperator":"BEGINS_WITH","AttributeValueList":[{"S":"1"}]},"x":{"ComparisonOperator":"NULL"},"due":{"ComparisonOperator":"NE","AttributeValueList":[{"NS":["1"]}]}},"ConditionalOperator":"AND","AttributesToGet":["id","a"]}"##,
    ),
    (
        "GetItem",
        r##"{"TableName":"tasks","Key":{"list":{"S":"a"},"id":{"S":"1"}},"AttributesToGet":["a","due"]}"##,
    ),
    (
        "BatchGetItem",
        r##"{"RequestItems":{"tasks":{"Keys":[{"list":{"S":"a"},"id":{"S":"1"}}],"AttributesToGet":["a","b.c"]}}}"##,
    ),
];

const PARTIQL: &[(&str, &str)] = &[
    (
        "ExecuteStatement",
        r##"{"Statement":"SELECT id, m.k[0] FROM tasks WHERE \"list\" = ? AND id BETWEEN '1' AND '3' AND NOT contains(f, 'x') ORDER BY id DESC","Parameters":[{"S":"a"}],"Limit":2,"ConsistentRead":true,"ReturnConsumedCapacity":"INDEXES"}"##,
    ),
    (
        "ExecuteStatement",
        r##"{"Statement":"SELECT * FROM \"tasks\".\"by_due\" WHERE \"list\" IN ['a', ?] AND (due > -1.5e3 OR begins_with(id, '1')) AND due IS NOT MISSING","Parameters":[{"S":"b"}]}"##,
    ),
    ("ExecuteStatement", r##"{"Statement":"SELECT * FROM tasks","Limit":1,"NextToken":"$TOKEN"}"##),
    (
        "ExecuteStatement",
        r##"{"Statement":"INSERT INTO tasks VALUE {'list':'a','id':?,'l':[1,[2,{'x':<<'a','b'>>}]],'n':<<1,2>>,'z':null}","Parameters":[{"S":"8"}],"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}"##,
    ),
    (
        "ExecuteStatement",
        r##"{"Statement":"UPDATE tasks SET a = a + 1, b = list_append(b, ?) SET f = set_add(f, <<'x'>>) REMOVE x[0] WHERE \"list\" = 'a' AND id = '2' AND title IS MISSING RETURNING ALL NEW *","Parameters":[{"L":[{"N":"1"}]}]}"##,
    ),
    (
        "BatchExecuteStatement",
        r##"{"Statements":[{"Statement":"UPDATE tasks SET a = ? WHERE \"list\" = 'a' AND id = '1' RETURNING MODIFIED OLD *","Parameters":[{"L":[{"N":"1"}]}]},{"Statement":"INSERT INTO tasks VALUE {'list':'a','id':?}","Parameters":[{"S":"22"}]},{"Statement":"DELETE FROM tasks WHERE \"list\" = 'a' AND id = '4'","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}],"ReturnConsumedCapacity":"TOTAL"}"##,
    ),
    (
        "BatchExecuteStatement",
        r##"{"Statements":[{"Statement":"SELECT * FROM tasks WHERE \"list\" = 'a' AND id = ?","Parameters":[{"S":"1"}],"ConsistentRead":true},{"Statement":"SELECT due FROM tasks WHERE \"list\" = 'a' AND id = '2'"}]}"##,
    ),
    (
        "ExecuteTransaction",
        r##"{"TransactStatements":[{"Statement":"DELETE FROM tasks WHERE \"list\" = 'a' AND id = ?","Parameters":[{"S":"1"}]},{"Statement":"EXISTS(SELECT * FROM tasks WHERE \"list\" = 'a' AND id = '3' AND x IS MISSING)"}],"ClientRequestToken":"s","ReturnConsumedCapacity":"INDEXES"}"##,
    ),
    (
        "ExecuteTransaction",
        r##"{"TransactStatements":[{"Statement":"SELECT a FROM tasks WHERE \"list\" = 'a' AND id = ?","Parameters":[{"S":"1"}]},{"Statement":"SELECT * FROM tasks WHERE \"list\" = 'a' AND id = '2'"}]}"##,
    ),
];

const TABLES: &[(&str, &str)] = &[
    (
        "CreateTable",
        r##"{"TableName":"other","ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":5},"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"N"},{"AttributeName":"g","AttributeType":"B"}],"KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],"GlobalSecondaryIndexes":[{"IndexName":"by_g","Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x","y"]},"KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}],"StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},"Tags":[{"Key":"k","Value":"v"}],"DeletionProtectionEnabled":true,"TableClass":"STANDARD"}"##,
    ),
    ("CreateTable", TASKS_AGAIN),
    (
        "UpdateTable",
        r##"{"TableName":"tasks","AttributeDefinitions":[{"AttributeName":"g","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by_g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]}"##,
    ),
    (
        "UpdateTable",
        r##"{"TableName":"tasks","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by_due"}}]}"##,
    ),
    (
        "UpdateTable",
        r##"{"TableName":"tasks","BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":5},"GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"by_due","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}}]}"##,
    ),
    ("UpdateTable", r##"{"TableName":"tasks","StreamSpecification":{"StreamEnabled":false}}"##),
    (
        "UpdateTable",
        r##"{"TableName":"tasks","DeletionProtectionEnabled":true,"TableClass":"STANDARD_INFREQUENT_ACCESS"}"##,
    ),
    ("DescribeTable", r##"{"TableName":"tasks"}"##),
    ("DeleteTable", r##"{"TableName":"tasks"}"##),
    ("ListTables", r##"{"ExclusiveStartTableName":"aaa","Limit":5}"##),
    (
        "UpdateTimeToLive",
        r##"{"TableName":"tasks","TimeToLiveSpecification":{"AttributeName":"due","Enabled":true}}"##,
    ),
    ("DescribeTimeToLive", r##"{"TableName":"tasks"}"##),
    (
        "TagResource",
        r##"{"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tasks","Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":""}]}"##,
    ),
    (
        "UntagResource",
        r##"{"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tasks","TagKeys":["a","c"]}"##,
    ),
    (
        "ListTagsOfResource",
        r##"{"ResourceArn":"arn:aws:dynamodb:us-east-1:000000000000:table/tasks"}"##,
    ),
    ("DescribeLimits", "{}"),
    ("DescribeEndpoints", "{}"),
];

const TASKS_AGAIN: &str = r##"{"TableName":"again","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"list","AttributeType":"S"},{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"title","AttributeType":"S"}],"KeySchema":[{"AttributeName":"list","KeyType":"HASH"},{"AttributeName":"id","KeyType":"RANGE"}],"LocalSecondaryIndexes":[{"IndexName":"by_title","Projection":{"ProjectionType":"KEYS_ONLY"},"KeySchema":[{"AttributeName":"list","KeyType":"HASH"},{"AttributeName":"title","KeyType":"RANGE"}]}]}"##;

const STREAMS: &[(&str, &str)] = &[
    ("ListStreams", r##"{"TableName":"tasks","Limit":5}"##),
    (
        "DescribeStream",
        r##"{"StreamArn":"$STREAM","Limit":5,"ShardFilter":{"Type":"CHILD_SHARDS","ShardId":"$SHARD"}}"##,
    ),
    (
        "GetShardIterator",
        r##"{"StreamArn":"$STREAM","ShardId":"$SHARD","ShardIteratorType":"AFTER_SEQUENCE_NUMBER","SequenceNumber":"$SEQUENCE"}"##,
    ),
    (
        "GetShardIterator",
        r##"{"StreamArn":"$STREAM","ShardId":"$SHARD","ShardIteratorType":"LATEST"}"##,
    ),
    ("GetRecords", r##"{"ShardIterator":"$ITERATOR","Limit":3}"##),
];

const BACKUPS: &[(&str, &str)] = &[
    ("CreateBackup", r##"{"TableName":"tasks","BackupName":"second"}"##),
    ("DescribeBackup", r##"{"BackupArn":"$BACKUP"}"##),
    (
        "ListBackups",
        r##"{"TableName":"tasks","BackupType":"USER","TimeRangeLowerBound":1,"TimeRangeUpperBound":4000000000.5,"Limit":3}"##,
    ),
    ("DeleteBackup", r##"{"BackupArn":"$BACKUP"}"##),
    (
        "RestoreTableFromBackup",
        r##"{"BackupArn":"$BACKUP","TargetTableName":"restored","BillingModeOverride":"PAY_PER_REQUEST","GlobalSecondaryIndexOverride":[]}"##,
    ),
    (
        "RestoreTableToPointInTime",
        r##"{"SourceTableName":"tasks","TargetTableName":"past","UseLatestRestorableTime":true,"LocalSecondaryIndexOverride":[]}"##,
    ),
    ("DescribeContinuousBackups", r##"{"TableName":"tasks"}"##),
    (
        "UpdateContinuousBackups",
        r##"{"TableName":"tasks","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true,"RecoveryPeriodInDays":3}}"##,
    ),
];
