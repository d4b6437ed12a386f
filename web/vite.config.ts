/**
 * How the page is built: into the Python package, with compressed copies beside the files.
 *
 * The build is reproducible, because what it makes is committed and compared (`scripts/check-web`).
 */
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import type { Plugin as PostcssPlugin } from 'postcss';

const OUT = process.env['HERMITTY_WEB_OUT'] ?? '../src/hermitty/server/static';
const COMPRESSIBLE = /\.(html|js|css|svg|txt|json)$/;
const SHIPPED = [
  ['@xterm/xterm', 'LICENSE'],
  ['@xterm/addon-search', 'LICENSE'],
  ['@xterm/addon-unicode11', 'LICENSE'],
  ['@xterm/addon-web-links', 'LICENSE'],
  ['@xterm/addon-webgl', 'LICENSE'],
  ['dockview', 'LICENCE.md'],
  ['asciinema-player', 'LICENSE'],
  ['solid-js', 'LICENSE'],
  ['@fontsource/jetbrains-mono', 'LICENSE'],
] as const;

/** Puts the licences of everything that is shipped into one file. */
function licences(): Plugin {
  return {
    name: 'licences',
    apply: 'build',
    generateBundle() {
      const texts = SHIPPED.map(([name, file]) => {
        const text = readFileSync(join('node_modules', name, file), 'utf8').replaceAll('\r\n', '\n').trim();
        return `${name}\n${'-'.repeat(name.length)}\n\n${text}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: texts.join('\n\n') });
    },
  };
}

/** Writes `.br` and `.gz` beside each file that gets smaller by it. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    writeBundle(options) {
      const folder = options.dir ?? OUT;
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        const path = join(folder, name);
        if (!statSync(path).isFile() || !COMPRESSIBLE.test(name)) continue;
        const data = readFileSync(path);
        if (data.length < 512) continue;
        writeFileSync(`${path}.gz`, gzipSync(data, { level: 9 }));
        writeFileSync(
          `${path}.br`,
          brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: data.length } }),
        );
      }
    },
  };
}

/** Leaves out the themes of the docking library: ours is in `styles/dock.css`. */
const withoutThemes: PostcssPlugin = {
  postcssPlugin: 'without-themes',
  Rule(rule) {
    const kept = rule.selectors.filter((each) => !each.includes('.dockview-theme-'));
    if (kept.length === 0) rule.remove();
    else if (kept.length < rule.selectors.length) rule.selectors = kept;
  },
};

export default defineConfig({
  base: '/',
  plugins: [licences(), compressed()],
  css: { postcss: { plugins: [withoutThemes] } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
  },
  server: {
    proxy: {
      '/api': { target: process.env['HERMITTY_URL'] ?? 'http://127.0.0.1:8765' },
      '/ws': { target: process.env['HERMITTY_URL'] ?? 'http://127.0.0.1:8765', ws: true },
    },
  },
});
