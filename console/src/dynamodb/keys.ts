// The access key of the user, and signatures with it (Signature Version 4). The secret never leaves the page.

const ID = "keyloom-key-id";
const SECRET = "keyloom-secret-key";
/** Signatures name a region; a server accepts any. */
const REGION = "us-east-1";

/** An access key lives as long as the tab. */
export const keys = {
  get id(): string {
    return sessionStorage.getItem(ID) ?? "";
  },
  get secret(): string {
    return sessionStorage.getItem(SECRET) ?? "";
  },
  set(id: string, secret: string): void {
    sessionStorage.setItem(ID, id);
    sessionStorage.setItem(SECRET, secret);
  },
};

/** The headers that sign a POST request to `/` of this server. */
export async function signature(target: string, mediaType: string, body: string, now: Date): Promise<{ [name: string]: string }> {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = `${time.slice(0, 8)}/${REGION}/dynamodb/aws4_request`;
  const signed = "content-type;host;x-amz-date;x-amz-target";
  const headers = `content-type:${mediaType}\nhost:${location.host}\nx-amz-date:${time}\nx-amz-target:${target}\n`;
  const request = ["POST", "/", "", headers, signed, hex(await sha256(body))].join("\n");
  const text = ["AWS4-HMAC-SHA256", time, scope, hex(await sha256(request))].join("\n");
  let key: Uint8Array<ArrayBuffer> = new TextEncoder().encode(`AWS4${keys.secret}`);
  for (const part of scope.split("/")) key = await hmac(key, part);
  const signature = hex(await hmac(key, text));
  return {
    "X-Amz-Date": time,
    Authorization: `AWS4-HMAC-SHA256 Credential=${keys.id}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
  };
}

async function sha256(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text)));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
