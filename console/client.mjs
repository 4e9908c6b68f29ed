// Writes `src/client.ts`: what generated clients have in common, for the console to use. The console has no generated
// client of its own, because that is of one model, and the console of whatever model is served.

import { readFileSync, writeFileSync } from 'node:fs';

const runtime = readFileSync(new URL('../crates/cli/src/client/typescript/runtime.ts', import.meta.url), 'utf8');
writeFileSync(
  new URL('src/client.ts', import.meta.url),
  `// Written by client.mjs. Do not edit.

/** The console knows the problems of no particular model. */
export type ProblemCode = string;

${runtime}
export { Transport, applied, followedChanges, liveEvents, queryText, segment, sendOther };
export type { Call, Given };
`,
);
