/** Notifications of the browser about questions, for when the page cannot be seen. Somebody has to want them. */
import { Signal } from '../../ui/signal';
import { toast } from '../../ui/toasts';
import { w } from '../words';

const KEY = 'hermitty.notify';

export const isNotifying = new Signal(read());

function read(): boolean {
  try {
    return typeof Notification !== 'undefined' && Notification.permission === 'granted' && localStorage.getItem(KEY) === 'on';
  } catch {
    return false;
  }
}

function keep(isOn: boolean): void {
  try {
    localStorage.setItem(KEY, isOn ? 'on' : 'off');
  } catch {
    // It holds until the page is closed.
  }
  isNotifying.set(isOn);
}

export const canNotify = (): boolean => typeof Notification !== 'undefined';

/** Asks the browser to let us, or stops it. Call it from a press of a button. */
export async function toggleNotifications(): Promise<void> {
  if (isNotifying.value) return keep(false);
  const permission = await Notification.requestPermission();
  if (permission === 'granted') keep(true);
  else toast(w.notifyBlocked, { kind: 'error' });
}

/** Shows a notification, if the page is hidden. Returns how to take it away. */
export function notify(text: string, tag: string, chosen: () => void): () => void {
  if (!isNotifying.value || document.visibilityState === 'visible') return () => undefined;
  try {
    const shown = new Notification('hermitty', { body: text, tag, icon: '/favicon.svg' });
    shown.onclick = () => {
      window.focus();
      shown.close();
      chosen();
    };
    return () => shown.close();
  } catch {
    return () => undefined; // phones have them only for service workers
  }
}
