// Builds `client.js` beside the page of each application: the client in TypeScript that `keyloom client` generates of
// its model, as it is checked in, for browsers. `PAGES` is the folder that the paths are relative to.

import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';

/** Where the page of each application is. */
const FOLDERS = {
  tasks: 'apps/tasks/page',
  comments: 'apps/comments/page',
  kitchen: 'apps/kitchen/src/page',
  oncall: 'apps/oncall/src/page',
};

for (const [app, folder] of Object.entries(FOLDERS)) {
  await build({
    entryPoints: [fileURLToPath(new URL(`../crates/cli/tests/clients-generated/${app}.ts`, import.meta.url))],
    outfile: `${process.env.PAGES ?? 'dist'}/${folder}/client.js`,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    banner: { js: '// Built by `cargo xtask console` from the generated client in TypeScript. Do not edit.' },
  });
}
