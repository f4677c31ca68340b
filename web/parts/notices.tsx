/** The messages at the edge of the page. */
import { X } from 'lucide';
import { dismiss, notices, notify, runUndo } from '../core/notices.ts';
import type { Notice } from '../core/notices.ts';
import { common } from '../core/text/common.ts';
import { Button, IconButton } from './button.tsx';

async function undo({ id, undo: entry }: Notice): Promise<void> {
  if (entry === undefined) return;
  dismiss(id);
  try {
    await runUndo(entry);
    notify(common().undone);
  } catch (error) {
    notify(`${common().undoFailed}: ${error instanceof Error ? error.message : String(error)}`, { kind: 'fault' });
  }
}

export function Notices() {
  const words = common();
  return (
    <div class="notices" role="region" aria-label={words.notifications}>
      <div aria-live="polite">
        {notices.value.map((notice) => (
          <div key={notice.id} class={notice.kind === 'fault' ? 'notice notice-fault' : 'notice'}>
            <p class="notice-text">{notice.text}</p>
            {notice.undo && <Button onClick={() => void undo(notice)}>{words.undo}</Button>}
            <IconButton icon={X} label={words.close} onClick={() => dismiss(notice.id)} />
          </div>
        ))}
      </div>
    </div>
  );
}
