/** The font of terminals: ours for letters, the system's for everything else. Its files are in `styles/fonts.css`. */

export const FONT_FAMILY =
  '"JetBrains Mono", ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", ' +
  '"WenQuanYi Zen Hei Mono", "Noto Color Emoji", monospace';

const WAIT_MS = 1_500;
let loading: Promise<void> | undefined;

/** Waits for the font, because cells are measured once; not for long, because a terminal in another font is a terminal. */
export function loadFonts(): Promise<void> {
  loading ??= Promise.race([
    Promise.all([document.fonts.load('13px "JetBrains Mono"'), document.fonts.load('bold 13px "JetBrains Mono"')]).then(
      () => undefined,
      () => undefined,
    ),
    new Promise<void>((resolve) => setTimeout(resolve, WAIT_MS)),
  ]);
  return loading;
}
