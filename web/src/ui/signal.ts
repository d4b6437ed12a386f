/** A value that tells when it changes. */
export class Signal<T> {
  private readonly listeners = new Set<(value: T) => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(value: T): void {
    if (Object.is(value, this.current)) return;
    this.current = value;
    for (const listener of [...this.listeners]) listener(value);
  }

  /** Calls back with every new value. Returns how to stop that. */
  subscribe(listener: (value: T) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The same, and once with the value as it is. */
  watch(listener: (value: T) => void): () => void {
    listener(this.current);
    return this.subscribe(listener);
  }
}
