/** The list of keyboard shortcuts of the screen. */
import { activeShortcuts } from '../core/keys.ts';
import { preferences } from '../core/preferences.ts';
import { common } from '../core/text/common.ts';
import { Dialog } from '../parts/dialog.tsx';

export function ShortcutList({ onClose }: { readonly onClose: () => void }) {
  const words = common();
  return (
    <Dialog title={words.shortcuts} onClose={onClose}>
      {!preferences.value.hasKeys && <p class="note">{words.shortcutsOff}</p>}
      <dl class="facts">
        {activeShortcuts().map(({ keys, text }) => (
          <div key={keys} style={{ display: 'contents' }}>
            <dt>
              {keys.split(' ').map((key) => (
                <>
                  <kbd key={key}>{key}</kbd>{' '}
                </>
              ))}
            </dt>
            <dd>{text()}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
