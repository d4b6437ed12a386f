/** The questions as the view of approvals shows them, while it can be seen. */
import { Signal } from '../../ui/signal';

export const shownPending = new Signal<{ focus(): boolean } | null>(null);
