/** Light, dark and high contrast: as the system says, or as chosen. Colours of the page are in CSS, of terminals here. */
import type { ITheme } from '@xterm/xterm';
import { preferences } from './preferences';
import { Signal } from './signal';

export type Look = 'light' | 'dark' | 'contrast';

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const prefersContrast = matchMedia('(prefers-contrast: more)');

function current(): Look {
  const { theme } = preferences.value;
  if (theme !== 'system') return theme;
  if (prefersContrast.matches) return 'contrast';
  return prefersDark.matches ? 'dark' : 'light';
}

export const look = new Signal<Look>(current());

export function followTheme(): void {
  const apply = () => {
    look.set(current());
    document.documentElement.dataset['look'] = look.value;
    document.documentElement.style.setProperty('--terminal-background', terminalTheme(look.value).background ?? '');
  };
  preferences.watch(apply);
  prefersDark.addEventListener('change', apply);
  prefersContrast.addEventListener('change', apply);
}

const light: ITheme = {
  background: '#ffffff',
  foreground: '#1f2a2e',
  cursor: '#1f6f5c',
  cursorAccent: '#ffffff',
  selectionBackground: '#b9dcd3',
  selectionInactiveBackground: '#dde7e4',
  black: '#1f2a2e',
  red: '#b3261e',
  green: '#1a7340',
  yellow: '#8a5a00',
  blue: '#1f5fae',
  magenta: '#8f3a8c',
  cyan: '#0d6e7e',
  white: '#67757a',
  brightBlack: '#566469',
  brightRed: '#c9372c',
  brightGreen: '#20804a',
  brightYellow: '#8f6200',
  brightBlue: '#2a6fc4',
  brightMagenta: '#a0479d',
  brightCyan: '#127a8c',
  brightWhite: '#3c4a4f',
};

const dark: ITheme = {
  background: '#11181b',
  foreground: '#d7e0e2',
  cursor: '#6fd0b5',
  cursorAccent: '#11181b',
  selectionBackground: '#2f5b52',
  selectionInactiveBackground: '#26383a',
  black: '#263238',
  red: '#f08a80',
  green: '#7fd197',
  yellow: '#e0bd6c',
  blue: '#82b4f2',
  magenta: '#d8a0dc',
  cyan: '#74cbd6',
  white: '#d7e0e2',
  brightBlack: '#7d8d93',
  brightRed: '#ffa79f',
  brightGreen: '#9fe5b3',
  brightYellow: '#f3d58e',
  brightBlue: '#a6cbff',
  brightMagenta: '#ebbdee',
  brightCyan: '#98e3ec',
  brightWhite: '#ffffff',
};

const contrast: ITheme = {
  ...dark,
  background: '#000000',
  foreground: '#ffffff',
  cursor: '#ffff00',
  cursorAccent: '#000000',
  selectionBackground: '#0050c8',
  selectionInactiveBackground: '#003a91',
  brightBlack: '#b0b0b0',
};

const themes: Record<Look, ITheme> = { light, dark, contrast };

export function terminalTheme(of: Look): ITheme {
  return {
    ...themes[of],
    scrollbarSliderBackground: of === 'light' ? '#1f2a2e33' : '#d7e0e233',
    scrollbarSliderHoverBackground: of === 'light' ? '#1f2a2e55' : '#d7e0e255',
    scrollbarSliderActiveBackground: of === 'light' ? '#1f2a2e77' : '#d7e0e277',
    overviewRulerBorder: '#00000000',
  };
}
