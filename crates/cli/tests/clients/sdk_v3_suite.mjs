// The AWS SDK for JavaScript v3, unmodified, against the endpoint whose URL is the first argument.

import assert from "node:assert/strict";
import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  TransactionCanceledException,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from "@aws-sdk/client-dynamodb-streams";
import {
  BatchWriteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
  paginateQuery,
  paginateScan,
} from "@aws-sdk/lib-dynamodb";

const options = {
  endpoint: process.argv[2],
  region: "us-east-1",
  credentials: { accessKeyId: "made", secretAccessKey: "up" },
  maxAttempts: 1,
};
const client = new DynamoDBClient(options);
const documents = DynamoDBDocumentClient.from(client);
const send = (command) => documents.send(command);

async function makeTable(TableName, index, more = {}) {
  const key = (names) => names.map((AttributeName, n) => ({ AttributeName, KeyType: n ? "RANGE" : "HASH" }));
  const names = ["pk", "sk", ...(index ?? [])];
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: key(["pk", "sk"]),
      AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      ...(index && {
        GlobalSecondaryIndexes: [
          { IndexName: "gsi", KeySchema: key(index), Projection: { ProjectionType: "ALL" } },
        ],
      }),
      ...more,
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 }, { TableName });
}

const TableName = "recipes";
await makeTable(TableName, ["gpk", "gsk"]);

// Document 002: a transactional put with a unique name.
const ingredient = (id, name) =>
  new TransactWriteCommand({
    TransactItems: [
      {
        Put: {
          TableName,
          Item: { pk: "CATEGORY#1", sk: `INGREDIENT#${id}`, name, gpk: `NAME#${name}`, gsk: id },
          ConditionExpression: "attribute_not_exists(pk)",
        },
      },
      {
        Put: {
          TableName,
          Item: { pk: `NAME#${name}`, sk: `NAME#${name}`, id },
          ConditionExpression: "attribute_not_exists(pk)",
          ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        },
      },
    ],
  });
await send(ingredient("1", "tomatoes"));
await assert.rejects(send(ingredient("2", "tomatoes")), (error) => {
  assert(error instanceof TransactionCanceledException);
  assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ["None", "ConditionalCheckFailed"]);
  assert.equal(error.CancellationReasons[1].Item.id.S, "1");
  return true;
});
const byName = await send(
  new QueryCommand({
    TableName,
    IndexName: "gsi",
    KeyConditionExpression: "gpk = :name",
    ExpressionAttributeValues: { ":name": "NAME#tomatoes" },
    ProjectionExpression: "#n",
    ExpressionAttributeNames: { "#n": "name" },
  }),
);
assert.deepEqual(byName.Items, [{ name: "tomatoes" }]);

// The comments series: newest first, one more than a page has, and pages to the end.
await makeTable("comments", ["product", "cd"]);
for (let first = 0; first < 50; first += 25) {
  const puts = Array.from({ length: 25 }, (_, n) => ({
    PutRequest: {
      Item: { pk: `C#${first + n}`, sk: "x", product: "42", cd: String(100 + ((first + n) % 10)), n: first + n },
    },
  }));
  const { UnprocessedItems } = await send(new BatchWriteCommand({ RequestItems: { comments: puts } }));
  assert.deepEqual(UnprocessedItems, {});
}
const newest = {
  TableName: "comments",
  IndexName: "gsi",
  KeyConditionExpression: "product = :p",
  ExpressionAttributeValues: { ":p": "42" },
  ScanIndexForward: false,
};
const eleven = await send(new QueryCommand({ ...newest, Limit: 11 }));
assert.equal(eleven.Count, 11);
assert.equal(eleven.Items[0].cd, "109");
for (const pageSize of [1, 4, 11, 50]) {
  const seen = new Set();
  for await (const page of paginateQuery({ client: documents, pageSize }, { ...newest })) {
    page.Items.forEach((item) => seen.add(item.n));
  }
  assert.equal(seen.size, 50);
}
let scanned = 0;
for await (const page of paginateScan({ client: documents, pageSize: 7 }, { TableName: "comments" })) {
  scanned += page.Count;
}
assert.equal(scanned, 50);

// Values of every type, updates and what they return.
const item = {
  pk: "types", sk: "1", n: 1.5, t: true, none: null, l: ["a", [1]], m: { é: "😀" },
  ss: new Set(["a", "b"]), ns: new Set([1, 2]), b: new Uint8Array([0, 255]),
};
await send(new PutCommand({ TableName, Item: item }));
const key = { pk: "types", sk: "1" };
assert.deepEqual((await send(new GetCommand({ TableName, Key: key }))).Item, item);
const updated = await send(
  new UpdateCommand({
    TableName,
    Key: key,
    UpdateExpression: "ADD n :one DELETE ss :a REMOVE m SET l[5] = :one",
    ExpressionAttributeValues: { ":one": 1, ":a": new Set(["a"]) },
    ReturnValues: "UPDATED_NEW",
    ReturnConsumedCapacity: "INDEXES",
  }),
);
assert.equal(updated.Attributes.n, 2.5);
assert.deepEqual(updated.ConsumedCapacity.Table, { CapacityUnits: 1 });
await assert.rejects(
  send(new UpdateCommand({ TableName, Key: key, UpdateExpression: "SET name = name", ConditionExpression: "" })),
  { name: "ValidationException" },
);
await assert.rejects(client.send(new DescribeTableCommand({ TableName: "nowhere" })), {
  name: "ResourceNotFoundException",
});

// A stream.
await makeTable("streamed", undefined, {
  StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_IMAGE" },
});
const streams = new DynamoDBStreamsClient(options);
const { Table } = await client.send(new DescribeTableCommand({ TableName: "streamed" }));
const StreamArn = Table.LatestStreamArn;
const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
const { ShardIterator } = await streams.send(
  new GetShardIteratorCommand({
    StreamArn,
    ShardId: StreamDescription.Shards[0].ShardId,
    ShardIteratorType: "TRIM_HORIZON",
  }),
);
await send(new PutCommand({ TableName: "streamed", Item: { pk: "1", sk: "1" } }));
const { Records } = await streams.send(new GetRecordsCommand({ ShardIterator }));
assert.equal(Records[0].eventName, "INSERT");
assert.deepEqual(Records[0].dynamodb.NewImage.pk, { S: "1" });

console.log("1 passed, 0 failed");
