/** Copies text: with the clipboard of the browser, or the old way where a page has none (plain HTTP in a network). */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Not allowed at this moment: the old way may still be.
    }
  }
  const active = document.activeElement as HTMLElement | null;
  const area = document.createElement('textarea');
  area.value = text;
  area.setAttribute('readonly', '');
  area.className = 'off-screen';
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  active?.focus();
  return copied;
}

/** Reads the clipboard; null when the browser does not let us. */
export async function pasteText(): Promise<string | null> {
  try {
    return (await navigator.clipboard?.readText()) ?? null;
  } catch {
    return null;
  }
}
