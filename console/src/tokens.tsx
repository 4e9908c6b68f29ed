// Access tokens: created, listed and revoked.

import { useState } from "preact/hooks";

import { Problem, request } from "./api";
import { type Json, isObject, shown } from "./json";
import { Alert, Danger, Heading, Table, problemOf, useLoaded } from "./parts";
import { itemsOf } from "./service";

export function TokensView() {
  const loaded = useLoaded("tokens", (signal) => request("/tokens", { signal }));
  const [problem, setProblem] = useState<Problem | undefined>();
  const [made, setMade] = useState<string | undefined>();
  const items = itemsOf(loaded.value ?? null);
  const attempt = async (act: () => Promise<void>) => {
    try {
      await act();
      setProblem(undefined);
    } catch (error) {
      setProblem(problemOf(error));
    }
    loaded.again();
  };
  const revoke = (id: string) => attempt(async () => void (await request(`/tokens/${encodeURIComponent(id)}`, { method: "DELETE" })));
  return (
    <>
      <Heading title="Tokens" />
      <Alert problem={problem ?? loaded.problem} />
      {items.length === 0 && loaded.problem === undefined && (
        <p class="hint">There is no token yet: everybody on this machine is an administrator. Once the first token exists, every request needs one, also those of this console.</p>
      )}
      {items.length > 0 && (
        <Table label="Tokens" head={["Name", "Role", "User", "Tenant", "Created", "Expires", "Actions"]}>
          {items.map((item) => (
            <tr key={shown(item["id"])}>
              <td>{shown(item["name"]) || <span class="id">{shown(item["id"])}</span>}</td>
              <td>{shown(item["role"])}</td>
              <td>{shown(item["subject"])}</td>
              <td>{shown(item["tenant"])}</td>
              <td>{shown(item["created"]).slice(0, 10)}</td>
              <td>{shown(item["expires"]).slice(0, 10)}</td>
              <td>
                <Danger label="Revoke" confirm="Revoke this token?" act={() => void revoke(shown(item["id"]))} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {made !== undefined && (
        <p class="good" role="status">
          The new token, shown this once: <code class="secret">{made}</code>
        </p>
      )}
      <NewToken create={(body) => attempt(async () => {
        const created = await request("/tokens", { method: "POST", body });
        setMade(isObject(created) ? shown(created["token"]) : undefined);
      })} />
    </>
  );
}

function NewToken({ create }: { create: (body: { [name: string]: Json }) => Promise<void> }) {
  const [values, setValues] = useState<{ [name: string]: string }>({ role: "reader" });
  const input = (name: string, label: string) => (
    <label>
      <span>{label}</span>
      <input value={values[name] ?? ""} onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })} />
    </label>
  );
  return (
    <form
      class="filters"
      aria-label="Create a token"
      onSubmit={(event) => {
        event.preventDefault();
        void create(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")));
      }}
    >
      {input("name", "what it is for")}
      <label>
        <span>role</span>
        <select value={values["role"]} onChange={(event) => setValues({ ...values, role: event.currentTarget.value })}>
          {["user", "reader", "writer", "admin"].map((role) => (
            <option key={role}>{role}</option>
          ))}
        </select>
      </label>
      {values["role"] === "user" && input("subject", "user")}
      {input("tenant", "tenant")}
      {input("expires", "expires, such as 2030-01-01T00:00:00Z")}
      <div class="actions">
        <button>Create a token</button>
      </div>
    </form>
  );
}
