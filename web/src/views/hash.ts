/** Views in the address: `#/artifact?id=a_1`. Pure. */

export interface Place {
  view: string;
  params: Record<string, string>;
}

export function readHash(hash: string): Place | null {
  const found = /^#\/([a-z]+)(?:\?(.*))?$/.exec(hash);
  if (found === null) return null;
  return { view: found[1] ?? '', params: Object.fromEntries(new URLSearchParams(found[2] ?? '')) };
}

export function writeHash({ view, params }: Place): string {
  const query = new URLSearchParams(params).toString();
  return `#/${view}${query === '' ? '' : `?${query}`}`;
}
