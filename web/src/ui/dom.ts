/** Small typed helpers to make elements. Text is always text: nothing here takes HTML. */

type Value = string | number | boolean | null | undefined | ((event: never) => void);
export type Attributes = Record<string, Value>;
export type Child = Node | string | null | undefined | false | readonly Child[];

/**
 * Makes an element: `h('button', { class: 'plain', onclick: save, 'aria-pressed': true }, 'Save')`.
 * Functions are listeners; false, null and undefined leave an attribute out, except that aria- attributes say "false".
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as EventListener);
    else if (value === null || value === undefined) element.removeAttribute(name);
    else if (typeof value === 'boolean' && name.startsWith('aria-')) element.setAttribute(name, String(value));
    else if (value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (typeof child === 'string' || child instanceof Node) element.append(child);
    else append(element, child);
  }
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Sets a text only if it is another one, so that nothing is drawn or read aloud again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

let ids = 0;

export function newId(prefix: string): string {
  ids += 1;
  return `${prefix}-${ids}`;
}

export function isMac(): boolean {
  return /mac|iphone|ipad/i.test(navigator.platform);
}
