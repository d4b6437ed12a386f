/**
 * Compares two builds of the page by content. Compressed copies may differ in their bytes, because every version of Node
 * compresses in its own way: they are right when they hold what stands beside them.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

const [fresh, committed] = process.argv.slice(2);
const unpack = { '.br': brotliDecompressSync, '.gz': gunzipSync };

function files(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();
}

const problems = [];
const [made, kept] = [files(fresh), files(committed)];
for (const name of made) if (!kept.includes(name)) problems.push(`missing: ${name}`);
for (const name of kept) {
  if (!made.includes(name)) {
    problems.push(`left over: ${name}`);
    continue;
  }
  const ending = name.slice(-3);
  const data = readFileSync(join(committed, name));
  const isSame =
    ending in unpack
      ? unpack[ending](data).equals(readFileSync(join(committed, name.slice(0, -3))))
      : data.equals(readFileSync(join(fresh, name)));
  if (!isSame) problems.push(`differs: ${name}`);
}
if (problems.length > 0) {
  console.error(`the committed page is not what web/ gives; run: cd web && npm ci && npm run build\n  ${problems.join('\n  ')}`);
  process.exit(1);
}
