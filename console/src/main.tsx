// The console: a frame with the navigation, and the view that the address names.

import { render } from "preact";
import { useState } from "preact/hooks";

import { Problem, session } from "./api";
import { ChangesView } from "./changes";
import { NumbersView, numbersOf } from "./counts";
import { Create, Detail } from "./detail";
import { Frame, type Group, Side, useStartAtHeading } from "./frame";
import { ListView } from "./lists";
import { ModelView } from "./model";
import { OperationsView } from "./operations";
import { Alert, Empty, Heading, spoken, useLoaded } from "./parts";
import { type Route, link, useRoute } from "./route";
import { type Entity, Service } from "./service";
import { TokensView } from "./tokens";
import { TransferView, importable } from "./transfer";

function Console({ title }: { title: string }) {
  const [who, setWho] = useState(0);
  const loaded = useLoaded(`service ${who}`, () => Service.load());
  const route = useRoute();
  const again = () => setWho((before) => before + 1);
  useStartAtHeading(`${route.path.join("/")} ${loaded.value === undefined}`);
  const service = loaded.problem?.status === 401 ? undefined : loaded.value;
  return (
    <Frame title={title} who={service && <Who service={service} changed={again} />} side={service && <Side label="Console" groups={groups(service)} route={route} />}>
      {service ? <View key={who} service={service} route={route} /> : <SignIn problem={loaded.problem} isLoading={loaded.isLoading} signedIn={again} />}
    </Frame>
  );
}

/** Where one can go. */
function groups(service: Service): Group[] {
  const entries = (kind: string, all: Entity[]) => all.map(({ name }) => ({ path: [kind, name], label: spoken(name) }));
  const has = (operation: string) => service.operation(operation) !== undefined;
  const offered = (isOffered: boolean, path: string, label: string) => (isOffered ? [{ path: [path], label }] : []);
  return [
    { title: "Entities", entries: entries("entity", service.readable()) },
    { title: "Numbers", entries: entries("numbers", service.entities.filter(({ name }) => numbersOf(service, name).length > 0)) },
    {
      title: "Service",
      entries: [
        { path: ["model"], label: "Model" },
        ...offered(has("changes"), "changes", "Live changes"),
        ...offered(true, "operations", "Operations"),
        ...offered(has("list_backups") || importable(service).length > 0, "transfer", "Import and backup"),
        ...offered(has("list_tokens"), "tokens", "Tokens"),
        { href: "/docs", label: "API reference" },
      ],
    },
  ];
}

/** The tenant that requests are for, and a way to leave. */
function Who({ service, changed }: { service: Service; changed: () => void }) {
  const [tenant, setTenant] = useState(session.tenant);
  const hasTenants = service.entities.some((entity) => entity.has_tenant);
  return (
    <form
      class="who"
      onSubmit={(event) => {
        event.preventDefault();
        session.tenant = tenant.trim();
        changed();
      }}
    >
      {service.tenant !== null && <span>tenant {service.tenant}</span>}
      {hasTenants && service.tenant === null && (
        <>
          <label class="inline">
            <span>tenant</span>
            <input value={tenant} size={12} onInput={(event) => setTenant(event.currentTarget.value)} />
          </label>
          <button>Use</button>
        </>
      )}
      {session.token !== "" && (
        <button
          type="button"
          onClick={() => {
            session.token = "";
            // The next token may be of another tenant.
            session.tenant = "";
            changed();
          }}
        >
          Sign out
        </button>
      )}
    </form>
  );
}

function SignIn({ problem, isLoading, signedIn }: { problem: Problem | undefined; isLoading: boolean; signedIn: () => void }) {
  const [token, setToken] = useState("");
  if (problem === undefined) return isLoading ? <p class="hint">Loading…</p> : null;
  const isMissing = problem.status === 401 && session.token === "";
  // While another token is tried, the problem is still that of the last one.
  return (
    <>
      <Heading title="Sign in" />
      {!isMissing && !isLoading && <Alert problem={problem} />}
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          session.token = token.trim();
          // A tenant that the token does not belong to would be refused, and could be changed nowhere.
          session.tenant = "";
          signedIn();
        }}
      >
        <label>
          <span>token</span>
          <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button class="primary">Sign in</button>
        </div>
      </form>
      <p class="hint">
        An operator creates one with <code>keyloom token create --role admin</code>. It is forgotten when this tab is closed.
      </p>
    </>
  );
}

function View({ service, route }: { service: Service; route: Route }) {
  const [kind, name, id] = route.path;
  const entity = name === undefined ? undefined : service.entity(name);
  const isOfTenant = entity?.has_tenant && service.tenant === null && session.tenant === "";
  if (isOfTenant && kind !== "model") return <NoTenant entity={entity} />;
  switch (kind) {
    case "entity":
      if (entity === undefined) return <Missing />;
      if (id !== undefined) return <Detail key={`${name}/${id}`} service={service} entity={entity} id={id} />;
      return <ListView key={name} service={service} entity={entity} parameters={route.parameters} />;
    case "create":
      return entity ? <Create key={name} service={service} entity={entity} /> : <Missing />;
    case "numbers":
      return entity ? <NumbersView key={name} service={service} entity={entity} id={id} /> : <Missing />;
    case "model":
      return <ModelView service={service} name={name} />;
    case "changes":
      return <ChangesView service={service} />;
    case "operations":
      return <OperationsView service={service} />;
    case "transfer":
      return <TransferView service={service} />;
    case "tokens":
      return <TokensView />;
    case undefined:
      return <Home service={service} />;
    default:
      return <Missing />;
  }
}

function NoTenant({ entity }: { entity: Entity }) {
  return (
    <>
      <Heading title={spoken(entity.name)} />
      <Empty>Each belongs to a tenant: name one at the top.</Empty>
    </>
  );
}

function Missing() {
  return (
    <>
      <Heading title="Nothing here" />
      <p>
        The model has changed, or the address is wrong. <a href="#/">Start over.</a>
      </p>
    </>
  );
}

function Home({ service }: { service: Service }) {
  return (
    <>
      <Heading title={service.name} />
      <ul class="cards">
        {service.readable().map((entity) => (
          <li key={entity.name}>
            <a href={link(["entity", entity.name])}>
              <strong>{spoken(entity.name)}</strong>
              <span class="hint">
                {entity.fields.length} fields, {entity.lists.length} lists, {entity.counts.length + entity.boards.length} counts and boards
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

const root = document.getElementById("console");
if (root !== null) render(<Console title={root.dataset["service"] ?? "Keyloom"} />, root);
