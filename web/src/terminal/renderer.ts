/**
 * Draws with WebGL where the browser has it, else with elements. Browsers keep about 16 contexts for a page, so only
 * terminals that can be seen have one.
 */
import type { WebglAddon } from '@xterm/addon-webgl';
import type { Terminal } from '@xterm/xterm';

let isImpossible = false;

export class Renderer {
  private addon: WebglAddon | null = null;
  private isShown = false;
  private isDisposed = false;

  /** `changed` is called when another one draws: cells are of another size then. */
  constructor(
    private readonly terminal: Terminal,
    private readonly changed: () => void,
  ) {}

  show(isShown: boolean): void {
    this.isShown = isShown;
    if (!isShown) this.drop();
    else if (this.addon === null && this.terminal.element !== undefined) void this.load();
  }

  dispose(): void {
    this.isDisposed = true;
    this.addon = null; // the terminal disposes of it
  }

  private async load(): Promise<void> {
    if (isImpossible || !hasWebgl()) return;
    const { WebglAddon } = await import('@xterm/addon-webgl');
    if (this.isDisposed || !this.isShown || this.addon !== null) return;
    const addon = new WebglAddon();
    try {
      this.terminal.loadAddon(addon);
    } catch {
      isImpossible = true; // elements do
      return;
    }
    addon.onContextLoss(() => this.drop());
    this.addon = addon;
    this.changed();
  }

  private drop(): void {
    if (this.addon === null) return;
    this.addon.dispose();
    this.addon = null;
    this.changed();
  }
}

let known: boolean | undefined;

/** Asks once whether there is WebGL that is worth it: drawn in software it is slower than elements. */
function hasWebgl(): boolean {
  if (known === undefined) {
    const context = document.createElement('canvas').getContext('webgl2', { failIfMajorPerformanceCaveat: true });
    known = context !== null;
    context?.getExtension('WEBGL_lose_context')?.loseContext();
  }
  return known;
}
