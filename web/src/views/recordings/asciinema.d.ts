/** What we use of the player, which comes without types. */
declare module 'asciinema-player/ui.js' {
  export interface Options {
    autoPlay?: boolean;
    fit?: 'width' | 'height' | 'both' | false;
    idleTimeLimit?: number;
    controls?: boolean | 'auto';
    terminalFontFamily?: string;
    theme?: string;
  }

  export interface Player {
    dispose(): void;
  }

  export function create(
    source: { url: string; fetchOpts?: RequestInit },
    element: HTMLElement,
    workerUrl: string,
    options?: Options,
  ): Player;
}
