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
  BatchGetCommand,
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

// Tables are keyed by pk and sk. Indexes: their names, each with the names of its key.
async function makeTable(TableName, indexes = {}, more = {}) {
  const key = (names) => names.map((AttributeName, n) => ({ AttributeName, KeyType: n ? "RANGE" : "HASH" }));
  const names = new Set(["pk", "sk", ...Object.values(indexes).flat()]);
  const GlobalSecondaryIndexes = Object.entries(indexes).map(([IndexName, names]) => ({
    IndexName,
    KeySchema: key(names),
    Projection: { ProjectionType: "ALL" },
  }));
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: key(["pk", "sk"]),
      AttributeDefinitions: [...names].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
      ...(GlobalSecondaryIndexes.length && { GlobalSecondaryIndexes }),
      ...more,
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 }, { TableName });
}

async function putAll(TableName, items) {
  for (let first = 0; first < items.length; first += 25) {
    const puts = items.slice(first, first + 25).map((Item) => ({ PutRequest: { Item } }));
    const { UnprocessedItems } = await send(new BatchWriteCommand({ RequestItems: { [TableName]: puts } }));
    assert.deepEqual(UnprocessedItems, {});
  }
}

// The items of a query. Its condition refers to the values as `:0`, `:1` and so on.
async function find(TableName, IndexName, KeyConditionExpression, values, more = {}) {
  const named = Object.fromEntries(values.map((value, n) => [`:${n}`, value]));
  const request = { TableName, IndexName, KeyConditionExpression, ExpressionAttributeValues: named, ...more };
  return (await send(new QueryCommand(request))).Items;
}

const TableName = "recipes";
await makeTable(TableName, { gsi: ["gpk", "gsk"] });

// A recipe book: a transactional put with a unique name.
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

// Item tagging: tasks and their tags as an adjacency list with a sparse index.
await makeTable("tagging", { tasks: ["kind", "sk"] });
const tasks = Array.from({ length: 30 }, (_, n) => `task#${String(n).padStart(3, "0")}`);
const project = (n) => (n % 2 ? "alpha" : "beta");
await putAll("tagging", [
  ...tasks.map((task, n) => ({ pk: task, sk: task, kind: "task", project: project(n) })),
  ...tasks.map((task, n) => ({ pk: "tag#project", sk: `${project(n)}#${task}` })),
]);
const all = [];
const byKind = { IndexName: "tasks", KeyConditionExpression: "kind = :k", ExpressionAttributeValues: { ":k": "task" } };
for await (const page of paginateQuery({ client: documents, pageSize: 7 }, { TableName: "tagging", ...byKind })) {
  all.push(...page.Items.map((item) => item.sk));
}
assert.deepEqual(all, tasks);
const tagged = await find("tagging", undefined, "pk = :0 AND begins_with(sk, :1)", ["tag#project", "alpha#"]);
const Keys = tagged.map(({ sk }) => ({ pk: sk.slice("alpha#".length), sk: sk.slice("alpha#".length) }));
const got = await send(new BatchGetCommand({ RequestItems: { tagging: { Keys } } }));
assert.deepEqual(got.Responses.tagging.map((task) => task.project), Array(15).fill("alpha"));

// Product comments: four indexes by language and rating, newest first.
const questions = { gsi1: ["gsi1pk", "cd"], gsi2: ["gsi2pk", "cd"], gsi3: ["gsi3pk", "cd"], gsi4: ["gsi4pk", "cd"] };
await makeTable("ratings", questions);
await putAll("ratings", Array.from({ length: 45 }, (_, n) => {
  const [language, rating] = [["en", "de", "fr"][n % 3], (n % 5) + 1];
  return {
    pk: `COMMENT#${n}`, sk: "PRODUCT#42", cd: `2020-11-09 12:${String(n).padStart(2, "0")}`,
    gsi1pk: `42/${language}/${rating}`, gsi2pk: `42/${language}/~`, gsi3pk: `42/~/${rating}`, gsi4pk: "42/~/~",
  };
}));
for (const [index, value, count] of [["gsi1", "42/en/1", 3], ["gsi2", "42/de/~", 15], ["gsi3", "42/~/5", 9], ["gsi4", "42/~/~", 45]]) {
  const found = await find("ratings", index, `${index}pk = :0`, [value], { ScanIndexForward: false });
  const dates = found.map((comment) => comment.cd);
  assert.equal(dates.length, count);
  assert.deepEqual(dates, [...dates].sort().reverse());
}

// On-call paging: contacts and searches, with every query of the published design.
await makeTable("manhunt", { gsi1: ["gsi1pk", "gsi1sk"], gsi2: ["gsi2pk", "gsi1sk"] });
const search = (n, status, date) => [
  { pk: `s${n}`, sk: "search", gsi1pk: "c1", gsi1sk: date, gsi2pk: `${status}#c1` },
  { pk: `s${n}`, sk: "searchAttempt#1" },
];
await putAll("manhunt", [
  { pk: "c1", sk: "contact", gsi1pk: "d1", gsi1sk: "Zoe" },
  { pk: "c2", sk: "contact", gsi1pk: "d1", gsi1sk: "Adam" },
  { pk: "c1", sk: "contactMethod#1" },
  { pk: "c1", sk: "contactMethod#2" },
  ...search(1, "active", "2019-03-01"),
  ...search(2, "done", "2019-01-01"),
  ...search(3, "active", "2019-02-01"),
]);
for (const [index, condition, values, expected] of [
  [undefined, "pk = :0 AND sk = :1", ["s1", "search"], "s1/search"],
  [undefined, "pk = :0", ["s1"], "s1/search s1/searchAttempt#1"],
  [undefined, "pk = :0 AND sk = :1", ["c1", "contact"], "c1/contact"],
  [undefined, "pk = :0", ["c1"], "c1/contact c1/contactMethod#1 c1/contactMethod#2"],
  ["gsi1", "gsi1pk = :0", ["d1"], "c2/contact c1/contact"],
  ["gsi1", "gsi1pk = :0", ["c1"], "s2/search s3/search s1/search"],
  ["gsi1", "gsi1pk = :0 AND gsi1sk < :1", ["c1", "2019-03-01"], "s2/search s3/search"],
  ["gsi1", "gsi1pk = :0 AND gsi1sk > :1", ["c1", "2019-01-01"], "s3/search s1/search"],
  ["gsi2", "gsi2pk = :0", ["active#c1"], "s3/search s1/search"],
  ["gsi2", "gsi2pk = :0 AND gsi1sk < :1", ["active#c1", "2019-03-01"], "s3/search"],
]) {
  const found = await find("manhunt", index, condition, values);
  assert.equal(found.map((item) => `${item.pk}/${item.sk}`).join(" "), expected);
}

// Product comments: newest first, one more than a page, and all pages.
await makeTable("comments", { gsi: ["product", "cd"] });
await putAll("comments", Array.from({ length: 50 }, (_, n) => (
  { pk: `C#${n}`, sk: "x", product: "42", cd: String(100 + (n % 10)), n }
)));
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
await makeTable("streamed", {}, {
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
