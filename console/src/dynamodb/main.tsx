// The console of `keyloom dynamodb`: tables and items, the heat of partitions, and the figures of the server.

import { render } from "preact";
import { useState } from "preact/hooks";

import type { Problem } from "../api";
import { FiguresView } from "../figures";
import { Frame, type Group, Side, useStartAtHeading } from "../frame";
import { Alert, Heading, useLoaded } from "../parts";
import { type Route, useRoute } from "../route";
import { HeatView } from "./heat";
import { ItemView, NewItem } from "./item";
import { keys } from "./keys";
import { Home, TableView } from "./table";
import { type Table, describeTable, tableNames } from "./tables";

/** What the server refuses a request with that is not signed by one of its keys. */
const UNSIGNED = ["MissingAuthenticationTokenException", "UnrecognizedClientException", "InvalidSignatureException", "IncompleteSignatureException"];

function Console({ title }: { title: string }) {
  const [round, setRound] = useState(0);
  const loaded = useLoaded(`tables ${round}`, (signal) => tableNames(signal));
  const route = useRoute();
  const again = () => setRound((before) => before + 1);
  useStartAtHeading(`${route.path.join("/")} ${loaded.value === undefined}`);
  const isUnsigned = UNSIGNED.includes(loaded.problem?.code ?? "");
  const names = isUnsigned ? undefined : loaded.value;
  return (
    <Frame
      title={title}
      who={keys.id !== "" && <SignOut changed={again} />}
      side={names && <Side label="Console" groups={groups(names)} route={route} />}
    >
      {names ? <View names={names} route={route} again={again} /> : <SignIn problem={loaded.problem} isUnsigned={isUnsigned} signedIn={again} />}
    </Frame>
  );
}

function groups(names: string[]): Group[] {
  return [
    { title: "Tables", entries: names.map((name) => ({ path: ["table", name], label: name })) },
    { title: "Server", entries: [{ path: ["heat"], label: "Heat" }, { path: ["figures"], label: "Figures" }] },
  ];
}

function View({ names, route, again }: { names: string[]; route: Route; again: () => void }) {
  const [kind, name] = route.path;
  switch (kind) {
    case undefined:
      return <Home names={names} />;
    case "heat":
      return <HeatView />;
    case "figures":
      return <FiguresView />;
    case "table":
    case "item":
    case "create":
      if (name !== undefined) return <OfTable key={name} name={name} route={route} again={again} />;
  }
  return (
    <>
      <Heading title="Nothing here" />
      <p>
        The address is wrong. <a href="#/">Start over.</a>
      </p>
    </>
  );
}

/** A view of a table, once its keys are known. */
function OfTable({ name, route, again }: { name: string; route: Route; again: () => void }) {
  const loaded = useLoaded(name, (signal) => describeTable(name, signal));
  const table: Table | undefined = loaded.value;
  if (table === undefined)
    return (
      <>
        <Heading title={name} />
        {loaded.problem ? <Alert problem={loaded.problem} /> : <p class="hint">Loading…</p>}
      </>
    );
  if (route.path[0] === "create") return <NewItem table={table} />;
  if (route.path[0] === "item") return <ItemView key={route.path[2]} table={table} text={route.path[2] ?? ""} />;
  return <TableView table={table} parameters={route.parameters} described={loaded.again} changed={again} />;
}

function SignOut({ changed }: { changed: () => void }) {
  return (
    <button
      type="button"
      onClick={() => {
        keys.set("", "");
        changed();
      }}
    >
      Sign out
    </button>
  );
}

function SignIn({ problem, isUnsigned, signedIn }: { problem: Problem | undefined; isUnsigned: boolean; signedIn: () => void }) {
  const [id, setId] = useState("");
  const [secret, setSecret] = useState("");
  if (problem === undefined) return <p class="hint">Loading…</p>;
  if (!isUnsigned)
    return (
      <>
        <Heading title="Not available" />
        <Alert problem={problem} />
        <button type="button" onClick={signedIn}>
          Try again
        </button>
      </>
    );
  return (
    <>
      <Heading title="Sign in" />
      {keys.id !== "" && <Alert problem={problem} />}
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          keys.set(id.trim(), secret.trim());
          signedIn();
        }}
      >
        <label>
          <span>access key id</span>
          <input autocomplete="off" value={id} onInput={(event) => setId(event.currentTarget.value)} />
        </label>
        <label>
          <span>secret access key</span>
          <input type="password" autocomplete="off" value={secret} onInput={(event) => setSecret(event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button class="primary">Sign in</button>
        </div>
      </form>
      <p class="hint">Keys are in the file that the server was started with: --credentials. They are forgotten when this tab is closed.</p>
    </>
  );
}

const root = document.getElementById("console");
if (root !== null) render(<Console title={root.dataset["service"] ?? "DynamoDB"} />, root);
