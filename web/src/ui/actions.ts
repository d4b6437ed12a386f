/**
 * Everything a person can do, by name: for shortcuts, the keyboard help and a command palette. Views register their own.
 */
import { isMac } from './dom';
import { Signal } from './signal';

export interface Action {
  id: string;
  title: string;
  group: string;
  /** Such as `Ctrl+Shift+F`; the last part is a `KeyboardEvent.key`, or a `code` where shift changes the key. */
  keys?: readonly string[];
  /** Also when the focus is in a terminal. Programs in terminals need most keys: take only those with Ctrl+Shift. */
  inTerminal?: boolean;
  isEnabled?: () => boolean;
  /** Left out of the keyboard help and of the palette. */
  hidden?: boolean;
  run: () => void;
}

export const actions = new Signal<readonly Action[]>([]);

export function registerAction(...added: Action[]): void {
  const ids = new Set(added.map((each) => each.id));
  actions.set([...actions.value.filter((each) => !ids.has(each.id)), ...added]);
}

export function runAction(id: string): boolean {
  const found = actions.value.find((each) => each.id === id);
  if (found === undefined || found.isEnabled?.() === false) return false;
  found.run();
  return true;
}

export interface Pressed {
  key: string;
  code: string;
  ctrlKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}

/** Says whether keys are pressed as they are written. Pure. */
export function fits(written: string, pressed: Pressed): boolean {
  const parts = written.split('+');
  const key = parts.pop() ?? '';
  const has = (name: string) => parts.includes(name);
  return (
    pressed.ctrlKey === has('Ctrl') &&
    pressed.shiftKey === has('Shift') &&
    pressed.altKey === has('Alt') &&
    pressed.metaKey === has('Meta') &&
    (pressed.key.toLowerCase() === key.toLowerCase() || pressed.code === key || pressed.code === `Key${key}`)
  );
}

const SHOWN: Record<string, string> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  BracketRight: ']',
  BracketLeft: '[',
  Equal: '+',
  Minus: '−',
  Slash: '/',
  Comma: ',',
  Enter: '↵',
};

/** Writes keys for people. */
export function shownKeys(written: string): string {
  const parts = written.split('+').map((part) => SHOWN[part] ?? part);
  if (!isMac()) return parts.join('+');
  return parts.map((part) => ({ Ctrl: '⌃', Shift: '⇧', Alt: '⌥', Meta: '⌘' })[part] ?? part).join('');
}

/** Returns the action for a key press, where it may be taken. */
export function actionFor(event: KeyboardEvent, isInTerminal: boolean): Action | undefined {
  return actions.value.find(
    (each) =>
      (!isInTerminal || each.inTerminal === true) &&
      each.keys?.some((keys) => fits(keys, event)) === true &&
      each.isEnabled?.() !== false,
  );
}

/** Handles the keys of all actions. Must come before the terminals, which take whatever reaches them. */
export function listenForKeys(): void {
  window.addEventListener(
    'keydown',
    (event) => {
      if (event.defaultPrevented || event.isComposing) return;
      const target = event.target instanceof Element ? event.target : null;
      if (target?.closest('dialog') != null) return;
      const isInTerminal = target?.closest('.xterm') != null;
      const isInField = !isInTerminal && target?.closest('input, textarea, select, [contenteditable]') != null;
      const found = actionFor(event, isInTerminal);
      if (found === undefined || (isInField && !event.ctrlKey && !event.metaKey)) return;
      event.preventDefault();
      event.stopPropagation();
      found.run();
    },
    { capture: true },
  );
}
